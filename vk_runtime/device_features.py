"""Which Vulkan features the runtime asks about, which it enables, and the aspects that follow from them.

Pure data and functions: what a driver reports goes in as sets of names, so that a device made without some
features (a masked one) is judged by the same code.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..ir.aspect_table import ASPECT_ROWS
from ..ir.aspects import Aspect
from .constants import (
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
    VK_PHYSICAL_DEVICE_TYPE_OTHER,
    VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
)


@dataclass(frozen=True, slots=True)
class FeatureStruct:
    """A struct in the pNext chain of VkPhysicalDeviceFeatures2."""

    name: str
    min_version: tuple[int, int] = (1, 0)
    """Vulkan version from which it may be chained."""
    extension: str | None = None
    """Extension without which it may not be chained."""


FEATURE_STRUCTS = (
    FeatureStruct("VkPhysicalDeviceVulkan11Features", (1, 2)),
    FeatureStruct("VkPhysicalDeviceVulkan12Features", (1, 2)),
    FeatureStruct("VkPhysicalDeviceVulkan13Features", (1, 3)),
    FeatureStruct("VkPhysicalDeviceShaderAtomicFloatFeaturesEXT", extension="VK_EXT_shader_atomic_float"),
    FeatureStruct("VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT", extension="VK_EXT_shader_atomic_float2"),
    FeatureStruct("VkPhysicalDeviceCooperativeMatrixFeaturesKHR", extension="VK_KHR_cooperative_matrix"),
    FeatureStruct(
        "VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR",
        extension="VK_KHR_pipeline_executable_properties",
    ),
)
"""The structs asked of every device, beside VkPhysicalDeviceFeatures itself."""

REQUIRED_FEATURES = ("timelineSemaphore",)
"""Without these a device is not listed: queues are one timeline semaphore each."""

USED_FEATURES = frozenset(
    {
        "robustBufferAccess",  # any index is harmless
        "sparseBinding",  # arrays larger than maxMemoryAllocationSize
        "shaderFloat64",
        "shaderInt64",
        "shaderInt16",
        "storageBuffer16BitAccess",
        "uniformAndStorageBuffer16BitAccess",
        "storagePushConstant16",
        "storagePushConstant8",
        "variablePointers",
        "variablePointersStorageBuffer",
        "storageBuffer8BitAccess",
        "uniformAndStorageBuffer8BitAccess",
        "shaderBufferInt64Atomics",
        "shaderSharedInt64Atomics",
        "shaderFloat16",
        "shaderInt8",
        "scalarBlockLayout",
        "uniformBufferStandardLayout",
        "shaderSubgroupExtendedTypes",
        "timelineSemaphore",
        "bufferDeviceAddress",
        "vulkanMemoryModel",
        "vulkanMemoryModelDeviceScope",
        "subgroupSizeControl",
        "computeFullSubgroups",
        "synchronization2",
        "maintenance4",  # LocalSizeId
        "shaderTerminateInvocation",
        "shaderZeroInitializeWorkgroupMemory",
        "shaderIntegerDotProduct",
        "shaderBufferFloat32Atomics",
        "shaderBufferFloat32AtomicAdd",
        "shaderBufferFloat64Atomics",
        "shaderBufferFloat64AtomicAdd",
        "shaderSharedFloat32Atomics",
        "shaderSharedFloat32AtomicAdd",
        "shaderSharedFloat64Atomics",
        "shaderSharedFloat64AtomicAdd",
        "shaderBufferFloat32AtomicMinMax",
        "shaderSharedFloat32AtomicMinMax",
        "cooperativeMatrix",
        "pipelineExecutableInfo",  # statistics, of pipelines that ask for them
        "pipelineBinaries",  # native images; see `pipeline_binary`
        "robustImageAccess",  # any coordinate is harmless
        "shaderImageGatherExtended",
        "shaderStorageImageReadWithoutFormat",
        "shaderStorageImageWriteWithoutFormat",
    }
)
"""The features that are enabled where a device has them; everything else stays off."""

_ASPECT_OF_TYPE = {
    VK_PHYSICAL_DEVICE_TYPE_CPU: Aspect.CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: Aspect.GPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: Aspect.GPU,
    VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: Aspect.GPU,
    VK_PHYSICAL_DEVICE_TYPE_OTHER: Aspect.CUSTOM,
}

# The compiler runs on the host, so every device has these two (behaviours ST-10).
_ALWAYS = frozenset({Aspect.ONLINE_COMPILER, Aspect.ONLINE_LINKER})


def aspects_of(
    features: Collection[str],
    *,
    device_type: int,
    subgroup_operations: int,
    has_timestamps: bool,
) -> frozenset[Aspect]:
    """Returns the aspects of a device.

    Args:
        features: names of the Vulkan features that are on.
        device_type: VkPhysicalDeviceType.
        subgroup_operations: VkSubgroupFeatureFlags of the compute stage.
        has_timestamps: whether the compute queue writes timestamps.
    """
    aspects = {_ASPECT_OF_TYPE.get(device_type, Aspect.CUSTOM)} | _ALWAYS
    for row in ASPECT_ROWS.values():
        has_operations = row.sub_group_operations & subgroup_operations == row.sub_group_operations
        if has_operations and all(name in features for name in row.features):
            aspects.add(row.aspect)
    if has_timestamps:
        aspects.add(Aspect.QUEUE_PROFILING)
    return frozenset(aspects)


CALIBRATION_EXTENSIONS = ("VK_KHR_calibrated_timestamps", "VK_EXT_calibrated_timestamps")
"""Both clocks at one moment, see `calibration`: the same functions, but for the last letters of their names."""


def calibration_extension(extensions: Collection[str]) -> str | None:
    """Returns the extension of `CALIBRATION_EXTENSIONS` to enable and use; None where a device has none."""
    return next((name for name in CALIBRATION_EXTENSIONS if name in extensions), None)
