"""What a comparison of kernels is made of: data, launches of lapilli and of GLSL, and a NumPy reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lapilli as lp

from .references import Check

Local = tuple[int, ...]
"""A local size, slowest dimension first."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One launch.  Both sides take the same buffers and run over the same work-items."""

    kernel: Callable[[Local], Any]
    """Makes what is launched with a local size; kernels without groups are the same for all."""
    glsl: str
    """May use LX, LY, LZ: the local size as literals."""
    extents: Callable[[Local], tuple[int, ...]]
    """Work-items, slowest dimension first."""
    arrays: tuple[int, ...]
    """Which of the case's arrays, in parameter order; lapilli's scalars stand before them."""
    scalars: tuple[float | int, ...] = ()
    """lapilli's scalar arguments."""
    push_constants: tuple[float | int, ...] = ()
    """What the GLSL takes."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison."""

    name: str
    stages: tuple[Stage, ...]
    """Launched one after the other; they share arrays, so each waits for the one before."""
    local_sizes: tuple[Local, ...]
    """Those that are tried; each side is measured with its best."""
    works_in_groups: bool = False
    """Whether work-items of a group work together: the kernel names its local size, and ranges are multiples."""
    arrays: tuple[np.ndarray, ...]
    """Initial contents; the last one is the result."""
    vec4: tuple[int, ...] = ()
    """Which of them hold vectors of four: the last axis of these."""
    check: Check
    """Whether a result is right, given the initial arrays."""

    def arrays_on(self, device: lp.Device) -> list[lp.Array]:
        """Returns copies of the arrays on a device."""
        return [
            lp.asarray(array, dtype=lp.f32x4 if i in self.vec4 else None, device=device)
            for i, array in enumerate(self.arrays)
        ]

    @property
    def extents(self) -> tuple[int, ...]:
        """Work-items of the first launch with the first local size."""
        return self.stages[0].extents(self.local_sizes[0])


def range_case(
    name: str,
    kernel: Any,
    glsl: str,
    extents: tuple[int, ...],
    arrays: tuple[np.ndarray, ...],
    check: Check,
    *,
    scalars: tuple[float | int, ...] = (),
    push_constants: tuple[float | int, ...] = (),
    vec4: tuple[int, ...] = (),
) -> Case:
    """Returns a case of one kernel whose work-items are on their own."""
    stage = Stage(
        kernel=lambda _: kernel,
        glsl=glsl,
        extents=lambda _: extents,
        arrays=tuple(range(len(arrays))),
        scalars=scalars,
        push_constants=push_constants,
    )
    sizes = LINEAR_SIZES if len(extents) == 1 else PLANE_SIZES
    return Case(name=name, stages=(stage,), local_sizes=sizes, arrays=arrays, vec4=vec4, check=check)


LINEAR_SIZES: tuple[Local, ...] = ((64,), (128,), (256,), (512,), (1024,))
PLANE_SIZES: tuple[Local, ...] = ((8, 8), (16, 16), (4, 64), (1, 64), (1, 256), (8, 32))
