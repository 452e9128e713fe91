"""Builtins of Python over what holds several values: ``sum``, ``any``, ``all``, ``reversed``, and ``in`` of ranges."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Row = lp.FixedArray[lp.f32, 4]
WEIGHTS = (1, 10, 100)


@lp.kernel
def totals(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = lp.f32x3(1.0, 2.0, x[i])
    row = Row(1.0, 2.0, 3.0, x[i])
    out[i, 0] = sum((1, 2, 3)) + sum(()) + sum((x[i], 1.0), 10)
    out[i, 1] = sum((x[0] > 0, x[i] > 1, x[i] > 2)) + 10 * sum((x[i] > 2,))
    out[i, 2] = sum(v) + sum(row)
    out[i, 3] = sum((v, v)).z
    count = sum((x[i] > 1,))  # a number, and no bool
    count += 5
    out[i, 4] = count


def test_sums(device):
    x = np.array([1.5, 0.5, 3.0, 4.0], np.float32)
    out = lp.zeros((4, 5), device=device)
    totals[4](lp.asarray(x, device=device), out)
    counts = [sum((True, bool(a > 1), bool(a > 2))) + 10 * bool(a > 2) for a in x]
    expected = np.stack([17 + x, np.float32(counts), 9 + 2 * x, 2 * x, 5 + (x > 1)], axis=1)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.struct
class Span:
    low: lp.f32
    high: lp.f32

    def __add__(self, other):
        return Span(min(self.low, other.low), max(self.high, other.high))


@lp.kernel
def totals_of_composites(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    pairs = lp.FixedArray[lp.f32x2, 2, 2]()
    spans = lp.FixedArray[Span, 3]()
    for i in range(4):
        pairs[i // 2, i % 2] = lp.f32x2(x[i], 1.0)
        spans[min(i, 2)] = Span(x[i], x[i] + 1.0)
    out[0], out[1] = sum(sum(pairs)).x, sum(pairs)[0].x
    out[2], out[3] = sum(spans).low, sum(spans).high
    out[4] = lp.math.prod(lp.math.prod(pairs)).x


def test_sums_of_vectors_and_structs(device):
    out = lp.zeros(5, device=device)
    totals_of_composites[1](lp.asarray(np.array([3, 2, 4, 5], np.float32), device=device), out)
    assert out.numpy().tolist() == [14, 7, 2, 6, 120]


@lp.kernel
def totals_of_rows(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    m = lp.FixedArray[lp.f32, 2, 3]((x[0], x[1], x[2]), (x[3], x[4], x[5]))
    added, begun, multiplied = sum(m), sum(m, 1.0), lp.math.prod(m)
    for i in range(3):
        out[0, i], out[1, i], out[2, i] = added[i], begun[i], multiplied[i]
    out[3, 0], out[3, 1] = sum(m[1]), sum(sum(m))


def test_a_matrix_is_summed_by_rows(device):
    """As Python's builtin does with a NumPy array."""
    x = np.arange(2, 8, dtype=np.float32)
    out = lp.zeros((4, 3), device=device)
    totals_of_rows[1](lp.asarray(x, device=device), out)
    m = x.reshape(2, 3)
    expected = [sum(m), sum(m, 1.0), np.prod(m, 0), [m[1].sum(), m.sum(), 0]]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, np.float32))


