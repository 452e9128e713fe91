"""What platforms, contexts, queues and events say of themselves, under SYCL's names (``info::platform`` …)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .device_info import MEMORY_ORDERS, MEMORY_SCOPES

if TYPE_CHECKING:
    from .context import Context
    from .device import Device
    from .device_list import Platform
    from .event import Event
    from .queue import Queue


class EventCommandStatus(enum.Enum):
    """How far a command has come (SYCL 2020, ``info::event_command_status``)."""

    submitted = "submitted"
    """Recorded only.  A queue never answers it: asking hands the command to the device."""
    running = "running"
    """Given to the device."""
    complete = "complete"


@dataclass(frozen=True, slots=True)
class PlatformInfo:
    """``info::platform``."""

    name: str
    """The driver's name."""
    vendor: str
    """Of its first device: PCI vendor number as hexadecimal text, or the registered Khronos one."""
    version: str
    """The driver's own version text."""
    profile: str = "FULL_PROFILE"


@dataclass(frozen=True, slots=True)
class ContextInfo:
    """``info::context``."""

    platform: Platform
    devices: tuple[Device, ...]
    atomic_memory_order_capabilities: tuple[str, ...] = MEMORY_ORDERS
    """What all its devices have."""
    atomic_fence_order_capabilities: tuple[str, ...] = MEMORY_ORDERS
    atomic_memory_scope_capabilities: tuple[str, ...] = MEMORY_SCOPES
    atomic_fence_scope_capabilities: tuple[str, ...] = MEMORY_SCOPES


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """``info::queue``."""

    context: Context
    device: Device


class EventInfo:
    """``info::event``."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    @property
    def command_execution_status(self) -> EventCommandStatus:
        """How far the command has come.  Asking submits it if it was only recorded."""
        return EventCommandStatus.complete if self._event.done else EventCommandStatus.running


def queue_info(queue: Queue) -> QueueInfo:
    """Returns what a queue says of itself."""
    return QueueInfo(queue.context, queue.device)
