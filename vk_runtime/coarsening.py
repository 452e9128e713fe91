"""Which drivers gain from coarsened kernels, and from which launches on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.kernel_info import KernelInfo
from .constants import (
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_DRIVER_ID_NVIDIA_PROPRIETARY,
)

WIDTH = 4
"""What the last extent of an array is a multiple of, for rows to begin where a wide access may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """When it pays on a driver that neighbouring work-items share an invocation.

    Software drivers pay for each scalar access of each lane.  GPUs join the accesses of neighbours by themselves, and
    need many invocations: only large launches gain, by what neighbours load together.
    """

    lanes: int = 1
    """Work-items of an invocation along a dimension, `WIDTH` or 1."""
    splits_branches: bool = True
    """Whether that is so of kernels with branches that they disagree about."""
    least_with_loops: int = 1 << 11
    """Least work-items of a launch that is worth compiling a kernel with loops a second time, some 40 ms of CPU time.
    On lavapipe a launch of an n-body of 2^10 bodies gains 6 ms by it, of 2^11 18 ms; a matrix product of 2^10 elements
    0.1 ms, of 2^14 5 ms."""
    least_without_loops: int | None = 1 << 18
    """The same of a kernel without loops; None: it never pays."""

    rows_of_loops: bool = True
    """Whether a kernel with loops gains that is launched over one dimension, where neighbours share a row of data but
    no block of rows and columns."""

    def is_worthwhile(self, kernel: KernelInfo, range_: Sequence[int]) -> bool:
        """Whether a launch is large enough to pay, and of a kind that does."""
        if kernel.has_loops and len(range_) == 1 and not self.rows_of_loops:
            return False
        least = self.least_with_loops if kernel.has_loops else self.least_without_loops
        return self.lanes > 1 and least is not None and math.prod(range_) >= least


NO_COARSENING = Coarsening()
COARSENING = {
    VK_DRIVER_ID_MESA_LLVMPIPE: Coarsening(lanes=WIDTH),
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER: Coarsening(lanes=WIDTH, splits_branches=False),
    VK_DRIVER_ID_NVIDIA_PROPRIETARY: Coarsening(
        lanes=WIDTH, least_with_loops=1 << 20, least_without_loops=1 << 20, rows_of_loops=False
    ),
}
"""By driver; all others: never.  Coarsened against plain on 2 cores, medians of CPU time of 9 interleaved launches: on
lavapipe saxpy 0.50, matrix product 0.24, n-body 0.31, 5-point stencil 0.42, 3 × 3 convolution 0.31; on SwiftShader
0.56, 0.34, 0.47, 0.48 and 0.23.  Branches that cannot become selections cost SwiftShader more than that gains.
On an NVIDIA H200, device time: saxpy 0.91 of 2^24 work-items and 0.76 of 2^28, matrix product 0.46 of 2^20 and 0.32 of
2^24, stencil 0.88, convolution 0.82 of 2^22; n-body, one dimension, 2.2 of 2^12 and 2.4 of 2^16."""
