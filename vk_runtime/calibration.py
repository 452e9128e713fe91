"""A device's clock beside the host's: VK_KHR_calibrated_timestamps, or VK_EXT_calibrated_timestamps.

Such a driver reads both clocks at one moment, so times on the device become times on the host.  Only where
`time.perf_counter_ns` is the clock that Vulkan calls CLOCK_MONOTONIC: on Linux.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .constants import VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR, VK_TIME_DOMAIN_DEVICE_KHR
from .device_features import calibration_extension
from .headers import ffi, make_array, structure_type
from .instance import enumerate_all

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

_TRIES = 5
"""Of several readings the one with the smallest error is taken: the host may be interrupted between two clocks."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Both clocks at one moment."""

    ticks: int
    """The device's, as timestamps count."""
    host_ns: int
    """The host's, as `time.perf_counter_ns`."""
    error_ns: int
    """How far the two may have been read apart."""


def calibrate(device: LogicalDevice) -> Calibration | None:
    """Reads the clocks of a device and of the host; None where the driver cannot read both, or is closed already."""
    physical = device.physical
    if device.is_closed:
        return None
    extension = calibration_extension(physical.extensions)
    if extension is None or sys.platform != "linux" or not physical.timestamp_valid_bits:
        return None
    suffix = extension[3:6]
    name = f"vkGetPhysicalDeviceCalibrateableTimeDomains{suffix}"
    list_domains = getattr(physical.instance.vk, name)
    domains = enumerate_all(list_domains, name, "VkTimeDomainKHR", physical.raw, read=int)
    wanted = (VK_TIME_DOMAIN_DEVICE_KHR, VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR)
    if not {*wanted} <= {*domains}:
        return None
    kind = structure_type("VkCalibratedTimestampInfoKHR")
    infos = make_array(
        "VkCalibratedTimestampInfoKHR", [{"sType": kind, "timeDomain": domain} for domain in wanted]
    )
    stamps, deviation = ffi.new("uint64_t[]", 2), ffi.new("uint64_t*")
    read = getattr(device.vk, f"vkGetCalibratedTimestamps{suffix}")
    found: list[Calibration] = []
    for _ in range(_TRIES):
        device.check(read(device.raw, 2, infos, stamps, deviation), f"vkGetCalibratedTimestamps{suffix}")
        found.append(Calibration(stamps[0], stamps[1], deviation[0]))
    return min(found, key=lambda calibration: calibration.error_ns)
