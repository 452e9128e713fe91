"""The throughput cases: each a lapilli kernel, the same kernel in GLSL, its data and its NumPy reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from . import group_cases as groups
from . import plain_cases as plain
from . import references
from .case import LINEAR_SIZES, Case, Stage, range_case
from .irregular_cases import irregular_cases

Size = Literal["tiny", "default", "full"]
"""`tiny` for tests, `default` for a run of minutes, `full` for the usual sizes of these cases."""


@dataclass(frozen=True, kw_only=True)
class _Extents:
    elements: int
    """Of saxpy, the sums, the histogram and the prefix sum."""
    lanes: int
    """Work-items of the sums and the histogram."""
    edge: int
    """Of the matrices."""
    image: int
    """Edge of mandelbrot's picture."""
    bodies: int
    grid: int
    """Edge of the stencil's and the convolution's grid."""
    rows: int
    """Of the sparse matrix."""
    points: int
    picture: int
    """Edge of what the median is taken of."""


_EXTENTS = {
    "tiny": _Extents(
        elements=1 << 12,
        lanes=1 << 11,
        edge=32,
        image=32,
        bodies=128,
        grid=64,
        rows=1 << 9,
        points=1 << 9,
        picture=32,
    ),
    "default": _Extents(
        elements=1 << 22,
        lanes=1 << 14,
        edge=256,
        image=512,
        bodies=2048,
        grid=1024,
        rows=1 << 15,
        points=1 << 14,
        picture=512,
    ),
    "full": _Extents(
        elements=1 << 24,
        lanes=1 << 14,
        edge=1024,
        image=1024,
        bodies=4096,
        grid=2048,
        rows=1 << 18,
        points=1 << 17,
        picture=2048,
    ),
}


def make_cases(size: Size) -> list[Case]:
    """Returns all cases.  Every loop stays below the 65,535 iterations after which lavapipe 22.3 ends it."""
    extents, rng = _EXTENTS[size], np.random.default_rng(0)
    cases = [*_plain_cases(extents, rng), *_group_cases(extents, rng)]
    cases += irregular_cases(extents.rows, extents.points, extents.picture, rng)
    if size == "tiny":  # each local size is a pipeline
        return [replace(case, local_sizes=case.local_sizes[:1]) for case in cases]
    return cases


def _random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _plain_cases(extents: _Extents, rng: np.random.Generator) -> list[Case]:
    n, lanes, edge, image = extents.elements, extents.lanes, extents.edge, extents.image
    bodies, grid = extents.bodies, extents.grid
    limit = 256
    return [
        range_case(
            "saxpy", plain.saxpy, plain.SAXPY_GLSL, (n,), (_random(rng, n), _random(rng, n)),
            references.close(references.saxpy_reference, 1e-6), scalars=(2.0,), push_constants=(n, 2.0),
        ),
        range_case(
            "sum", plain.partial_sums, plain.SUM_GLSL, (lanes,), (_random(rng, n), _zeros(lanes)),
            references.sum_check, push_constants=(lanes, n),
        ),
        range_case(
            "matmul", plain.matmul, plain.MATMUL_GLSL, (edge, edge),
            (_random(rng, edge, edge), _random(rng, edge, edge), _zeros(edge, edge)),
            references.close(references.matmul_reference, 1e-3), push_constants=(edge, edge, edge),
        ),
        range_case(
            "mandelbrot", plain.mandelbrot, plain.MANDELBROT_GLSL, (image, image),
            (np.zeros((image, image), np.int32),), references.mandelbrot_check(image, limit),
            scalars=(limit,), push_constants=(image, image, limit),
        ),
        range_case(
            "n-body", plain.nbody, plain.NBODY_GLSL, (bodies,), (_random(rng, bodies, 4), _zeros(bodies, 4)),
            references.nbody_check, push_constants=(bodies,),
        ),
        range_case(
            "stencil", plain.stencil, plain.STENCIL_GLSL, (grid, grid),
            (_random(rng, grid, grid), _zeros(grid, grid)),
            references.close(references.stencil_reference, 1e-6), push_constants=(grid, grid),
        ),
        range_case(
            "convolution", plain.convolution, plain.CONVOLUTION_GLSL, (grid, grid),
            (_random(rng, 3, 3), _random(rng, grid, grid), _zeros(grid, grid)),
            references.close(references.convolution_reference, 1e-5), push_constants=(grid, grid),
        ),
    ]  # fmt: skip


def _group_cases(extents: _Extents, rng: np.random.Generator) -> list[Case]:
    n, lanes, edge = extents.elements, extents.lanes, extents.edge
    linear = LINEAR_SIZES
    levels = rng.integers(0, groups.BINS, n).astype(np.uint32)
    return [
        Case(
            name="reduction", works_in_groups=True, local_sizes=linear,
            stages=(Stage(
                kernel=groups.reduction, glsl=groups.REDUCTION_GLSL, extents=lambda _: (lanes,),
                arrays=(0, 1), push_constants=(n, lanes),
            ),),
            arrays=(_random(rng, n), _zeros(lanes // linear[0][0])), check=references.sum_check,
        ),
        Case(
            name="matmul, tiled", works_in_groups=True, local_sizes=((8, 8), (16, 16)),
            stages=(Stage(
                kernel=groups.tiled_matmul, glsl=groups.TILED_MATMUL_GLSL, extents=lambda _: (edge, edge),
                arrays=(0, 1, 2), push_constants=(edge, edge),
            ),),
            arrays=(_random(rng, edge, edge), _random(rng, edge, edge), _zeros(edge, edge)),
            check=references.close(references.matmul_reference, 1e-3),
        ),
        Case(
            name="histogram", works_in_groups=True, local_sizes=linear,
            stages=(Stage(
                kernel=groups.histogram, glsl=groups.HISTOGRAM_GLSL, extents=lambda _: (lanes,),
                arrays=(0, 1), push_constants=(n, lanes),
            ),),
            arrays=(levels, np.zeros(groups.BINS, np.uint32)),
            check=references.close(references.histogram_reference, 0),
        ),
        Case(
            name="prefix sum", works_in_groups=True, local_sizes=linear[:4],
            stages=(
                Stage(kernel=groups.scan_blocks, glsl=groups.SCAN_BLOCKS_GLSL, extents=lambda _: (n,),
                      arrays=(0, 1, 2)),
                Stage(kernel=groups.scan_totals, glsl=groups.SCAN_TOTALS_GLSL, extents=lambda local: local,
                      arrays=(1, 2)),
                Stage(kernel=groups.add_totals, glsl=groups.ADD_TOTALS_GLSL, extents=lambda _: (n,), arrays=(1, 2)),
            ),
            # one group goes over the totals in steps of its size: the last step may be a part of one
            arrays=(_random(rng, n), _zeros(n // linear[0][0] + 1024), _zeros(n)),
            check=references.prefix_sum_check,
        ),
    ]  # fmt: skip
