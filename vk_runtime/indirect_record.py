"""Launches whose range the device reads: the planner, a barrier, and vkCmdDispatchIndirect.

The argument block lies in memory, where the planner writes the range into it; kernels that do not read their range
may have it in push constants.  The array with the range is the last argument of a record, so that graphs treat it as
they treat the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ..ir.errors import NdRangeError
from ..ir.local_memory import LocalMemory
from . import profile
from .indirect_planner import (
    COMMAND_BYTES,
    is_range_pushed,
    planner_arguments,
    planner_record,
    reported_kernel,
)
from .indirect_range import CheckedIndirectRange, IndirectRange, check_indirect_range, extents_on_host
from .kernel_commands import KernelBinding
from .kernel_pipeline import kernel_pipeline
from .launch import launch
from .launch_plan import LaunchPlan, plan_launch
from .launch_record import LaunchRecord
from .reports import KernelReport, Streams
from .requirements import require_device, require_limits
from .specialization import hidden_values, local_entries

if TYPE_CHECKING:
    from ..ir.kernel_info import KernelInfo
    from ..spirv.device_image import DeviceImage
    from .arguments import CheckedArguments, Uses
    from .array import Array
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .descriptors import DescriptorSet
    from .device import Device
    from .event import Event
    from .launch_cache import LaunchRecords
    from .launch_record import Step
    from .pipeline import Pipeline
    from .queue import Queue
    from .scalars import Scalar

_LARGE_EXTENT = 1 << 12
"""Stands for an extent that is not known, where a default local size is chosen."""


class IndirectRecord(LaunchRecord):
    """A kernel with its local size and specialization values, launched over ranges in device memory.

    Its arguments are those of the kernel and, behind them, the array with the range.

    Args:
        device: where it runs.
        binding: of the kernel.
        plan: of a single work-group.
        pipeline: specialised for the values and the local size.
        range_: where the extents are in the array.
        hidden: what `hidden_values` returns.
    """

    def __init__(
        self,
        device: Device,
        binding: KernelBinding,
        plan: LaunchPlan,
        pipeline: Pipeline | None,
        range_: CheckedIndirectRange,
        hidden: tuple[Scalar, ...] = (),
    ) -> None:
        super().__init__(device, binding, plan, pipeline, hidden)
        self._range = range_
        self._planner = planner_record(device)
        assert self._first is not None and not is_range_pushed(binding.kernel), "the planner writes the range"
        self._hidden = self._first[0]
        # Only a single dispatch can be repeated, and here are two.
        self._is_repeatable = self._is_kept = False
        self._reported = reported_kernel(binding.kernel, plan)
        self._dispatch_indirect = device.logical.vk.vkCmdDispatchIndirect
        # The block follows the command, where a descriptor may begin.
        self._block_at = max(
            device.logical.physical.limits.min_storage_buffer_offset_alignment, COMMAND_BYTES
        )

    def launch_over(
        self, queue: Queue, args: Sequence[object], counts: Array, wait_events: Sequence[Event] = ()
    ) -> Event:
        """Records the kernel on a queue, over the range that `counts` will hold; see `LaunchRecord.launch`."""
        return self.launch(queue, (*args, counts), wait_events)

    def launch_again(self, queue: object, args: Sequence[object]) -> Event | None:
        """Takes no short way: the range belongs to the arguments."""
        del queue, args

    def check(self, args: Sequence[object]) -> CheckedArguments:
        """Checks the arguments and adds the memory of the range's array to what they use."""
        *given, counts = args
        uses, values = super().check(given)
        return [*uses, (cast("Array", counts).buffer, False)], values

    def new_reports(self, args: Sequence[object]) -> tuple[KernelReport, ...]:
        """Returns the planner's report buffer and the kernel's own."""
        return (KernelReport(self.device.logical, self._reported, 1), *super().new_reports(args))

    def _streams(self, args: Sequence[object]) -> Streams:
        return super()._streams(args[:-1])

    def encode(
        self, command_buffer: CommandBuffer, args: Sequence[object], reports: Sequence[KernelReport]
    ) -> None:
        """Records the launch into a command buffer of a graph; see `LaunchRecord.encode`."""
        checked = uses, _ = self.check(args)
        values = self._packer.values(args, checked)
        place = command_buffer.argument_block(self._block_at + self._block_bytes)
        planner_set, kernel_set = self._descriptors(place, uses, values, reports)
        self._plan_range(command_buffer, place, planner_set)
        barriers = self.device.logical.barriers
        barriers.record(command_buffer.raw, *barriers.before_indirect)
        self._dispatch_planned(command_buffer, place, kernel_set, values)

    def _dispatch(
        self,
        queue: Queue,
        event: Event,
        step: Step,
        uses: Uses,
        values: Sequence[Scalar],
        args: Sequence[object],
    ) -> None:
        """Records planner and kernel; in the order of `LaunchRecord._dispatch`, for the same reasons."""
        reports = [queue.reports.of(self.device.logical, self._binding, self._reported, 1, part="range")]
        own = self.report_of(queue, args)
        if own is not None:
            reports.append(own)
        queue.reports.order.prepare(self.logical)
        try:
            command_buffer, place = queue.begin_command(self._block_at + self._block_bytes)
            queue.reports.order.begin(queue, reports, command_buffer)
            assert place is not None, "a launch over an indirect range has its block in memory"
            planner_set, kernel_set = self._descriptors(place, uses, values, reports)
            for report in reports:
                queue.reports.note_launch(report, command_buffer.value)
            queue.order(uses, command_buffer.value)
            event.value = command_buffer.value
            command_buffer.keep.append((uses, reports))
            if command_buffer.is_timed:
                command = profile.command("kernel", self.kernel.name, queue, event.value)
                command_buffer.begin_timing(event, command)
            self._plan_range(command_buffer, place, planner_set)
            # As behind a launch that writes what the next one uses; the epoch goes on.
            barriers = self.device.logical.barriers
            barriers.record(command_buffer.raw, *barriers.before_indirect)
            self._dispatch_planned(command_buffer, place, kernel_set, values)
            if command_buffer.is_timed:
                command_buffer.end_timing()
        finally:
            self.logical.half_way = None
        queue.note_launch(command_buffer)

    def _descriptors(
        self,
        place: tuple[Buffer, int],
        uses: Uses,
        values: Sequence[Scalar],
        reports: Sequence[KernelReport],
    ) -> tuple[DescriptorSet, DescriptorSet | None]:
        """Returns the descriptors of planner and kernel, whose argument block is written behind the command."""
        memory, command_byte = place
        planned, *own = reports
        set_layout = self._planner.set_layout
        assert set_layout is not None, "the planner has arrays"
        shown = [uses[-1], (memory, True), (planned.buffer, True)]
        block = None if self._is_block_pushed else (memory, command_byte + self._block_at)
        return (
            set_layout.set_for(shown, 0, self._planner.kernel),
            self._show(block, uses[:-1], self._hidden, values, own[0] if own else None),
        )

    def _plan_range(
        self, command_buffer: CommandBuffer, place: tuple[Buffer, int], descriptors: DescriptorSet
    ) -> None:
        _, command_byte = place
        arguments = planner_arguments(
            self.kernel, self.plan, self._range, command_byte, command_byte + self._block_at
        )
        self._planner.bind(command_buffer, descriptors, (), arguments)
        self.dispatch_groups(command_buffer.raw, 1, 1, 1)

    def _dispatch_planned(
        self,
        command_buffer: CommandBuffer,
        place: tuple[Buffer, int],
        descriptors: DescriptorSet | None,
        values: Sequence[Scalar],
    ) -> None:
        memory, command_byte = place
        self.bind(command_buffer, descriptors, self._hidden, values)
        self._dispatch_indirect(command_buffer.raw, memory.raw, command_byte)


