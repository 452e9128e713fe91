"""Group and sub-group functions of every scalar type, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from tests.host_bf16 import require_host_numbers

pytestmark = pytest.mark.device

SIZE = 24
TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
SOURCE = """
@lp.kernel(local_size=24)
def groups(x: lp.In[lp.T], out: lp.Out[lp.T, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = lp.group.reduce(v, "add")
    out[1, i] = lp.group.reduce(v, "min")
    out[2, i] = lp.group.reduce(v, "max")
    out[3, i] = lp.group.inclusive_scan(v, "add")
    out[4, i] = lp.group.exclusive_scan(v, "max")
    out[5, i] = lp.group.exclusive_scan(v, "min")
    out[6, i] = lp.group.broadcast(v, 5)
"""
SUB_GROUPS = """
@lp.kernel(local_size=24)
def sub_groups(x: lp.In[lp.T], out: lp.Out[lp.T, 2], at: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = x[i]
    at[0, i], at[1, i] = lp.sub_group.index(), lp.sub_group.id()
    out[0, i] = lp.sub_group.shuffle_xor(v, 1)
    out[1, i] = lp.sub_group.broadcast(v, 2)
    out[2, i] = lp.sub_group.shuffle(v, 3)
"""
COMBINED = """    out[3, i] = lp.sub_group.reduce(v, "add")
    out[4, i] = lp.sub_group.reduce(v, "min")
    out[5, i] = lp.sub_group.exclusive_scan(v, "min")
    out[6, i] = lp.sub_group.exclusive_scan(v, "max")
    out[7, i] = lp.sub_group.inclusive_scan(v, "add")
"""


def _values(dtype: str) -> np.ndarray:
    """Returns numbers whose sums wrap, or are exact in the type."""
    kind = getattr(lp, dtype)
    chance = np.random.default_rng(6)
    if kind.is_float:
        return chance.integers(-3, 3, SIZE).astype(kind.dtype)
    return chance.integers(kind.minimum, kind.maximum, SIZE, kind.dtype, endpoint=True)


def _launched(source: str, dtype: str, device, rows: int, *more):
    kind = getattr(lp, dtype)
    require_host_numbers(dtype)
    kernel = lp.kernel_from_source(source.replace("lp.T", f"lp.{dtype}"))
    out = lp.zeros((rows, SIZE), kind, device=device)
    try:
        kernel[SIZE](lp.asarray(_values(dtype), device=device), out, *more)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    return out.numpy()


def _limits(kind) -> tuple[float, float]:
    return (-np.inf, np.inf) if kind.is_float else (kind.minimum, kind.maximum)


def _exclusive(function, values, first):
    """Returns the scan of everything before each value."""
    before = np.concatenate([np.array([first]).astype(values.dtype), values[:-1]])
    return function.accumulate(before)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_work_groups(device, dtype):
    found, x, kind = _launched(SOURCE, dtype, device, 7), _values(dtype), getattr(lp, dtype)
    low, high = _limits(kind)
    sums = np.add.accumulate(x, dtype=x.dtype)
    expected = [
        np.full(SIZE, sums[-1]), np.full(SIZE, x.min()), np.full(SIZE, x.max()), sums,
        _exclusive(np.maximum, x, low), _exclusive(np.minimum, x, high), np.full(SIZE, x[5]),
    ]  # fmt: skip
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], wanted, str(row))


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_sub_groups(device, dtype):
    kind, x = getattr(lp, dtype), _values(dtype)
    is_long = dtype in ("i64", "u64")
    at = lp.zeros((2, SIZE), lp.i32, device=device)
    source = SUB_GROUPS if is_long else SUB_GROUPS + COMBINED
    found = _launched(source, dtype, device, 8, at)
    groups, lanes = at.numpy()
    low, high = _limits(kind)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        members = members[np.argsort(lanes[members])]
        part, rows = x[members], found[:, members]
        np.testing.assert_array_equal(rows[0], part[np.arange(len(part)) ^ 1])
        np.testing.assert_array_equal(rows[1], np.full(len(part), part[2]))
        np.testing.assert_array_equal(rows[2], np.full(len(part), part[3]))
        if is_long:
            continue
        sums = np.add.accumulate(part, dtype=part.dtype)
        expected = [
            np.full(len(part), sums[-1]), np.full(len(part), part.min()),
            _exclusive(np.minimum, part, high), _exclusive(np.maximum, part, low), sums,
        ]  # fmt: skip
        for row, wanted in enumerate(expected, start=3):
            np.testing.assert_array_equal(rows[row], wanted, str(row))
