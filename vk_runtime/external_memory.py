"""Memory that others share: exported and imported as file descriptors, or imported from the host.

Such a buffer has a VkDeviceMemory of its own.  Which kinds a driver really takes is asked of it each time: drivers list
the extensions and still refuse (SwiftShader imports no host memory).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..ir.errors import FeatureNotSupportedError, InvalidError
from .buffer import BUFFER_USAGE, Buffer
from .constants import (
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
    VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
    VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
)
from .file_descriptors import require_shared_fd
from .headers import NULL, WHOLE_SIZE, address_of, chain, ffi, make
from .made import Made
from .physical_device import MemoryType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .logical_device import LogicalDevice

_OPAQUE_FD = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
_HOST = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
_EXTENSION_OF = {_OPAQUE_FD: "VK_KHR_external_memory_fd", _HOST: "VK_EXT_external_memory_host"}


def allocate_exportable(device: LogicalDevice, nbytes: int) -> Buffer:
    """Makes a buffer whose memory `export_fd` can export.  Hold the device's lock.

    Raises:
        FeatureNotSupportedError: the device exports no memory.
        MemoryAllocationError: there is none left.
    """
    what = f"exporting memory of device '{device.name}'"
    _require(device, _OPAQUE_FD, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, what)
    size = max((nbytes + 3) & ~3, 4)
    export = make("VkExportMemoryAllocateInfo", handleTypes=_OPAQUE_FD)
    types = device.memory.plan.array_types
    return device.memory.retried(
        f"{size:,} bytes more to export",
        lambda: _make_buffer(device, size, size, _OPAQUE_FD, export, types),
    )


def export_fd(device: LogicalDevice, buffer: Buffer) -> int:
    """Returns a new file descriptor of the memory of a buffer that `allocate_exportable` made; the caller closes it."""
    info = make("VkMemoryGetFdInfoKHR", memory=buffer.memory, handleType=_OPAQUE_FD)
    out = ffi.new("int*")
    device.check(device.vk.vkGetMemoryFdKHR(device.raw, info, out), "vkGetMemoryFdKHR")
    return out[0]


def import_fd(device: LogicalDevice, fd: int, nbytes: int) -> Buffer:
    """Makes a buffer of memory that a buffer of the same size was exported as.  Hold the device's lock.

    Args:
        device: of the same driver as the exporter.
        fd: belongs to the driver afterwards; stays the caller's where this raises.
        nbytes: of the exported array.

    Raises:
        FeatureNotSupportedError: the device imports no memory.
        InvalidError: no open file descriptor, or one of too little memory.
        RuntimeFailure: the driver does not take it.
    """
    what = f"importing memory on device '{device.name}'"
    _require(device, _OPAQUE_FD, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, what)
    size = max((nbytes + 3) & ~3, 4)
    if size >= 1 << 63:
        raise InvalidError(
            f"lp.import_fd: no memory has {nbytes:,} bytes; give the shape of the exported array"
        )
    require_shared_fd("lp.import_fd", device, fd, size)
    # The driver gets another descriptor: what fails behind the import closes that one, and the caller has the first.
    given = os.dup(fd)
    imported = make("VkImportMemoryFdInfoKHR", handleType=_OPAQUE_FD, fd=given)
    types = device.memory.plan.array_types
    buffer = _make_buffer(
        device, size, size, _OPAQUE_FD, imported, types, when_not_taken=lambda: os.close(given)
    )
    os.close(fd)
    buffer.is_imported = True
    return buffer


def host_alignment(device: LogicalDevice) -> int:
    """Returns what addresses and sizes of imported host memory must be multiples of, in bytes.

    Raises:
        FeatureNotSupportedError: the device imports no host memory.
    """
    what = f"using host memory on device '{device.name}' without a copy"
    _require(device, _HOST, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, what)
    properties = make("VkPhysicalDeviceExternalMemoryHostPropertiesEXT")
    root = chain(make("VkPhysicalDeviceProperties2"), properties)
    physical = device.physical
    physical.instance.vk.vkGetPhysicalDeviceProperties2(physical.raw, root)
    return max(int(properties.minImportedHostPointerAlignment), 1)


def import_host(device: LogicalDevice, address: int, nbytes: int, owner: object) -> Buffer:
    """Makes a buffer of host memory, which kernels then use where it is.  Hold the device's lock.

    Args:
        device: borrowed.
        address: a multiple of `host_alignment`.
        nbytes: of the memory; the rest of its last page becomes part of the VkDeviceMemory and is not used.
        owner: kept as long as the buffer lives.

    Raises:
        FeatureNotSupportedError: the device imports no host memory, or not this.
        RuntimeFailure: the driver does not take it.
    """
    alignment = host_alignment(device)
    pointer = ffi.cast("void*", address)
    out = make("VkMemoryHostPointerPropertiesEXT")
    result = device.vk.vkGetMemoryHostPointerPropertiesEXT(device.raw, _HOST, pointer, out)
    device.check(result, "vkGetMemoryHostPointerPropertiesEXT")
    plan, bits = device.memory.plan, out.memoryTypeBits
    types = [item for item in (*plan.host_types, *plan.array_types) if bits >> item.index & 1]
    imported = make("VkImportMemoryHostPointerInfoEXT", handleType=_HOST, pHostPointer=pointer)
    allocation = (nbytes + alignment - 1) // alignment * alignment
    size = (nbytes + 3) & ~3
    buffer = device.memory.retried(
        f"{size:,} bytes of host memory",
        lambda: _make_buffer(device, size, allocation, _HOST, imported, types, address, owner),
    )
    buffer.lender, buffer.is_borrowed = owner, True
    return buffer


def _require(device: LogicalDevice, handle_type: int, feature: int, what: str) -> None:
    """Raises FeatureNotSupportedError where a driver does not share buffers in a way."""
    extension = _EXTENSION_OF[handle_type]
    device.require_usable()
    if extension not in device.physical.extensions:
        raise FeatureNotSupportedError(f"{what} needs the extension {extension}, which it does not have")
    physical = device.physical
    info = make("VkPhysicalDeviceExternalBufferInfo", usage=_usage(device), handleType=handle_type)
    out = make("VkExternalBufferProperties")
    physical.instance.vk.vkGetPhysicalDeviceExternalBufferProperties(physical.raw, info, out)
    if not out.externalMemoryProperties.externalMemoryFeatures & feature:
        raise FeatureNotSupportedError(
            f"{what}: its driver has {extension} but refuses storage buffers of such memory"
        )


def _usage(device: LogicalDevice) -> int:
    return BUFFER_USAGE | (VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT if device.has_buffer_addresses else 0)


def _make_buffer(
    device: LogicalDevice,
    size: int,
    allocation: int,
    handle_type: int,
    how: Any,
    types: Sequence[MemoryType],
    host_address: int = 0,
    lender: object = None,
    when_not_taken: Callable[[], object] | None = None,
) -> Buffer:
    """Makes a VkBuffer and a VkDeviceMemory for it, which is mapped where the host sees it.

    `lender`, whose memory it may be, is kept until the VkDeviceMemory is gone.  `when_not_taken` is called where there
    is none in the end.
    """
    vk = device.vk
    external = make("VkExternalMemoryBufferCreateInfo", handleTypes=handle_type)
    info = make("VkBufferCreateInfo", pNext=external, size=size, usage=_usage(device))
    made, memory = Made(device, "Buffer"), ffi.new("VkDeviceMemory*")

    def destroy(kept: object = lender) -> None:
        """Holds the lender: a dropped buffer waits in the graveyard, and its VkDeviceMemory lives on meanwhile."""
        made.destroy()
        free = vk.vkFreeMemory
        allocated, memory[0] = memory[0], NULL  # as `Made`
        free(device.raw, allocated, NULL)

    buffer = Buffer(NULL, size, device.memory.next_serial(), host_address)
    buffer._own(device.graveyard, destroy)  # pyright: ignore[reportPrivateUsage] - the maker owns
    try:
        made.create(info)
        buffer.raw = raw = made.raw
        needs = ffi.new("VkMemoryRequirements*")
        vk.vkGetBufferMemoryRequirements(device.raw, raw, needs)
        allocation = max(allocation, needs.size) if handle_type == _OPAQUE_FD else allocation
        suited = next((item for item in types if needs.memoryTypeBits >> item.index & 1), None)
        if suited is None or allocation < needs.size:
            raise FeatureNotSupportedError(
                f"device '{device.name}' takes no such memory for a storage buffer of {size:,} bytes"
            )
        _allocate(device, how, allocation, suited, memory, raw if handle_type == _OPAQUE_FD else None)
        device.check(vk.vkBindBufferMemory(device.raw, raw, memory[0], 0), "vkBindBufferMemory")
        if not host_address and suited.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            pointer = ffi.new("void**")
            device.check(vk.vkMapMemory(device.raw, memory[0], 0, WHOLE_SIZE, 0, pointer), "vkMapMemory")
            buffer.host_address = address_of(pointer[0])
    except BaseException:
        if when_not_taken is not None and memory[0] == NULL:
            when_not_taken()
        buffer.close()
        raise
    device.host_reads |= bool(buffer.host_address)
    buffer.allocation_bytes, buffer.memory = allocation, memory[0]
    if device.has_buffer_addresses:
        address = make("VkBufferDeviceAddressInfo", buffer=raw)
        buffer.device_address = vk.vkGetBufferDeviceAddress(device.raw, address)
    return buffer


def _allocate(
    device: LogicalDevice, how: Any, size: int, memory_type: MemoryType, memory: Any, dedicated: Any
) -> None:
    structs = [how]
    if device.has_buffer_addresses:
        structs.append(make("VkMemoryAllocateFlagsInfo", flags=VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT))
    if dedicated is not None:  # both sides must agree, and some drivers demand it
        structs.append(make("VkMemoryDedicatedAllocateInfo", buffer=dedicated))
    info = make(
        "VkMemoryAllocateInfo",
        pNext=chain(*structs),
        allocationSize=size,
        memoryTypeIndex=memory_type.index,
    )
    result = device.vk.vkAllocateMemory(device.raw, info, NULL, memory)
    if result < 0:
        memory[0] = NULL  # else undefined
        device.check(result, "vkAllocateMemory")
