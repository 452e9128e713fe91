"""Software drivers in a process that runs on one CPU: their threads and ours take turns on it.

Linux lets a thread that wakes up interrupt the one that has woken it.  On one CPU that is in the middle of
vkQueueSubmit, with the driver's lock held: the driver's thread runs into the lock, and there are more switches between
threads than work to do.  Threads under SCHED_BATCH interrupt nobody, and get as much of the CPU.

Whoever then waits for a short kernel gives way first (sched_yield): the driver's thread does all there is to do, and
has nobody to wake.  `timeline_semaphore` leaves that where it does not help.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from .constants import VK_DRIVER_ID_MESA_LLVMPIPE

if TYPE_CHECKING:
    from .physical_device import PhysicalDevice

_T = TypeVar("_T")


def takes_turns(physical: PhysicalDevice) -> bool:
    """Returns whether the threads of a device's driver that this thread starts will have one CPU together with it.

    Only lavapipe's: it has one there.  SwiftShader's wake each other, and on a busy CPU others would run in between.
    """
    is_known = physical.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE and hasattr(os, "SCHED_BATCH")
    return is_known and len(os.sched_getaffinity(0)) == 1


def with_patient_threads(make: Callable[[], _T]) -> _T:
    """Calls a function and returns its result; threads that it starts interrupt nobody when they wake up.

    So do others where the calling thread has a policy of its own, or may not change it.
    """
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        return make()
    priority = os.sched_param(0)
    try:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, priority)
        return make()
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, priority)
