"""Compares a binary with the metadata that the passes recorded for it.

A launch trusts the metadata and never reads the binary, so a difference would bind the wrong buffer or set
the wrong constant.  Checked: entry points, descriptor bindings, push constants, SpecIds and their sizes,
local sizes, and that every capability's aspect is among the requirements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..ir.aspect_table import ASPECT_OF_CAPABILITY, ASPECT_ROWS
from ..ir.aspects import Aspect
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    KernelInfo,
    LocalParameter,
    Requirements,
    SpecConstantInfo,
)
from ..ir.target_env import BindingModel, TargetEnv
from .reflection import EntryPoint, Reflection
from .tables import Capability, capability_closure, enumerant_name

_ALSO_ENOUGH = {
    Aspect.VK_INT8: (Capability.StorageBuffer8BitAccess,),
    Aspect.VK_INT16: (Capability.StorageBuffer16BitAccess,),
    Aspect.FP16: (Capability.StorageBuffer16BitAccess,),
    Aspect.VK_FLOAT_ATOMIC_ADD: (Capability.AtomicFloat32MinMaxEXT,),
}
"""What says enough in place of an aspect's own capability.

A narrow value that is only loaded, converted and stored needs no capability but that of its storage.  Atomic loads,
stores and exchanges of floats beside their minimum need a feature (shaderBufferFloat32Atomics) that has no capability.
"""


_OF_IMAGES = dict.fromkeys(
    (
        Capability.Image1D,
        Capability.Sampled1D,
        Capability.ImageQuery,
        Capability.StorageImageExtendedFormats,
        Capability.StorageImageReadWithoutFormat,
        Capability.StorageImageWriteWithoutFormat,
    ),
    Aspect.IMAGE,
)
"""What kernels with images may declare, and others must not; which of them depends on what they do."""


class ImageMetadata(Protocol):
    """What is recorded of an image: a `SplitModule`, or a `DeviceImage`."""

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """Its entry points."""
        ...

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """The constants that it refers to."""
        ...

    @property
    def requirements(self) -> Requirements:
        """What a device must have."""
        ...


def disagreements(reflection: Reflection, split: ImageMetadata, env: TargetEnv) -> tuple[str, ...]:
    """Returns every difference between a binary and its metadata, in words; empty where they agree."""
    found = [
        *_entry_points(reflection, split),
        *_spec_ids(reflection, split),
        *_aspects(reflection, split, env),
    ]
    entries = {entry.name: entry for entry in reflection.entry_points}
    for kernel in split.kernels:
        entry = entries.get(kernel.entry_point)
        if entry is not None:
            found += [*_bindings(entry, kernel), *_push_constants(entry, kernel), *_local_size(entry, kernel)]
    return tuple(found)


def _entry_points(reflection: Reflection, split: ImageMetadata) -> Iterator[str]:
    in_binary = sorted(entry.name for entry in reflection.entry_points)
    recorded = sorted(kernel.entry_point for kernel in split.kernels)
    if in_binary != recorded:
        yield f"the binary has entry points {in_binary}, the metadata {recorded}"


def _spec_ids(reflection: Reflection, split: ImageMetadata) -> Iterator[str]:
    in_binary = {constant.spec_id: constant for constant in reflection.spec_constants}
    native = (constant for constant in split.spec_constants if not constant.is_emulated)
    leaves = {leaf.spec_id: leaf for constant in native for leaf in constant.leaves}
    internal = {spec_id for kernel in split.kernels for spec_id in internal_spec_ids(kernel)}
    if set(in_binary) != set(leaves) | internal:
        expected = sorted(set(leaves) | internal)
        yield f"the binary has SpecIds {sorted(in_binary)}, the metadata {expected}"
    for spec_id in sorted(set(leaves) & internal):
        yield f"SpecId {spec_id} is both a user's constant and one of the runtime's"
    for spec_id, leaf in leaves.items():
        constant = in_binary.get(spec_id)
        # A bool has 4 bytes in the binary's view (VkBool32) and 1 in the host value.
        size = 4 if leaf.dtype == "bool" else leaf.size_bytes
        if constant is not None and constant.size_bytes != size:
            yield f"SpecId {spec_id} has {constant.size_bytes} bytes in the binary, {size} in the metadata"


def internal_spec_ids(kernel: KernelInfo) -> Iterator[int]:
    """Yields the SpecIds that the runtime sets by itself: of the local size, of arrays that a launch gives, of debug
    mode."""
    yield from (number for number in kernel.abi.local_size_spec_ids or () if number is not None)
    if kernel.abi.without_notes_spec_id is not None:
        yield kernel.abi.without_notes_spec_id
    for parameter in kernel.parameters:
        if isinstance(parameter, LocalParameter):
            yield from (spec_id for spec_id in parameter.spec_ids if spec_id is not None)


def _bindings(entry: EntryPoint, kernel: KernelInfo) -> Iterator[str]:
    recorded = {
        (parameter.descriptor_set, parameter.binding): parameter.name
        for parameter in kernel.parameters
        if isinstance(parameter, BufferParameter | ImageParameter)
    }
    if kernel.abi.argument_block_binding is not None:
        recorded[0, kernel.abi.argument_block_binding] = "argument block"
    if kernel.abi.report_binding is not None:
        recorded[0, kernel.abi.report_binding] = "report buffer"
    protected = {
        p.name
        for p in kernel.parameters
        if isinstance(p, BufferParameter) and p.access == "read" and not p.may_alias
    }
    for binding in entry.bindings:
        place = (binding.descriptor_set, binding.binding)
        name = recorded.get(place)
        if name is None:
            yield f"kernel '{kernel.name}' uses set {place[0]} binding {place[1]}, which no parameter has"
        elif name in protected and not binding.non_writable:
            yield f"kernel '{kernel.name}' could write parameter '{name}', which is only read"


def _push_constants(entry: EntryPoint, kernel: KernelInfo) -> Iterator[str]:
    block, abi = entry.push_constants, kernel.abi
    if block is None:
        return
    if abi.argument_block_binding is not None:
        yield f"kernel '{kernel.name}' has push constants, but its argument block is a buffer"
    if block.size_bytes > abi.argument_block_bytes:
        yield (
            f"kernel '{kernel.name}' reads {block.size_bytes} bytes of push constants, "
            f"the metadata has {abi.argument_block_bytes}"
        )


def _local_size(entry: EntryPoint, kernel: KernelInfo) -> Iterator[str]:
    in_binary = (None, None, None) if entry.local_size is None else entry.local_size.spec_ids
    recorded = kernel.abi.local_size_spec_ids or (None, None, None)
    if in_binary != recorded:
        yield f"kernel '{kernel.name}' takes its local size from SpecIds {in_binary}, the metadata {recorded}"


BINDING_MODEL_ASPECTS = frozenset({Aspect.VK_BUFFER_DEVICE_ADDRESS, Aspect.VK_VULKAN_MEMORY_MODEL})
"""What a module may need for the way it is made, whatever its kernels use: no requirement of a kernel."""


def _aspects(reflection: Reflection, split: ImageMetadata, env: TargetEnv) -> Iterator[str]:
    """Compares the aspects that follow from the binary with those that the IR gave, both ways."""
    needed = {aspect for kernel in split.kernels for aspect in kernel.aspects}
    if split.requirements.fixed_targets is None:  # with fixed targets, these stand for the aspects
        needed = set(split.requirements.aspects)
    exempt = set(BINDING_MODEL_ASPECTS)
    if env.loop_iteration_cap is not None:
        # What counts rounds is no requirement of a kernel: every device with a cap has it.
        exempt |= {Aspect.VK_SUBGROUP_BASIC, Aspect.VK_SUBGROUP_ARITHMETIC}
    if env.binding_model is BindingModel.ADDRESS:
        # How addresses are computed, as addresses themselves.
        exempt |= {Aspect.VK_INT64} & set(env.optional_aspects)
    aspects = {c: ASPECT_OF_CAPABILITY.get(c) or _OF_IMAGES.get(c) for c in reflection.capabilities}
    # What a capability implies comes with its feature: sub-group arithmetic has the basic operations in it.
    implied = capability_closure(c for c, aspect in aspects.items() if aspect in needed | exempt)
    for capability, aspect in aspects.items():
        if aspect is not None and aspect not in needed | exempt and capability not in implied:
            name = enumerant_name("Capability", capability)
            yield f"capability {name} needs aspect {aspect.spelling}, which is no requirement of the image"
    used = {use.aspect for kernel in split.kernels for use in kernel.aspect_uses if not use.is_declared}
    for aspect, row in ASPECT_ROWS.items():
        enough = {*row.capabilities, *_ALSO_ENOUGH.get(aspect, ())}
        if aspect in used and row.capabilities and not enough & set(reflection.capabilities):
            yield f"the image requires aspect {aspect.spelling}, but its code declares no such capability"
