"""Launching kernels by image, kernel, range and specialization values.

`launch` looks up, or makes with `prepare`, the `LaunchRecord` that does the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir.kernel_info import KernelInfo
from ..ir.local_memory import LocalMemory
from ..spirv.device_image import DeviceImage
from .event import Event
from .kernel_commands import KernelBinding
from .kernel_pipeline import kernel_pipeline
from .launch_plan import LaunchPlan, normalise_range, plan_launch
from .launch_record import LaunchRecord
from .requirements import require_device, require_limits
from .specialization import SpecEntry, hidden_values, local_entries

if TYPE_CHECKING:
    from .device import Device
    from .launch_cache import LaunchRecords
    from .pipeline import Pipeline
    from .queue import Queue


def launch(
    queue: Queue,
    image: DeviceImage,
    kernel: KernelInfo,
    range_: tuple[int, ...],
    local: tuple[int, ...] | None,
    args: Sequence[object],
    spec_values: Mapping[str, bytes],
    wait_events: Sequence[Event] = (),
    *,
    is_nd_range: bool = False,
    records: LaunchRecords | None = None,
) -> Event:
    """Records a kernel on a queue.

    Args:
        queue: where it runs; arrays must be of its device.
        image: compiled for that device.
        kernel: of `image`.
        range_: total work-items, slowest dimension first; a 0 in it runs nothing.
        local: local size, slowest first; None: the kernel's own, or a default.
        args: in parameter order.
        spec_values: host bytes by `SpecConstantInfo.symbol`; absent constants take their default.
        wait_events: the kernel starts after these.
        is_nd_range: the range must be a multiple of `local`, even where the kernel masks its tail.
        records: of the kernel's bundle; None: those of the device.

    Raises:
        KernelArgumentError: arguments or specialization values that do not fit.
        KernelNotSupportedError: the device lacks an aspect, or a limit is passed.
        NdRangeError: a range or local size that cannot be.
        DeviceLostError: the driver lost the device.
    """
    shapes = tuple(arg.shape for arg in args if isinstance(arg, LocalMemory))
    device = queue.device
    logical = device.logical
    key = (id(logical), id(image), id(kernel), range_, local, is_nd_range, shapes, *spec_values.items())
    records = logical.launches if records is None else records
    record = records.records.get(key)
    if record is None:
        record = prepare(device, image, kernel, range_, local, args, spec_values, is_nd_range=is_nd_range)
        records.add(key, record)
    return record.launch(queue, args, wait_events)


def prepare(
    device: Device,
    image: DeviceImage,
    kernel: KernelInfo,
    range_: tuple[int, ...],
    local: tuple[int, ...] | None,
    args: Sequence[object],
    spec_values: Mapping[str, bytes],
    *,
    is_nd_range: bool = False,
    plan: LaunchPlan | None = None,
    rest: LaunchRecord | None = None,
) -> LaunchRecord:
    """Makes the launch record that `launch` would use, for callers that keep it; see `launch`.

    Checks everything, in the order arguments, requirements, range, and makes the pipeline.

    Args:
        plan: the checked range, where the caller has it: part of it perhaps.
        rest: does the rest of the range, with the same arguments.
    """
    logical = device.logical
    bindings, place = logical.launches.bindings, (id(image), id(kernel))
    binding = bindings.get(place)
    if binding is None:
        binding = bindings[place] = KernelBinding(image, kernel)
    binding.checker.check(args, device)
    if device not in binding.able_devices:
        require_device(device, kernel, image.requirements)
        require_limits(device, kernel)
        binding.able_devices.add(device)
    plan = plan or plan_launch(
        kernel,
        normalise_range(range_, index_bits=kernel.abi.index_bits),
        local,
        logical.physical.limits,
        device.name,
        is_nd_range=is_nd_range,
    )
    shapes = local_entries(kernel.parameters, args)
    pipeline = _pipeline_of(device, binding, plan, spec_values, shapes)
    hidden = hidden_values(kernel, image.spec_constants, spec_values)
    return LaunchRecord(device, binding, plan, pipeline, hidden, rest)


def _pipeline_of(
    device: Device,
    binding: KernelBinding,
    plan: LaunchPlan,
    spec_values: Mapping[str, bytes],
    shapes: tuple[SpecEntry, ...],
) -> Pipeline | None:
    """Returns what `kernel_pipeline` does: ranges of one local size share a pipeline, and what was checked for it."""
    key = (device, plan.local, shapes, *spec_values.items())
    found = None if plan.is_empty else binding.pipelines.get(key)
    if found is None:
        found = kernel_pipeline(device, binding.image, binding.kernel, plan, spec_values, shapes)
        if found is not None:
            binding.pipelines[key] = found
    return found
