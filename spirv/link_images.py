"""Links device images: the binaries, and what a launch must know of them.

Specialization constants are known by symbol, not by SpecId: a constant that several images read becomes one, and
all SpecIds are given out anew, users' constants first, then the local size, then the shapes that launches give.
So a function of one image reads the value that was set for the kernel of another.  Standard library only, but for
SPIRV-Tools, which validates the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.errors import LinkError
from ..ir.kernel_info import AspectUse, KernelInfo, LocalParameter, Parameter, Requirements, SpecConstantInfo
from ..ir.size_arithmetic import SizeNode
from ..ir.target_env import REMEDIES, TargetEnv, most_checks, smallest_cap
from .binary import Module, parse, serialise
from .count_rounds import for_driver
from .device_image import DeviceImage
from .errors import SpirvError
from .image_agreement import disagreements, internal_spec_ids
from .link_input import read_module
from .linked_arrays import linked_arrays, with_linked_arrays
from .linker import link_modules
from .reflect import reflect
from .tables import Decoration, Op
from .tools import SCALAR_LAYOUT, spirv_tools
from .validation import validate


def link_images(images: Sequence[DeviceImage]) -> DeviceImage:
    """Links images into one, which has all their kernels.

    Args:
        images: compiled for one binding model; one alone only loses its exports.

    Raises:
        LinkError: symbols or kernels clash, differ or stay unresolved, one specialization constant has two types,
            or the result is invalid; names the symbol.
    """
    if not images:
        raise LinkError("there is nothing to link; expected at least one device image")
    labels = [_label(image, number) for number, image in enumerate(images, start=1)]
    env = _common_env(images, labels)
    constants = _merged_constants(images, labels)
    numbering = _Numbering.of(images, constants)
    modules = [
        _renumbered(read_module(image.spirv, label), spec_ids)
        for image, label, spec_ids in zip(images, labels, numbering.by_image, strict=True)
    ]
    binary = link_modules(modules, labels, is_local_size_given=numbering.local_size is not None)
    reflection = reflect(binary)
    linked = DeviceImage(
        spirv=binary,
        kernels=_kernels(images, modules, labels, numbering),
        spec_constants=constants,
        requirements=merged_requirements([image.requirements for image in images]),
        target_env=env,
        imports=tuple(sorted({symbol.name for symbol in reflection.imports})),
        exports=tuple(sorted({symbol.name for symbol in reflection.exports})),
    )
    linked = for_driver(_sub_groups_counted(linked), env.loop_iteration_cap)
    _check(linked)
    return linked


def _sub_groups_counted(image: DeviceImage) -> DeviceImage:
    """Returns an image in which functions of other compilers' libraries, too, know the sub-groups of their kernel."""
    if image.is_object or not image.target_env.miscounts_sub_groups or not image.has_foreign_code:
        return image
    from .counted_sub_groups import sub_groups_counted

    try:
        return replace(image, spirv=serialise(sub_groups_counted(parse(image.spirv))))
    except SpirvError as error:
        raise LinkError(f"cannot link: {error.message}") from error


def _label(image: DeviceImage, number: int) -> str:
    names = [kernel.name for kernel in image.kernels] or image.exports
    return f"the image of {', '.join(names)}" if names else f"image {number}"


def _common_env(images: Sequence[DeviceImage], labels: Sequence[str]) -> TargetEnv:
    """Returns an environment that offers whatever the images rely on."""
    first = images[0].target_env
    for image, label in zip(images, labels, strict=True):
        if image.target_env.binding_model is not first.binding_model:
            raise LinkError(
                f"{labels[0]} binds arrays by {first.binding_model.value}, {label} by "
                f"{image.target_env.binding_model.value}; expected the same binding model"
            )
    envs = [image.target_env for image in images]
    return replace(
        first,
        vulkan_version=max(env.vulkan_version for env in envs),
        max_push_constant_bytes=max(env.max_push_constant_bytes for env in envs),
        signed_zero_inf_nan_preserve_bits=tuple(
            sorted({bits for env in envs for bits in env.signed_zero_inf_nan_preserve_bits})
        ),
        optional_aspects=tuple(sorted({number for env in envs for number in env.optional_aspects})),
        debug_info=any(env.debug_info for env in envs),
        loop_iteration_cap=smallest_cap(envs),
        checks=most_checks(envs),
        **{name: all(getattr(env, name) for env in envs) for name in REMEDIES},
    )


