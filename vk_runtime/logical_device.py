"""VkDevice: everything that is made once for a device that is really used.

One lock guards a device: its queues may share one VkQueue (software drivers have a single one), and
launches on different queues order each other.  Waits for the device happen outside it, but for two that keep
memory bounded: when memory ran out, and when too many submissions are in flight.

What happens outside the lock, waits and copies through mapped memory, is a *visit* (`LogicalDevice.visit`).  A device
is destroyed only where that is safe: its work has ended, no thread is inside, and nobody sees its memory.  Otherwise,
which takes daemon threads or a hung driver, it is left as it is for the end of the process to clear away.
"""

from __future__ import annotations

import contextlib
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..ir.config import config
from ..ir.errors import Error, InvalidError
from ..ir.lazy_logging import logger_of
from . import profile
from .barriers import compute_barriers
from .constants import VK_ERROR_DEVICE_LOST, VK_PHYSICAL_DEVICE_TYPE_CPU, VK_SHARING_MODE_CONCURRENT
from .device_creation import AdoptedDevice, create_device
from .device_features import USED_FEATURES
from .device_state import DeviceState
from .flusher import Flusher
from .handle import Graveyard, living
from .headers import NULL, ffi
from .held_locks import HeldLocks
from .launch_cache import LaunchCache
from .loader import Functions
from .memory import MemoryAllocator
from .memory_plan import MemoryPlan, plan_memory
from .one_cpu import takes_turns, with_patient_threads
from .physical_device import PhysicalDevice
from .pipeline import PipelineStore
from .timeline_semaphore import SpareSemaphores

if TYPE_CHECKING:
    from .barriers import Barriers
    from .command_buffer import CommandBuffer
    from .command_stream import CommandStream
    from .device import Device
    from .event_times import EventClock
    from .image_memory import ImageStore
    from .queue import Queue
    from .transfer_stream import TransferStream

logger = logger_of(__name__)

_T = TypeVar("_T")


_PATIENCE_S = 10.0
"""How long closing a device waits for other threads to leave it."""

_TRIES = 3
"""How often closing a device asks a driver to wait that has no memory for it."""


