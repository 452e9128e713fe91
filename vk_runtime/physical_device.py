"""What a driver says about one physical device: identity, features, limits, memory, queue families.

Read once, into plain Python values; no VkDevice is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .constants import (
    VK_MEMORY_HEAP_DEVICE_LOCAL_BIT,
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
    VK_SHADER_STAGE_COMPUTE_BIT,
)
from .device_features import FEATURE_STRUCTS, REQUIRED_FEATURES, FeatureStruct
from .headers import HEADER_API_VERSION, NULL, bool_members, chain, ffi, make, text_of, version_tuple
from .instance import Instance, enumerate_all
from .pipeline_binary_feature import read_features as read_pipeline_binary_features
from .queue_families import read_queue_families

MINIMUM_API_VERSION = (1, 2)
"""Older devices are not used: timeline semaphores are core from here on."""


class UnusableDeviceError(Exception):
    """A physical device that this runtime cannot drive; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLimits:
    """The limits that launches and allocations are checked against.  Tuples are (x, y, z)."""

    max_work_group_invocations: int
    max_work_group_size: tuple[int, int, int]
    """Largest local size of each dimension."""
    busy_work_groups: int
    """Work-groups that keep all processors busy: launches without a local size have so many, where their range is large
    enough; 0: any number does."""
    least_work_group: int
    """Work-items of the smallest work-groups that such launches have for that."""
    max_work_group_count: tuple[int, int, int]
    """Work-groups of one dispatch."""
    max_shared_memory_bytes: int
    max_push_constant_bytes: int
    max_uniform_buffer_range_bytes: int
    max_uniform_buffers: int
    """Uniform buffers that one kernel can bind."""
    max_storage_buffer_range_bytes: int
    max_storage_buffers: int
    """Storage buffers that one kernel can bind."""
    max_storage_images: int
    """Storage images that one kernel can bind."""
    max_sampled_images: int
    """Images that one kernel can bind to read or sample."""
    max_samplers: int
    """Samplers that one kernel can bind."""
    max_image_extents: tuple[int, int, int]
    """Largest extent of images of one, two and three dimensions."""
    min_storage_buffer_offset_alignment: int
    min_uniform_buffer_offset_alignment: int
    max_memory_allocation_bytes: int
    sparse_address_space_bytes: int
    """Bytes of all arrays that are put together of several allocations; see `PhysicalDevice.can_bind_sparse`."""
    max_buffer_bytes: int
    timestamp_period_ns: float
    """Nanoseconds of one timestamp tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryType:
    """One VkMemoryType with its heap."""

    index: int
    properties: int
    """VkMemoryPropertyFlags."""
    heap_index: int
    heap_bytes: int
    is_heap_device_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalDevice:
    """A VkPhysicalDevice and all that was read from it.  Borrows `instance`."""

    instance: Instance
    raw: Any
    name: str
    device_type: int
    """VkPhysicalDeviceType."""
    vendor_id: int
    device_id: int
    driver_id: int
    """VkDriverId."""
    driver_name: str
    driver_info: str
    """The driver's own version text."""
    device_uuid: bytes
    driver_uuid: bytes
    """Equal for drivers whose code is interchangeable (VkPhysicalDeviceIDProperties)."""
    driver_version: int
    pipeline_cache_uuid: bytes
    """Changes whenever the driver no longer reads its older pipeline caches."""
    reported_api_version: tuple[int, int, int]
    """What the driver says, but not above the loader's own version."""
    api_version: tuple[int, int]
    """The version that is used: at most the one this runtime is written against."""
    extensions: frozenset[str]
    features: frozenset[str]
    """Names of the features that the device has, of every struct of `FEATURE_STRUCTS`."""
    limits: DeviceLimits
    signed_zero_inf_nan_preserve_bits: tuple[int, ...]
    """Float widths whose NaN, infinities and -0.0 shaders can have kept."""
    subgroup_size: int
    """Of pipelines that ask for none, unless the driver lets it vary."""
    sub_group_sizes: tuple[int, ...]
    """The sizes that a kernel can ask for, ascending."""
    can_choose_subgroup_size: bool
    """Whether a pipeline can demand a size: there are several."""
    subgroup_operations: int
    """VkSubgroupFeatureFlags that compute shaders may use."""
    memory_types: tuple[MemoryType, ...]
    compute_units: int | None
    """Processors, where the driver says it (NVIDIA's streaming multiprocessors, AMD's compute units, Arm's cores)."""
    queue_family_index: int
    compute_queue_families: tuple[int, ...]
    """Every family whose queues compute, ascending."""
    transfer_queue_family: int | None
    """A family whose queues only copy, beside what computes; None where there is none."""
    sparse_queue_families: tuple[int, ...]
    """Every family whose queues put memory under buffers."""
    timestamp_valid_bits: int
    """Of the family `queue_family_index`."""
    timestamp_bits_of_families: tuple[int, ...]
    """The same of every family."""

    @property
    def can_bind_sparse(self) -> bool:
        """Whether an array may be put together of several allocations."""
        return "sparseBinding" in self.features and self.queue_family_index in self.sparse_queue_families

    @property
    def max_array_bytes(self) -> int:
        """Bytes that one array may have, memory permitting."""
        limits = self.limits
        of_memory = (
            limits.sparse_address_space_bytes if self.can_bind_sparse else limits.max_memory_allocation_bytes
        )
        return min(of_memory, limits.max_buffer_bytes)


