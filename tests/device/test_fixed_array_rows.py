"""Fixed arrays as values: rows of them, unpacking, and what they and vectors are made of."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Matrix = lp.FixedArray[lp.f32, 3, 3]
Row = lp.FixedArray[lp.f32, 3]
DIAGONAL = ((1, 0, 0), (0, 2.5, 0), (0, 0, 3))
WEIGHTS = (1, 2.5, 3)
TABLE = np.arange(9, dtype=np.float32).reshape(3, 3)


@lp.struct
class Body:
    axes: Matrix


def second(row: Row) -> lp.f32:
    return row[1]


def row_of(m: Matrix, i: lp.i32) -> Row:
    return m[i]


@lp.kernel
def rows(bodies: lp.Array[Body], k: lp.i32, out: lp.Out[lp.f32, 2]):
    m = bodies[0].axes
    m[0], m[2] = m[2], m[0]
    m[k], m[1] = m[1], m[k]  # an index known at run time only
    kept = m[1]
    m[1] = Row(7)
    m[k] = m[k] + m[1]
    first, middle, last = m
    a, b, c = kept
    out[0, 0], out[0, 1], out[0, 2] = a, b, c
    out[1, 0], out[1, 1], out[1, 2] = first[0], second(middle), second(last)
    chosen = m[k] if k > 0 else m[1]
    out[2, 0], out[2, 1], out[2, 2] = chosen[0], row_of(m, k)[1], second(m[k])
    for i, row in enumerate((m[0], m[1], m[k])):
        out[3, i] = row[2]
    bodies[0].axes = m
    bodies[0].axes[1] = m[k]
    bodies[0].axes[k][0] = 0.5


@pytest.mark.parametrize("debug", [False, True])
def test_rows_are_values(device, debug):
    host = np.random.default_rng(1).random((3, 3), np.float32)
    bodies = lp.asarray([Body(host)], device=device)
    out = lp.zeros((4, 3), device=device)
    with lp.config.override(debug=debug):
        rows[1](bodies, 2, out)
    m = host.copy()
    m[[0, 2]] = m[[2, 0]]
    m[[2, 1]] = m[[1, 2]]
    kept = m[1].copy()
    m[1] = 7
    m[2] += 7
    expected = [kept, [m[0, 0], m[1, 1], m[2, 1]], [m[2, 0], m[2, 1], m[2, 1]], m[:, 2]]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, np.float32))
    stored = m.copy()
    stored[1] = m[2]
    stored[2, 0] = 0.5
    np.testing.assert_array_equal(bodies.numpy()["axes"][0], stored)


@lp.kernel
def made(out: lp.Out[lp.f32, 2], whole: lp.Out[lp.i32]):
    product = Matrix(DIAGONAL) @ Row(WEIGHTS)
    out[0, 0], out[0, 1], out[0, 2] = product
    flat = lp.FixedArray[lp.f32, 9](TABLE)
    out[1, 0], out[1, 1], out[1, 2] = Row(flat[8], lp.f32x2(1, 2))
    v = lp.f32x3(TABLE[1]) + lp.f32x3(WEIGHTS)
    out[2, 0], out[2, 1], out[2, 2] = v
    counts = lp.FixedArray[lp.i32, 2, 2]((1, 2), (3, 4))
    (a, b), (c, d) = counts
    whole[0], whole[1], whole[2], whole[3] = a, b, c, d


def test_what_fixed_arrays_and_vectors_are_made_of(device):
    out, whole = lp.zeros((3, 3), device=device), lp.zeros(4, lp.i32, device=device)
    made[1](out, whole)
    np.testing.assert_array_equal(out.numpy(), [[1, 6.25, 9], [8, 1, 2], [4, 6.5, 8]])
    assert whole.numpy().tolist() == [1, 2, 3, 4]


def test_what_does_not_fit_is_said(device):
    @lp.kernel
    def too_few(out: lp.Out[lp.f32]):
        m = Matrix(WEIGHTS)
        out[0] = m[0, 0]

    @lp.kernel
    def another_length(out: lp.Out[lp.f32]):
        m = Matrix()
        m[0] = lp.FixedArray[lp.f32, 2](1)
        out[0] = m[0, 0]

    out = lp.zeros(1, device=device)
    with pytest.raises(lp.CompileError, match=r"lp\.FixedArray\[lp\.f32, 3, 3\] has 9 elements, found 3"):
        too_few[1](out)
    with pytest.raises(
        lp.CompileError, match=r"the row holds lp\.FixedArray\[lp\.f32, 3\], found .*f32, 2\]"
    ):
        another_length[1](out)
