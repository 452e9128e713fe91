"""`range` with steps that jump over the end of the type, or that come at run time: as Python counts."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

END = 2**31 - 1


@lp.kernel
def from_zero(starts: lp.In[lp.i32], stops: lp.In[lp.i32], steps: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    """No bound is negative, which the masks show to the compiler."""
    i = lp.global_id(0)
    count, last, bits = 0, -1, 0
    for k in range(starts[i] & 0x7FFFFFFF, stops[i] & 0x7FFFFFFF, steps[i] & 0x7FFFFFFF):
        count += 1
        last = k
        bits ^= k
    out[i, 0], out[i, 1], out[i, 2] = count, last, bits


@lp.kernel
def of_any_sign(starts: lp.In[lp.i32], stops: lp.In[lp.i32], steps: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    count, last, bits = 0, -1, 0
    for k in range(starts[i], stops[i], steps[i]):
        count += 1
        last = k
        bits ^= k
    out[i, 0], out[i, 1], out[i, 2] = count, last, bits


@lp.kernel
def left_early(starts: lp.In[lp.i32], stops: lp.In[lp.i32], steps: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    """Steps of 1 and -1, and a break after the third round."""
    i = lp.global_id(0)
    count, last, bits = 0, -1, 0
    if steps[i] > 0:
        for k in range(starts[i], stops[i]):
            count += 1
            last = k
            if count == 3:
                break
    else:
        for k in range(starts[i], stops[i], -1):
            count += 1
            last = k
            if count == 3:
                break
    out[i, 0], out[i, 1], out[i, 2] = count, last, bits


@lp.kernel
def unsigned(starts: lp.In[lp.i32], stops: lp.In[lp.i32], steps: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    """Steps of 1 in u32."""
    i = lp.global_id(0)
    count, last, bits = 0, -1, 0
    for k in range(lp.u32(starts[i]), lp.u32(stops[i])):
        count += 1
        last = lp.i32(k)
        bits ^= lp.i32(k)
    out[i, 0], out[i, 1], out[i, 2] = count, last, bits


@lp.kernel
def unsigned_down(starts: lp.In[lp.u32], stops: lp.In[lp.u32], out: lp.Array[lp.u32, 3]):
    """Negative steps of unsigned bounds, one of them left early, and bounds known now."""
    i = lp.global_id(0)
    for k in range(starts[i], stops[i], -1):
        out[i, 0, 0] += 1
        out[i, 0, 1] = k
        if out[i, 0, 0] == 4:
            break
    for k in range(starts[i], stops[i], -3):
        out[i, 1, 0] += 1
        out[i, 1, 1] = k
        if out[i, 1, 0] >= 4:
            break
    else:
        out[i, 1, 0] += 100
    for k in range(lp.u32(10), lp.u32(3), -4):
        out[i, 2, 0] += 1
        out[i, 2, 1] += k


def test_unsigned_bounds_and_a_negative_step(device: lp.Device) -> None:
    top = 2**32 - 1
    ends = [(5, 0), (0, 5), (4, 4), (top, top - 3), (top, 0), (1, 0), (3, top)]
    starts, stops = (lp.asarray(np.array(c, np.uint32), device=device) for c in zip(*ends, strict=True))
    out = lp.zeros((len(ends), 3, 2), lp.u32, device=device)
    unsigned_down[len(ends)](starts, stops, out)
    for (start, stop), found in zip(ends, out.numpy().tolist(), strict=True):
        ones, threes = range(start, stop, -1)[:4], range(start, stop, -3)
        left = threes[:4]
        count = len(left) + (100 if len(threes) < 4 else 0)
        last = [r[-1] if r else 0 for r in (ones, left)]
        assert found == [[len(ones), last[0]], [count, last[1]], [2, 16]], (start, stop)


def run(device: lp.Device, kernel: object, cases: list[tuple[int, int, int]]) -> list[list[int]]:
    columns = [lp.asarray(np.array(column, np.int32), device=device) for column in zip(*cases, strict=True)]
    out = lp.zeros((len(cases), 3), dtype=lp.i32, device=device)
    kernel[len(cases)](*columns, out)  # pyright: ignore
    return out.numpy().tolist()


def expected(rounds: list[int]) -> list[int]:
    bits = 0
    for k in rounds:
        bits ^= k
    return [len(rounds), rounds[-1] if rounds else -1, bits]


NOT_NEGATIVE = [
    (0, 10, 3),
    (0, END, 1 << 30),
    (5, END, END),
    (END - 1, END, END),
    (END - 5, END, 2),
    (END, END, 1),
    (7, 3, 2),
    (0, 0, 5),
    (0, 100, 0),
    (END - 1, END, 0),
]
ANY = [
    *NOT_NEGATIVE,
    (-10, 10, 7),
    (-(2**31), END, 1 << 30),
    (END, -(2**31), -(1 << 30)),
    (10, -10, -3),
    (-5, -5, -1),
    (3, 9, -1),
    (-(2**31) + 2, -(2**31), -1),
]


def test_bounds_that_are_not_negative(device: lp.Device) -> None:
    wanted = [expected(list(range(a, b, s)) if s else []) for a, b, s in NOT_NEGATIVE]
    assert run(device, from_zero, NOT_NEGATIVE) == wanted


def test_bounds_of_any_sign(device: lp.Device) -> None:
    wanted = [expected(list(range(a, b, s)) if s else []) for a, b, s in ANY]
    assert run(device, of_any_sign, ANY) == wanted


def test_steps_of_one_that_are_left_early(device: lp.Device) -> None:
    cases = [(END - 2, END, 1), (END - 9, END, 1), (END, END, 1), (-(2**31) + 2, -(2**31), -1), (9, -9, -1)]
    wanted = [
        [min(3, len(r)), r[min(3, len(r)) - 1] if r else -1, 0] for r in (range(*case) for case in cases)
    ]
    assert run(device, left_early, cases) == wanted


def test_unsigned_steps_of_one_to_the_end_of_the_type(device: lp.Device) -> None:
    ends = [
        ((-4, -1), [2**32 - 4, 2**32 - 3, 2**32 - 2]),
        ((-1, -1), []),
        ((5, 2), []),
        ((END, END + 2), [END, END + 1]),
    ]
    cases = [(a, b - 2**32 if b > END else b, 1) for (a, b), _ in ends]
    wanted = []
    for _, rounds in ends:
        count, last, bits = expected(rounds)
        wanted.append([count, np.uint32(last % 2**32).astype(np.int32), np.uint32(bits).astype(np.int32)])
    assert run(device, unsigned, cases) == wanted
