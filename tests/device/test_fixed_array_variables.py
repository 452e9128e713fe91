"""Fixed arrays whose elements loops store: variables with memory of their own, and values all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Four = lp.FixedArray[lp.i32, 4]
Square = lp.FixedArray[lp.f32, 3, 3]


def filled(start: lp.i32, n: lp.i32) -> Four:
    a = Four()
    for k in range(n):
        a[k % 4] += start + k
    return a


def shifted(a: Four, by: lp.i32) -> Four:
    for k in range(4):  # the helper's own copy
        a[k] = a[k] * 10 + by
    return a


def total(a: Four) -> lp.i32:
    s = 0
    for v in a:
        s = s * 7 + v
    return s


@lp.kernel
def copies(n: lp.i32, out: lp.Out[lp.i32, 2]):
    a, b = filled(1, n), Four(9)
    kept = a
    for k in range(n):
        if k == 2:
            a, b = b, a
        elif k == 3:
            b = shifted(a, k)
        a[k % 4] -= k
        b[(k + 1) % 4], a[0] = a[k % 4], b[k % 4]
        if a[1] > 1000:
            continue
        held = a
        a[(k + 2) % 4] = total(held)
        kept = kept if k % 2 else held
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = a
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = b
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = kept


def copies_in_python(n):
    def wrapped(v):
        return (v + 2**31) % 2**32 - 2**31

    def total_of(x):
        s = 0
        for v in x:
            s = wrapped(s * 7 + v)
        return s

    a, b = [0] * 4, [9] * 4
    for k in range(n):
        a[k % 4] += 1 + k
    kept = list(a)
    for k in range(n):
        if k == 2:
            a, b = b, a
        elif k == 3:
            b = [wrapped(v * 10 + k) for v in a]
        a[k % 4] = wrapped(a[k % 4] - k)
        b[(k + 1) % 4], a[0] = a[k % 4], b[k % 4]
        if a[1] > 1000:
            continue
        held = list(a)
        a[(k + 2) % 4] = total_of(held)
        kept = kept if k % 2 else held
    return np.array([a, b, kept], np.int64).astype(np.int32)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("n", [0, 3, 11])
def test_they_are_copied_as_values_are(device, n, debug):
    out = lp.zeros((3, 4), lp.i32, device=device)
    with lp.config.override(debug=debug):
        copies[1](n, out)
    np.testing.assert_array_equal(out.numpy(), copies_in_python(n))


@lp.kernel
def set_on_the_way(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    n = x[i]
    if n > 2:
        a = Four(n)
    else:
        a = filled(n, 5)
    last = 0
    while True:
        row = Four(last)
        for k in range(4):
            row[k] += a[3 - k]
            if row[k] > 40:
                break
        else:
            a[last % 4] = row[1]
        last += 1
        if last > n + 2:
            break
        a += row
    a[n % 4] = row[n % 4]
    for k in range(4):
        out[i, k] = a[k] + row[k]


def test_branches_and_loops_that_set_them(device):
    x = np.arange(6, dtype=np.int32)
    out = lp.zeros((6, 4), lp.i32, device=device)
    set_on_the_way[6](lp.asarray(x, device=device), out)
    expected = []
    for n in x.tolist():
        a = [n] * 4 if n > 2 else [0] * 4
        if n <= 2:
            for k in range(5):
                a[k % 4] += n + k
        last = 0
        while True:
            row = [last] * 4
            for k in range(4):
                row[k] += a[3 - k]
                if row[k] > 40:
                    break
            else:
                a[last % 4] = row[1]
            last += 1
            if last > n + 2:
                break
            a = [p + q for p, q in zip(a, row, strict=True)]
        a[n % 4] = row[n % 4]
        expected.append([p + q for p, q in zip(a, row, strict=True)])
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def solved(systems: lp.Array[lp.f32, 3], right: lp.Array[lp.f32, 2]):
    i = lp.global_id(0)
    m = Square()
    y = lp.FixedArray[lp.f32, 3]()
    for r in range(3):
        y[r] = right[i, r]
        for c in range(3):
            m[r, c] = systems[i, r, c]
    for c in range(3):
        best = c
        for r in range(c + 1, 3):
            if abs(m[r, c]) > abs(m[best][c]):
                best = r
        m[c], m[best] = m[best], m[c]
        y[c], y[best] = y[best], y[c]
        for r in range(c + 1, 3):
            factor = m[r, c] / m[c, c]
            m[r] = m[r] - factor * m[c]
            y[r] -= factor * y[c]
    for c in range(2, -1, -1):
        for k in range(c + 1, 3):
            y[c] -= m[c, k] * y[k]
        y[c] /= m[c, c]
    for r in range(3):
        right[i, r] = y[r]


def test_rows_are_swapped_at_indices_known_at_run_time(device):
    rng = np.random.default_rng(2)
    systems, right = rng.standard_normal((50, 3, 3)), rng.standard_normal((50, 3))
    x = lp.asarray(right.astype(np.float32), device=device)
    solved[50](lp.asarray(systems.astype(np.float32), device=device), x)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", systems, x.numpy()), right, rtol=2e-2, atol=2e-2)


def test_bools_and_a_fixed_array_argument(device):
    @lp.kernel
    def flags(seen: lp.FixedArray[lp.bool_, 5], x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        for k in range(x.size):
            seen[x[k]] = not seen[x[k]]
        for k in range(5):
            out[k] = lp.i32(seen[k])

    out = lp.zeros(5, lp.i32, device=device)
    x = lp.asarray(np.array([0, 3, 3, 4, 1], np.int32), device=device)
    flags[1]([False, False, True, True, True], x, out)
    assert out.numpy().tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("version", [(1, 1), (1, 3)])
def test_choices_between_arrays_on_every_vulkan(device, version, monkeypatch):
    """SPIR-V before 1.4, as of Vulkan 1.1, chooses no arrays."""

    @lp.kernel
    def chosen(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
        i = lp.global_id(0)
        a = lp.FixedArray[lp.i32, 2, 2](x[i])
        b = lp.FixedArray[lp.i32, 2, 2](7)
        c = a if x[i] > 1 else b
        d = c if x[i] % 2 else a
        out[i, 0], out[i, 1] = c[1, x[i] % 2], d[0, 1]

    if version < device.target_env.vulkan_version:
        monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, vulkan_version=version))
    out = lp.zeros((4, 2), lp.i32, device=device)
    chosen[4](lp.asarray(np.arange(4, dtype=np.int32), device=device), out)
    assert out.numpy().tolist() == [[7, 0], [7, 7], [2, 2], [3, 3]]


def test_an_index_out_of_range_is_found_in_debug_mode(device):
    @lp.kernel(debug=True)
    def beyond(n: lp.i32, out: lp.Out[lp.i32]):
        a = Four()
        for k in range(n):
            a[k] = k
        out[0] = a[0]

    with pytest.raises(lp.KernelTrap, match="index 4 is out of range of a fixed array, whose extent is 4"):
        beyond[1](5, lp.zeros(1, lp.i32, device=device)).wait()


@pytest.mark.native_only("the interpreter reports indices out of range")
def test_an_index_out_of_range_changes_nothing_else(device):
    @lp.kernel
    def beyond(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        a, b = Four(1), Four(2)
        for k in range(x.size):
            a[x[k]] = 7
        for k in range(4):
            out[k] = b[k]

    out = lp.zeros(4, lp.i32, device=device)
    beyond[1](lp.asarray(np.array([4, -1, 1000000, 2], np.int32), device=device), out)
    assert out.numpy().tolist() == [2, 2, 2, 2]


def test_no_array_is_copied_in_a_loop():
    @lp.kernel
    def sums(x: lp.In[lp.f32, 2], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        acc = lp.FixedArray[lp.f32, 64]()
        for k in range(x.shape[1]):
            acc[k % 64] += x[i, k]
        out[i] = acc[i % 64]

    text = sums.inspect("ir")
    assert "spirv.CompositeInsert" not in text and "spirv.Variable" not in text
