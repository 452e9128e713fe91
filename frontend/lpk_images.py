"""The device images of ``lapilli build``: what its inputs define, compiled and linked for no device in particular.

Python modules and files of IR are translation units alike: kernels call what another input exports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from ..ir.errors import InvalidError
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
from ..vk_runtime.toolchain import LinkedImage
from . import units
from .aspect_warnings import warn_once
from .checking import checks_of
from .compile_options import options_of
from .image_types import ImageType
from .lpk_descriptions import described
from .lpk_inputs import import_units, is_ir
from .parameter_types import StreamType
from .signature import ParameterSpec, Signature
from .source_images import prepare
from .spec_constant import SpecializationId
from .type_lookup import parse_type
from .types import Access, ArrayType, Type
from .unit_images import images_of_unit


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
    of_ir: list[_Part] = []
    modules: list[str] = []
    for name in inputs:
        if is_ir(name):
            of_ir += _of_ir(Path(name), env)
        else:
            modules += import_units(name)
    found = _linked([*_of_modules(tuple(dict.fromkeys(modules)), env), *of_ir])
    if not found:
        raise InvalidError(f"there are no kernels in {', '.join(inputs)}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one translation unit gives an image."""

    image: DeviceImage
    """May import functions of other units; without kernels it only exports some."""
    unit: str
    """A Python module, or a file of IR."""
    split: str
    """How finely the unit is divided."""
    ids: Mapping[str, KernelId]
    symbols: Mapping[str, SpecConstant]


def _of_modules(modules: Sequence[str], env: TargetEnv) -> list[_Part]:
    parts: list[_Part] = []
    for source in (image for module in modules for image in images_of_unit(module, env)):
        envs = [source.env]
        made = source.translate(source.env, ())
        if made.spec_constant_block is not None:  # as bundles do: launches at the defaults cost nothing then
            envs.append(replace(source.env, freezes_spec_constants=True, emulates_spec_constants=False))
        split = options_of(source.unit).device_code_split
        parts += [
            _Part(source.translate(e, ()), source.unit, split, source.kernel_ids, source.spec_symbols)
            for e in envs
        ]
    return parts


def _linked(parts: Sequence[_Part]) -> list[BuiltImage]:
    """Returns the images that have kernels, with all that they import from other units."""
    images = [part.image for part in parts]
    linked = [LinkedImage(image, (position,)) for position, image in enumerate(images)]
    if any(image.is_object for image in images):
        from .bundle_linking import link_kernels

        linked = link_kernels(images, is_whole_program=True)
    of_parts = [[parts[number] for number in item.parts] for item in linked]
    built = [_built(item, found) for item, found in zip(linked, of_parts, strict=True)]
    return _brought_together(built, of_parts)


def _brought_together(images: Sequence[BuiltImage], parts_of: Sequence[Sequence[_Part]]) -> list[BuiltImage]:
    """Returns the images with those of several units in one, where all of these say ``off`` and a device that can
    run one can run the others (of equal fixed targets: in any case).  What was one unit's stays apart: it has been
    divided as it must be."""
    groups: list[tuple[object, set[str], list[BuiltImage]]] = []
    for number, (image, parts) in enumerate(zip(images, parts_of, strict=True)):
        modules = {part.unit for part in parts}
        may_share = all(part.split == "off" for part in parts)
        key = (image.requirements, image.is_source_of_native) if may_share else number
        for other, taken, members in groups:
            if key == other and not modules & taken:
                taken |= modules
                members.append(_apart(image, {name for member in members for name in member.ids}))
                break
        else:
            groups.append((key, set(modules), [image]))
    return [members[0] if len(members) == 1 else _one_of(members) for _, _, members in groups]


def _apart(image: BuiltImage, taken: set[str]) -> BuiltImage:
    """Returns an image none of whose kernels is called as one that is taken: they are numbered as in one unit."""
    from ..spirv.kernel_names import with_kernel_names

    used = taken | image.ids.keys()
    names: dict[str, str] = {}
    for name in image.ids:
        if name in taken:
            names[name] = next(n for number in count(2) if (n := f"{name}~{number}") not in used)
            used.add(names[name])
    if not names:
        return image
    ids = {names.get(name, name): id_ for name, id_ in image.ids.items()}
    return replace(image, image=with_kernel_names(image.image, names), ids=ids)


def _one_of(images: Sequence[BuiltImage]) -> BuiltImage:
    from ..spirv.link_images import link_images

    ids = {name: id_ for image in images for name, id_ in image.ids.items()}
    symbols = {symbol: constant for image in images for symbol, constant in image.symbols.items()}
    return BuiltImage(link_images([image.image for image in images]), ids, symbols)


def _built(linked: LinkedImage, parts: Sequence[_Part]) -> BuiltImage:
    names = {kernel.name for kernel in linked.image.kernels}
    ids = {name: id_ for part in parts for name, id_ in part.ids.items() if name in names}
    symbols = {symbol: constant for part in parts for symbol, constant in part.symbols.items()}
    return BuiltImage(linked.image, ids, {**symbols, **linked.spec_symbols})


# IR


def _of_ir(path: Path, env: TargetEnv) -> list[_Part]:
    from ..ir.parse import parse_module
    from ..passes.pipeline import analyse, lower_image
    from ..spirv.build_image import build_image

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"cannot read {path}: {error}") from error
    options = options_of(path.stem)
    env = replace(options.environment(env), checks=checks_of(options))
    parsed = parse_module(text, str(path), for_device=True)
    prepare(parsed, env)
    analysis = analyse(
        parsed.module, env, mode=options.device_code_split, fixed_targets=options.fixed_targets
    )
    warn_once((str(path), found) for found in analysis.diagnostics)
    images = [build_image(lower_image(image, env), env) for image in analysis.images]
    return [_part_of_ir(image, path, options.device_code_split) for image in images]


def _part_of_ir(image: DeviceImage, path: Path, split: str) -> _Part:
    symbols = {
        c.symbol: SpecializationId.of_file(parse_type(c.type), c.symbol, c.name, c.default)
        for c in image.spec_constants
    }
    ids = {kernel.name: _id_of_ir(kernel, path.stem) for kernel in image.kernels}
    return _Part(image, str(path), split, ids, symbols)


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