class LogicalDevice(DeviceState):
    """A VkDevice with its queue, memory and caches.  Made by `Device`, closed by `runtime`.

    Args:
        physical: borrowed; its instance must outlive this.
        staged_memory: copy arrays through staging memory even where the host sees device memory.
        own_transfers: copies go to a queue of their own even where no family of queues is there for them.
        adopted: use this VkDevice, whose features and extensions are those of `physical`, instead of making one.

    Raises:
        RuntimeFailure: the driver refuses to make the device.
    """

    def __init__(
        self,
        physical: PhysicalDevice,
        *,
        staged_memory: bool = False,
        own_transfers: bool = False,
        adopted: AdoptedDevice | None = None,
    ) -> None:
        super().__init__(physical.name)
        self.physical = physical
        self.features = physical.features & USED_FEATURES
        self.has_buffer_addresses = "bufferDeviceAddress" in self.features
        self.is_cpu = physical.device_type == VK_PHYSICAL_DEVICE_TYPE_CPU
        self.locking = iter(self.lock.acquire, None)
        """Taking one item acquires the lock, in half the time of ``with``; Ctrl-C cannot come before it is noted
        (``for is_locked in locking: break``), as in `submitter`.  For launches that come again."""
        self.is_adopted = adopted is not None
        self.has_shared_queues = self.is_adopted
        """Whether the application has a VkQueue of it: then only threads that call us may submit, as Vulkan wants."""
        self.takes_turns = adopted is None and takes_turns(physical)
        """Whether its driver's threads run on the one CPU of this process; see `one_cpu`."""
        self.half_way: object = None
        """Where whoever holds the lock is in the middle of recording a command: the queue, what else records it, or a
        `Batch` that is being submitted.
        Python may run finalisers and signal handlers there, on the same thread: `require_whole` keeps them from
        recording, and from submitting that queue."""
        self.views: deque[None] = deque()
        """One entry for each view of its memory that the host holds."""
        plan = plan_memory(physical.memory_types, physical.device_type, staged=staged_memory)
        has_family = adopted is None and not plan.is_unified
        self._transfer_family = physical.transfer_queue_family if has_family else None
        self.has_transfer_queue = own_transfers or self._transfer_family is not None
        """Whether staged copies have a queue of their own; see `transfer_stream`."""
        self._transfers: TransferStream | None = None
        self._families = [physical.queue_family_index]
        if self._transfer_family is not None:
            self._families.append(self._transfer_family)
        self.sharing = self._sharing()
        """Members of VkBufferCreateInfo: every family that is used may touch a buffer."""
        self.barriers: Barriers
        """Of its queues that compute."""
        self.graveyard = Graveyard()
        self.host_reads = plan.is_unified
        """Whether the host reads where it lies what commands write: arrays, or what kernels report.  Staging buffers
        do not count: the command buffers that fill them are marked (`CommandBuffer.is_read_by_host`)."""
        self.busy: set[CommandStream] = set()
        """Queues with work that is recorded or in flight: they stay alive until it is done."""
        self.flusher = Flusher(self)
        """Submits what was recorded and nobody waits for."""
        self.launches = LaunchCache()
        """What repeated launches reuse."""
        self.queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        out = ffi.new("VkDevice*")
        try:
            self._open(out, plan, adopted)
        except BaseException:  # Ctrl-C may come behind any call
            if adopted is None and out[0] != NULL:
                self.graveyard.close()
                self.vk.vkDestroyDevice(out[0], NULL)
            raise
        profile.devices.add(self)
        if config.profile is not None:
            profile.profile_process(config.profile)
        logger.info("use a VkDevice on %s with %s", self.name, ", ".join(sorted(self.features)))

    def _open(self, out: Any, plan: MemoryPlan, adopted: AdoptedDevice | None) -> None:
        """Makes the VkDevice, or takes that of the application, and what every use of it needs.

        Args:
            out: VkDevice*, where it is written.
        """
        physical = self.physical
        resolve = physical.instance.vk.vkGetDeviceProcAddr
        self.vk = Functions(lambda name: resolve(out[0], name), f"device '{physical.name}'")
        if adopted is None:
            create = partial(create_device, physical, self.features, self._families, out)
            self.features = with_patient_threads(create) if self.takes_turns else create()
        else:
            out[0] = adopted.raw
        self.raw = out[0]
        self.barriers = compute_barriers(self)
        self.vk_queue = self._queue_of(self._families[0]) if adopted is None else adopted.vk_queue
        self.semaphores = SpareSemaphores(self)
        """What its queues count with."""
        self.memory = MemoryAllocator(self, plan)
        self.pipelines = PipelineStore(self)

    @cached_property
    def images(self) -> ImageStore:
        """What its images share."""
        from .image_memory import ImageStore

        return ImageStore(self)

    @cached_property
    def event_clock(self) -> EventClock:
        """Its clock, for the times of events."""
        from .event_times import EventClock

        return EventClock(self)

    def _queue_of(self, family: int) -> Any:
        out = ffi.new("VkQueue*")
        self.vk.vkGetDeviceQueue(self.raw, family, 0, out)
        return out[0]

    def _sharing(self) -> dict[str, Any]:
        if len(self._families) == 1:
            return {}
        # CONCURRENT costs buffers nothing on the GPUs that have such families, and needs no transfers of ownership.
        return {
            "sharingMode": VK_SHARING_MODE_CONCURRENT,
            "queueFamilyIndexCount": len(self._families),
            "pQueueFamilyIndices": ffi.new("uint32_t[]", self._families),
        }

    def transfer_stream(self, device: Device) -> TransferStream:
        """Returns the queue for copies, made at the first; only where there is one.  Call it with the lock held."""
        self.require_usable()
        found = self._transfers
        if found is None:
            from .transfer_stream import TransferStream

            family = self._transfer_family
            vk_queue = self.vk_queue if family is None else self._queue_of(family)
            found = self._transfers = TransferStream(device, family, vk_queue)
        return found

    def _streams(self) -> tuple[CommandStream, ...]:
        """Returns every queue that there is."""
        own = () if self._transfers is None else (self._transfers,)
        return (*living(self.queues), *own)

    def require_whole(self) -> None:
        """Raises InvalidError where a command is half recorded.  Call it with the lock held."""
        if self.half_way is not None:
            raise InvalidError(
                f"device '{self.name}' is used by a finaliser or a signal handler that interrupts a launch of its own "
                "thread, where it can neither launch nor wait; let it note what is to be done, and do that later"
            )

    def require_uninterrupted(self, what: str) -> None:
        """Raises InvalidError where this thread holds the lock: a finaliser that interrupts what uses the device."""
        if self.lock._is_owned():  # type: ignore[attr-defined]  # threading.Condition asks it, too
            raise InvalidError(
                f"{what}: device '{self.name}' is used by a finaliser or a signal handler that interrupts what its own "
                "thread does there; let it note what is to be done, and do that later"
            )

    def forget_launches(self) -> None:
        """Has every launch look at its arguments again.  Call it with the lock held."""
        for queue in self._streams():
            queue.known, queue.latest = {}, None

    def undisturbed(self, encode: Callable[[CommandBuffer], object], command_buffer: CommandBuffer) -> None:
        """Has a command recorded that is none of a queue's own, with `half_way` set.  Call it with the lock held.

        Launches of one record share the memory that their scalars are packed in.
        """
        self.require_whole()
        try:
            self.half_way = encode
            encode(command_buffer)
        finally:
            self.half_way = None

    def _drop_recordings(self) -> None:
        for queue in self._streams():
            queue.drop_recording()

    def share_queues(self) -> None:
        """Notes that the application has its VkQueues from now on; see `has_shared_queues`."""
        with self.lock:  # a submission by `flusher` has ended then
            self.has_shared_queues = True

    def collect(self) -> None:
        """Retires finished submissions, destroys what nobody needs any more.  Call it with the lock held."""
        self._retire()
        self.drain()

    def _retire(self) -> None:
        """Retires finished submissions; a function of its own, since what it names here may go with that."""
        for queue in living(self.busy):
            queue.retire()

    def drain(self) -> None:
        """Destroys what nobody needs any more.  Call it with the lock held.

        On a lost device nothing is destroyed before it is closed: what was submitted before may still run.
        """
        if not self.lost_because:
            self.graveyard.drain()

    def progress(self) -> int:
        """Returns a number that grows as submissions end."""
        return self.visit(lambda: sum(queue.progress for queue in self._streams()))

    def running_kernels(self) -> list[str]:
        """Returns the names of kernels that are submitted and have not ended; none where the lock is not free."""
        held = HeldLocks()
        try:
            if not held.take(self.lock, timeout_s=1):
                return []
            return list(dict.fromkeys(name for queue in living(self.busy) for name in queue.running()))
        finally:
            held.give_back()

    def submit_everything(self) -> None:
        """Submits what is recorded on every queue, and lets go of what has run.  Call it with the lock held."""
        for queue in living(self.busy):
            queue.flush()
        self.collect()

    def abandon_after_fork(self) -> None:
        """Makes every use in this process, a fork of the one that opened the device, an error."""
        self.is_forked = self.is_unusable = True
        for queue in self._streams():
            queue.abandon()
        self.busy.clear()

    def wait_idle(self) -> None:
        """Submits what is recorded and waits for every queue; what kernels report is for whoever waits for them."""
        for queue in living(self.busy):
            queue.drain()

    def close(self) -> None:
        """Waits for the device, then destroys everything on it and the VkDevice; idempotent.

        Ctrl-C ends the wait, and leaves the device as it is; so do work that never ends, threads that do not leave the
        device, and views of its memory.
        """
        for queue in self._streams():  # its thread calls functions that may need the lock
            queue.stop_watching()
        # Twice: what takes printed lines may launch, in other threads too, and finds the device as it was.
        for is_last in (False, True):
            read: list[Queue] = []
            held = HeldLocks()
            try:
                if not held.take(self.lock, timeout_s=_PATIENCE_S):
                    logger.warning("'%s' is in use by another thread, and is not closed", self.name)
                    return
                if self.is_closed:
                    return
                has_ended = self._finish(read)
                if is_last:
                    self._end(has_ended)
            finally:
                held.give_back()
            for queue in read:
                queue.show_last()

    def _finish(self, read: list[Queue]) -> bool:
        """Waits for the work, and does what is owed to it; returns whether it has ended, or will in finite time.

        Args:
            read: gets the queues whose reports are to be shown.
        """
        if self.is_lost:
            return not self.is_hung
        if getattr(sys, "last_type", None) is KeyboardInterrupt:  # it ended the program: nobody wants to wait
            with contextlib.suppress(Error):
                self.collect()
            if self.busy:
                return False
        with contextlib.suppress(Error):
            self.wait_idle()  # in slices: vkDeviceWaitIdle hears of no Ctrl-C and of no watchdog
        with contextlib.suppress(Error):
            for queue in living(self.queues):
                queue.read_last()
                read.append(queue)
        return not self.is_hung

    def _end(self, has_ended: bool) -> None:
        """Makes every later use an error, and destroys the device where that is safe."""
        if has_ended and not self.is_lost:
            with contextlib.suppress(Error):
                self.pipelines.cache.save()
        self.is_closed = self.is_unusable = True
        if has_ended and self._is_left_alone():
            self._destroy()

    def _is_left_alone(self) -> bool:
        """Whether nothing runs, no thread is inside any more, and nobody sees the memory."""
        # Where it is adopted the application may be submitting to its own queues.
        if not self.is_adopted and not self._waits_until_idle():
            logger.warning("'%s' cannot be waited for, and is not closed", self.name)
            return False
        end = time.monotonic() + _PATIENCE_S
        while self.visits and time.monotonic() < end:
            time.sleep(0.001)
        return not self.visits and not self.views

    def _waits_until_idle(self) -> bool:
        """Waits for commands that went before a failed submission and still run; returns whether that was possible.

        A driver without memory has not waited at all.  A device that is lost ends in finite time.
        """
        results = (self.vk.vkDeviceWaitIdle(self.raw) for _ in range(_TRIES))
        return any(result >= 0 or result == VK_ERROR_DEVICE_LOST for result in results)

    def _destroy(self) -> None:
        for queue in self._streams():
            queue.abandon()
        self.busy.clear()
        self._transfers = None
        self.launches.clear()
        self.graveyard.close()
        self.memory.close()
        if not self.is_adopted:
            self.vk.vkDestroyDevice(self.raw, NULL)
            self.is_destroyed = True