def read_physical_device(instance: Instance, raw: Any) -> PhysicalDevice:
    """Asks a physical device for everything the runtime needs.

    Raises:
        UnusableDeviceError: it is too old, has no compute queue, or lacks a required feature.
    """
    vk = instance.vk
    first = ffi.new("VkPhysicalDeviceProperties*")
    vk.vkGetPhysicalDeviceProperties(raw, first)
    name = text_of(first.deviceName)
    reported = version_tuple(first.apiVersion)
    if reported[:2] < MINIMUM_API_VERSION:
        raise UnusableDeviceError(f"'{name}' has Vulkan {reported[0]}.{reported[1]}; 1.2 or newer is needed")
    version = min(reported[:2], HEADER_API_VERSION)
    extensions = _extensions(instance, raw)
    features = _features(instance, raw, version, extensions)
    features |= read_pipeline_binary_features(instance, raw, version, extensions)
    missing = [feature for feature in REQUIRED_FEATURES if feature not in features]
    if missing:
        raise UnusableDeviceError(f"'{name}' lacks the Vulkan feature {', '.join(missing)}")
    properties, of_11, of_12, of_13 = _properties(instance, raw, version)
    families = read_queue_families(instance, raw, of_12.driverID)
    if not families.computing:
        raise UnusableDeviceError(f"'{name}' has no queue family that computes")
    base = properties.properties
    sizes = _sub_group_sizes(features, of_11, of_13)
    is_compute = of_11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT
    units = _compute_units(instance, raw, extensions)
    return PhysicalDevice(
        instance=instance,
        raw=raw,
        name=name,
        device_type=base.deviceType,
        vendor_id=base.vendorID,
        device_id=base.deviceID,
        driver_id=of_12.driverID,
        driver_name=text_of(of_12.driverName),
        driver_info=text_of(of_12.driverInfo) or ".".join(map(str, version_tuple(base.driverVersion))),
        device_uuid=bytes(ffi.buffer(of_11.deviceUUID)),
        driver_uuid=bytes(ffi.buffer(of_11.driverUUID)),
        driver_version=base.driverVersion,
        pipeline_cache_uuid=bytes(ffi.buffer(base.pipelineCacheUUID)),
        reported_api_version=min(reported, instance.api_version),
        api_version=version,
        extensions=extensions,
        features=features,
        limits=_limits(base.limits, of_11, of_13, busy_work_groups(base.deviceType, units)),
        signed_zero_inf_nan_preserve_bits=tuple(
            bits for bits in (16, 32, 64) if getattr(of_12, f"shaderSignedZeroInfNanPreserveFloat{bits}")
        ),
        subgroup_size=of_11.subgroupSize,
        sub_group_sizes=sizes,
        can_choose_subgroup_size=len(sizes) > 1,
        subgroup_operations=of_11.subgroupSupportedOperations if is_compute else 0,
        memory_types=_memory_types(instance, raw),
        compute_units=units,
        queue_family_index=families.computing[0],
        compute_queue_families=tuple(sorted(families.computing)),
        transfer_queue_family=families.copying,
        sparse_queue_families=families.binding_sparse,
        timestamp_valid_bits=families.timestamp_bits[families.computing[0]],
        timestamp_bits_of_families=families.timestamp_bits,
    )


