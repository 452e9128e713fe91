"""What stands behind a jump that is surely taken need not make sense, as in Python: on every device."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device


def scaled(x, factor=None):
    x += 1
    if factor is None:
        return x
    x *= factor  # None is no number
    return x


def chosen(x, mode):
    x += 1
    if mode == "twice":
        if x > 100:
            return x
        else:
            return 2 * x
    elif mode == "pair":
        return x[0]  # a number has no items
    return x


def weighted(x, weights):
    total = 0
    for position, weight in enumerate(weights):
        total += weight * x
        if position == 1:
            return total
    return total + weights.missing


@lp.kernel
def optional_parameters(n: lp.i32, mode: lp.Const[lp.i32], out: lp.Array[lp.i32]):
    out[0] = scaled(n)
    out[1] = scaled(n, 3)
    out[2] = chosen(n, "twice")
    out[3] = chosen(n, "once")
    out[4] = weighted(n, (1, 2, None))
    total = 0
    for i in lp.static_range(3):
        if i == 2:
            break
        first, second = ((1, 2), (3, 4), 5)[i]
        total += first * second
    out[5] = total
    if mode == 0:
        return
    total = (1, 2)[mode]  # an item that mode 2 has not
    out[5] += total


@pytest.mark.parametrize(("mode", "last"), [(0, 14), (1, 16)])
def test_code_behind_a_known_jump_is_not_looked_at(device, mode, last):
    out = lp.zeros(6, lp.i32, device=device)
    optional_parameters[1](10, mode, out)
    assert out.numpy().tolist() == [11, 33, 22, 11, 30, last]


def test_what_is_reached_still_has_to_make_sense(device):
    with pytest.raises(lp.CompileError, match="index 2"):
        optional_parameters[1](10, 2, lp.zeros(6, lp.i32, device=device))
