"""LaunchRecord: a kernel with its range, ready to be launched again and again.

It holds everything about a kernel, range, local size and specialization values that does not depend on the arguments.
Its `launch` is the hot path: check the arguments and record what `KernelCommands` has ready.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir.kernel_info import BufferParameter, ImageParameter
from ..ir.stream import Stream
from . import graph_recording, profile, trace, tracked
from .constants import VK_SHADER_STAGE_COMPUTE_BIT
from .errors import ArrayRangeError
from .event import Event
from .kernel_commands import KernelBinding, KernelCommands
from .launch_plan import LaunchPlan, Piece, rank_to_show
from .pipeline import Pipeline
from .queue import Queue
from .recorded_launch import RecordedLaunch, are_fixed
from .repeated_launches import KEPT

if TYPE_CHECKING:
    from .arguments import CheckedArguments, Uses
    from .command_buffer import CommandBuffer
    from .descriptors import DescriptorSet
    from .device import Device
    from .reports import KernelReport, Streams
    from .scalars import Scalar

Step = tuple[tuple["Scalar", ...], tuple[int, int, int]]
"""One dispatch: the hidden fields of the argument block, and the work-group counts (x, y, z)."""


_serials = itertools.count()
_new_event: Any = Event.__new__


class LaunchRecord(KernelCommands):
    """A kernel with its range, local size and specialization values, ready to be launched again and again.

    Args:
        device: where it runs.
        binding: of the kernel.
        plan: the checked range.
        pipeline: specialised for the values and the local size.
        hidden: what `hidden_values` returns.
        rest: does the part of the range that `plan` leaves out, with the same arguments.
    """

    def __init__(
        self,
        device: Device,
        binding: KernelBinding,
        plan: LaunchPlan,
        pipeline: Pipeline | None,
        hidden: tuple[Scalar, ...] = (),
        rest: LaunchRecord | None = None,
    ) -> None:
        super().__init__(device, binding, pipeline)
        self.serial = next(_serials)
        """Names it in caches; never used again."""
        self._hidden = hidden
        self._rest = rest
        self.logical = device.logical
        self.lock, self.locking = device.logical.lock, device.logical.locking
        self._default_queue: Queue | None = None
        self._checker = binding.checker
        self._takes_scalars_only = binding.packer.is_scalars_only
        self.plan = plan
        self._has_report = binding.kernel.abi.report_binding is not None
        self._report_rank = rank_to_show(binding.kernel, plan.range_)
        pieces = plan.pieces
        first = next(pieces, None)
        self._first = None if first is None else self._step(first)
        self._has_more = rest is not None or next(pieces, None) is not None
        self._writes = any(
            isinstance(p, BufferParameter | ImageParameter) and p.access != "read"
            for p in binding.kernel.parameters
        )
        # Each stream has a report buffer of its own.
        has_streams = bool(self._checker.stream_names)
        is_whole = not self._has_more and plan.regions is None
        self._is_repeatable = self._is_block_pushed and is_whole and not has_streams
        """Whether a launch right behind an equal one may leave out what is bound already."""
        self._is_kept = self._is_repeatable
        """Whether `RepeatedLaunches` may keep it."""

    def _step(self, piece: Piece) -> Step:
        """Returns the values of the hidden fields of a dispatch, and its work-group counts."""
        packer = self._packer
        range_ = [self.plan.range_[d] for d in packer.range_dimensions]
        base = [piece.base[d] for d in packer.base_dimensions]
        return (*range_, *base, *self._hidden), piece.groups

    def launch_again(self, queue: object, args: Sequence[object]) -> Event | None:
        """Records the kernel, or returns None where its arguments need a closer look: by `launch`, or by that of
        another device.

        Args:
            queue: a `Queue`; None: the default queue of the record's device.
            args: in parameter order.
        """
        if queue is None:
            found = self._default_queue
            if found is None or found.is_closed:
                found = self._default_queue = self._device.default_queue
        elif isinstance(queue, Queue):
            found = queue
        else:
            return None
        known = found.known
        again = known.get(self)
        if again is not None:
            event = again.launch(found, args, known)
            if event is not None:
                return event
        generation = tracked.generation
        checked = self._checker.quick_check(args, self._device)
        if checked is None or found.device is not self._device:
            return None
        try:
            return self._record(found, args, checked, (), generation)
        except ArrayRangeError:
            return None

    def launch(self, queue: Queue, args: Sequence[object], wait_events: Sequence[Event] = ()) -> Event:
        """Records the kernel on a queue; see `launch`.  Does not wait for the device."""
        generation = tracked.generation
        return self._record(queue, args, self.check(args), wait_events, generation)

    def check(self, args: Sequence[object]) -> CheckedArguments:
        """Checks arguments as `launch` does and returns them taken apart."""
        return self._checker.check(args, self._device)

    def new_reports(self, args: Sequence[object]) -> tuple[KernelReport, ...]:
        """Returns report buffers for launches by a graph: none where there is nothing to report.  Call it with the
        device's lock held."""
        of_rest = () if self._rest is None else self._rest.new_reports(args)
        if not self._has_report:
            return of_rest
        from .reports import KernelReport

        kernel = self._binding.kernel
        mine = KernelReport(self._device.logical, kernel, self._report_rank, self._streams(args))
        return (mine, *of_rest)

    def _streams(self, args: Sequence[object]) -> Streams:
        """Returns the streams among the arguments of a launch, by the names of their parameters."""
        names = self._checker.stream_names
        if not names:
            return {}
        return {name: stream for name, stream in zip(names, args, strict=True) if isinstance(stream, Stream)}

    def encode(
        self, command_buffer: CommandBuffer, args: Sequence[object], reports: Sequence[KernelReport]
    ) -> None:
        """Records the launch into a command buffer of a graph.  Call it with the device's lock held.

        Orders nothing, and keeps no array alive: the graph does both.
        """
        checked = uses, values = self.check(args)
        if not self._takes_scalars_only:
            values = self._packer.values(args, checked)
        report, *of_rest = reports if self._has_report else (None, *reports)
        for piece in self.plan.pieces:
            hidden, groups = self._step(piece)
            nbytes = self._memory_block_bytes
            place = command_buffer.argument_block(nbytes) if nbytes else None
            shown = self._show(place, uses, hidden, values, report)
            self.bind(command_buffer, shown, hidden, values)
            self.dispatch_groups(command_buffer.raw, *groups)
        if self._rest is not None:
            self._rest.encode(command_buffer, args, of_rest)

    def scalars(self, args: Sequence[object]) -> list[Scalar]:
        """Checks arguments as `launch` does; returns the scalars among them, in order, bf16 as its bits."""
        return self._checker.check(args, self._device)[1]

    def _record(
        self,
        queue: Queue,
        args: Sequence[object],
        checked: CheckedArguments,
        wait_events: Sequence[Event],
        generation: object,
    ) -> Event:
        """Records the kernel; `generation` is `tracked.generation` from before the arguments were checked."""
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            self._require_ranges(checked[0])
            return graph.add_launch(self, queue, args, checked, wait_events)
        event = _new_event(Event)
        event.timeline, event.value, event.timing = queue, 0, None
        first = self._first
        if first is None:
            return event
        uses, values = checked
        if not self._takes_scalars_only:
            values = self._packer.values(args, checked)
        if wait_events:
            queue.wait_for_other_devices(wait_events)
        with self.lock:
            if self.logical.half_way is not None:
                self.logical.require_whole()
            # Another thread may have moved an array: `Array.export_fd`.
            if tracked.generation is not generation:
                uses, values = checked = self.check(args)
                if not self._takes_scalars_only:
                    values = self._packer.values(args, checked)
            if wait_events:
                queue.wait_for_own_device(wait_events)
            latest = queue.latest
            if (
                latest is not None
                and latest.record is self
                and latest.uses == uses
                and self._dispatch_again(queue, event, latest, first[0], values, args)
            ):
                pass
            elif (
                wait_events
                or queue.recording is not None
                or not self._repeat(queue, event, args, uses, first[0], values)
            ):
                self._dispatch(queue, event, first, uses, values, args)
            if self._has_more:
                pieces = self.plan.pieces
                next(pieces)
                for piece in pieces:
                    self._dispatch(queue, event, self._step(piece), uses, values, args)
                if self._rest is not None:
                    self._rest.add_to(queue, event, args, checked)
            if trace.active:
                self.note_launch()
        return event

    def add_to(self, queue: Queue, event: Event, args: Sequence[object], checked: CheckedArguments) -> None:
        """Records all dispatches as part of another record's launch.  Call it with the device's lock held."""
        uses, values = checked
        if not self._takes_scalars_only:
            values = self._packer.values(args, checked)
        for piece in self.plan.pieces:
            self._dispatch(queue, event, self._step(piece), uses, values, args)

    def _dispatch(
        self,
        queue: Queue,
        event: Event,
        step: Step,
        uses: Uses,
        values: Sequence[Scalar],
        args: Sequence[object],
    ) -> None:
        """Records one dispatch.

        What may fail, or submit the open command buffer, comes first; what the commands use is kept before they
        are recorded, and noted as bound after, because Ctrl-C may come in between.
        """
        hidden, groups = step
        if queue.recording is None:
            queue.open()  # first: it refuses where the device cannot be used any more
        report = self.report_of(queue, args)
        if report is not None:
            queue.reports.order.prepare(self.logical)
        try:
            command_buffer, place = queue.begin_command(self._memory_block_bytes)
            if report is not None:
                queue.reports.order.begin(queue, (report,), command_buffer)
            descriptor_set = self._show(place, uses, hidden, values, report)
            if report is not None:
                queue.reports.note_launch(report, command_buffer.value)
                command_buffer.keep.append(report)
            queue.order(uses, command_buffer.value)
            event.value = command_buffer.value
            command_buffer.keep.append(uses)
            if command_buffer.is_timed:
                command = profile.command("kernel", self._binding.kernel.name, queue, event.value)
                command_buffer.begin_timing(event, command)
            self.bind(command_buffer, descriptor_set, hidden, values)
            self.dispatch_groups(command_buffer.raw, *groups)
            if command_buffer.is_timed:
                command_buffer.end_timing()
            elif self._is_repeatable:
                recorded = self._note_recorded(queue, command_buffer, uses, descriptor_set, args)
                if report is None or not report.prints:
                    # `PrintOrder` hears of each launch that follows another.
                    queue.known[self] = recorded
            command_buffer.launch_count += 1
        finally:
            self.logical.half_way = None
        if command_buffer.launch_count >= queue.submit_after:
            queue.flush()

    def _note_recorded(
        self,
        queue: Queue,
        command_buffer: CommandBuffer,
        uses: Uses,
        descriptor_set: DescriptorSet | None,
        args: Sequence[object],
    ) -> RecordedLaunch:
        """Notes the last command of the open command buffer as one that may be repeated; returns it."""
        first = self._first
        assert first is not None, "an empty range has no commands"
        block = (command_buffer.pushed or b"") if self._has_values else b""
        # What only prints has its order on a queue that is in order, too.
        has_barrier = self._writes or queue.is_in_order
        recorded = RecordedLaunch(
            self, command_buffer, uses, block, descriptor_set, first[1], has_barrier=has_barrier
        )
        before = queue.known.get(self)
        if before is None:
            # Equal launches may follow.  Remembered once a command buffer, because the arrays may differ each time.
            if not command_buffer.launch_count:
                recorded.remember(args)
        elif isinstance(before, RecordedLaunch) and before.uses == uses and before.block == block:
            recorded.remember(args)  # it comes again, in turn with other launches
        queue.latest = recorded
        return recorded

    def _dispatch_again(
        self,
        queue: Queue,
        event: Event,
        latest: RecordedLaunch,
        hidden: Sequence[Scalar],
        values: Sequence[Scalar],
        args: Sequence[object],
    ) -> bool:
        """Does what `_dispatch` does, right after a dispatch of the same record with the same arrays.

        Everything is bound and kept, so a barrier, where the kernel writes, and scalars that changed are what is left.
        Returns False where a finaliser has recorded or submitted in between.
        """
        logical = self.logical
        try:
            logical.half_way = queue
            command_buffer = queue.recording
            if queue.latest is not latest or command_buffer is None:
                return False
            block = self._packed(hidden, values)
            if block != latest.block:
                # Nothing is known if Ctrl-C comes before the push is noted.
                queue.latest = command_buffer.pushed = None
                stages = VK_SHADER_STAGE_COMPUTE_BIT
                self._push(command_buffer.raw, self._layout, stages, 0, self._push_bytes, self._block)
                latest.block = block
                queue.latest = latest
            else:
                latest.remember(args)
            event.value = latest.dispatch(queue)
        finally:
            logical.half_way = None
        if command_buffer.launch_count >= queue.submit_after:
            queue.flush()
        return True

    def _repeat(
        self,
        queue: Queue,
        event: Event,
        args: Sequence[object],
        uses: Uses,
        hidden: Sequence[Scalar],
        values: Sequence[Scalar],
    ) -> bool:
        """Submits a recording of the same launch that was kept, if there is one; see `RepeatedLaunches`."""
        repeated = queue.repeated
        if queue.in_flight:
            repeated.note_haste()
            return False
        if not (repeated.is_expected and self._is_kept) or queue.is_timed:
            return False
        try:
            self.logical.half_way = queue  # a finaliser that launches packs its scalars into the same memory
            block = self._packed(hidden, values)
        finally:
            self.logical.half_way = None
        kept = repeated.find(self, queue, args, uses, block)
        if kept is None or not kept.submit(
            queue, [memory for memory, _ in uses], [writes for _, writes in uses]
        ):
            return False
        event.value = kept.value
        if queue.known.get(self) is kept:
            if are_fixed(args):
                kept.remember(args, uses)
        elif len(queue.known) < KEPT:
            queue.known[self] = kept
        else:
            queue.known = {self: kept}
        return True

    def report_of(self, queue: Queue, args: Sequence[object]) -> KernelReport | None:
        """Returns the report buffer of its launches on a queue, None where there is nothing to report.

        Call it with the device's lock held.
        """
        if not self._has_report:
            return None
        binding, streams = self._binding, self._streams(args)
        return queue.reports.of(self._device.logical, binding, binding.kernel, self._report_rank, streams)
