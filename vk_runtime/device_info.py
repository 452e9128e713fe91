"""DeviceInfo: what a device can do, under the names of SYCL's ``info::device``.

What Vulkan does not tell is 0 or empty, and says so.  Sizes are in SYCL's order, slowest dimension first.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..ir.aspects import Aspect
from ..ir.errors import InvalidError
from .constants import (
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
)
from .device_habits import DeviceHabits
from .items import items
from .physical_device import PhysicalDevice

if TYPE_CHECKING:
    from .device import Device
    from .device_list import Platform
    from .kernel_id import KernelId

MEMORY_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
"""Orders of atomic operations and fences in kernels, on every device."""
MEMORY_SCOPES = ("work_item", "sub_group", "work_group", "device")
"""Scopes of these."""


class DeviceType(enum.Enum):
    """Kinds of devices (SYCL 2020, ``info::device_type``)."""

    cpu = "cpu"
    gpu = "gpu"
    accelerator = "accelerator"
    custom = "custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo(DeviceHabits):
    """What a device can do, under SYCL's names (``info::device``).  Sizes in SYCL's order, slowest first."""

    name: str
    vendor: str
    """PCI vendor number as hexadecimal text, or the registered Khronos one."""
    vendor_id: int
    driver_version: str
    version: str
    """Vulkan version: ``1.3.230``."""
    extensions: tuple[str, ...] = field(repr=False)
    """Vulkan extensions of the device, in alphabetical order; 80 and more, so that `repr` leaves them out."""
    max_compute_units: int
    """Processors: of a CPU what the operating system says, of a GPU where the driver says it; else 1."""
    max_work_group_size: int
    """Work-items of a work-group."""
    max_work_item_dimensions: int
    max_work_item_sizes: tuple[int, int, int]
    """Largest local size of each dimension."""
    max_num_sub_groups: int
    """Sub-groups of the largest work-group."""
    sub_group_sizes: tuple[int, ...]
    local_mem_size: int
    """Bytes of shared memory of a work-group."""
    global_mem_size: int
    """Bytes of the largest heap that arrays lie in."""
    max_mem_alloc_size: int
    """Bytes of the largest array."""
    max_parameter_size: int
    """Bytes of all arguments of a kernel that are no arrays."""
    mem_base_addr_align: int
    """Alignment of arrays in memory, in bits."""
    address_bits: int
    """64 where the device has addresses (bufferDeviceAddress), else 32."""
    host_unified_memory: bool
    """Whether host and device share memory."""
    profiling_timer_resolution: int
    """Nanoseconds of a tick of the device's timer, at least 1; 0 without timer."""
    _owner: Device = field(repr=False, compare=False)
    """The device."""

    @property
    def device_type(self) -> DeviceType:
        """``cpu``, ``gpu``, ``accelerator``, or ``custom`` for anything else."""
        for kind in (DeviceType.cpu, DeviceType.gpu, DeviceType.accelerator):
            if self._owner.has(Aspect[kind.name.upper()]):
                return kind
        return DeviceType.custom

    @property
    def platform(self) -> Platform:
        """The driver that it belongs to."""
        return self._owner.platform

    @property
    def aspects(self) -> tuple[Aspect, ...]:
        """Every aspect that it has, by number."""
        return items(sorted(self._owner.aspects))

    @property
    def built_in_kernel_ids(self) -> tuple[KernelId, ...]:
        """The kernels that come with it, see ``docs/kernel-bundles.md``; no other device has them."""
        return items(self._owner.built_in_kernel_ids)

    @property
    def built_in_kernels(self) -> tuple[str, ...]:
        """The names of these."""
        return items(id_.name for id_ in self._owner.built_in_kernel_ids)

    @property
    def backend_version(self) -> str:
        """`version`."""
        return self.version

    @property
    def is_available(self) -> bool:
        """True: a device that is not is not listed."""
        return True

    @property
    def is_compiler_available(self) -> bool:
        """Whether it has the aspect online_compiler."""
        return self._owner.has(Aspect.ONLINE_COMPILER)

    @property
    def is_linker_available(self) -> bool:
        """Whether it has the aspect online_linker."""
        return self._owner.has(Aspect.ONLINE_LINKER)

    @property
    def queue_profiling(self) -> bool:
        """Whether queues can time commands."""
        return self._owner.has(Aspect.QUEUE_PROFILING)

    @property
    def image_support(self) -> bool:
        """Whether it has the aspect image."""
        return self._owner.has(Aspect.IMAGE)

    @property
    def max_read_image_args(self) -> int:
        """Images that a kernel may read or sample; 0 without the aspect image."""
        return self._owner.physical.limits.max_sampled_images if self.image_support else 0

    @property
    def max_write_image_args(self) -> int:
        """Images that a kernel may write; 0 without the aspect image."""
        return self._owner.physical.limits.max_storage_images if self.image_support else 0

    @property
    def max_samplers(self) -> int:
        """Sampled images that a kernel may have; 0 without the aspect image."""
        return self._owner.physical.limits.max_samplers if self.image_support else 0

    @property
    def image2d_max_height(self) -> int:
        """Largest extent of a 2-D image along dimension 0; 0 without the aspect image."""
        return self._image_extent(2)

    @property
    def image2d_max_width(self) -> int:
        """Largest extent of a 2-D image along dimension 1; 0 without the aspect image."""
        return self._image_extent(2)

    @property
    def image3d_max_depth(self) -> int:
        """Largest extent of a 3-D image along dimension 0; 0 without the aspect image."""
        return self._image_extent(3)

    @property
    def image3d_max_height(self) -> int:
        """Largest extent of a 3-D image along dimension 1; 0 without the aspect image."""
        return self._image_extent(3)

    @property
    def image3d_max_width(self) -> int:
        """Largest extent of a 3-D image along dimension 2; 0 without the aspect image."""
        return self._image_extent(3)

    def _image_extent(self, ndim: int) -> int:
        return self._owner.physical.limits.max_image_extents[ndim - 1] if self.image_support else 0

    @property
    def is_endian_little(self) -> bool:
        """True: Vulkan has the host's byte order, and lapilli runs on little-endian hosts."""
        return True

    @property
    def error_correction_support(self) -> bool:
        """False: Vulkan does not say."""
        return False

    @property
    def execution_capabilities(self) -> tuple[str, ...]:
        """What it executes."""
        return ("exec_kernel",)

    @property
    def atomic_memory_order_capabilities(self) -> tuple[str, ...]:
        """``order=`` of ``lp.atomic``."""
        return MEMORY_ORDERS

    @property
    def atomic_fence_order_capabilities(self) -> tuple[str, ...]:
        """``order=`` of ``lp.mem_fence``."""
        return MEMORY_ORDERS

    @property
    def atomic_memory_scope_capabilities(self) -> tuple[str, ...]:
        """``scope=`` of ``lp.atomic``."""
        return MEMORY_SCOPES

    @property
    def atomic_fence_scope_capabilities(self) -> tuple[str, ...]:
        """``scope=`` of ``lp.mem_fence``."""
        return MEMORY_SCOPES

    @property
    def partition_max_sub_devices(self) -> int:
        """0: Vulkan devices cannot be divided."""
        return 0

    @property
    def partition_properties(self) -> tuple[str, ...]:
        """Empty: Vulkan devices cannot be divided."""
        return ()

    @property
    def parent_device(self) -> Device:
        """Raises InvalidError: Vulkan devices cannot be divided, so none is a part of another."""
        raise InvalidError(f"device '{self._owner.selector}' is no part of another device")


