"""Variables that a loop sets, read behind it: on every way out of the loop, and on no other."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import lapilli as lp


@lp.kernel
def first_power_above(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i, n = lp.global_id(0), 1
    while True:
        power = n * n * n
        n += 1
        if power > x[i]:
            break
    y[i] = power


@lp.kernel
def first_number_above(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    n = i
    while (number := x[n] * 2) <= 10 and (following := x[n] + 1) < 7:
        n += following - x[n]
    y[i] = number


@lp.kernel
def tickets(x: lp.Array[lp.u32], y: lp.Out[lp.u32]):
    i = lp.global_id(0)
    old = lp.atomic.load(x, 0)
    while (found := lp.atomic.compare_exchange(x, 0, old, old + 1)) != old:
        old = found
    y[i] = found


@lp.kernel
def float_tickets(x: lp.Array[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = lp.atomic.sub(x, 0, -0.5)


@lp.kernel
def position_of(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(x.size):
        if x[k] > x[i]:
            found = k
            break
    else:
        found = -1
    y[i] = found


@lp.kernel
def deep_jumps(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i, n = lp.global_id(0), 0
    while True:
        n += 1
        if x[i] > 2:
            if n > 3:
                v, w, last = 100 + n, 0.5, 3
                break
            n += 1
        v, w = n, 1.5
        for j in range(3):
            last = j * v
        if n + x[i] > 8:
            break
    y[i] = v + lp.i32(w * 2.0) * 1000 + last * 10


@lp.kernel
def certain_rounds(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(5):
        if k == x[i]:
            last = -k
            continue
        last = k + x[i] if k > x[i] else k
    y[i] = k * 100 + last


@lp.kernel
def in_the_else(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(4):
        v = k * 10
        if v > x[i] * 7:
            break
    else:
        v += 5
    y[i] = v + k


@lp.kernel
def unrolled_jumps(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i, w = lp.global_id(0), 0
    for k in (1, 3, 4):
        v = k + x[i]
        if k == 1:
            u = 2
        if x[i] == k:
            continue
        if k > 1 and x[i] > 4:
            w = v
            break
        u = v
    else:
        w = u - 1
    for k in (2, 5):
        if k > 2 and x[i] > k:
            break
        t = k
    y[i] = v + w * 10 + t * 100


@lp.kernel
def unrolled_search(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in (4, 2, 9):
        if x[i] == k:
            found, w = k * 10, 1
            break
        if x[i] > k:
            if k == 2:
                found = -k
                w = 2
                break
            last = k
            continue
        last = k * x[i]
    else:
        found, w = last, 3
    for j in range(2):
        for k in lp.static_range(3):
            t = found + k * j
            if t > 8:
                break
    y[i] = found * 100 + w * 10 + t


@lp.kernel
def returns_from_an_unrolled_loop(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = -1
    n = 0
    while n < x[i]:
        n += 2
        for k in (n, 7):
            y[i] = k * 10
            return
    for k in (3, 4):
        if x[i] < k:
            y[i] = k
            return
        y[i] = n
        return


def expected(kernel, x):
    """Runs a kernel's own function in Python."""
    source, y = kernel.function, [0] * len(x)

    class Host(list):
        size = property(len)

    for i in range(len(x)):
        scope = {
            "lp": SimpleNamespace(global_id=lambda _, i=i: i, i32=int, static_range=range),
            "range": range,
        }
        type(source)(source.__code__, scope)(Host(x), y)
    return y


@pytest.mark.parametrize(
    "kernel",
    [
        first_power_above,
        position_of,
        deep_jumps,
        certain_rounds,
        in_the_else,
        unrolled_jumps,
        unrolled_search,
        returns_from_an_unrolled_loop,
    ],
    ids=lambda k: k.name,
)
def test_what_a_loop_has_set_is_there_behind_it(device, kernel):
    x = np.array([0, 3, 1, 7, 4, 2, 9, 5], np.int32)
    y = lp.zeros(x.size, lp.i32, device=device)
    kernel[x.size](lp.asarray(x, device=device), y)
    np.testing.assert_array_equal(y.numpy(), expected(kernel, x.tolist()))


WRONG = {
    "break_before": "while True:\n    if i > 3:\n        break\n    v = i\n    i += 1",
    "no_round": "for k in range(i):\n    v = k",
    "continue_before": "for k in range(3):\n    if i == k:\n        continue\n    v = k",
    "read_in_the_first_round": "while True:\n    if i > 3:\n        i = v\n    v = i\n    if v > 2:\n        break",
    "else_reads_what_breaks_set": "for k in range(i):\n    if k > 2:\n        v = k\n        break\nelse:\n    v += 1",
    "else_sets_nothing": "for k in range(i):\n    if k > 2:\n        v = k\n        break\nelse:\n    i = 1",
    "unrolled_break": "for k in (1, 3):\n    if i > k:\n        break\n    v = k",
    "unrolled_continue": "for k in (1, 3):\n    if i > k:\n        continue\n    v = k",
    "unrolled_else": "for k in (1, 3):\n    if i > k:\n        break\n    v = k\nelse:\n    v += 1",
    "unrolled_search": "for k in (1, 3):\n    if i > 2:\n        v = k\n    if i > 1:\n        break\nelse:\n    v = 0",
    "unrolled_without_else": "for k in (1, 3):\n    if i > k:\n        v = k\n        break",
    "break_skips": "for k in range(3):\n    if i > 2:\n        break\n    v = k\nelse:\n    i = 1",
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_a_way_out_leaves_unset_is_refused(body):
    text = "@lp.kernel\ndef k(y: lp.Out[lp.i32]):\n    i = lp.global_id(0)\n"
    text += "".join(f"    {line}\n" for line in body.splitlines()) + "    y[i] = v\n"
    with pytest.raises(lp.CompileError, match="variable 'v'") as caught:
        lp.kernel_from_source(text, name="k").inspect("ir")
    assert caught.value.code == "LP2038"


def test_what_a_test_read_outlives_the_rounds_of_others(device) -> None:
    """The work-items of a sub-group leave in different rounds; some drivers forget what those read that left."""
    x = np.int32([1, 2, 9, 1, 1, 1, 8, 7])
    y = lp.zeros(8, lp.i32, device=device)
    first_number_above[8](lp.asarray(x, device=device), y)
    assert y.numpy().tolist() == [18, 18, 18, 16, 16, 16, 16, 14]


@pytest.mark.parametrize(("kernel", "dtype"), [(tickets, np.uint32), (float_tickets, np.float32)])
def test_every_work_item_knows_what_it_replaced(device, kernel, dtype) -> None:
    x, y = lp.asarray(np.zeros(1, dtype), device=device), lp.asarray(np.zeros(16, dtype), device=device)
    kernel[16](x, y)
    step = 1 if dtype is np.uint32 else 0.5
    assert sorted(y.numpy()) == [step * k for k in range(16)]
