"""When a launch takes the coarsened form of a kernel, and the plain one for arrays that do not suit.

What the coarsened kernel asks of the range is checked when it is chosen; what it asks of the extents of arrays
differs from launch to launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..ir.kernel_info import KernelInfo
from .array import Array
from .constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_MESA_LLVMPIPE

if TYPE_CHECKING:
    from .event import Event
    from .launch import LaunchRecord
    from .launch_plan import LaunchPlan
    from .queue import Queue

WIDTH = 4
"""What the last extent of an array is a multiple of, for rows to begin where a wide access may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """When it pays on a driver that neighbouring work-items share an invocation.

    GPUs join the accesses of neighbours by themselves; software drivers pay for each scalar access of each lane.
    """

    lanes: int = 1
    """Work-items of an invocation along a dimension, `WIDTH` or 1."""
    splits_branches: bool = True
    """Whether that is so of kernels with branches that they disagree about."""
    least_with_loops: int = 1 << 10
    """Least work-items of a launch that is worth compiling a kernel with loops a second time."""
    least_without_loops: int | None = 1 << 18
    """The same of a kernel without loops; None: it never pays."""

    def is_worthwhile(self, kernel: KernelInfo, range_: Sequence[int]) -> bool:
        """Whether a launch is large enough to pay, and of a size that allows it."""
        least = self.least_with_loops if kernel.has_loops else self.least_without_loops
        if self.lanes < 2 or least is None or not range_:
            return False
        return math.prod(range_) >= least and range_[-1] % self.lanes == 0


NO_COARSENING = Coarsening()
COARSENING = {
    VK_DRIVER_ID_MESA_LLVMPIPE: Coarsening(lanes=WIDTH),
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER: Coarsening(lanes=WIDTH, splits_branches=False),
}
"""By driver; all others: never.  Coarsened against plain on 2 cores, medians of 11 interleaved launches: on lavapipe
saxpy 0.49, matrix product 0.23, n-body 0.34, 5-point stencil 0.89; on SwiftShader 0.55, 0.35, 0.56, and 1.35 for the
stencil, whose border is such a branch."""


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