def device_info(physical: PhysicalDevice, owner: Device) -> DeviceInfo:
    """Returns what a driver's answers say about `owner`, masks included."""
    limits = physical.limits
    x, y, z = limits.max_work_group_size
    heap = max((m.heap_bytes for m in physical.memory_types if m.is_heap_device_local), default=0)
    is_cpu = physical.device_type == VK_PHYSICAL_DEVICE_TYPE_CPU
    is_unified = is_cpu or (
        physical.device_type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU
        and any(
            m.is_heap_device_local and m.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
            for m in physical.memory_types
        )
    )
    narrowest = min(physical.sub_group_sizes, default=0) or 1
    tick = limits.timestamp_period_ns if physical.timestamp_valid_bits else 0
    return DeviceInfo(
        name=physical.name,
        vendor=f"{physical.vendor_id:#06x}",
        vendor_id=physical.vendor_id,
        driver_version=physical.driver_info,
        version=".".join(map(str, physical.reported_api_version)),
        extensions=items(sorted(physical.extensions)),
        max_compute_units=(os.cpu_count() or 1) if is_cpu else physical.compute_units or 1,
        max_work_group_size=limits.max_work_group_invocations,
        max_work_item_dimensions=3,
        max_work_item_sizes=(z, y, x),
        max_num_sub_groups=max(1, -(-limits.max_work_group_invocations // narrowest)),
        sub_group_sizes=items(physical.sub_group_sizes),
        local_mem_size=limits.max_shared_memory_bytes,
        global_mem_size=heap,
        max_mem_alloc_size=min(physical.max_array_bytes, heap or physical.max_array_bytes),
        max_parameter_size=limits.max_storage_buffer_range_bytes,
        mem_base_addr_align=8 * limits.min_storage_buffer_offset_alignment,
        address_bits=64 if "bufferDeviceAddress" in physical.features else 32,
        host_unified_memory=is_unified,
        profiling_timer_resolution=max(1, round(tick)) if tick else 0,
        _owner=owner,
    )
