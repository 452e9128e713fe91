"""What a device must have for a foreign module: aspects and Vulkan features, from its capabilities and extensions.

A capability that is not listed here is one whose feature the runtime does not enable: the kernel is left out, and
no driver sees it.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.aspect_table import ASPECT_OF_CAPABILITY
from ..ir.aspects import Aspect
from .reflection import Reflection
from .tables import Capability, StorageClass, capability_closure, enumerant_name

_EVERYWHERE = frozenset(
    {
        Capability.Matrix,
        Capability.Shader,
        Capability.SignedZeroInfNanPreserve,  # by width: `TargetEnv.signed_zero_inf_nan_preserve_bits`
        Capability.DeviceGroup,
        Capability.Linkage,
        # Images themselves are an aspect, and of formats the device is asked for each image.
        Capability.Image1D,
        Capability.Sampled1D,
        Capability.ImageQuery,
        Capability.StorageImageExtendedFormats,
    }
)

_FEATURES = {
    Capability.UniformAndStorageBuffer16BitAccess: "uniformAndStorageBuffer16BitAccess",
    Capability.StoragePushConstant16: "storagePushConstant16",
    Capability.UniformAndStorageBuffer8BitAccess: "uniformAndStorageBuffer8BitAccess",
    Capability.StoragePushConstant8: "storagePushConstant8",
    Capability.VariablePointers: "variablePointers",
    Capability.VariablePointersStorageBuffer: "variablePointersStorageBuffer",
    Capability.VulkanMemoryModelDeviceScope: "vulkanMemoryModelDeviceScope",
    Capability.GroupNonUniformClustered: "subgroupClustered",
    Capability.GroupNonUniformQuad: "subgroupQuad",
    Capability.StorageImageReadWithoutFormat: "shaderStorageImageReadWithoutFormat",
    Capability.StorageImageWriteWithoutFormat: "shaderStorageImageWriteWithoutFormat",
    Capability.ImageGatherExtended: "shaderImageGatherExtended",
    Capability.DotProduct: "shaderIntegerDotProduct",
    Capability.DotProductInputAll: "shaderIntegerDotProduct",
    Capability.DotProductInput4x8Bit: "shaderIntegerDotProduct",
    Capability.DotProductInput4x8BitPacked: "shaderIntegerDotProduct",
}
"""Features of capabilities that are no aspects; ``subgroup…`` stands for an operation of the device's sub-groups."""

_EXTENSIONS = frozenset(
    {
        "SPV_KHR_storage_buffer_storage_class",
        "SPV_KHR_16bit_storage",
        "SPV_KHR_8bit_storage",
        "SPV_KHR_variable_pointers",
        "SPV_KHR_float_controls",
        "SPV_KHR_no_integer_wrap_decoration",
        "SPV_KHR_vulkan_memory_model",
        "SPV_KHR_physical_storage_buffer",
        "SPV_EXT_physical_storage_buffer",
        "SPV_KHR_integer_dot_product",
        "SPV_KHR_terminate_invocation",
        "SPV_KHR_device_group",
        "SPV_KHR_relaxed_extended_instruction",
        "SPV_KHR_bfloat16",
        "SPV_KHR_cooperative_matrix",
        "SPV_EXT_shader_atomic_float_add",
        "SPV_EXT_shader_atomic_float_min_max",
    }
)
"""Extensions that Vulkan 1.1 to 1.3 contain, or whose capabilities are aspects."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a module needs of a device."""

    aspects: dict[int, str]
    """Each aspect, ascending, with the capability that brings it."""
    features: tuple[str, ...]
    unknown: tuple[str, ...]
    """Capabilities and extensions that no device is known to have."""


def needs_of(reflection: Reflection) -> Needs:
    """Returns what a module with one entry point needs."""
    declared = reflection.capabilities
    aspects: dict[Aspect, str] = {}
    features: set[str] = set()
    unknown = [f"extension {name}" for name in reflection.extensions if name not in _EXTENSIONS]
    for capability in sorted(_with_implied(declared)):
        aspect = ASPECT_OF_CAPABILITY.get(capability)
        name = enumerant_name("Capability", capability)
        if aspect is not None:
            aspects.setdefault(aspect, f"capability {name}")
        elif capability in _FEATURES:
            features.add(_FEATURES[capability])
        elif capability not in _EVERYWHERE and capability in declared:
            unknown.append(f"capability {name}")
    bindings = (binding for entry in reflection.entry_points for binding in entry.bindings)
    if any(binding.storage_class == StorageClass.UniformConstant for binding in bindings):
        aspects.setdefault(Aspect.IMAGE, "an image")
    return Needs({int(a): aspects[a] for a in sorted(aspects)}, tuple(sorted(features)), tuple(unknown))


def _with_implied(declared: Iterable[int]) -> frozenset[int]:
    return capability_closure(declared)