def launch_over(
    queue: Queue,
    image: DeviceImage,
    kernel: KernelInfo,
    range_: IndirectRange,
    local: tuple[int, ...] | None,
    args: Sequence[object],
    spec_values: Mapping[str, bytes],
    wait_events: Sequence[Event] = (),
    *,
    records: LaunchRecords | None = None,
) -> Event:
    """Records a kernel of a given image over an indirect range; see `launch.launch`.

    Where the image has the range in push constants, which only the host can write, the host waits for it; a graph
    refuses that.

    Args:
        local: local size where the range gives none, slowest first; None: the kernel's own, or a default.
        records: of the kernel's bundle; None: those of the device.
    """
    device = queue.device
    checked = check_indirect_range(kernel.name, range_, device)
    if is_range_pushed(kernel):
        ones = (1,) * (kernel.abi.rank - checked.dimensions) if kernel.has_any_rank else ()
        extents, given = ones + extents_on_host(range_), checked.local_size
        sizes = local if given is None else ones + given
        return launch(queue, image, kernel, extents, sizes, args, spec_values, wait_events, records=records)
    launches = device.logical.launches if records is None else records
    shapes = tuple(arg.shape for arg in args if isinstance(arg, LocalMemory))
    key = (id(device.logical), id(image), id(kernel), checked, local, shapes, *spec_values.items())
    record = launches.records.get(key)
    if not isinstance(record, IndirectRecord):
        record = prepare_indirect(device, image, kernel, checked, local, args, spec_values)
        launches.add(key, record)
    return record.launch_over(queue, args, range_.counts, wait_events)