@lp.kernel
def truths(x: lp.In[lp.f32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = lp.f32x3(1.0, 2.0, x[i])
    bits = lp.i32(any((x[i] > 2, i == 0))) | lp.i32(all((x[i] > 2, i == 2))) << 1
    bits |= lp.i32(any(v > 3)) << 2 | lp.i32(all(v > 1)) << 3 | lp.i32(all(v == v)) << 4
    bits |= (
        lp.i32(any(())) << 5 | lp.i32(all(())) << 6 | lp.i32(any((0, i))) << 7 | lp.i32(all((1, i, 2))) << 8
    )
    out[i] = bits


def test_truths_of_tuples_and_vectors(device):
    x = np.array([1.5, -2.0, 3.0, 4.0], np.float32)
    out = lp.zeros(4, lp.i32, device=device)
    truths[4](lp.asarray(x, device=device), out)
    expected = [
        any((a > 2, i == 0))
        | all((a > 2, i == 2)) << 1
        | (a > 3) << 2
        | all((False, True, a > 1)) << 3
        | 1 << 4
        | 1 << 6
        | (i > 0) << 7
        | (i > 0) << 8
        for i, a in enumerate(x.tolist())
    ]
    assert out.numpy().tolist() == expected


def digits(numbers):
    result = 0
    for number in numbers:
        result = result * 10 + number
    return result


@lp.kernel
def backwards(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = lp.i32x3(1, 2, 3)
    for c in range(10):
        total = 0
        if c == 0:
            for k in reversed(range(i, x.shape[0])):
                total = total * 10 + k
        elif c == 1:
            for k in reversed(range(x.shape[0], i, -1)):
                total = total * 10 + k
        elif c == 2:
            for u in reversed(range(lp.u32(i), lp.u32(4))):
                total = total * 10 + lp.i32(u)
        elif c == 3:
            for k in reversed(range(1, 9, 3)):
                total = total * 10 + k
        elif c == 4:
            for k in reversed(x):
                total = total * 10 + k
        elif c == 5:
            for number, k in enumerate(reversed(x)):
                total = total * 10 + k * number
        elif c == 6:
            for w, k in zip(WEIGHTS, reversed(v), strict=True):
                total += w * k
        elif c == 7:
            for k in reversed(reversed(range(i, 4))):
                total = total * 10 + k
        elif c == 8:
            for k in reversed(range(i)):
                if k < 2:
                    break
                total += k
            else:
                total = 99
        else:
            for k in reversed(lp.static_range(4)):
                total = total * 10 + k
        out[i, c] = total


def test_loops_backwards(device):
    x = np.array([2, 0, 1, 1], np.int32)
    out = lp.zeros((4, 10), lp.i32, device=device)
    backwards[4](lp.asarray(x, device=device), out)
    for i, row in enumerate(out.numpy().tolist()):
        numbers = list(reversed(x.tolist()))
        assert row == [
            digits(reversed(range(i, 4))),
            digits(reversed(range(4, i, -1))),
            digits(reversed(range(i, 4))),
            digits([7, 4, 1]),
            digits(numbers),
            digits(k * number for number, k in enumerate(numbers)),
            123,
            digits(range(i, 4)),
            {0: 99, 1: 0, 2: 0, 3: 2}[i],
            3210,
        ]


def from_end(first, stop):
    return reversed(range(first, stop))


@lp.kernel
def unsigned_and_handed_over(out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    down, over = lp.u32(0), 0
    for u in reversed(range(lp.u32(4), lp.u32(i), -1)):
        down = down * 10 + u
    for k in from_end(i, 4):
        over = over * 10 + k
    out[i, 0] = lp.i32(down)
    out[i, 1] = over


def test_unsigned_numbers_and_ranges_of_helpers_backwards(device):
    out = lp.zeros((6, 2), lp.i32, device=device)
    unsigned_and_handed_over[6](out)
    expected = [[digits(reversed(range(4, i, -1))), digits(reversed(range(i, 4)))] for i in range(6)]
    assert out.numpy().tolist() == expected


@lp.kernel
def any_steps(first: lp.i32, stop: lp.i32, step: lp.i32, most: lp.Const[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in reversed(range(first, stop, step)):
        total = total * 3 + k
    out[0], total = total, 0
    for k in reversed(range(first, stop, 3)):
        total = total * 3 + k
    out[1], total = total, 0
    for k in reversed(range(first, stop, -4)):
        total = total * 3 + k
    out[2], total = total, 0
    for k in reversed(range(-1, most, 3)):
        total = total * 3 + k
    out[3] = total
    unsigned = lp.u32(0)
    for u in reversed(range(lp.u32(abs(first)), lp.u32(abs(stop)), -3)):
        unsigned = unsigned * 3 + u
    out[4] = lp.i32(unsigned)


def threefold(numbers):
    total = 0
    for number in numbers:
        total = total * 3 + number
    return total


@pytest.mark.parametrize("step", [-5, -1, 1, 2, 7])
def test_ranges_of_any_step_backwards(device, step):
    out = lp.zeros(5, lp.i32, device=device)
    for first, stop in ((-7, 4), (4, -7), (0, 13), (13, 0), (5, 5)):
        any_steps[1](first, stop, step, 11, out)
        ranges = (
            range(first, stop, step),
            range(first, stop, 3),
            range(first, stop, -4),
            range(-1, 11, 3),
            range(abs(first), abs(stop), -3),
        )
        assert out.numpy().tolist() == [threefold(reversed(numbers)) for numbers in ranges]


@lp.kernel
def last_number(first: lp.i32, out: lp.Out[lp.i32]):
    for k in reversed(range(first, 2**31 - 1)):
        out[0] = k
        break
    for k in reversed(range(first, -(2**31), -1)):
        out[1] = k
        break
    for _ in reversed(range(first, first)):
        out[2] = 1
    for k in reversed(range(first, 2**31 - 1, 10**9)):
        out[3] = k
        break


def test_ranges_of_the_ends_of_the_type(device):
    out = lp.zeros(4, lp.i32, device=device)
    for first in (-(2**31), 5, 2**31 - 2):
        last_number[1](first, out)
        down = out.numpy()[1] if first == -(2**31) else -(2**31) + 1
        assert out.numpy().tolist() == [2**31 - 2, down, 0, range(first, 2**31 - 1, 10**9)[-1]]


@lp.kernel
def places(n: lp.i32, out: lp.Out[lp.i32]):
    i = lp.global_id(0) - 3
    bits = lp.i32(i in range(3)) | lp.i32(i not in range(1, n)) << 1 | lp.i32(i in range(-3, n, 2)) << 2
    bits |= lp.i32(i in range(n, -3, -2)) << 3 | lp.i32(2 in range(i)) << 4 | lp.i32(i in range(n, 0)) << 5
    out[lp.global_id(0)] = bits


def test_membership_of_ranges(device):
    out = lp.zeros(12, lp.i32, device=device)
    places[12](4, out)
    expected = [
        (i in range(3))
        | (i not in range(1, 4)) << 1
        | (i in range(-3, 4, 2)) << 2
        | (i in range(4, -3, -2)) << 3
        | (2 in range(i)) << 4
        for i in range(-3, 9)
    ]
    assert out.numpy().tolist() == expected


@lp.kernel
def far_places(shift: lp.i32, out: lp.Out[lp.i32, 2]):
    k = lp.global_id(0) + shift
    out[lp.global_id(0), 0] = k in range(-(2**31), 2**31 - 1, 3)
    out[lp.global_id(0), 1] = k in range(2**31 - 1, -(2**31), -(2**30))


@pytest.mark.parametrize("shift", [-(2**31), -7, 2**31 - 200])
def test_membership_of_ranges_of_more_than_half_of_all_numbers(device, shift):
    out = lp.zeros((200, 2), lp.i32, device=device)
    far_places[200](shift, out)
    up, down = range(-(2**31), 2**31 - 1, 3), range(2**31 - 1, -(2**31), -(2**30))
    assert out.numpy().tolist() == [[k in up, k in down] for k in range(shift, shift + 200)]


@lp.kernel
def other_widths(out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    k, n = lp.i8(i - 100), lp.u64(i) + 2**63
    out[i, 0] = k in range(-120, 127, 7)
    out[i, 1] = k in range(-120, 127, 223)
    out[i, 2] = k in range(-100, 127, 300)
    out[i, 3] = n in range(lp.u64(3), lp.u64(2**64 - 1), 5)


def test_membership_of_ranges_of_other_widths(device):
    if not (device.has(lp.Aspect.VK_INT8) and device.has(lp.Aspect.VK_INT64)):
        pytest.skip("the device lacks integers of 8 or 64 bits")
    out = lp.zeros((200, 4), lp.i32, device=device)
    other_widths[200](out)
    short = range(-120, 127, 7), range(-120, 127, 223), range(-100, 127, 300)
    expected = [
        [*(i - 100 in numbers for numbers in short), i + 2**63 in range(3, 2**64 - 1, 5)] for i in range(200)
    ]
    assert out.numpy().tolist() == expected
