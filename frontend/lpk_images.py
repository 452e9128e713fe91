"""The device images of ``lapilli build``: what its inputs define, compiled and linked for no device in particular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..ir.errors import InvalidError, LinkError
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    KernelInfo,
    LocalParameter,
    Parameter,
    Requirements,
    ScalarParameter,
    StreamParameter,
    ValueParameter,
)
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage
from ..vk_runtime.kernel_id import KernelId, make_kernel_id
from ..vk_runtime.spec_values import SpecConstant
from . import units
from .aspect_warnings import warn_once
from .checking import checks_of
from .compile_options import options_of
from .image_types import ImageType
from .lpk_inputs import import_units, is_ir
from .lpk_signatures import described
from .parameter_types import StreamType
from .signature import ParameterSpec, Signature
from .source_images import prepare
from .spec_constant import SpecializationId
from .types import Access, ArrayType, Type, parse_type
from .unit_images import UnitImage, images_of_unit


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """One device image."""

    image: DeviceImage
    ids: Mapping[str, KernelId]
    """The kernels, by the image's names."""
    symbols: Mapping[str, SpecConstant]

    @property
    def requirements(self) -> Requirements:
        """What a device must have."""
        return self.image.requirements

    @property
    def is_source_of_native(self) -> bool:
        """Whether native code is made of it: of an image whose values are hidden arguments its frozen twin is."""
        return self.image.spec_constant_block is None


def build_images(inputs: Sequence[str], env: TargetEnv) -> tuple[BuiltImage, ...]:
    """Returns the images of all inputs, in their order.

    Args:
        inputs: Python files, packages and files of IR.
        env: what to compile for.

    Raises:
        InvalidError: an input cannot be read or imported, or none has a kernel.
        BuildError: a kernel cannot be compiled or linked.
    """
    found: list[BuiltImage] = []
    modules: list[str] = []
    for name in inputs:
        if is_ir(name):
            found += _of_ir(Path(name), env)
        else:
            modules += import_units(name)
    found = [*_of_modules(tuple(dict.fromkeys(modules)), env), *found]
    if not found:
        raise InvalidError(f"there are no kernels in {', '.join(inputs)}")
    return tuple(found)


def _of_modules(modules: Sequence[str], env: TargetEnv) -> list[BuiltImage]:
    images = [image for module in modules for image in images_of_unit(module, env)]
    compiled: list[DeviceImage] = []
    sources: list[UnitImage] = []
    for image in images:
        made = image.translate(image.env, ())
        compiled.append(made)
        sources.append(image)
        if made.spec_constant_block is not None:  # as bundles do: launches at the defaults cost nothing then
            frozen = replace(image.env, freezes_spec_constants=True, emulates_spec_constants=False)
            compiled.append(image.translate(frozen, ()))
            sources.append(image)
    if any(image.is_object for image in compiled):
        from .bundle_linking import link_kernels

        linked = [(item.image, item.parts) for item in link_kernels(compiled, is_whole_program=True)]
    else:
        linked = [(image, (position,)) for position, image in enumerate(compiled)]
    built = [_built(image, [sources[part] for part in parts]) for image, parts in linked]
    units_of = [{sources[part].unit for part in parts} for _, parts in linked]
    return _brought_together(built, units_of)


def _brought_together(images: Sequence[BuiltImage], units_of: Sequence[set[str]]) -> list[BuiltImage]:
    """Returns the images with those of several modules in one, where all of these say ``off`` and a device that can
    run one can run the others (of equal fixed targets: in any case).  What was one module's stays apart: it has been
    divided as it must be."""
    groups: list[tuple[object, set[str], list[BuiltImage]]] = []
    for number, (image, modules) in enumerate(zip(images, units_of, strict=True)):
        may_share = all(options_of(module).device_code_split == "off" for module in modules)
        key = (image.requirements, image.is_source_of_native) if may_share else number
        for other, taken, members in groups:
            names = {name for member in members for name in member.ids}
            if key == other and not modules & taken and not names & image.ids.keys():
                taken |= modules
                members.append(image)
                break
        else:
            groups.append((key, set(modules), [image]))
    return [members[0] if len(members) == 1 else _one_of(members) for _, _, members in groups]


def _one_of(images: Sequence[BuiltImage]) -> BuiltImage:
    from ..spirv.link_images import link_images

    ids = {name: id_ for image in images for name, id_ in image.ids.items()}
    symbols = {symbol: constant for image in images for symbol, constant in image.symbols.items()}
    return BuiltImage(link_images([image.image for image in images]), ids, symbols)


def _built(image: DeviceImage, parts: Sequence[UnitImage]) -> BuiltImage:
    names = {kernel.name for kernel in image.kernels}
    ids = {name: id_ for part in parts for name, id_ in part.kernel_ids.items() if name in names}
    symbols = {symbol: constant for part in parts for symbol, constant in part.spec_symbols.items()}
    return BuiltImage(image, ids, symbols)


# ---- IR ----


def _of_ir(path: Path, env: TargetEnv) -> list[BuiltImage]:
    from ..ir.parse import parse_module
    from ..passes.pipeline import analyse, lower_image
    from ..spirv.build_image import build_image

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"cannot read {path}: {error}") from error
    options = options_of(path.stem)
    env = replace(options.environment(env), checks=checks_of(options))
    parsed = parse_module(text, str(path))
    prepare(parsed, env)
    analysis = analyse(
        parsed.module, env, mode=options.device_code_split, fixed_targets=options.fixed_targets
    )
    warn_once((str(path), found) for found in analysis.diagnostics)
    images = [build_image(lower_image(image, env), env) for image in analysis.images]
    for image in images:
        if image.imports:
            raise LinkError(
                f"{path}: unresolved symbol '{image.imports[0]}'; lapilli build links Python modules only"
            )
    return [_of_binary(image, path.stem) for image in images if image.kernels]


def _of_binary(image: DeviceImage, unit: str) -> BuiltImage:
    symbols = {
        c.symbol: SpecializationId.of_file(parse_type(c.type), c.symbol, c.name, c.default)
        for c in image.spec_constants
    }
    return BuiltImage(image, {k.name: _id_of_ir(k, unit) for k in image.kernels}, symbols)


def _id_of_ir(kernel: KernelInfo, unit: str) -> KernelId:
    """Returns an identity for a kernel that no Python function made: its parameters are those of its code."""
    signature = Signature(tuple(ParameterSpec(name=p.name, type=_type(p)) for p in kernel.parameters))
    name, qualified_name = kernel.name, f"{unit}.{kernel.name}"
    names = tuple(parameter.name for parameter in signature.parameters)
    description = described(name, qualified_name, signature, None)
    return make_kernel_id(
        name, qualified_name, units.binder(name, signature), names, describe=lambda: description
    )


def _type(parameter: Parameter) -> Type:
    match parameter:
        case BufferParameter():
            return ArrayType(parse_type(parameter.dtype), parameter.ndim, _access(parameter))
        case ImageParameter():
            element = parse_type(parameter.dtype)
            is_sampled = parameter.descriptor == "sampled"
            return ImageType(element, parameter.ndim, _access(parameter), is_sampled)
        case ScalarParameter():
            return parse_type(parameter.dtype)
        case StreamParameter():
            return StreamType()
        case LocalParameter() | ValueParameter():
            raise InvalidError(
                f"lapilli build: IR has no parameter '{parameter.name}' of type {parameter.dtype}"
            )


def _access(parameter: BufferParameter | ImageParameter) -> Access:
    return "read" if parameter.access == "read" else "write" if parameter.access == "write" else "read_write"
