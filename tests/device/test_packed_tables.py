"""Captured tables of small integers, which software drivers get packed, have the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

_RANDOM = np.random.default_rng(7)
TABLES = {
    "bytes": _RANDOM.integers(0, 256, 256).astype(np.int32),
    "signed": _RANDOM.integers(-128, 128, 100).astype(np.int32),
    "halves": _RANDOM.integers(-(2**15), 2**15, 65).astype(np.int32),
    "high": _RANDOM.integers(2**31 - 200, 2**31, 64).astype(np.uint32),
    "bits": _RANDOM.integers(0, 2, 70).astype(np.uint32),
    "rows": _RANDOM.integers(0, 16, (5, 13)).astype(np.int32),
    "cube": _RANDOM.integers(50, 300, (4, 5, 6)).astype(np.int32),
    "i8": _RANDOM.integers(-128, 128, 64).astype(np.int8),
    "u16": _RANDOM.integers(0, 2**16, 64).astype(np.uint16),
    "bool": _RANDOM.integers(0, 2, 70) > 0,
    "all": np.full(64, True),
    "f16": np.concatenate([_RANDOM.normal(size=61), [np.inf, -0.0, 65504]]).astype(np.float16),
    "i64": _RANDOM.integers(-100, 100, 64) - 2**60,
}


@pytest.mark.parametrize("name", TABLES)
def test_each_number_is_found(device, name):
    table = TABLES[name]
    kind = {"u": lp.u64, "i": lp.i64}[table.dtype.kind] if table.itemsize == 8 else lp.i32
    if table.dtype.kind == "f":
        kind = lp.f32
    y, x = (1, *table.shape)[-2:]

    def of_one(i):
        return table[i]

    def of_two(i):
        return table[i // x, i % x]

    def of_three(i):
        return table[i // (x * y), i // x % y, i % x]

    look_up = (of_one, of_two, of_three)[table.ndim - 1]

    @lp.kernel
    def find(out: lp.Out[kind]):
        i = lp.global_id(0)
        out[i] = kind(look_up(i))

    try:
        out = lp.empty(table.size, kind, device=device)
        find[table.size](out)
    except lp.KernelNotSupportedError as missing:
        pytest.skip(str(missing).splitlines()[0])
    wanted = table.reshape(-1).astype(out.dtype)
    assert out.numpy().tobytes() == wanted.tobytes()


def test_each_number_of_bf16_is_found(device):
    numbers = lp.asarray(_RANDOM.normal(size=64).astype(np.float32), lp.bf16, device=device).numpy()

    @lp.kernel
    def find(out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        out[i] = lp.f32(numbers[i])

    out = lp.empty(64, device=device)
    try:
        find[64](out)
    except lp.KernelNotSupportedError as missing:
        pytest.skip(str(missing).splitlines()[0])
    np.testing.assert_array_equal(out.numpy(), numbers.astype(np.float32))


@pytest.mark.native_only("the interpreter reports indices out of range")
def test_a_position_out_of_range_gives_a_number_of_the_table(device):
    """Which one is a matter of the driver: some take the nearest, some the low bits."""
    table = TABLES["halves"][:64]

    @lp.kernel
    def find(at: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        out[i] = table[at[i]]

    at = np.array([-1, 64, 2**31 - 1, -(2**31), 63, 0], np.int32)
    out = lp.empty(at.size, lp.i32, device=device)
    find[at.size](lp.asarray(at, device=device), out)
    found = out.numpy().tolist()
    assert set(found) <= set(table.tolist())
    assert found[4:] == table[[63, 0]].tolist()


def test_a_helper_in_a_loop_looks_up(device):
    table = TABLES["bytes"]

    def step(v):
        return table[v & 255]

    @lp.kernel
    def walk(n: lp.i32, out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        v = i
        for k in range(n):
            if (v & 1) == 1 or k < 3:
                v = step(v + k) + table[(v + i) & 255]
        out[i] = v

    out = lp.empty(40, lp.i32, device=device)
    walk[40](9, out)
    v = np.arange(40)
    for k in range(9):
        new = table[v + k & 255] + table[v + np.arange(40) & 255]
        v = np.where((v & 1 == 1) | (k < 3), new, v)
    assert out.numpy().tolist() == v.tolist()
