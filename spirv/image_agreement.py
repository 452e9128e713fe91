"""Compares a binary with the metadata that the passes recorded for it.

A launch trusts the metadata and never reads the binary, so a difference would bind the wrong buffer or set
the wrong constant.  Checked: entry points, descriptor bindings, push constants, SpecIds and their sizes,
local sizes, and that every capability's aspect is among the requirements.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.aspects import Aspect
from ..ir.kernel_info import BufferParameter, KernelInfo
from ..ir.split_module import SplitModule
from ..ir.target_env import TargetEnv
from .reflection import EntryPoint, Reflection
from .tables import Capability, enumerant_name

CAPABILITY_ASPECTS: dict[int, Aspect] = {
    Capability.Float64: Aspect.FP64,
    Capability.Float16: Aspect.FP16,
    Capability.Int64: Aspect.VK_INT64,
    Capability.Int16: Aspect.VK_INT16,
    Capability.Int8: Aspect.VK_INT8,
    Capability.StorageBuffer8BitAccess: Aspect.VK_STORAGE_8BIT,
    Capability.StorageBuffer16BitAccess: Aspect.VK_STORAGE_16BIT,
    Capability.Int64Atomics: Aspect.ATOMIC64,
    Capability.AtomicFloat32AddEXT: Aspect.VK_FLOAT_ATOMIC_ADD,
    Capability.AtomicFloat32MinMaxEXT: Aspect.VK_FLOAT_ATOMIC_MIN_MAX,
    Capability.GroupNonUniformVote: Aspect.VK_SUBGROUP_VOTE,
    Capability.GroupNonUniformArithmetic: Aspect.VK_SUBGROUP_ARITHMETIC,
    Capability.GroupNonUniformBallot: Aspect.VK_SUBGROUP_BALLOT,
    Capability.GroupNonUniformShuffle: Aspect.VK_SUBGROUP_SHUFFLE,
    Capability.GroupNonUniformShuffleRelative: Aspect.VK_SUBGROUP_SHUFFLE_RELATIVE,
}
"""Capabilities that are optional in Vulkan, with the aspect that stands for them."""


def disagreements(reflection: Reflection, split: SplitModule, env: TargetEnv) -> tuple[str, ...]:
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


def _entry_points(reflection: Reflection, split: SplitModule) -> Iterator[str]:
    in_binary = sorted(entry.name for entry in reflection.entry_points)
    recorded = sorted(kernel.entry_point for kernel in split.kernels)
    if in_binary != recorded:
        yield f"the binary has entry points {in_binary}, the metadata {recorded}"


def _spec_ids(reflection: Reflection, split: SplitModule) -> Iterator[str]:
    in_binary = {constant.spec_id: constant for constant in reflection.spec_constants}
    leaves = {leaf.spec_id: leaf for constant in split.spec_constants for leaf in constant.leaves}
    internal = {spec_id for kernel in split.kernels for spec_id in kernel.abi.local_size_spec_ids or ()}
    if set(in_binary) != set(leaves) | internal:
        expected = sorted(set(leaves) | internal)
        yield f"the binary has SpecIds {sorted(in_binary)}, the metadata {expected}"
    for spec_id in sorted(set(leaves) & internal):
        yield f"SpecId {spec_id} is both a user's constant and a local size"
    for spec_id, leaf in leaves.items():
        constant = in_binary.get(spec_id)
        # A bool has 4 bytes in the binary's view (VkBool32) and 1 in the host value.
        size = 4 if leaf.dtype == "bool" else leaf.size_bytes
        if constant is not None and constant.size_bytes != size:
            yield f"SpecId {spec_id} has {constant.size_bytes} bytes in the binary, {size} in the metadata"


def _bindings(entry: EntryPoint, kernel: KernelInfo) -> Iterator[str]:
    recorded = {
        (parameter.descriptor_set, parameter.binding): parameter.name
        for parameter in kernel.parameters
        if isinstance(parameter, BufferParameter)
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


def _aspects(reflection: Reflection, split: SplitModule, env: TargetEnv) -> Iterator[str]:
    for capability in reflection.capabilities:
        if capability == Capability.GroupNonUniformArithmetic and env.loop_iteration_cap is not None:
            continue  # what counts rounds for such devices, which all have it, is no requirement of the kernel
        aspect = CAPABILITY_ASPECTS.get(capability)
        if aspect is not None and int(aspect) not in split.requirements.aspects:
            name = enumerant_name("Capability", capability)
            yield f"capability {name} needs aspect {aspect.spelling}, which is no requirement of the image"