def feature_structs(version: tuple[int, int], extensions: frozenset[str]) -> list[FeatureStruct]:
    """Returns the feature structs that may be chained for a device of this version and these extensions."""
    return [
        item
        for item in FEATURE_STRUCTS
        if version >= item.min_version and (item.extension is None or item.extension in extensions)
    ]


def _extensions(instance: Instance, raw: Any) -> frozenset[str]:
    found = enumerate_all(
        instance.vk.vkEnumerateDeviceExtensionProperties,
        "vkEnumerateDeviceExtensionProperties",
        "VkExtensionProperties",
        raw,
        NULL,
        read=lambda item: text_of(item.extensionName),
    )
    return frozenset(found)


def _features(
    instance: Instance, raw: Any, version: tuple[int, int], extensions: frozenset[str]
) -> frozenset[str]:
    described = feature_structs(version, extensions)
    structs = [make(item.name) for item in described]
    root = make("VkPhysicalDeviceFeatures2")
    chain(root, *structs)
    instance.vk.vkGetPhysicalDeviceFeatures2(raw, root)
    found = {n for n in bool_members("VkPhysicalDeviceFeatures") if getattr(root.features, n)}
    for item, struct in zip(described, structs, strict=True):
        found |= {n for n in bool_members(item.name) if getattr(struct, n)}
    return frozenset(found)


def _properties(instance: Instance, raw: Any, version: tuple[int, int]) -> tuple[Any, Any, Any, Any]:
    root = make("VkPhysicalDeviceProperties2")
    of_11 = make("VkPhysicalDeviceVulkan11Properties")
    of_12 = make("VkPhysicalDeviceVulkan12Properties")
    of_13 = make("VkPhysicalDeviceVulkan13Properties")
    chain(root, of_11, of_12, *([of_13] if version >= (1, 3) else []))
    instance.vk.vkGetPhysicalDeviceProperties2(raw, root)
    return root, of_11, of_12, of_13


def _compute_units(instance: Instance, raw: Any, extensions: frozenset[str]) -> int | None:
    root = make("VkPhysicalDeviceProperties2")
    if "VK_NV_shader_sm_builtins" in extensions:
        nvidia = make("VkPhysicalDeviceShaderSMBuiltinsPropertiesNV")
        instance.vk.vkGetPhysicalDeviceProperties2(raw, chain(root, nvidia))
        return nvidia.shaderSMCount or None
    if "VK_AMD_shader_core_properties" in extensions:
        amd = make("VkPhysicalDeviceShaderCorePropertiesAMD")
        instance.vk.vkGetPhysicalDeviceProperties2(raw, chain(root, amd))
        arrays = amd.shaderEngineCount * amd.shaderArraysPerEngineCount
        return arrays * amd.computeUnitsPerShaderArray or None
    if "VK_ARM_shader_core_builtins" in extensions:
        arm = make("VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM")
        instance.vk.vkGetPhysicalDeviceProperties2(raw, chain(root, arm))
        return arm.shaderCoreCount or None
    return None


