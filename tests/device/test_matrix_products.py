"""Products of matrices and vectors, on every device, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Wide = lp.FixedArray[lp.i32, 2, 3]
Tall = lp.FixedArray[lp.i32, 3, 2]
Row = lp.FixedArray[lp.i32, 3]
TABLE = np.array([[1, -2], [3, 5]], np.int32)


@lp.struct
class Turn:
    quarter: lp.i32

    def __matmul__(self, other):
        return Turn((self.quarter + other.quarter) % 4)


@lp.kernel
def products(a: Wide, b: Tall, r: Row, v: lp.i32x2, out: lp.Out[lp.i32]):
    square = a @ b
    for i in range(2):
        for j in range(2):
            out[2 * i + j] = square[i, j]
    out[4] = (b @ a)[2, 1]
    turned = a @ r  # a fixed array, as r is one
    out[5] = turned[0] * 100 + len(turned)
    pair = TABLE @ v  # a vector, as v is one
    out[6] = pair.x
    out[7] = pair.y
    out[8] = r @ r
    out[9] = (r @ b)[1]
    out[10] = (v @ TABLE).y
    square @= TABLE.T
    out[11] = square[0, 1]
    out[12] = (a.T @ a)[2, 0] + a.T.shape[0]
    out[13] = (Turn(3) @ Turn(2)).quarter


def test_as_numpys(device):
    rng = np.random.default_rng(4)
    a, b, r, v = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((2, 3), (3, 2), 3, 2))
    out = lp.zeros(14, lp.i32, device=device)
    products[1](a, b, r, v, out)
    expected = [
        *(a @ b).ravel(),
        (b @ a)[2, 1],
        (a @ r)[0] * 100 + 2,
        *(TABLE @ v),
        r @ r,
        (r @ b)[1],
        (v @ TABLE)[1],
        (a @ b @ TABLE.T)[0, 1],
        (a.T @ a)[2, 0] + 3,
        1,
    ]
    assert out.numpy().tolist() == expected


def rotation(angle: lp.f32):
    c, s = lp.math.cos(angle), lp.math.sin(angle)
    return lp.FixedArray[lp.f32, 2, 2](c, -s, s, c)


@lp.kernel
def rotate(points: lp.Array[lp.f32x2], angle: lp.f32):
    i = lp.global_id(0)
    for _ in range(4):
        points[i] = rotation(angle) @ points[i]


def test_points_are_turned(device):
    host = np.random.default_rng(5).random((9, 2), np.float32)
    points = lp.asarray(host, lp.f32x2, device=device)
    rotate[9](points, np.pi / 8)
    np.testing.assert_allclose(points.numpy(), np.stack([-host[:, 1], host[:, 0]], 1), atol=1e-6)
