"""A timeline semaphore of our own, and waiting for it.

A wait blocks in slices, so that Ctrl-C is seen between two.  On GPUs it polls first, because the driver takes longer
to wake a thread than a short kernel takes to run: an H200 answers a poll in 14 µs and a wait in 47.  It polls twice as
long as the last waits took, and not at all where that is long beside the waking up.  A software driver that has one
CPU together with us is given way to first; see `one_cpu`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .constants import VK_SEMAPHORE_TYPE_TIMELINE, VK_TIMEOUT
from .handle import Handle
from .headers import NULL, ffi, make
from .made import Made

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

_WAIT_SLICE_NS = 200_000_000
"""A wait returns to Python this often, for Ctrl-C."""

_LEAST_SPIN_NS = 50_000
"""How long a wait for a GPU polls at least, where it polls."""

_LONG_NS = 200_000
"""Waits that take longer than this block at once."""

WAITS_AFTER_FAILURE = 100
"""Waits that block at once after giving way did not help."""

_POLLS = (None,) * 8
"""What is gone through between two looks at the clock."""

_clock_ns = time.perf_counter_ns


class SpareSemaphores:
    """The timeline semaphores of a device that nobody uses any more, for the next who need one.

    None is destroyed before the device.  Drivers of Mesa that emulate timelines, lavapipe for one, look at semaphores
    that a submission has waited for once more after they tell that it has run, and crashed if a queue went right then.

    Args:
        device: borrowed; use it with the device's lock held.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._spare: list[Made] = []

    def __len__(self) -> int:
        """Number of semaphores that nobody uses."""
        return len(self._spare)

    def take(self, holder: list[Made]) -> None:
        """Moves one to `holder`, making it where there is none.

        Args:
            holder: empty; has it in the step in which it is taken.
        """
        try:
            holder.extend(map(self._spare.pop, (-1,)))
        except IndexError:
            made = Made(self._device, "Semaphore")
            self._device.graveyard.register(self, made.destroy)
            holder.append(made)
        if holder[0].raw == NULL:  # new, or it could not be made before
            timeline = make("VkSemaphoreTypeCreateInfo", semaphoreType=VK_SEMAPHORE_TYPE_TIMELINE)
            holder[0].create(make("VkSemaphoreCreateInfo", pNext=timeline))

    def taker(self) -> tuple[list[Made], Callable[[], None]]:
        """Returns an empty list for `take`, and what gives back what is there then; that may be called again."""
        holder: list[Made] = []
        keep = self._spare.extend

        def give_back() -> None:
            with suppress(IndexError):
                keep(map(holder.pop, (-1,)))

        return holder, give_back


