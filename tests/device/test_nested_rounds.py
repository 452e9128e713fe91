"""Nests of loops at level 2 run more rounds than a driver allows a kernel, and give what Python gives."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device
WORK_ITEMS = 2
MASK = 0xFFFF


def many_around_few(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t = i
    for k in range(n):
        for j in range(x[1]):
            t = (t * 5 + k + j) & MASK
    return t


def few_around_many(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t = i
    for k in range(x[1]):
        for j in range(n):
            t = (t * 5 + k + j) & MASK
    return t


def three_deep(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t = i
    for k in range(n // 4):
        for j in range(x[1]):
            for q in range(j, x[2]):
                t = (t * 5 + k + j + q) & MASK
            t ^= j
        t ^= k
    return t


def two_inside(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t, last = i, -1
    for k in range(n // 2, 0, -1):
        for j in range(x[1]):
            t = (t * 5 + j) & MASK
        between = t & 7
        j = 0
        while j < between:
            j += 2
            t = (t * 3 + k) & MASK
        last = j
    return t + last


def in_branches(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t = i
    for k in range(n):
        before = t
        if (t + i) & 3 == 1:
            t ^= 5
            for j in range(x[1]):
                t = (t * 5 + j) & MASK
            t += 1
        elif t & 4:
            for j in range(2):
                if x[j] == t & 7:
                    for q in range(x[2]):
                        t = (t * 3 + q) & MASK
        else:
            t += k & 1
        t = (t + before) & MASK
    return t


def with_exits(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t, found = i, 0
    for k in range(n):
        for j in range(x[2]):
            t = (t * 5 + k) & MASK
            if t & 7 == j:
                continue
            if t & 15 == 3:
                found += 1
                break
        else:
            t += 1
        if found > 1_000_000:
            return -k
    else:
        t ^= 0x55
    return t + found


def in_tests(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    t, k = i, 0
    while many_around_few(k, x[1], x) >= 0 and k < n // 16:
        k += 1
        t = (t * 5 + many_around_few(t & 3, x[1], x)) & MASK
    return t


def with_floats(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    z, t = 0.5, i
    for k in range(n // 2):
        v, c = z, 0
        while v < 4.0:
            v = v * 2.0 + 0.25
            c += 1
        z = v * 0.0625
        t = (t * 5 + c + k) & MASK
    return t


def sum_of(k: lp.i32, m: lp.i32) -> lp.i32:
    s = 0
    for j in range(k):
        s = (s * 3 + j) % m
    return s


def in_half_of_a_test(i: lp.i32, n: lp.i32, x: lp.In[lp.i32]):
    k, c = i, 0
    while k < n % 97 and (v := sum_of(k & 15, 37)) < 36:
        c = c * 3 + v & MASK
        k += 1
    return k + c


FUNCTIONS = [
    many_around_few,
    few_around_many,
    three_deep,
    two_inside,
    in_branches,
    with_exits,
    in_tests,
    with_floats,
    in_half_of_a_test,
]
TABLE = [0, 5, 4, 3]


def kernel_of(function, level: int):
    @lp.kernel(opt_level=level)
    def nest(n: lp.i32, x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        out[i] = function(i, n, x)

    return nest


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_nests_give_what_python_gives(function, device) -> None:
    kernel = kernel_of(function, 2)
    x = lp.asarray(np.array(TABLE, np.int32), device=device)
    for n in (0, 1, 2, 7, 66_001):
        out = lp.zeros(WORK_ITEMS, lp.i32, device=device)
        kernel[WORK_ITEMS](n, x, out)
        assert out.numpy().tolist() == [function(i, n, TABLE) for i in range(WORK_ITEMS)], n


@lp.kernel(opt_level=2)
def ten_million(rows: lp.i32, columns: lp.i32, out: lp.Array[lp.i32]):
    i, t, rounds = lp.global_id(0), 0, 0
    for row in range(rows):
        for column in range(columns):
            t ^= row + column
            rounds += 1
    out[i] = rounds
    out[i + 2] = t


@pytest.mark.native_only("millions of rounds")
@pytest.mark.parametrize("rows", [1, 1000, 5_000_000, 10_000_000])
def test_ten_million_rounds_however_they_are_nested(rows: int, device) -> None:
    columns = 10_000_000 // rows
    out = lp.zeros(4, lp.i32, device=device)
    ten_million[2](rows, columns, out)
    sums = np.add.outer(np.arange(rows, dtype=np.int32), np.arange(columns, dtype=np.int32))
    assert out.numpy().tolist() == [rows * columns] * 2 + [int(np.bitwise_xor.reduce(sums, axis=None))] * 2


def test_tests_of_flags_are_as_many_as_in_python(device) -> None:
    """The last test, of a flag that the round before has set, is made too: it counts, and computes a result."""

    @lp.kernel(opt_level=2)
    def flags(n: lp.i32, counts: lp.Array[lp.i32], squares: lp.Out[lp.i32]):
        i = lp.global_id(0)
        k, d, go = i, 0, True
        while (lp.atomic.add(counts, i, 1), go)[1]:
            for j in range(k % 7):
                k += j
            k += 1
            go = k < n
        go = True
        while (d := k * k, go)[1]:
            for j in range(k % 5):
                k += j
            k += 1
            go = k < 2 * n
        squares[i] = d

    n, items = 50, 8
    counts, squares = lp.zeros(items, lp.i32, device=device), lp.zeros(items, lp.i32, device=device)
    flags[items](n, counts, squares)
    expected = [_flags(i, n) for i in range(items)]
    assert list(zip(counts.numpy().tolist(), squares.numpy().tolist(), strict=True)) == expected


def _flags(k: int, n: int) -> tuple[int, int]:
    tests, go = 1, True
    while go:
        k += sum(range(k % 7)) + 1
        tests, go = tests + 1, k < n
    go = True
    while go:
        k += sum(range(k % 5)) + 1
        go = k < 2 * n
    return tests, k * k


def test_stores_in_nests(device) -> None:
    @lp.kernel(opt_level=2)
    def store(n: lp.i32, x: lp.In[lp.i32], out: lp.Array[lp.i32, 2]):
        i = lp.global_id(0)
        for k in range(n):
            for j in range(x[k & 3]):
                out[i, j] += k & 3
            out[i, 7] += 1

    n = 30_000
    x = lp.asarray(np.array(TABLE, np.int32), device=device)
    out = lp.zeros((WORK_ITEMS, 8), lp.i32, device=device)
    store[WORK_ITEMS](n, x, out)
    expected = [sum((k & 3) * (j < TABLE[k & 3]) for k in range(n)) for j in range(7)]
    assert out.numpy().tolist() == [[*expected, n]] * WORK_ITEMS


def test_nests_around_barriers_are_right_or_trap(device) -> None:
    """What work-items do together they do in the same round, so such nests stay."""

    @lp.kernel(opt_level=2, local_size=4)
    def together(n: lp.i32, x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.local_id(0)
        shared = lp.local.array(4, lp.i32)
        t = i
        for k in range(n):
            for j in range(x[1]):
                t = (t * 5 + j) & MASK
            shared[i] = t
            lp.barrier()
            t = shared[i ^ 1] ^ k & 7
            lp.barrier()
        out[i] = t

    x = lp.asarray(np.array(TABLE, np.int32), device=device)
    for n in (100, 100_000):
        out = lp.zeros(4, lp.i32, device=device)
        together[4](n, x, out)
        t = list(range(4))
        for k in range(n):
            for j in range(TABLE[1]):
                t = [(one * 5 + j) & MASK for one in t]
            t = [t[i ^ 1] ^ k & 7 for i in range(4)]
        try:
            assert out.numpy().tolist() == t
        except lp.KernelTrap:
            assert n == 100_000
            assert device.target_env.loop_iteration_cap is not None