def busy_work_groups(device_type: int, compute_units: int | None) -> int:
    """Returns `DeviceLimits.busy_work_groups`: two for each processor of a GPU, of which few are assumed where the
    driver does not say how many there are.

    On an NVIDIA H200 four for each cost light kernels nothing (saxpy of 16384 work-items in groups of 32), eight
    0.3 µs; fewer than two take heavy ones longer: n-body of 8192 bodies 531 µs in groups of 256, 467 in groups of 32.
    """
    if device_type == VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 0
    return 2 * (compute_units or _ASSUMED_UNITS.get(device_type, 8))


_ASSUMED_UNITS = {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: 32}


def _limits(limits: Any, of_11: Any, of_13: Any, busy: int) -> DeviceLimits:
    allocation = of_11.maxMemoryAllocationSize
    return DeviceLimits(
        max_work_group_invocations=limits.maxComputeWorkGroupInvocations,
        max_work_group_size=tuple(limits.maxComputeWorkGroupSize),
        max_work_group_count=tuple(limits.maxComputeWorkGroupCount),
        busy_work_groups=busy,
        least_work_group=of_11.subgroupSize,
        max_shared_memory_bytes=limits.maxComputeSharedMemorySize,
        max_push_constant_bytes=limits.maxPushConstantsSize,
        max_uniform_buffer_range_bytes=limits.maxUniformBufferRange,
        max_uniform_buffers=min(
            limits.maxPerStageDescriptorUniformBuffers, limits.maxDescriptorSetUniformBuffers
        ),
        max_storage_buffer_range_bytes=limits.maxStorageBufferRange,
        max_storage_buffers=min(
            limits.maxPerStageDescriptorStorageBuffers,
            limits.maxDescriptorSetStorageBuffers,
            limits.maxPerStageResources,
        ),
        max_storage_images=min(
            limits.maxPerStageDescriptorStorageImages, limits.maxDescriptorSetStorageImages
        ),
        max_sampled_images=min(
            limits.maxPerStageDescriptorSampledImages, limits.maxDescriptorSetSampledImages
        ),
        max_samplers=min(limits.maxPerStageDescriptorSamplers, limits.maxDescriptorSetSamplers),
        max_image_extents=(
            limits.maxImageDimension1D,
            limits.maxImageDimension2D,
            limits.maxImageDimension3D,
        ),
        min_storage_buffer_offset_alignment=limits.minStorageBufferOffsetAlignment,
        min_uniform_buffer_offset_alignment=limits.minUniformBufferOffsetAlignment,
        max_memory_allocation_bytes=allocation,
        sparse_address_space_bytes=limits.sparseAddressSpaceSize,
        max_buffer_bytes=of_13.maxBufferSize or allocation,
        timestamp_period_ns=limits.timestampPeriod,
    )


def _sub_group_sizes(features: frozenset[str], of_11: Any, of_13: Any) -> tuple[int, ...]:
    can_choose = of_13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT
    if "subgroupSizeControl" not in features or not can_choose:
        return (of_11.subgroupSize,)
    powers = (1 << exponent for exponent in range(32))
    return tuple(size for size in powers if of_13.minSubgroupSize <= size <= of_13.maxSubgroupSize)


def _memory_types(instance: Instance, raw: Any) -> tuple[MemoryType, ...]:
    memory = ffi.new("VkPhysicalDeviceMemoryProperties*")
    instance.vk.vkGetPhysicalDeviceMemoryProperties(raw, memory)
    heaps = [memory.memoryHeaps[i] for i in range(memory.memoryHeapCount)]
    types = [memory.memoryTypes[i] for i in range(memory.memoryTypeCount)]
    return tuple(
        MemoryType(
            index=index,
            properties=item.propertyFlags,
            heap_index=item.heapIndex,
            heap_bytes=heaps[item.heapIndex].size,
            is_heap_device_local=bool(heaps[item.heapIndex].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT),
        )
        for index, item in enumerate(types)
    )
