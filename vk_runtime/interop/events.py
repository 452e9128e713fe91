"""Events: values of timeline semaphores.  An event of several is done when all have reached their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from ...ir.errors import InvalidError
from ..bundle_errors import ConstraintError
from ..constants import VK_TIMEOUT
from ..context import Context
from ..device import Device
from ..event import Event
from ..handle import living
from ..headers import address_of, ffi, make
from ..watcher import Watcher, call
from .handle_refs import given_out, share
from .natives import Native, handle, native_int, require_own
from .queues import require_context

_WAIT_SLICE_NS = 200_000_000
"""A wait returns to Python this often, for Ctrl-C."""


class SemaphoreTimeline:
    """Timeline semaphores of the application; a `vk_runtime.timeline.Timeline` that has one value, reached by all."""

    is_closed: bool = False

    def __init__(self, device: Device, points: Sequence[tuple[Any, int]]) -> None:
        self._device = device
        self._points = tuple(points)
        self._watcher: Watcher | None = None

    @property
    def device(self) -> Device:
        """The device that the semaphores are of."""
        return self._device

    @property
    def has_reports(self) -> bool:
        """False: no kernel of lapilli's ends there."""
        return False

    def read_reports(self) -> int:
        """Returns 0: there is none."""
        return 0

    def show_ended(self) -> None:
        """Does nothing, as there is nothing to show."""

    def points(self, value: int) -> tuple[tuple[Any, int], ...]:
        """Returns the (VkSemaphore, value) pairs."""
        return self._points

    def submit_up_to(self, value: int) -> None:
        """Does nothing: the application submits."""

    def poll(self, value: int) -> bool:
        """Returns whether every semaphore has reached its value."""
        logical = self._device.logical
        counter = ffi.new("uint64_t*")

        def are_reached() -> bool:
            for semaphore, target in self._points:
                result = logical.vk.vkGetSemaphoreCounterValue(logical.raw, semaphore, counter)
                logical.check(result, "vkGetSemaphoreCounterValue")
                if counter[0] < target:
                    return False
            return True

        return logical.visit(are_reached)

    def wait_for(self, value: int) -> None:
        """Waits for every semaphore."""
        while not self.wait_slice(value):
            pass

    def watch(self, value: int, function: Callable[[], object]) -> None:
        """Calls `function` once every semaphore has reached its value: in a thread, or here where they have already."""
        if self.poll(value):
            call(function)
            return
        if self._watcher is None:
            self._watcher = Watcher()
        self._watcher.add(self, value, function)

    def new_watchdog(self) -> None:
        """Returns None: the application signals when it will."""

    def wait_slice(self, value: int) -> bool:
        """Waits for every semaphore for a while; returns whether all have reached their values."""
        logical = self._device.logical
        semaphores = ffi.new("VkSemaphore[]", [semaphore for semaphore, _ in self._points])
        values = ffi.new("uint64_t[]", [target for _, target in self._points])
        info = make(
            "VkSemaphoreWaitInfo", semaphoreCount=len(self._points), pSemaphores=semaphores, pValues=values
        )
        result = logical.visit(lambda: logical.vk.vkWaitSemaphores(logical.raw, info, _WAIT_SLICE_NS))
        logical.check(result, "vkWaitSemaphores")
        return result != VK_TIMEOUT


class NativeEvent(Event):
    """An event of semaphores that the application signals."""

    __slots__ = ()

    def __init__(self, timeline: SemaphoreTimeline) -> None:
        super().__init__(timeline, 1)

    @property
    def queue(self) -> NoReturn:
        """Raises InvalidError: it is of no queue."""
        raise InvalidError("this event was made of native semaphores: it has no queue")

    @property
    def elapsed_ns(self) -> NoReturn:
        """Raises InvalidError: nobody timed it."""
        raise InvalidError("this event was made of native semaphores: it was not timed")

    def __repr__(self) -> str:
        return f"<lapilli.Event of {len(self.timeline.points(1))} native semaphores>"


def native_event(event: Event) -> list[tuple[Native, int]]:
    """Returns the (VkSemaphore, value) pairs of an event; its commands are submitted, so that waiting ends."""
    event.timeline.submit_up_to(event.value)
    logical = event.timeline.device.logical
    return [
        (given_out("VkSemaphore", semaphore, event, event.timeline, logical), value)
        for semaphore, value in event.timeline.points(event.value)
    ]


def make_event(native: object, ctx: Context) -> Event:
    """Returns the event of timeline semaphores.

    Vulkan cannot tell whether a number names a semaphore: a wrong handle that is not null ends in undefined
    behaviour at the first use of the event, as in any Vulkan call.

    Args:
        native: a (VkSemaphore, value) pair, or a list of them, all of which must be reached.
        ctx: a context with one device, which the semaphores are of; or the pairs are of lapilli.

    Raises:
        InvalidError: an empty list, VK_NULL_HANDLE, a semaphore of another VkDevice, a value that cannot be, or a
            context of several devices.
        TypeError: something that is no pair, or neither an int nor a VkSemaphore in its first place.
    """
    what = "make_event"
    require_context(what, ctx)
    items = cast("list[object]", native) if isinstance(native, list) else [native]
    if not items:
        raise InvalidError(f"{what}: expected at least one (VkSemaphore, value), found an empty list")
    pairs = [_pair(what, item) for item in items]
    device = _device_of(what, ctx, [number for number, _ in pairs])
    for item in items:
        require_own(what, cast("tuple[object, int]", item)[0], device)
    timeline = SemaphoreTimeline(device, [(handle("VkSemaphore", number), value) for number, value in pairs])
    event = NativeEvent(timeline)
    for number, _ in pairs:
        share("VkSemaphore", number, event)
    return event


def _pair(what: str, item: object) -> tuple[int, int]:
    pair = list(cast("tuple[object, ...]", item)) if isinstance(item, tuple) else []
    if len(pair) != 2:
        raise ConstraintError(
            f"{what} takes (VkSemaphore, value) pairs of timeline semaphores, found {item!r:.60}"
        )
    value = pair[1]
    if not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise InvalidError(
            f"{what}: a timeline semaphore's value is an integer from 0 below 2**64, found {value!r}"
        )
    return native_int(what, pair[0], "VkSemaphore"), value


def _device_of(what: str, ctx: Context, numbers: Sequence[int]) -> Device:
    for device in ctx.devices:
        if device.is_open:
            own = {address_of(queue.semaphore) for queue in living(device.logical.queues)}
            if own.issuperset(numbers):
                return device
    first, *others = ctx.devices
    if others:
        raise InvalidError(
            f"{what}: expected semaphores of a queue of the context, or a context with one device; it has "
            f"{len(ctx.devices)}"
        )
    return first
