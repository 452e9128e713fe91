"""Kernels whose loops have few rounds, end differently for neighbours, or are mostly comparisons; see `plain_cases`."""

from __future__ import annotations

import numpy as np

import lapilli as lp

from . import references
from .case import Case, range_case


@lp.kernel
def sparse_product(
    rows: lp.In[lp.i32], columns: lp.In[lp.i32], values: lp.In[lp.f32], x: lp.In[lp.f32], y: lp.Out[lp.f32]
):
    i = lp.global_id(0)
    total = 0.0
    for k in range(rows[i], rows[i + 1]):
        total += values[k] * x[columns[k]]
    y[i] = total


@lp.kernel
def nearest(points: lp.In[lp.f32, 2], centres: lp.In[lp.f32, 2], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    least = lp.f32(1e30)
    found = 0
    for k in range(centres.shape[0]):
        square = 0.0
        for d in range(points.shape[1]):
            difference = points[i, d] - centres[k, d]
            square += difference * difference
        if square < least:
            least = square
            found = k
    out[i] = found


def sorted_pair(a: lp.f32, b: lp.f32):
    return min(a, b), max(a, b)


@lp.kernel
def median(g: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    if i == 0 or j == 0 or i == g.shape[0] - 1 or j == g.shape[1] - 1:
        out[i, j] = g[i, j]
        return
    a, b, c = g[i - 1, j - 1], g[i - 1, j], g[i - 1, j + 1]
    d, e, f = g[i, j - 1], g[i, j], g[i, j + 1]
    p, q, r = g[i + 1, j - 1], g[i + 1, j], g[i + 1, j + 1]
    b, c = sorted_pair(b, c)
    e, f = sorted_pair(e, f)
    q, r = sorted_pair(q, r)
    a, b = sorted_pair(a, b)
    d, e = sorted_pair(d, e)
    p, q = sorted_pair(p, q)
    b, c = sorted_pair(b, c)
    e, f = sorted_pair(e, f)
    q, r = sorted_pair(q, r)
    d = max(a, d)
    f = min(f, r)
    e, q = sorted_pair(e, q)
    p = max(d, p)
    e = max(b, e)
    c = min(c, f)
    e = min(e, q)
    e, c = sorted_pair(e, c)
    e = max(p, e)
    out[i, j] = min(e, c)


SPARSE_GLSL = """
layout(set = 0, binding = 0) readonly buffer R { int rows[]; };
layout(set = 0, binding = 1) readonly buffer C { int columns[]; };
layout(set = 0, binding = 2) readonly buffer V { float values[]; };
layout(set = 0, binding = 3) readonly buffer X { float x[]; };
layout(set = 0, binding = 4) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float total = 0.0;
    for (int k = rows[i]; k < rows[i + 1]; k++) total += values[k] * x[columns[k]];
    y[i] = total;
}
"""

NEAREST_GLSL = """
layout(set = 0, binding = 0) readonly buffer A { float points[]; };
layout(set = 0, binding = 1) readonly buffer B { float centres[]; };
layout(set = 0, binding = 2) writeonly buffer C { int result[]; };
layout(push_constant) uniform P { uint n; uint count; uint width; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float least = 1e30;
    int found = 0;
    for (uint k = 0; k < count; k++) {
        float square = 0.0;
        for (uint d = 0; d < width; d++) {
            float difference = points[i * width + d] - centres[k * width + d];
            square += difference * difference;
        }
        if (square < least) { least = square; found = int(k); }
    }
    result[i] = found;
}
"""

MEDIAN_GLSL = """
layout(set = 0, binding = 0) readonly buffer A { float g[]; };
layout(set = 0, binding = 1) writeonly buffer B { float result[]; };
layout(push_constant) uniform P { uint rows; uint columns; };
#define G(i, j) g[(i) * columns + (j)]
#define SORT(a, b) { float least = min(a, b); b = max(a, b); a = least; }
void main() {
    uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x;
    if (i >= rows || j >= columns) return;
    if (i == 0 || j == 0 || i == rows - 1 || j == columns - 1) { result[i * columns + j] = G(i, j); return; }
    float a = G(i - 1, j - 1), b = G(i - 1, j), c = G(i - 1, j + 1), d = G(i, j - 1), e = G(i, j), f = G(i, j + 1),
        p = G(i + 1, j - 1), q = G(i + 1, j), r = G(i + 1, j + 1);
    SORT(b, c) SORT(e, f) SORT(q, r) SORT(a, b) SORT(d, e) SORT(p, q) SORT(b, c) SORT(e, f) SORT(q, r)
    d = max(a, d); f = min(f, r); SORT(e, q) p = max(d, p); e = max(b, e); c = min(c, f); e = min(e, q);
    SORT(e, c) e = max(p, e);
    result[i * columns + j] = min(e, c);
}
"""

_WIDTH, _CENTRES = 8, 16
"""Of points, and how many they are compared with."""


def irregular_cases(rows: int, points: int, grid: int, rng: np.random.Generator) -> list[Case]:
    """Returns the cases of this file.

    Args:
        rows: of the sparse matrix, each with 4 to 23 entries.
        points: that look for the nearest centre.
        grid: edge of the picture.
        rng: makes the data.
    """
    ends = np.concatenate([[0], np.cumsum(rng.integers(4, 24, rows))]).astype(np.int32)
    entries = int(ends[-1])
    return [
        range_case(
            "sparse product", sparse_product, SPARSE_GLSL, (rows,),
            (
                ends, rng.integers(0, rows, entries).astype(np.int32),
                rng.random(entries, dtype=np.float32), rng.random(rows, dtype=np.float32),
                np.zeros(rows, np.float32),
            ),
            references.close(references.sparse_product_reference, 1e-4), push_constants=(rows,),
        ),
        range_case(
            "nearest centre", nearest, NEAREST_GLSL, (points,),
            (
                rng.random((points, _WIDTH), dtype=np.float32),
                rng.random((_CENTRES, _WIDTH), dtype=np.float32), np.zeros(points, np.int32),
            ),
            references.nearest_check, push_constants=(points, _CENTRES, _WIDTH),
        ),
        range_case(
            "median", median, MEDIAN_GLSL, (grid, grid),
            (rng.random((grid, grid), dtype=np.float32), np.zeros((grid, grid), np.float32)),
            references.close(references.median_reference, 0), push_constants=(grid, grid),
        ),
    ]  # fmt: skip
