"""Tuples where a vector or a fixed array is wanted, and the annotations that say so: as on the host."""

from __future__ import annotations

from typing import Optional

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

N = 3
Row = lp.FixedArray[lp.f32, N]


@lp.struct
class Ray:
    origin: lp.f32x3
    steps: lp.FixedArray[lp.i32, 2, 2] = ((1, 2), (3, 4))


def product(a: lp.f32x3, b: lp.Vec[lp.f32, 3]) -> lp.f32:
    return lp.math.dot(a, b)


def doubled(row: lp.FixedArray[lp.f32, N]) -> Row:
    for k in range(N):
        row[k] *= 2.0
    return row


def upwards(flip) -> lp.f32x3:
    if flip:
        return (0, 0, -1)
    return (0, 0, 1)


def shifted(v: lp.f32, by: lp.f32 | None = None, times: Optional[lp.f32] = None) -> lp.f32:  # noqa: UP045
    if by is None:
        return v
    if times is None:
        return v + by
    return (v + by) * times


@lp.kernel
def tuples(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    v = x[i]
    out[0] = product((v, 2, 3), (1, v, 1))
    row = doubled((1, v, 3))
    for k in range(N):  # indices known at run time: it is a fixed array
        out[1 + k] = row[k]
    out[4] = upwards(v > 1).z
    ray = Ray((v, 0, 0))
    ray.origin = (v, 5, 6)
    ray.steps = ((1, 2), (7, 8))
    out[5] = ray.origin.y + ray.steps[i + 1, i]
    declared: Row = (4, v, 6)
    declared[i] += declared[i + 2]
    out[6] = declared[0]
    up: lp.f32x3 = (0, v, 0)
    out[7] = up[i + 1]
    made = lp.private.array(2, lp.f32x3)
    made[i] = (7, 8, v)
    out[8] = made[i].z
    out[9] = shifted(1) + shifted(1, 2) + shifted(1, 2, 3)


def test_tuples_stand_for_vectors_and_fixed_arrays(lapilli_device: lp.Device):
    out = lp.empty(10, device=lapilli_device)
    tuples[1](lp.asarray(np.float32([1.5]), device=lapilli_device), out)
    expected = [7.5, 2, 3, 6, -1, 12, 10, 1.5, 1.5, 13]
    np.testing.assert_array_equal(out.numpy(), expected)


def test_types_beside_none_are_annotations_on_the_host():
    assert (lp.f32 | None) == Optional[lp.f32]  # noqa: UP045
    assert (None | lp.f32x3) == Optional[lp.f32x3]  # noqa: UP045
    assert (lp.f32 | lp.i32).__args__ == (lp.f32, lp.i32)
    assert (Row | None).__args__ == (Row, type(None))


def whole(v: lp.i32 | None = None):
    return v


def narrow(v: "lp.FixedArray[lp.i32, 2]"):  # noqa: UP037
    return v[0]


@pytest.mark.parametrize("helper", [whole, narrow])
def test_annotations_with_brackets_and_none_are_kept_to(helper: object):
    if helper is whole:

        @lp.kernel
        def wrong(x: lp.Array[lp.f32]):
            x[0] = whole(x[0])

    else:

        @lp.kernel
        def wrong(x: lp.Array[lp.f32]):
            x[0] = narrow(lp.FixedArray[lp.f32, 2](x[0], 1.0))

    with pytest.raises(
        lp.CompileError, match=r"parameter 'v' of '\w+' holds lp\.(i32|FixedArray\[lp.i32, 2\])"
    ):
        wrong[1](lp.zeros(1))


def test_a_result_of_another_type_is_called_the_returned_value():
    def pair() -> lp.f32x3:
        return (1, 2)

    @lp.kernel
    def wrong(x: lp.Array[lp.f32]):
        x[0] = pair().x

    with pytest.raises(lp.CompileError, match=r"the returned value holds lp\.f32x3, found tuple of 2"):
        wrong[1](lp.zeros(1))


def test_a_declared_fixed_array_takes_no_other():
    @lp.kernel
    def wrong(x: lp.Array[lp.f32]):
        m: lp.FixedArray[lp.f32, 2] = lp.FixedArray[lp.i32, 2](1, 2)
        x[0] = m[0]

    with pytest.raises(lp.CompileError, match=r"variable 'm' holds lp\.FixedArray\[lp\.f32, 2\]"):
        wrong[1](lp.zeros(1))
