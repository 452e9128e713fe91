"""Fixed arrays of more elements than are copied one by one: values as others are, whatever copies them."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

LENGTH = 72
Row = lp.FixedArray[lp.i32, LENGTH]
Table = lp.FixedArray[lp.f32, 9, 10]


@lp.kernel
def copies(x: lp.Array[Row], out: lp.Array[lp.i32, 2], rounds: lp.i32):
    i = lp.global_id(0)
    a = x[i]
    b = a  # a copy: what a stores later, b does not see
    a[i] = 1000
    a, b = b, a
    if i % 2:
        a[3] += 7
        b = a
    else:
        a = Row()
    for k in range(rounds):
        c = a
        c[k] = k
        if k == 1:
            b = c
        a[(k * 5) % LENGTH] += c[k] + b[k]
    x[i] = b
    for k in range(LENGTH):
        out[i, k] = a[k] + 3 * b[LENGTH - 1 - k]


def _expected_copies(x, rounds):
    written, out = x.copy(), np.empty_like(x)
    for i, row in enumerate(x):
        a = row.copy()
        b = a.copy()
        a[i] = 1000
        a, b = b, a
        if i % 2:
            a[3] += 7
            b = a.copy()
        else:
            a = np.zeros_like(a)
        for k in range(rounds):
            c = a.copy()
            c[k] = k
            if k == 1:
                b = c.copy()
            a[(k * 5) % LENGTH] += c[k] + b[k]
        written[i], out[i] = b, a + 3 * b[::-1]
    return written, out


@pytest.mark.parametrize("rounds", [0, 1, 9])
def test_variables_and_elements_are_copies(device, rounds):
    x = np.arange(6 * LENGTH, dtype=np.int32).reshape(6, LENGTH)
    written, expected = _expected_copies(x, rounds)
    elements, out = lp.asarray(x, Row, device=device), lp.zeros(x.shape, lp.i32, device=device)
    copies[6](elements, out, rounds)
    np.testing.assert_array_equal(elements.numpy(), written)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.struct
class Pair:
    weight: lp.f32
    table: Table
    flags: lp.FixedArray[lp.bool_, 80]


def doubled(table: Table) -> Table:
    result = table
    for r in range(9):
        for c in range(10):
            result[r, c] *= 2.0
    return result


@lp.kernel
def members(pairs: lp.Array[Pair], other: Table, out: lp.Array[lp.f32, 2]):
    i = lp.global_id(0)
    table = pairs[i].table
    table[i] = other[i + 1]
    pair = pairs[i]
    pair.table = doubled(table)
    flags = pair.flags
    flags[i] = not flags[i]
    pair.flags = flags
    pairs[i] = pair
    pairs[i].table[0, 0] += table[0, 1]
    for c in range(10):
        out[i, c] = pairs[i].table[i, c] + other[8, c]


def test_members_of_structs_arguments_and_results(device):
    if not device.has(lp.Aspect.VK_INT8) and not device.has(lp.Aspect.VK_STORAGE_8BIT):
        pytest.skip("bools of host arrays are bytes, which the device lacks")
    random = np.random.default_rng(5)
    tables, other = random.random((4, 9, 10), np.float32), random.random((9, 10), np.float32)
    host = np.zeros(4, Pair.dtype)
    host["table"], host["flags"] = tables, random.random((4, 80)) < 0.5
    pairs, out = lp.asarray(host, Pair, device=device), lp.zeros((4, 10), device=device)
    members[4](pairs, other, out)
    expected = tables.copy()
    for i in range(4):
        expected[i, i] = other[i + 1]
    first = expected[:, 0, 1].copy()
    expected *= 2
    expected[:, 0, 0] += first
    flags = host["flags"].copy()
    flags[range(4), range(4)] ^= True
    np.testing.assert_array_equal(pairs.numpy()["table"], expected)
    np.testing.assert_array_equal(pairs.numpy()["flags"], flags)
    np.testing.assert_array_equal(out.numpy(), expected[range(4), range(4)] + other[8])


@lp.kernel
def histogram(x: lp.In[lp.i32, 2], out: lp.Array[lp.i32]):
    counts = lp.FixedArray[lp.i32, 1024]()
    for k in range(x.shape[1]):
        counts[x[lp.global_id(0), k]] += 1
    out[lp.global_id(0)] = counts[7] + 100 * counts[1023]


def test_a_variable_of_1024_elements(device):
    """Element by element, lavapipe took more than a minute to compile it."""
    x = np.random.default_rng(1).integers(0, 1024, (4, 3000)).astype(np.int32)
    out = lp.zeros(4, lp.i32, device=device)
    histogram[4](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(out.numpy(), (x == 7).sum(1) + 100 * (x == 1023).sum(1))
    text = histogram.inspect("spirv")
    assert text.count("OpStore") < 20
