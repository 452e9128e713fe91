"""VkPipelineCache with its content on disk: drivers that compile at pipeline creation do so once a machine.

One entry for each device, driver version and pipelineCacheUUID.  Some drivers trust the bytes that they are given,
so the header (VkPipelineCacheHeaderVersionOne) must be this device's; the rest is guarded by the checksum and the
ownership checks of `disk_cache`.  Saved when the device is closed, if the driver had something to add.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from ..ir.lazy_logging import logger_of
from ..ir.sha256 import sha256
from .disk_cache import DiskCache, open_cache
from .handle import Handle
from .headers import NULL, ffi, make

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

MAX_DATA_BYTES: Final = 32 << 20
"""Larger caches are not saved; a driver's cache grows with every pipeline and never forgets."""

_HEADER: Final = struct.Struct("<IIII16s")
_HEADER_VERSION_ONE: Final = 1


class PipelineCache(Handle):
    """A VkPipelineCache, filled from disk.

    Args:
        device: borrowed; must outlive this.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._store: DiskCache | None = open_cache()
        self._header = _expected_header(device)
        self.name = _entry_name(device)
        """The entry of this device on disk."""
        stored = None if self._store is None else self._store.load(self.name)
        if stored is not None and not is_cache_of(stored, self._header):
            logger.info("the pipeline cache %s is not of '%s'", self.name, device.name)
            stored = None
        self._saved = stored
        self.raw = self._create(stored)
        vk, raw = device.vk, self.raw
        self._own(device.graveyard, lambda: vk.vkDestroyPipelineCache(device.raw, raw, NULL))

    def _create(self, data: bytes | None) -> Any:
        device, out = self._device, ffi.new("VkPipelineCache*")
        # The driver copies the data: the buffer lives until the call returns.
        initial = NULL if data is None else ffi.new("char[]", data)
        info = make("VkPipelineCacheCreateInfo", initialDataSize=len(data or b""), pInitialData=initial)
        result = device.vk.vkCreatePipelineCache(device.raw, info, NULL, out)
        if result < 0 and data is not None:
            logger.info("'%s' refuses its pipeline cache (%d)", device.name, result)
            self._saved = None
            return self._create(None)
        device.check(result, "vkCreatePipelineCache")
        return out[0]

    def data(self) -> bytes | None:
        """Returns what the driver would read again, None where it gives nothing or too much."""
        return _data_of(self._device, self.raw)

    def merge(self, data: bytes) -> bool:
        """Adds what another cache of the device knows; returns False for data of another device or driver."""
        if not is_cache_of(data, self._header):
            return False
        device, out = self._device, ffi.new("VkPipelineCache*")
        initial = ffi.new("char[]", data)
        info = make("VkPipelineCacheCreateInfo", initialDataSize=len(data), pInitialData=initial)
        with device.lock:
            if device.vk.vkCreatePipelineCache(device.raw, info, NULL, out) < 0:
                return False
            result = device.vk.vkMergePipelineCaches(device.raw, self.raw, 1, out)
            device.vk.vkDestroyPipelineCache(device.raw, out[0], NULL)
        device.check(result, "vkMergePipelineCaches")
        return True

    def save(self) -> bool:
        """Stores the cache if it holds something new; returns whether it did.  Never raises."""
        if self._store is None:
            return False
        data = self.data()
        # A header alone is what drivers with a cache of their own give (Mesa's software drivers).
        if data is None or data == self._saved or len(data) <= _HEADER.size:
            return False
        if not is_cache_of(data, self._header):
            return False
        self._saved = data
        return self._store.store(self.name, data)


class UnsavedCache(Handle):
    """A VkPipelineCache of its own, for code that goes elsewhere than to the cache on disk.

    Args:
        device: borrowed; must outlive this.
        data: what it begins with, of this device; None: nothing.
    """

    def __init__(self, device: LogicalDevice, data: bytes | None = None) -> None:
        self._device = device
        out = ffi.new("VkPipelineCache*")
        initial = NULL if data is None else ffi.new("char[]", data)
        info = make("VkPipelineCacheCreateInfo", initialDataSize=len(data or b""), pInitialData=initial)
        device.check(device.vk.vkCreatePipelineCache(device.raw, info, NULL, out), "vkCreatePipelineCache")
        vk, raw = device.vk, out[0]
        self.raw = raw
        self._own(device.graveyard, lambda: vk.vkDestroyPipelineCache(device.raw, raw, NULL))

    def data(self) -> bytes | None:
        """Returns what the driver would read again, None where it gives nothing or too much."""
        return _data_of(self._device, self.raw)


def _data_of(device: LogicalDevice, raw: Any) -> bytes | None:
    size = ffi.new("size_t*")
    function = device.vk.vkGetPipelineCacheData
    if function(device.raw, raw, size, NULL) != 0 or not 0 < size[0] <= MAX_DATA_BYTES:
        return None
    asked = size[0]
    buffer = ffi.new("char[]", asked)
    # VK_INCOMPLETE: another thread made a pipeline meanwhile; a cut cache is valid but not worth keeping.
    if function(device.raw, raw, size, buffer) != 0:
        return None
    # A header is written whole, whatever the driver then says that it wrote: quirks.py, short-cache-size.
    return bytes(ffi.buffer(buffer, max(min(size[0], asked), min(asked, _HEADER.size))))


def is_cache_of(data: bytes, header: bytes) -> bool:
    """Whether pipeline cache data begins with the header of a device (Vulkan 1.3 section 10.7.3)."""
    return len(data) >= _HEADER.size and data[: _HEADER.size] == header


def _properties(device: LogicalDevice) -> Any:
    properties = ffi.new("VkPhysicalDeviceProperties*")
    device.physical.instance.vk.vkGetPhysicalDeviceProperties(device.physical.raw, properties)
    return properties


def _expected_header(device: LogicalDevice) -> bytes:
    found = _properties(device)
    uuid = bytes(ffi.buffer(found.pipelineCacheUUID))
    return _HEADER.pack(_HEADER.size, _HEADER_VERSION_ONE, found.vendorID, found.deviceID, uuid)


def _entry_name(device: LogicalDevice) -> str:
    found, physical = _properties(device), device.physical
    identity = (
        _expected_header(device),
        found.driverVersion,
        physical.driver_id,
        physical.driver_info,
        physical.device_uuid,
        sorted(device.features),
    )
    return f"pipelines-{sha256(repr(identity).encode()).hexdigest()[:40]}"
