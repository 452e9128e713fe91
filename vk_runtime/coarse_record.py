"""A launch whose kernel is coarsened, with the plain kernel for arrays that do not suit.

What the coarsened kernel asks of the range was checked when it was chosen; what it asks of the extents of arrays
differs from launch to launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..ir.kernel_info import KernelInfo
from .array import Array
from .launch import LaunchRecord

if TYPE_CHECKING:
    from .event import Event
    from .launch_plan import LaunchPlan
    from .queue import Queue

WIDTH = 4
"""What the last extent of an array is a multiple of, for rows to begin where a wide access may."""

WORK_ITEMS_WITHOUT_LOOPS = 1 << 18
"""Least work-items of a launch that is worth the compilation of a second form of a kernel without loops."""
WORK_ITEMS_WITH_LOOPS = 1 << 10
"""The same of a kernel with loops."""


def is_worthwhile(kernel: KernelInfo, range_: Sequence[int]) -> bool:
    """Whether a launch is large enough for coarsening to pay, and of a size that allows it."""
    least = WORK_ITEMS_WITH_LOOPS if kernel.has_loops else WORK_ITEMS_WITHOUT_LOOPS
    return math.prod(range_) >= least and bool(range_) and range_[-1] % WIDTH == 0


def fits(coarse: KernelInfo, range_: Sequence[int]) -> bool:
    """Whether a range is a multiple of what an invocation of a coarsened kernel does."""
    lanes = coarse.lanes
    return len(lanes) == len(range_) and not any(n % lane for n, lane in zip(range_, lanes, strict=True))


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

    def launch_again(self, args: Sequence[object]) -> Event | None:
        """As `LaunchRecord.launch_again`."""
        return self._record_for(args).launch_again(args)

    def launch(self, queue: Queue, args: Sequence[object], wait_events: Sequence[Event] = ()) -> Event:
        """As `LaunchRecord.launch`."""
        return self._record_for(args).launch(queue, args, wait_events)

    def _record_for(self, args: Sequence[object]) -> LaunchRecord:
        for position in self._rows:
            array = args[position] if position < len(args) else None
            if not isinstance(array, Array) or not array.shape or array.shape[-1] % WIDTH:
                return self._plain
        return self._coarse
