"""Elements of arrays that no variable alone names: items of tuples, what a condition chooses, what was just made."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Cell:
    n: lp.i32
    v: lp.f32x2


@lp.kernel
def items(a: lp.Array[Cell], b: lp.Array[Cell], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    both = a, (b, a)
    both[0][i].n = both[1][0][i].n + 1
    both[1][0][i].v.y = 4.0
    for k in lp.static_range(2):
        both[1][1 - k][i].v.x += lp.f32(2 - k)
    out[i, 0] = both[1][-1][i].v.x
    out[i, 1] = (a, b)[1][i].v.y


@lp.kernel
def chosen(a: lp.Array[lp.f32x2], out: lp.Out[lp.f32x2], first: lp.Const[lp.bool_]):
    i = lp.global_id(0)
    out[i] = (a if first else out)[i] + (_named := a)[i]


@lp.kernel(local_size=4)
def just_made(out: lp.Out[lp.f32x2]):
    lp.local.array(4, lp.f32x2)[lp.local_id(0)] = lp.f32x2(1.0, 2.0)
    unset = lp.private.array(2, Cell)[0]
    out[lp.global_id(0)] = lp.select(unset.n == unset.n, lp.f32x2(3.0, 4.0), unset.v)


def test_items_of_tuples(device):
    a = lp.zeros(4, Cell, device=device)
    b = lp.zeros(4, Cell, device=device)
    out = lp.zeros((4, 2), device=device)
    items[4](a, b, out)
    assert a.numpy()["n"].tolist() == [1] * 4
    assert a.numpy()["v"].tolist() == [[2.0, 0.0]] * 4
    assert b.numpy()["v"].tolist() == [[1.0, 4.0]] * 4
    assert out.numpy().tolist() == [[2.0, 4.0]] * 4


def test_a_chosen_array(device):
    a = lp.asarray(np.arange(8, dtype=np.float32).reshape(4, 2), lp.f32x2, device=device)
    out = lp.zeros(4, lp.f32x2, device=device)
    chosen[4](a, out, True)
    np.testing.assert_array_equal(out.numpy(), 2 * a.numpy())


@pytest.mark.native_only("the interpreter reports what is read before it is written")
def test_an_array_without_a_name(device):
    out = lp.zeros(4, lp.f32x2, device=device)
    just_made[4](out)
    assert out.numpy().tolist() == [[3.0, 4.0]] * 4


def test_an_item_that_is_not_there():
    text = "@lp.kernel\ndef k(a: lp.Array[lp.f32x2]):\n    both = a, a\n    both[{}][0].x = 1.0\n"
    for index, message in (("2", "index 2 is out of range of a tuple"), ("a.size - 1", "must be known")):
        with pytest.raises(lp.CompileError, match=message):
            lp.kernel_from_source(text.format(index)).inspect("ir")