def merged_requirements(parts: Sequence[Requirements]) -> Requirements:
    """Returns what a device must have for all parts: unions, but of fixed targets what all have in common.

    The common targets may be none; that is recorded, and such an image runs nowhere.
    """
    targets = [frozenset(part.fixed_targets) for part in parts if part.fixed_targets is not None]
    return Requirements(
        aspects=tuple(sorted({number for part in parts for number in part.aspects})),
        work_group_sizes=tuple(dict.fromkeys(size for part in parts for size in part.work_group_sizes)),
        sub_group_sizes=tuple(sorted({size for part in parts for size in part.sub_group_sizes})),
        fixed_targets=tuple(sorted(targets[0].intersection(*targets))) if targets else None,
        features=tuple(sorted({name for part in parts for name in part.features})),
    )


# Specialization constants


def _merged_constants(images: Sequence[DeviceImage], labels: Sequence[str]) -> tuple[SpecConstantInfo, ...]:
    """Returns the constants of all images by symbol, with SpecIds from 0 and offsets that pack them tightly."""
    found: dict[str, tuple[SpecConstantInfo, str]] = {}
    merged: list[SpecConstantInfo] = []
    spec_id = offset = 0
    for image, label in zip(images, labels, strict=True):
        for constant in image.spec_constants:
            known = found.setdefault(constant.symbol, (constant, label))
            if known[0] is not constant:
                _check_same(known[0], constant, known[1], label)
                continue
            # Where one image has it natively, its value goes there too: hidden fields are filled by SpecId.
            is_emulated = all(
                c.is_emulated for i in images for c in i.spec_constants if c.symbol == constant.symbol
            )
            leaves = tuple(
                replace(leaf, spec_id=spec_id + number) for number, leaf in enumerate(constant.leaves)
            )
            merged.append(replace(constant, offset_bytes=offset, leaves=leaves, is_emulated=is_emulated))
            spec_id += len(leaves)
            offset += constant.size_bytes
    return tuple(merged)


def _check_same(first: SpecConstantInfo, other: SpecConstantInfo, label: str, other_label: str) -> None:
    for what, one, two in (
        ("type", first.type, other.type),
        ("layout", _layout(first), _layout(other)),
        ("default", first.default.hex(), other.default.hex()),
    ):
        if one != two:
            raise LinkError(
                f"specialization constant '{first.symbol}' has {what} {one} in {label} and {two} in {other_label}"
            )


