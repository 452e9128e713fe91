"""Variables that a condition names with ``:=``: set where the condition says so, on every device as in Python."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret

pytestmark = pytest.mark.device

NUMBERS = np.arange(-6, 7, dtype=np.int32)


@lp.kernel
def in_the_branch(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if x[i] > -5 and (m := x[i] + 1) > -3 and (q := m * 2) < 6:
        out[i] = m * q
    elif x[i] > 0 and (m := 7) > x[i] and (m := m + x[i]) > 3:
        out[i] = m
    else:
        out[i] = 55


@lp.kernel
def in_the_else(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if x[i] > 2 or not (m := x[i] * 3) < 3:
        m = 4
        out[i] = m
    else:
        out[i] = m - 50
    out[i] += m


@lp.kernel
def after_an_early_return(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if not (x[i] > 0 and (m := x[i] * 2) > 4):
        return
    out[i] = m


@lp.kernel
def in_expressions(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = m + 1 if (m := x[i]) > 2 and (n := m + 1) and n < 6 else m - 1
    out[i] += q if x[i] > 0 and (q := 4) else 9
    if -4 < x[i] < (c := 3) < x[i] + 4:
        out[i] += c
    if (x[i] > 2 or (a := x[i]) < -2) and x[i] < 5:
        out[i] += 100
    elif not (x[i] > 2 or (a := x[i] - 4) < 0):
        out[i] += a
    if (r := x[i]) > 1 if x[i] > 0 else (r := 8) > 9:
        out[i] += r * 7
    out[i] += r


@lp.kernel
def in_a_loop(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    j = 0
    s = 0
    while j < 13 and (v := x[j]) < 5 and (w := v * 2) < 9:
        if v == i - 8:
            s += w
            break
        if v == 2:
            j += 2
            continue
        j += 1
        s += w
    out[i] = s * 100 + j


@lp.kernel
def behind_a_loop_with_break(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    j = 0
    while (v := x[j]) < 5:
        if v == i - 8:
            break
        j += 1
    else:
        v += 1000
    k = 0
    while k < i or (u := x[k]) < 3:
        k += 1
    out[i] = v * 100 + j + u * 7


@lp.kernel
def of_vectors(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if x[i] > 0 and (v := lp.i32x2(x[i], 2)).x > 2:
        out[i] = v.x * v.y
    j = 0
    while (w := lp.i32x2(j, i)).x < w.y:
        j += 2
        if j == 6:
            break
    out[i] += w.x


KERNELS = [
    in_the_branch, in_the_else, after_an_early_return, in_expressions, in_a_loop, behind_a_loop_with_break,
]  # fmt: skip


def by_python(kernel):
    out = np.zeros(13, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        for i in range(13):
            patch.setattr(lp, "global_id", lambda _, i=i: i)
            inspect.unwrap(kernel)([int(v) for v in NUMBERS], out)
    return out


@pytest.mark.parametrize("kernel", KERNELS, ids=[k.name for k in KERNELS])
def test_conditions_set_what_python_sets(device, kernel):
    out = lp.zeros(13, lp.i32, device=device)
    kernel[13](lp.asarray(NUMBERS, device=device), out)
    np.testing.assert_array_equal(out.numpy(), by_python(kernel))
    interpreted = np.zeros(13, np.int32)
    interpret(kernel, 13, (NUMBERS, interpreted))
    np.testing.assert_array_equal(interpreted, by_python(kernel))


def test_vectors_that_a_condition_names(device):
    out = lp.zeros(13, lp.i32, device=device)
    of_vectors[13](lp.asarray(NUMBERS, device=device), out)
    expected = [(2 * x if x > 2 else 0) + _last_pair(i) for i, x in enumerate(NUMBERS.tolist())]
    assert out.numpy().tolist() == expected


def _last_pair(i):
    j = 0
    while (w := (j, i))[0] < w[1]:
        j += 2
        if j == 6:
            break
    return w[0]


WRONG = [
    "if x[i] > 0 or (m := x[i]) > 4:\n        x[i] = m",
    "if x[i] > 0 and (m := x[i]) > 4:\n        x[i] = m\n    x[i] = m",
    "if x[i] > 0 and (m := x[i]) > 4:\n        x[i] = 1\n    else:\n        x[i] = m",
    "while i < 3 and (m := x[i]) > 4:\n        i += 1\n    x[i] = m",
    "x[i] = 1 if x[i] > 0 or 2 < x[i] < (m := 5) else m",
    "x[i] = m if (x[i] > 0 if x[i] > 4 else (m := 7) > 3) else 2",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_a_condition_may_not_have_set_is_refused(device, text):
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k(x: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n    {text}\n"
    )
    with pytest.raises(lp.CompileError, match="'m' may be unset") as caught:
        kernel[1](lp.zeros(8, lp.i32, device=device))
    assert caught.value.code == "LP2038"