def prepare_indirect(
    device: Device,
    image: DeviceImage,
    kernel: KernelInfo,
    range_: CheckedIndirectRange,
    local: tuple[int, ...] | None,
    args: Sequence[object],
    spec_values: Mapping[str, bytes],
) -> IndirectRecord:
    """Makes the record of indirect launches; see `launch.prepare`.

    Args:
        device: where it runs.
        image: compiled for that device.
        kernel: of `image`; see `indirect_planner.is_range_pushed`.
        range_: its offset and dimensions are the record's.
        local: local size, slowest first; None: the kernel's own, or a default.
        args: the kernel's, for a check; without the array with the range.
        spec_values: host bytes by `SpecConstantInfo.symbol`.
    """
    binding = KernelBinding(image, kernel)
    binding.checker.check(args, device)
    require_device(device, kernel, image.requirements)
    require_limits(device, kernel)
    sizes = _local_size(device, kernel, range_, local)
    plan = plan_launch(kernel, sizes, sizes, device.logical.physical.limits, device.name)
    pipeline = kernel_pipeline(
        device, image, kernel, plan, spec_values, local_entries(kernel.parameters, args)
    )
    hidden = hidden_values(kernel, image.spec_constants, spec_values)
    return IndirectRecord(device, binding, plan, pipeline, range_, hidden)


def _local_size(
    device: Device, kernel: KernelInfo, range_: CheckedIndirectRange, local: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Returns the work-group size of an indirect launch, with as many dimensions as the kernel runs over."""
    rank, limits = kernel.abi.rank, device.logical.physical.limits
    dimensions = range_.dimensions
    if dimensions != rank and not (kernel.has_any_rank and dimensions < rank):
        raise NdRangeError(
            f"kernel '{kernel.name}' runs over {rank} dimension{'s' * (rank > 1)}; found an lp.IndirectRange with "
            f"dimensions={dimensions}"
        )
    ones = (1,) * (rank - dimensions)
    given = range_.local_size or local
    if given is None:
        given = kernel.required_work_group_size or kernel.default_local_size
    if given is None:
        extents = ones + (_LARGE_EXTENT,) * dimensions
        # Checks that the kernel may do without, for a range that suits every power of two.
        return plan_launch(kernel, extents, None, limits, device.name).local
    return (1,) * (rank - len(given)) + tuple(given)
