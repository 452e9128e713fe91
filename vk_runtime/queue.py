"""Queue: what launches, copies and fills go to, and what waits for them.

`command_stream.CommandStream` below it records and submits; this is what users hold: the command groups, the waits,
and what kernels have to tell whoever waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ..ir.errors import (
    DeviceLostError,
    Error,
    FeatureNotSupportedError,
    InvalidError,
    KernelTrap,
    for_user,
    user_facing,
)
from ..ir.lazy_logging import logger_of
from ..ir.public_names import PublicNames
from . import graph_recording, profile
from .asynchronous_errors import AsynchronousErrors
from .backend import NotThere, VulkanObject
from .command_stream import CommandStream
from .event import Event
from .quiet import is_quiet, quiet

if TYPE_CHECKING:
    import numpy as np

    from .array import Array
    from .command_buffer import CommandBuffer
    from .context import AsyncHandler, Context
    from .device import Device
    from .handler import CommandGroup, Handler
    from .image_base import ImageBase
    from .object_info import QueueInfo
    from .reports import QueueReports
    from .small_copies import KeptDownloads
    from .transfer_stream import TransferStream

logger = logger_of(__name__)

_COPIES = ("memcpy", "copy_from", "copy_to", "memset", "zero")
_LAUNCHES = ("launch", "enqueue", "run")
_OF_SYCL = (
    "ext_oneapi_empty",
    "ext_oneapi_submit_barrier",
    "has_property",
    "mem_advise",
    "prefetch",
    "update_host",
)
OF_OTHER_QUEUES = frozenset(
    (*_COPIES, *_LAUNCHES, *_OF_SYCL, "finish", "in_order", "record_event", "sync", "synchronize")
)
"""What queues of other libraries have; `attribute_hints` says what to write here."""


class Queue(
    VulkanObject,
    CommandStream,
    metaclass=PublicNames,
    internal="""
    abandon argument_block barrier begin_command block_until close completed downloads drop_recording event drain
    has_reports in_flight is_closed is_closing is_timed known last_value latest new_watchdog note_error note_launch
    open order points poll progress read_last read_reports record recording repeated reports require_open retire
    running semaphore show_ended show_last stop_watching submit_after submit_batch submit_up_to timestamp_period_ns
    transfers vk_queue wait_for wait_for_other_devices wait_for_own_device wait_on_device wait_slice watch
    """,
):
    """A queue of one device.  Threads may share it.

    Args:
        device: a `Device`, a selector string, or None: the first of `context`, else the default device.
        context: what its kernel bundles must belong to; None: the device's default context.
        in_order: commands run one after the other, in the order in which they were submitted.
        profiling: time every command, for `Event.elapsed_ns`; commands then run one after the other, too.
        async_handler: gets the list of errors that commands met while they ran, at the next wait or read; without
            one there, and none of the context, that raises the first.

    Raises:
        InvalidError: `device` is none of `context`, or `async_handler` is no function.
        FeatureNotSupportedError: `profiling` on a device without timestamps.
        RuntimeFailure: no usable device.
    """

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing
        locals().update({name: NotThere() for name in OF_OTHER_QUEUES})

    def __init__(
        self,
        device: Device | str | None = None,
        *,
        context: Context | None = None,
        in_order: bool = False,
        profiling: bool = False,
        async_handler: AsyncHandler | None = None,
    ) -> None:
        from .device_list import resolve_device

        if context is not None:
            from .context import Context

            if not isinstance(context, Context):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
                raise InvalidError(f"lp.Queue(context=…) takes an lp.Context or None; found {context!r}")
            device = context.devices[0] if device is None else device
        found = resolve_device(device)
        if context is not None and found not in context.devices:
            names = ", ".join(f"'{member.selector}'" for member in context.devices)
            raise InvalidError(
                f"lp.Queue: device '{found.selector}' is none of the context's: {names}; make a context with it"
            )
        if async_handler is not None and not callable(async_handler):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidError(f"lp.Queue(async_handler=…) expects a function, found {async_handler!r}")
        logical = found.logical
        if profiling and not logical.physical.timestamp_valid_bits:
            raise FeatureNotSupportedError(
                f"device '{logical.name}' has no timestamps (aspect queue_profiling); "
                "make the queue without profiling=True"
            )
        self._context = context
        self._async_handler = async_handler
        self._errors = AsynchronousErrors()
        self.transfers: tuple[TransferStream, int] | None = None
        """Where its last copy from host memory went that runs beside it, and the timeline value there."""
        self._reports: QueueReports | None = None
        """What its kernels tell the host."""
        super().__init__(found, is_in_order=in_order, is_profiling=profiling)
        self.timestamp_period_ns = logical.physical.limits.timestamp_period_ns
        logical.queues.add(self)

    @property
    def context(self) -> Context:
        """The context that its kernel bundles must belong to."""
        if self._context is None:
            self._context = self._device.default_context
        return self._context

    def get_device(self) -> Device:
        """Returns `device`."""
        return self._device

    def get_context(self) -> Context:
        """Returns `context`."""
        return self.context

    @cached_property
    def downloads(self) -> KeptDownloads:
        """Its small downloads that come again."""
        from .small_copies import KeptDownloads

        return KeptDownloads(self._logical)

    @property
    def reports(self) -> QueueReports:
        """What its kernels have to tell; made for the first that has.  Use it with the device's lock held."""
        if self._reports is None:
            from .reports import QueueReports

            self._reports = QueueReports()
        return self._reports

    @property
    def has_reports(self) -> bool:
        """Whether a kernel that checks or prints was launched since its report was last read, and shown."""
        reports = self._reports
        return reports is not None and (bool(reports.pending) or reports.printer.is_waiting)

    @property
    def info(self) -> QueueInfo:
        """What it belongs to, under the names of SYCL's ``info::queue``."""
        from .object_info import queue_info

        return queue_info(self)

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.queue.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        from .info_descriptors import answer

        return answer("Queue", "queue", self.info, descriptor)

    # Command groups

    @overload
    def submit(self) -> CommandGroup: ...

    @overload
    def submit(self, group: Callable[[Handler], object]) -> Event: ...

    @user_facing
    def submit(self, group: Callable[[Handler], object] | None = None) -> Event | CommandGroup:
        """Submits a command group: ``queue.submit(lambda h: h.parallel_for(n, k, x))``, or a ``with`` block.

        Args:
            group: is called at once with a `Handler`; without it the result is a context manager that gives one.

        Returns:
            The event of the group's command; of a group without command, of what it depends on.

        Raises:
            Error: whatever the group raises, or its command; nothing was submitted then.
        """
        from .handler import CommandGroup, run_group

        return CommandGroup(self) if group is None else run_group(self, group)

    @user_facing
    def parallel_for(
        self,
        range_: object,
        kernel: object,
        /,  # a kernel's parameters may be called so
        *args: object,
        spec: Mapping[Any, object] | None = None,
        **kwargs: object,
    ) -> Event:
        """Launches a kernel over a range: a command group of this one command; see `Handler.parallel_for`."""
        return self.submit(lambda h: h.parallel_for(range_, kernel, *args, spec=spec, **kwargs))

    @user_facing
    def single_task(
        self, kernel: object, /, *args: object, spec: Mapping[Any, object] | None = None, **kwargs: object
    ) -> Event:
        """Launches a kernel with one work-item; see `Handler.single_task`."""
        return self.submit(lambda h: h.single_task(kernel, *args, spec=spec, **kwargs))

    @user_facing
    def copy(
        self,
        source: Array | ImageBase | np.ndarray[Any, Any],
        target: Array | ImageBase | np.ndarray[Any, Any],
    ) -> Event:
        """Copies all elements, or pixels, of `source` to `target`; see `Handler.copy`."""
        return self.submit(lambda h: h.copy(source, target))

    @user_facing
    def fill(self, target: Array | ImageBase, value: object) -> Event:
        """Sets every element, or pixel, of `target`; see `Handler.fill`."""
        return self.submit(lambda h: h.fill(target, value))

    def marker(self, events: Sequence[Event] = ()) -> Event:
        """Makes later commands wait for events; returns an event that is done once they, and all before, are."""
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            return graph.add_marker(self, events)
        self.wait_for_other_devices(events)

        def encode(_: CommandBuffer) -> None:
            self.wait_for_own_device(events)
            if self.transfers is not None:
                self.wait_on_device(*self.transfers)

        with self._lock:
            value = self.record(encode)
        return Event(self, value)

    # Waiting

    def wait_for(self, value: int) -> None:
        """Waits until the timeline reaches `value`; prints what kernels printed.

        Raises:
            KernelTrap: a kernel of this queue failed, and there is no ``async_handler``; once.
            DeviceLostError: the driver lost the device.
        """
        if value > self._clock.completed:
            if value > self._submitted:
                self.flush()
            if profile.active:
                with profile.span("wait", "queue", device=self._device.selector):
                    self._clock.block_until(value)
            elif not self._logical.is_cpu or not self._clock.wait_slice(value):
                self._clock.block_until(value)
        reports = self._reports
        if self.in_flight:
            logical, is_locked = self._logical, False
            try:
                for is_locked in logical.locking:  # noqa: B007 - read in `finally`
                    break
                self.retire()
                if logical.graveyard.pending:
                    logical.drain()
                if reports is not None:
                    reports.forget_silent(logical, self._clock.completed)
            finally:
                if is_locked:
                    self._lock.release()
        if reports is not None and self.has_reports and not is_quiet():
            last = self.read_reports()
            if last:
                self.block_until(last)
            self.show_ended()

    def read_reports(self) -> int:
        """Reads what kernels have reported, for `show_ended`.  A buffer in use is read when its last launch has ended.

        Returns:
            The timeline value to wait for before `show_ended`, which reads all then; 0: nothing is left to read.
        """
        reports = self._reports
        if reports is None:
            return 0
        with self._lock:  # before another thread launches a kernel again that has ended
            self._logical.require_usable()
            last = reports.unfinished(self._clock.completed)
            if not last:
                reports.read(self._logical, self._clock.completed, self.note_error)
        return last

    def show_ended(self) -> None:
        """Shows what kernels have reported whose launches have all ended; waits for nothing.  Raises as `wait_for`."""
        reports = self._reports
        if reports is None:
            return
        with self._lock:
            self._logical.require_usable()
            reports.read(self._logical, self._clock.completed, self.note_error)
        # Failures are noted first, so that a sys.stdout that cannot be written to loses none.
        reports.printer.show()
        self.throw_asynchronous()

    def note_error(self, *errors: Error) -> None:
        """Keeps errors that commands met while they ran, for `throw_asynchronous`."""
        self._errors.note(*errors)

    def throw_asynchronous(self) -> None:
        """Hands the errors of commands that have run to the handler of the queue or its context.

        Raises:
            Error: the first of them, where there is no handler; the others are logged.
        """
        self._errors.throw(self._handler())

    def _handler(self) -> AsyncHandler | None:
        """Returns what gets the errors of commands that have run: the queue's own, else the context's."""
        if self._async_handler is not None or self._context is None:
            return self._async_handler
        return self._context.async_handler

    @user_facing
    def wait_and_throw(self) -> None:
        """Does what `wait` does; SYCL's name."""
        self.wait()

    def wait(self) -> None:
        """Submits what is recorded and waits for everything in this queue.

        Raises:
            Error: a command failed while it ran, and there is no ``async_handler``.
            InvalidError: a graph is recorded here: what it takes runs at replays.
        """
        try:
            graph_recording.refuse("waiting for a queue")
            try:
                self._wait_for_all()
            except DeviceLostError as error:
                self.note_error(error)
            self.throw_asynchronous()
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error

    def drain(self) -> None:
        """Waits for everything, and tells of nothing that happened: nobody asked for it.  The lock may be held."""
        with quiet():
            self._wait_for_all()

    def _wait_for_all(self) -> None:
        if self._logical.is_lost or self._logical.is_forked:
            self._logical.require_usable()  # what was recorded is gone, and would look like done
        with self._lock:
            value, transfers = self.last_value, self.transfers
        if transfers is not None:
            stream, copied = transfers
            stream.wait_for(copied)
        self.wait_for(value)

    def event(self) -> Event:
        """Returns an event for everything recorded so far; while a graph is recorded, for its last command."""
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            return graph.last_event(self)
        return Event(self, self.last_value)

    def read_last(self) -> None:
        """Reads what kernels reported that nobody has waited for; the device is idle, and its lock held."""
        if self._reports is not None:
            self._reports.read(self._logical, self._submitted, self.note_error)

    def show_last(self) -> None:
        """Tells what was read last.  Call it without the lock: `sys.stdout` and handlers may launch, in other threads
        too."""
        try:
            if self._reports is not None:
                self._reports.printer.show()
        except Exception as error:  # sys.stdout may be closed by now, or anything else
            logger.error("printed lines are lost: %s", error)
        try:
            self.throw_asynchronous()
        except Exception as error:  # nobody waits any more: a handler's own error goes to the log, too
            logger.error("%s", error)

    def close(self) -> None:
        """Waits for the queue's work and gives it up; later use raises.

        Raises:
            MemoryAllocationError: the driver could not wait; the queue stays as it is, and so after Ctrl-C.
            Exception: whatever an ``async_handler`` raises; the queue is given up.
        """
        if self.is_closed:
            return
        try:
            logical = self._logical
            if not (logical.is_lost or logical.is_forked or logical.is_closed):
                with self._lock:  # what other threads want to launch from here on is refused
                    self.flush()
                    self.is_closing = True
                self._wait_for_all()
        except DeviceLostError:  # what its commands use goes with the device
            pass
        except KernelTrap as trap:  # nobody waits here for what a kernel did
            logger.error("%s", trap)
        except (Error, KeyboardInterrupt):
            self.is_closing = False
            raise
        except Exception:  # raised by the user's handler, when all commands have ended
            super().close()
            raise
        super().close()

    def __repr__(self) -> str:
        return f"<lapilli.Queue on {self._device.selector}{', closed' if self.is_closed else ''}>"
