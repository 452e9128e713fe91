"""VkPipelineCache with its content on disk: drivers that compile at pipeline creation do so once a machine.

One entry for each device, driver version and pipelineCacheUUID.  Some drivers trust the bytes that they are given,
so the header (VkPipelineCacheHeaderVersionOne) must be this device's; the rest is guarded by the checksum and the
ownership checks of `disk_cache`.  Saved when the device is closed, if the driver had something to add.

A driver's cache grows with every pipeline and never forgets one, also after the pipeline is gone: a program that makes
pipelines without end begins a new cache now and then (`is_worth_keeping`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of
from ..ir.sha256 import sha256
from .disk_cache import DiskCache, open_cache
from .handle import Handle
from .headers import NULL, ffi, make
from .made import Made

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

MAX_DATA_BYTES: Final = 32 << 20
"""Larger caches are not saved, and not kept for ever either."""

KIND: Final = "PipelineCache"

_HEADER: Final = struct.Struct("<IIII16s")
_HEADER_VERSION_ONE: Final = 1


class PipelineCache(Handle):
    """A VkPipelineCache, filled from disk.

    Args:
        device: borrowed; must outlive this.
        is_empty: what is on disk is left there, for a cache that takes the place of one that grew too large.
    """

    def __init__(self, device: LogicalDevice, *, is_empty: bool = False) -> None:
        self._device = device
        self._store: DiskCache | None = open_cache()
        self._header = _expected_header(device)
        self.name = _entry_name(device)
        """The entry of this device on disk."""
        stored = None if self._store is None or is_empty else self._store.load(self.name)
        if stored is not None and not is_cache_of(stored, self._header):
            logger.info("the pipeline cache %s is not of '%s'", self.name, device.name)
            stored = None
        self._saved = stored
        made = Made(device, KIND)
        self._own(device.graveyard, made.destroy)
        try:
            made.create(_create_info(stored))
        except Error as error:
            if stored is None:
                raise
            logger.info("'%s' refuses its pipeline cache: %s", device.name, error)
            self._saved = None
            made.create(_create_info(None))
        self.raw = made.raw

    def data(self) -> bytes | None:
        """Returns what the driver would read again, None where it gives nothing or too much."""
        return _data_of(self._device, self.raw)

    def is_worth_keeping(self) -> bool:
        """Whether it is known to hold no more than is saved: drivers that give a header alone do not say what they keep
        (SwiftShader 17 KB for each pipeline of a few lines)."""
        size = ffi.new("size_t*")
        result = self._device.vk.vkGetPipelineCacheData(self._device.raw, self.raw, size, NULL)
        return result == 0 and _HEADER.size < size[0] <= MAX_DATA_BYTES

    def merge(self, data: bytes) -> bool:
        """Adds what another cache of the device knows; returns False for data of another device or driver."""
        if not is_cache_of(data, self._header):
            return False
        device, made = self._device, Made(self._device, KIND)
        with device.lock:
            try:
                made.create(_create_info(data))
                result = device.vk.vkMergePipelineCaches(device.raw, self.raw, 1, made.out)
            except Error:
                return False
            finally:
                made.destroy()
        device.check(result, "vkMergePipelineCaches")
        return True

    def save(self) -> bool:
        """Stores the cache if it holds something new; returns whether it did.  Never raises.

        What other processes have stored since this one was filled stays, unless that is too much together, also where
        several save at the same instant.
        """
        if self._store is None:
            return False
        data = self.data()
        # A header alone is what drivers with a cache of their own give (Mesa's software drivers).
        if data is None or data == self._saved or len(data) <= _HEADER.size:
            return False
        if not is_cache_of(data, self._header):
            return False
        with self._store.lock():
            return self._store_with_others(self._store, data)

    def _store_with_others(self, store: DiskCache, data: bytes) -> bool:
        stored = store.load(self.name)
        if stored == self._saved or stored is None or not is_cache_of(stored, self._header):
            stored = b""
        # Of what would be too large together, what is newer stays: else nothing could ever be added.
        if stored and len(stored) + len(data) <= MAX_DATA_BYTES:
            joined = self._joined_with(stored)
            if joined is None or joined == stored:
                return False
            data = joined
        self._saved = data
        return store.store(self.name, data)

    def _joined_with(self, stored: bytes) -> bytes | None:
        """Adds what is on disk; returns what there is then, None where that is not known or too much."""
        try:
            data = self.data() if self.merge(stored) else None
        except Error as error:
            logger.info("'%s' does not join its pipeline caches: %s", self._device.name, error)
            return None
        return data if data is not None and len(data) >= len(stored) else None


class UnsavedCache(Handle):
    """A VkPipelineCache of its own, for code that goes elsewhere than to the cache on disk.

    Args:
        device: borrowed; must outlive this.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self.raw = self._make(device, KIND, _create_info(None))

    def data(self) -> bytes | None:
        """Returns what the driver would read again, None where it gives nothing or too much."""
        return _data_of(self._device, self.raw)


def _create_info(data: bytes | None) -> Any:
    initial = NULL if data is None else ffi.new("char[]", data)  # kept by the struct; the driver copies it
    return make("VkPipelineCacheCreateInfo", initialDataSize=len(data or b""), pInitialData=initial)


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
    # A header is written whole, whatever the driver then says that it wrote: quirk_table.py, short-cache-size.
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
