"""Control flow against the same function run by Python, on every device."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def branches(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    if v < 3:
        r = v * 10
    elif v == 5:
        r = -1
    else:
        if (v > 20 and v % 2 == 0) or v == 9:
            r = 7
        else:
            r = v
    out[i] = r


@lp.kernel
def continue_and_break(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    total = 0
    for k in range(x[i]):
        if k % 3 == 0:
            continue
        if k > 17:
            break
        total += k
    out[i] = total


@lp.kernel
def while_with_break(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    n = x[i]
    steps = 0
    while n != 1:
        if n <= 0:
            steps = -1
            break
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    out[i] = steps


@lp.kernel
def early_return(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    if x[i] < 0:
        return
    out[i] = 1
    if x[i] < 10:
        return
    out[i] = 2


@lp.kernel
def return_in_loop(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(100):
        for m in range(k):
            if k * m > x[i]:
                out[i] = k * 100 + m
                return
    out[i] = -5


@lp.kernel
def loop_else(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(2, 8):
        if x[i] % k == 0:
            out[i] = k
            break
    else:
        out[i] = 0


@lp.kernel
def nested_with_steps(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    total = 0
    for a in range(10, 0, -3):
        for b in range(a, x[i], 2):
            total += a * b
            if total > 500:
                break
        else:
            total += 1
    out[i] = total


@lp.kernel
def swap_and_tuples(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    a, b = 0, 1
    for _ in range(x[i] % 20):
        a, b = b, a + b
    out[i] = a


@lp.kernel
def variable_after_loop(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    last = -7
    for k in range(x[i]):
        last = k
    out[i] = last


def _first_factor(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return d
        d += 1
    else:
        return -n


def _last_equal(x, v):
    for i in range(len(x)):
        for j in range(i, -1, -1):
            if x[j] == v:
                break
        else:
            continue
        return 100 * i + j
    return -1


@lp.kernel
def return_in_loop_else(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    out[i] = _first_factor(x[i]) * 1000 + _last_equal(x, i)


@lp.kernel
def breaks_in_front(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    found = 0
    a = v
    last = -1
    for last in range(v):  # noqa: B007
        if a > 500:
            break
        a = a * 2 + 1
    found += a + 7 * last
    for k in range(10):
        if a % 7 == 3:
            found = found * 3 + k
            break
        a += v + k
    else:
        found -= 1000
    m = 0
    while m < v:
        square = m * m
        if square < 50:
            m += 1
            continue
        found += square
        break
    n = 0
    while True:
        if n * n > v or n == i:
            n = -n
            break
        n += 1
    found += n
    stop = v == 5
    for k in range(i):
        if stop:
            break
        found += 1 + k
        stop = found % 11 == 4
    for k in range(i, 40, 3):
        if k * k > 300 and k != v:
            pass
        elif k * k <= 300 or k == v + 1:
            found += k
        else:
            break
        if k * k > 900:
            out[i] = found
            return
        found += k
        if found % 13 == 5:
            break
    out[i] = found + 1


KERNELS = [
    branches,
    breaks_in_front,
    continue_and_break,
    while_with_break,
    early_return,
    return_in_loop,
    return_in_loop_else,
    loop_else,
    nested_with_steps,
    swap_and_tuples,
    variable_after_loop,
]


def run_in_python(kernel, x: np.ndarray, out: np.ndarray, monkeypatch) -> None:
    """Runs the kernel's own Python function once per work-item."""
    function = inspect.unwrap(kernel)
    for i in range(len(x)):
        monkeypatch.setattr(lp, "global_id", lambda _, i=i: i)
        function([int(v) for v in x], out)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_kernel_does_what_its_python_function_does(device, kernel, monkeypatch):
    x = np.array([-3, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 19, 22, 27, 40, 97], dtype=np.int32)
    expected = np.full(len(x), 99, np.int32)
    run_in_python(kernel, x, expected, monkeypatch)
    monkeypatch.undo()
    out = lp.full(len(x), 99, lp.i32, device=device)
    kernel[len(x)](lp.asarray(x, device=device), out)
    assert out.numpy().tolist() == expected.tolist()


WEIGHTS = (0.1, 0.2, 0.7)


@lp.kernel
def weighted(x: lp.Array[lp.f64], limit: lp.f64):
    i = lp.global_id(0)
    total = x[i]
    for w in WEIGHTS:
        total += w
        if total > limit:
            break
    for w in (0.9, 1):
        total -= w * total
    for _ in range(2):
        total += w
        for w in (0.3, 0.5):
            total *= w
    x[i] = total


def test_literals_of_unrolled_loops_keep_their_digits(device):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no doubles")
    for limit in (-1.0, 0.2, 9.0):
        x = lp.zeros(3, lp.f64, device=device)
        weighted[3](x, limit)
        expected = np.zeros(1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lp, "global_id", lambda _: 0)
            inspect.unwrap(weighted)(expected, limit)
        # Exact: `w` is 1 and 0.5 where it is carried as f32.
        np.testing.assert_array_equal(x.numpy(), expected[0])


def _twice(v):
    return v * 2


def _thrice(v):
    return v * 3


@lp.kernel
def over_arrays(x: lp.Array[lp.f32], y: lp.Array[lp.f32], z: lp.Array[lp.i32], n: lp.i32):
    i = lp.global_id(0)
    for a, f in ((x, _twice), (y, _thrice)):
        for t in (lp.f32, lp.i32):
            a[i] = f(a[i]) + t(2.5)
    for a in (x, z):
        for _ in range(n):
            a[i] += 1


def test_loops_over_arrays_functions_and_types(device):
    start = np.arange(4)
    x, y = (lp.asarray(start.astype(np.float32), device=device) for _ in range(2))
    z = lp.asarray(start.astype(np.int32), device=device)
    over_arrays[4](x, y, z, 3)
    assert x.numpy().tolist() == ((start * 2 + 2.5) * 2 + 2 + 3).tolist()
    assert y.numpy().tolist() == ((start * 3 + 2.5) * 3 + 2).tolist()
    assert z.numpy().tolist() == (start + 3).tolist()


class Doubled:
    @staticmethod
    def apply(v):
        return v * 2 + 1

    class Nested:
        @staticmethod
        def apply(v):
            return v * 5


class Shifted:
    @staticmethod
    def apply(v):
        return v + 100


STEPS = (Doubled, Shifted, Doubled.Nested)


@lp.kernel
def applies(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    for step in STEPS:
        x[i] = step.apply(x[i])
    for n in lp.static_range(3):
        x[i] = STEPS[n].apply(x[i])
    for _ in lp.static_range(2):
        x[i] = Doubled.Nested.apply(x[i])


def test_an_attribute_of_what_an_unrolled_loop_runs_over_is_another_each_round(device):
    x = lp.asarray(np.arange(3, dtype=np.int32), device=device)
    applies[3](x)
    expected = np.arange(3)
    for _ in range(2):
        expected = (expected * 2 + 101) * 5
    np.testing.assert_array_equal(x.numpy(), expected * 25)


def test_a_number_or_a_bool(device):
    @lp.kernel
    def mixed(n: lp.i32, out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        v = i & 2 or i < n
        w = (i < n) + 4 if i & 1 else i > n
        if i & 4 or i < n:
            v += 10
        out[i] = v + 100 * w

    out = lp.empty(8, lp.i32, device=device)
    mixed[8](3, out)
    wanted = [
        int(i & 2 or i < 3) + (10 if i & 4 or i < 3 else 0) + 100 * ((i < 3) + 4 if i & 1 else i > 3)
        for i in range(8)
    ]
    assert out.numpy().tolist() == wanted