def _layout(constant: SpecConstantInfo) -> tuple[tuple[str, int], ...]:
    return tuple((leaf.dtype, leaf.offset_bytes) for leaf in constant.leaves)


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The SpecIds of the linked image."""

    by_image: tuple[dict[int, int], ...]
    """For each image, old SpecId to new."""
    local_size: tuple[int, int, int] | None
    """SpecIds of the local size; None where every kernel fixes its own."""

    @staticmethod
    def of(images: Sequence[DeviceImage], constants: Sequence[SpecConstantInfo]) -> _Numbering:
        """Numbers the scalars of the constants, then the local size, then what else the runtime sets."""
        new = {constant.symbol: [leaf.spec_id for leaf in constant.leaves] for constant in constants}
        first = sum(len(leaves) for leaves in new.values())
        given = [k.abi.local_size_spec_ids for i in images for k in i.kernels if k.abi.local_size_spec_ids]
        local_size = (first, first + 1, first + 2) if given else None
        unused = itertools.count(first + 3 * bool(given))
        by_image: list[dict[int, int]] = []
        for image in images:
            mapping = {
                leaf.spec_id: number
                for constant in image.spec_constants
                for leaf, number in zip(constant.leaves, new[constant.symbol], strict=True)
            }
            for kernel in image.kernels:
                old_ids = kernel.abi.local_size_spec_ids or ()
                for old, new_id in zip(old_ids, local_size or (), strict=False):
                    if old is not None:
                        mapping[old] = new_id
            for kernel in image.kernels:
                for old in internal_spec_ids(kernel):
                    if old not in mapping:
                        mapping[old] = next(unused)
            by_image.append(mapping)
        return _Numbering(tuple(by_image), local_size)


def _renumbered(module: Module, spec_ids: Mapping[int, int]) -> Module:
    """Returns a module with other SpecIds; LinkError where its metadata does not know one."""
    items = list(module.instructions)
    for position, item in enumerate(items):
        if item.opcode == Op.Decorate and item.operands[1] == Decoration.SpecId:
            target, decoration, old = item.operands
            if old not in spec_ids:
                raise LinkError(
                    f"a device image has SpecId {old}, which none of its specialization constants has"
                )
            items[position] = item._replace(operands=(target, decoration, spec_ids[old]))
    return replace(module, instructions=tuple(items))


# Kernels


def _kernels(
    images: Sequence[DeviceImage], modules: Sequence[Module], labels: Sequence[str], numbering: _Numbering
) -> tuple[KernelInfo, ...]:
    providers = {symbol: image for image in images for symbol in image.exports}
    arrays = {
        number: linked_arrays(modules[number], labels[number])
        for number, image in enumerate(images)
        if image.exports and any(other.kernels for n, other in enumerate(images) if n != number)
    }
    kernels: list[KernelInfo] = []
    for number, (image, spec_ids) in enumerate(zip(images, numbering.by_image, strict=True)):
        needed = _aspects_by_import(image, providers)
        others = [found for other, found in arrays.items() if other != number]
        for kernel in image.kernels:
            switch = kernel.abi.without_notes_spec_id
            made = replace(
                _with_aspects(kernel, needed),
                # An object with BuiltIn WorkgroupSize holds for every entry point of the module.
                abi=replace(
                    kernel.abi,
                    local_size_spec_ids=numbering.local_size,
                    without_notes_spec_id=None if switch is None else spec_ids[switch],
                    spec_fields=tuple(
                        replace(field, spec_id=spec_ids[field.spec_id]) for field in kernel.abi.spec_fields
                    ),
                ),
                parameters=tuple(_parameter(parameter, spec_ids) for parameter in kernel.parameters),
                size_nodes=tuple(_size_node(node, spec_ids) for node in kernel.size_nodes),
            )
            kernels.append(with_linked_arrays(made, others))
    return tuple(kernels)


def _aspects_by_import(image: DeviceImage, providers: Mapping[str, DeviceImage]) -> dict[int, str]:
    """Returns the aspects of the images that an image's imports lead to, each with the symbol that brought it."""
    found: dict[int, str] = {}
    seen: set[str] = set()
    pending = list(image.imports)
    while pending:
        symbol = pending.pop(0)
        provider = providers.get(symbol)
        if symbol in seen or provider is None:
            continue
        seen.add(symbol)
        for number in provider.requirements.aspects:
            found.setdefault(number, symbol)
        pending += provider.imports
    return found


def _with_aspects(kernel: KernelInfo, needed: Mapping[int, str]) -> KernelInfo:
    added = {number: symbol for number, symbol in needed.items() if number not in kernel.aspects}
    if not added:
        return kernel
    uses = tuple(
        AspectUse(aspect=number, location=None, what=f"the linked function '{symbol}'", is_declared=True)
        for number, symbol in sorted(added.items())
    )
    return replace(
        kernel,
        aspects=tuple(sorted({*kernel.aspects, *added})),
        aspect_uses=tuple(sorted((*kernel.aspect_uses, *uses), key=lambda use: use.aspect)),
    )


def _parameter(parameter: Parameter, spec_ids: Mapping[int, int]) -> Parameter:
    if not isinstance(parameter, LocalParameter):
        return parameter
    ids = (None if old is None else spec_ids[old] for old in parameter.spec_ids)
    return replace(parameter, spec_ids=tuple(ids))


def _size_node(node: SizeNode, spec_ids: Mapping[int, int]) -> SizeNode:
    if node.opcode != "spec_constant":
        return node
    (old,) = node.operands
    if old not in spec_ids:
        raise LinkError(f"a device image computes a size from SpecId {old}, which it does not have")
    return replace(node, operands=(spec_ids[old],))


# The result


def _check(image: DeviceImage) -> None:
    """Raises LinkError where the linked binary is invalid or is not what the metadata says."""
    findings = [
        str(f) for f in validate(image.spirv, environment="universal" if image.is_object else "vulkan")
    ]
    env = image.target_env.universal_name if image.is_object else image.target_env.spirv_tools_name
    is_scalar = SCALAR_LAYOUT in image.requirements.features
    finding = spirv_tools().validate(image.spirv, env, scalar_block_layout=is_scalar)
    if finding is not None:
        findings.append(f"SPIRV-Tools, {env}: {finding.message}")
    findings += disagreements(reflect(image.spirv), image, image.target_env)
    if findings:
        lines = "\n".join(f"  {line}" for line in findings)
        raise LinkError(f"the linked image is invalid:\n{lines}")
