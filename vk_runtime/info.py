"""``lp.info``: the descriptors that ``get_info`` takes, and the enumerations that it returns."""

from __future__ import annotations

from dataclasses import dataclass

from .device_info import DeviceInfo, DeviceType
from .event_times import EventProfilingInfo
from .info_descriptors import Descriptors
from .kernel_queries import KernelDeviceView, KernelView
from .object_info import ContextInfo, EventCommandStatus, EventInfo, PlatformInfo, QueueInfo


@dataclass(frozen=True, slots=True)
class Info:
    """One member for each kind of object, as SYCL's namespace ``info`` has them."""

    platform: Descriptors
    device: Descriptors
    context: Descriptors
    queue: Descriptors
    event: Descriptors
    event_profiling: Descriptors
    kernel: Descriptors
    kernel_device_specific: Descriptors
    device_type: type[DeviceType] = DeviceType
    event_command_status: type[EventCommandStatus] = EventCommandStatus


info = Info(
    platform=Descriptors("platform", PlatformInfo),
    device=Descriptors("device", DeviceInfo),
    context=Descriptors("context", ContextInfo),
    queue=Descriptors("queue", QueueInfo),
    event=Descriptors("event", EventInfo),
    event_profiling=Descriptors("event_profiling", EventProfilingInfo),
    kernel=Descriptors("kernel", KernelView),
    kernel_device_specific=Descriptors("kernel_device_specific", KernelDeviceView),
)
"""``lp.info``."""