class TimelineSemaphore(Handle):
    """A VkSemaphore that counts up as submissions end.  Threads may wait for it at the same time.

    Args:
        device: borrowed; make it with the device's lock held.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        # A queue with work in flight is in `LogicalDevice.busy` and so alive: nothing is pending where it goes.
        holder, give_back = device.semaphores.taker()
        self._own(device.graveyard, give_back)
        device.semaphores.take(holder)
        self.raw = holder[0].raw
        self.raw_array = ffi.new("VkSemaphore[]", [self.raw])
        """VkSemaphore[1], for the structs that take an array."""
        self.completed = 0
        """The highest value that it is known to have reached; it may begin with what others have counted to."""
        self._last_ns = 0
        """How long the last wait for a GPU took, about."""
        self._usual_ns = 0
        """How long those before it took, the latest counting most."""
        self._counter = ffi.new("uint64_t*")
        vk = device.vk
        self._wait_semaphores, self._get_counter_value = vk.vkWaitSemaphores, vk.vkGetSemaphoreCounterValue
        self._wait_structs: list[tuple[Any, Any]] = []
        self._takes_turns = device.takes_turns
        self._failures = 0
        """Waits that block at once, before one gives way again."""
        self.read()

    def read(self) -> int:
        """Asks the driver how far it is and returns that.  Call it with the device's lock held."""
        device, counter = self._device, self._counter
        result = self._get_counter_value(device.raw, self.raw, counter)
        device.check(result, "vkGetSemaphoreCounterValue")
        self.completed = max(self.completed, counter[0])
        return self.completed

    def ask(self) -> int:
        """Returns how far the driver says it is, and notes nothing; without the lock, in a visit."""
        counter = ffi.new("uint64_t*")
        device = self._device
        result = self._get_counter_value(device.raw, self.raw, counter)
        device.check(result, "vkGetSemaphoreCounterValue")
        return counter[0]

    def block_until(self, value: int) -> None:
        """Waits until it reaches `value`; what leads there must have been submitted.

        Raises:
            DeviceLostError: the device is lost, or hangs: see `watchdog`.
        """
        if self._device.is_cpu:
            if not self.wait_slice(value):
                self._keep_waiting(value)
            return
        start = _clock_ns()
        # A long wait counts as twice the bound at most, so that a single one is soon forgotten.
        self._usual_ns = usual = self._usual_ns + (min(self._last_ns, 2 * _LONG_NS) - self._usual_ns) // 4
        if usual > _LONG_NS or not self._spin_until(value, start, start + max(2 * usual, _LEAST_SPIN_NS)):
            if not self.wait_slice(value):
                self._keep_waiting(value)
            self._last_ns = _clock_ns() - start

    def _keep_waiting(self, value: int) -> None:
        from .watchdog import Watchdog

        watchdog = Watchdog(self._device)
        while not self.wait_slice(value):
            watchdog.look()

    def wait_slice(self, value: int) -> bool:
        """Waits until it reaches `value`, or a fifth of a second; returns whether it has.

        Other threads run meanwhile.  What leads there must have been submitted.
        """
        device, spare = self._device, self._wait_structs
        visits = device.visits
        try:
            visits.append(None)  # as `LogicalDevice.visit`, which takes as long as all the rest here
            if device.is_unusable:
                device.require_usable()
            # Threads wait at the same time: each takes a struct of its own, made at most once per waiting thread.
            struct = spare.pop() if spare else self._new_wait_struct()
            info, target = struct
            if self._takes_turns and self._has_given_way(value, target):
                spare.append(struct)
                return True
            target[0] = value
            result = self._wait_semaphores(device.raw, info, _WAIT_SLICE_NS)
            spare.append(struct)
        finally:
            visits.pop()
        if result:
            if result == VK_TIMEOUT:
                return False
            device.check(result, "vkWaitSemaphores")
        if value > self.completed:
            self.completed = value
        return True

    def _has_given_way(self, value: int, counter: Any) -> bool:
        """Lets the driver's threads run, and returns whether they have reached `value`.

        Other programs run meanwhile, too, and a driver may have several threads that wake each other: where it takes
        long, or does not suffice, the next waits do without.

        Args:
            value: waited for.
            counter: uint64_t[1], overwritten.
        """
        if self._failures:
            self._failures -= 1
            return False
        start = _clock_ns()
        os.sched_yield()
        device = self._device
        result = self._get_counter_value(device.raw, self.raw, counter)
        is_reached = not result and counter[0] >= value
        if is_reached and value > self.completed:
            self.completed = value
        if not is_reached or _clock_ns() - start > _LONG_NS:
            self._failures = WAITS_AFTER_FAILURE
        return is_reached

    def _new_wait_struct(self) -> tuple[Any, Any]:
        target = ffi.new("uint64_t[]", 1)
        info = make("VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=self.raw_array, pValues=target)
        return info, target

    def _spin_until(self, value: int, start_ns: int, end_ns: int) -> bool:
        """Polls until it reaches `value` or the clock `end_ns`; returns whether it has reached it.

        What happens once it is reached makes every wait longer: the clock is only read in between.
        """
        device, raw = self._device, self.raw
        read, counter = self._get_counter_value, ffi.new("uint64_t*")
        visits = device.visits
        try:
            visits.append(None)  # as in `wait_slice`
            if device.is_unusable:
                device.require_usable()
            now, of = start_ns, device.raw
            while now < end_ns:
                for _ in _POLLS:
                    result = read(of, raw, counter)
                    if result:
                        device.check(result, "vkGetSemaphoreCounterValue")
                    reached = counter[0]
                    if reached >= value:
                        if reached > self.completed:
                            self.completed = reached
                        self._last_ns = now - start_ns
                        return True
                now = _clock_ns()
        finally:
            visits.pop()
        return False
