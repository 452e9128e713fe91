"""Event: the completion of one command, as a value of its queue's timeline semaphore."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ..ir.errors import Error, InvalidError, for_user, user_facing
from ..ir.public_names import PublicNames
from .backend import VulkanObject
from .quiet import quiet

if TYPE_CHECKING:
    from .event_times import EventProfilingInfo, Timing
    from .object_info import EventInfo
    from .queue import Queue
    from .timeline import Timeline


class Event(
    VulkanObject,
    metaclass=PublicNames,
    internal="is_recorded timeline timing value",
):
    """What a launch returns.  ``lp.Event()`` is one of the default device that is done, for a chain to begin with.

    It is done when the queue's timeline reaches `value`.  Holding an event keeps its queue, not its arrays.
    """

    __slots__ = ("__weakref__", "timeline", "timing", "value")

    _instead = "wait for it, and pickle what its arrays hold"
    _called = "Event"

    is_recorded = False
    """Whether it stands for a command of a graph, which runs at replays only."""

    def __init__(self, timeline: Timeline | None = None, value: int = 0) -> None:
        if timeline is None:
            from .device_list import device

            timeline = device().default_queue
        self.timeline: Timeline = timeline
        """What it waits for, together with `value`: its queue, but for events of other kinds."""
        self.value = value
        """Timeline value of the submission; 0 is done from the start."""
        self.timing: Timing | None = None
        """When it ran, of a queue with ``profiling=True``; written by the queue when it retires the submission."""

    @property
    def queue(self) -> Queue:
        """The queue that it belongs to."""
        from .queue import Queue

        assert isinstance(self.timeline, Queue), "events of other timelines say which queue is theirs"
        return self.timeline

    @property
    def done(self) -> bool:
        """Whether the command has ended.  Submits it if it was only recorded, so polling makes progress."""
        return self.timeline.poll(self.value)

    @property
    def info(self) -> EventInfo:
        """How far the command is, under the names of SYCL's ``info::event``."""
        from .object_info import EventInfo

        return EventInfo(self)

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.event.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        from .info_descriptors import answer

        return answer("Event", "event", self.info, descriptor)

    def wait(self) -> Self:
        """Waits for the command and returns the event; Ctrl-C ends the wait.

        Raises:
            DeviceLostError: the driver lost the device.
        """
        try:
            self.timeline.wait_for(self.value)
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error
        return self

    def add_done_callback(self, function: Callable[[Self], object]) -> None:
        """Calls ``function(event)`` once the command has ended, also where it failed.

        It is called in a thread of the runtime, or at once where the command has ended already, and must not block:
        others wait behind it.  What it raises is logged.  Submits the command if it was only recorded.

        Raises:
            DeviceLostError: the driver lost the device.
            InvalidError: `function` cannot be called; or ``asyncio.wait`` calls this, which would never hear of a
                callback of another thread.
        """
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison] - called by users
            raise InvalidError(f"event.add_done_callback expects a function of the event, found {function!r}")
        if getattr(function, "__module__", None) == "asyncio.tasks":
            raise InvalidError(
                "asyncio.wait takes tasks: asyncio.wait([asyncio.ensure_future(event), …]); asyncio.gather, "
                "wait_for and await take events as they are"
            )
        self.timeline.watch(self.value, partial(function, self))

    def __await__(self) -> Generator[Any, None, Self]:
        timeline = self.timeline
        try:
            if not self.done:
                yield from self._told_to_loop()
            with quiet():
                timeline.wait_for(self.value)  # takes no time any more, or says what came in between
            if timeline.has_reports:
                # The loop must go on while later launches of kernels that print run.
                if last := timeline.read_reports():
                    yield from Event(timeline, last)._told_to_loop()
                timeline.show_ended()
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error
        return self

    def _told_to_loop(self) -> Generator[Any, None, None]:
        """Waits for the command as coroutines do."""
        import asyncio  # 15 ms, and there already where somebody awaits

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if not ended.done():  # it may have been cancelled
                ended.set_result(None)

        def tell_loop(event: Event) -> None:
            del event
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(tell)

        self.add_done_callback(tell_loop)
        yield from ended

    @property
    @user_facing
    def elapsed_ns(self) -> float:
        """Time on the device in nanoseconds; waits for the command.

        Raises:
            InvalidError: the queue was made without ``profiling=True``.
        """
        from .event_times import timing_of

        timing = timing_of(self)
        if timing is None:
            return 0.0
        begin, end = timing.of_host_ns
        return end - begin + timing.elapsed_ticks * self.queue.timestamp_period_ns

    @property
    def profiling_info(self) -> EventProfilingInfo:
        """When the command was submitted, began and ended, under the names of SYCL's ``info::event_profiling``.

        Each waits for the command and raises as `elapsed_ns`.
        """
        from .event_times import EventProfilingInfo

        return EventProfilingInfo(self)

    @user_facing
    def get_profiling_info(self, descriptor: object) -> int:
        """Returns what ``lp.info.event_profiling.x`` asks for, in nanoseconds on the device's clock.

        The same as ``profiling_info.x``.

        Raises:
            InvalidError: the queue was made without ``profiling=True``.
            TypeError: another descriptor.
        """
        from .info_descriptors import answer

        return answer("Event", "event_profiling", self.profiling_info, descriptor, "get_profiling_info")

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing

        def __getattr__(self, name: str) -> object:
            from .attribute_hints import missing_attribute

            raise missing_attribute(name, self)

    def __repr__(self) -> str:
        return f"<lapilli.Event {self.value} of {self.timeline!r}>"
