"""Native images: what a driver made of the pipelines of an image, ahead of time.

A native image holds the pipelines of the image's kernels for the local sizes of usual launches and the defaults of all
specialization constants: each by itself where the driver has VK_KHR_pipeline_binary, else as the data of a
VkPipelineCache.  A driver that is given them back makes the same pipelines without compiling.  It goes with one kind of
device and one version of its driver; `NativeCode.is_for` compares what Vulkan says identifies them.  The UUID of the
device itself is noted and not compared: it tells two cards of one model apart, whose code is the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of
from ..ir.lpk_records import NativeTag
from .device import Device
from .physical_device import PhysicalDevice
from .pipeline_binary_feature import has_pipeline_binaries
from .pipeline_cache import MAX_DATA_BYTES

logger = logger_of(__name__)

PIPELINE_CACHE = "pipeline_cache"
"""`NativeTag.kind` of the data of a VkPipelineCache."""
PIPELINE_BINARY = "pipeline_binary"
"""`NativeTag.kind` of the code of single pipelines, see `native_pipelines`."""


@dataclass(frozen=True, slots=True)
class NativeCode:
    """The code of one driver."""

    target: str
    """The name that it was built for."""
    tag: NativeTag
    data: bytes
    digest: bytes = field(init=False)
    """Identifies code and driver."""

    def __post_init__(self) -> None:
        parts = f"{self.target}\0{self.tag}\0".encode() + self.data
        object.__setattr__(self, "digest", hashlib.sha256(parts).digest())

    def is_for(self, device: Device) -> bool:
        """Returns whether a device's driver can be given the code."""
        return is_tag_of(self.tag, device.physical)

    def install(self, device: Device) -> bool:
        """Gives the code to the driver of a device that it is for; returns whether it was taken.  Never raises."""
        if len(self.data) > MAX_DATA_BYTES:
            return False
        try:
            logical = device.logical
            with logical.lock:
                if self.tag.kind == PIPELINE_BINARY:
                    return logical.pipelines.native.add(self.data)
                return logical.pipelines.cache.merge(self.data)
        except Error as error:
            logger.info("'%s' refuses native code of target %s: %s", device.name, self.target, error)
            return False


def tag_of(physical: PhysicalDevice, kind: str = PIPELINE_CACHE) -> NativeTag:
    """Returns what identifies the driver of a device, for code of one kind."""
    return NativeTag(
        kind=kind,
        vendor_id=physical.vendor_id,
        device_id=physical.device_id,
        device_uuid=physical.device_uuid,
        driver_uuid=physical.driver_uuid,
        driver_version=physical.driver_version,
        cache_uuid=physical.pipeline_cache_uuid,
    )


def is_tag_of(tag: NativeTag, physical: PhysicalDevice) -> bool:
    """Returns whether code with this tag may be given to the driver of a device."""
    kinds = (PIPELINE_BINARY, PIPELINE_CACHE) if has_pipeline_binaries(physical) else (PIPELINE_CACHE,)
    own = tag_of(physical)
    return tag.kind in kinds and (
        (tag.vendor_id, tag.device_id, tag.driver_uuid, tag.driver_version, tag.cache_uuid)
        == (own.vendor_id, own.device_id, own.driver_uuid, own.driver_version, own.cache_uuid)
    )
