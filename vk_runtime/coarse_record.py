"""When a launch takes the coarsened form of a kernel, and the plain one for arrays that do not suit.

A range that is no multiple of the lanes is cut: the kernel itself does what is left over.  What the coarsened kernel
asks of the extents of arrays differs from launch to launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..ir.kernel_info import KernelInfo
from .array import Array
from .coarsening import WIDTH
from .launch import prepare
from .launch_plan import plan_coarse_launch

if TYPE_CHECKING:
    from ..spirv.device_image import DeviceImage
    from .device import Device
    from .event import Event
    from .launch_plan import LaunchPlan
    from .launch_record import LaunchRecord
    from .queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A kernel in one form."""

    image: DeviceImage
    kernel: KernelInfo
    spec_values: Mapping[str, bytes]
    """Host bytes by symbol, of what the image reads."""


def prepare_coarse(
    device: Device, coarse: Form, plain: Form, range_: tuple[int, ...], args: Sequence[object]
) -> LaunchRecord | CoarseRecord | None:
    """Makes the record of a launch by a coarsened kernel, what is left over of the range by the kernel itself.

    Args:
        device: where it runs.
        coarse: the coarsened kernel.
        plain: the kernel itself.
        range_: total work-items, slowest dimension first.
        args: in signature order.

    Returns:
        None where the kernel has no coarsened form, or the range is too small for it.

    Raises: as `launch.prepare`.
    """
    if len(coarse.kernel.lanes) != len(range_):
        return None
    limits = device.physical.limits
    plans = plan_coarse_launch(coarse.kernel, plain.kernel, range_, limits, device.name)
    if plans is None:
        return None

    def record_of(form: Form, plan: LaunchPlan | None, rest: LaunchRecord | None = None) -> LaunchRecord:
        return prepare(
            device, form.image, form.kernel, range_, None, args, form.spec_values, plan=plan, rest=rest
        )

    rest = None if plans[1] is None else record_of(plain, plans[1])
    found = record_of(coarse, plans[0], rest)
    rows = coarse.kernel.aligned_rows
    return CoarseRecord(found, rows, lambda: record_of(plain, None)) if rows else found


class CoarseRecord:
    """Stands for a `LaunchRecord` where the coarsened kernel's conditions differ between launches.

    Args:
        coarse: the record of the coarsened kernel.
        rows: positions of the arrays whose last extent must be a multiple of `WIDTH`.
        make_plain: makes the record of the plain kernel, once it is needed.
    """

    def __init__(
        self, coarse: LaunchRecord, rows: tuple[int, ...], make_plain: Callable[[], LaunchRecord]
    ) -> None:
        self._coarse = coarse
        self._rows = rows
        self._make_plain = make_plain

    @cached_property
    def _plain(self) -> LaunchRecord:
        return self._make_plain()

    @property
    def plan(self) -> LaunchPlan:
        """The checked range."""
        return self._coarse.plan

    def launch_again(self, queue: object, args: Sequence[object]) -> Event | None:
        """As `LaunchRecord.launch_again`."""
        return self._record_for(args).launch_again(queue, args)

    def launch(self, queue: Queue, args: Sequence[object], wait_events: Sequence[Event] = ()) -> Event:
        """As `LaunchRecord.launch`."""
        return self._record_for(args).launch(queue, args, wait_events)

    def _record_for(self, args: Sequence[object]) -> LaunchRecord:
        for position in self._rows:
            array = args[position] if position < len(args) else None
            if not isinstance(array, Array) or not array.shape or array.shape[-1] % WIDTH:
                return self._plain
        return self._coarse
