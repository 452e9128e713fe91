# ruff: noqa: B007, SIM102 - the functions have the shape that is tested
"""Control flow: each function runs as Python and, through the frontend, as IR; the results must be equal."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module


def if_else(x, i):
    if x[i] > 3:
        r = 1
    elif x[i] > 0:
        r = 2
    else:
        r = 3
    return r


def nested_if_keeps_value(x, i):
    r = 0
    if x[i] > 0:
        if x[i] > 3:
            r = x[i]
    return r


def guard_clauses(x, i):
    if x[i] < 0:
        return -1
    if x[i] == 0:
        return 0
    return x[i] * 2


def early_return_hidden(x, i):
    if x[i] > 0:
        if x[i] > 4:
            return 100
        t = x[i]
    else:
        t = -x[i]
    return t + 1


def sum_range(x, i):
    s = 0
    for k in range(i):
        s += x[k]
    return s


def loop_continue(x, i):
    s = 0
    for k in range(len(x)):
        if x[k] < 0:
            continue
        s += x[k]
    return s


def loop_continue_hidden(x, i):
    s = 0
    for k in range(len(x)):
        if k > 2:
            if x[k] < 0:
                continue
            s += 1
        s += x[k]
    return s


def loop_break(x, i):
    s = 0
    for k in range(len(x)):
        if x[k] > 4:
            break
        s = s * 3 + k
    return s


def loop_break_hidden(x, i):
    s = 0
    for k in range(i, len(x)):
        if k % 2 == 0:
            s += 5
            if x[k] > 2:
                s += 7
                break
            s += 1
        s += x[k]
    return s


def loop_else(x, i):
    r = 0
    for k in range(len(x)):
        if x[k] == i:
            r = k
            break
    else:
        r = -1
    return r


def loop_else_without_break(x, i):
    s = 0
    for k in range(3):
        s += k
    else:
        s += 10
    return s


def return_in_loop(x, i):
    for k in range(len(x)):
        if x[k] > i:
            return k
    return -1


def return_in_nested_loop(x, i):
    for a in range(len(x)):
        for b in range(a):
            if x[a] + x[b] == i:
                return a * 10 + b
    return -1


def return_in_loop_else(x, i):
    k = 0
    for k in range(i):
        if x[k] < 0:
            break
    else:
        return 77
    return k


def while_loop(x, i):
    n = i + 5
    steps = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n = n // 2
        steps += 1
    return steps


def while_true_break(x, i):
    k = 0
    while True:
        k += 1
        if k * k > i * 7:
            break
    return k


def while_true_return(x, i):
    k = 0
    while True:
        k += 2
        if k > i:
            return k


def while_continue(x, i):
    k = 0
    s = 0
    while k < 10:
        k += 1
        if k % 3 == 0:
            continue
        s += k
    return s


def while_else(x, i):
    k = 0
    while k < 5:
        if x[k] == i:
            break
        k += 1
    else:
        k = 50
    return k


def while_condition_not_evaluated_after_break(x, i):
    k = 0
    while x[k] < 100:  # would read past the end
        if k == len(x) - 1:
            break
        k += 1
    return k


def while_walrus(x, i):
    k = 0
    s = 0
    while (v := x[k]) < 5 and k < len(x) - 1:
        s += v
        k += 1
    return s * 100 + v


def nested_break_continue(x, i):
    s = 0
    for a in range(4):
        for b in range(4):
            if b == a:
                continue
            if b > 2:
                break
            s = s * 2 + b
        if s > 50:
            break
    return s


def count_down(x, i):
    s = 0
    for k in range(i, -3, -2):
        s = s * 3 + k
    return s


def step_run_time(x, i):
    s = 0
    step = x[i]
    if step == 0:
        step = 1
    for k in range(10, -10, step):
        s = s % 10007 * 3 + k
    return s


def step_large(x, i):
    s = 0
    for k in range(2147483640, 2147483647, 5):
        s += k - 2147483640
    for k in range(i, 2147483647, 1073741824):
        s += 1
    return s


def loop_variable_after_loop(x, i):
    k = 100
    for k in range(i):
        pass
    return k


def loop_variable_changed(x, i):
    s = 0
    for k in range(5):
        k = k * 2
        s += k
    return s


def tuple_loop(x, i):
    s = 0
    for a in (3, 5, 7):
        if a == i:
            continue
        s = s * 10 + a
        if s > 300:
            break
    else:
        s += 1
    return s


def tuple_loop_return(x, i):
    for a, b in ((1, 10), (2, 20), (3, 30)):
        if a == i:
            return b
    return 0


def enumerate_zip(x, i):
    s = 0
    for n, v in enumerate((5, 6, 7), 1):
        s += n * v
    for a, b in zip((1, 2, 3), (4, 5), strict=False):
        s += a * b
    return s


def swap(x, i):
    a, b = 1, 2
    for k in range(i):
        a, b = b, a + b
    return a


def tuple_variable(x, i):
    p = (i, 0)
    for k in range(3):
        p = (p[0] + k, p[1] + x[k])
    return p[0] * 100 + p[1]


def conditional_expression(x, i):
    return (x[i] if i < 4 else -1) + (10 if x[i] > 0 else 20)


def guarded_load(x, i):
    return x[i + 4] if i + 4 < len(x) else 0


def short_circuit(x, i):
    if i + 5 < len(x) and x[i + 5] > 0:
        return 1
    if i + 5 >= len(x) or x[i + 5] == 0:
        return 2
    return 3


def short_circuit_value(x, i):
    return (x[i] and 5) + (x[i] or 7)


def chained_comparison(x, i):
    return 1 if -2 < x[i] <= 4 < 5 else 0


def chained_guard(x, i):
    if 0 <= i + 4 < len(x) and x[i + 4] > 0:
        return 1
    return 0


def walrus(x, i):
    if (v := x[i] * 2) > 4:
        return v
    return v - 1


def not_operator(x, i):
    flag = not x[i] > 0
    if not flag:
        return 1
    return 0


def helper_many(v, w=2, *, k=3):
    if v > w:
        return v, k
    return w, -k


def tuple_results(x, i):
    a, b = helper_many(x[i])
    c, d = helper_many(x[i], 5, k=i)
    return a * 1000 + b * 100 + c * 10 + d


def reads_array(a, k):
    return a[k] + len(a)


def array_by_reference(x, i):
    return reads_array(x, i) + reads_array(x, 0)


def parameter_reassigned(v, n):
    for _ in range(n):
        v = v * 2 + 1
    return v


def calls_parameter_reassigned(x, i):
    return parameter_reassigned(i, 3) + parameter_reassigned(1, 2)


def floor_division(x, i):
    return (x[i] // 3) * 1000 + (x[i] % 3) * 100 + (x[i] // -4) * 10 + x[i] % -4


def divmod_pow(x, i):
    q, r = divmod(x[i], 4)
    return q * 100 + r + x[i] ** 3 + pow(i, 2)


def power_run_time(x, i):
    return x[i] ** i


def min_max_abs(x, i):
    return min(x[i], i, 3) + max(x[i], 0) * 10 + abs(x[i]) * 100


def shifts_and_bits(x, i):
    return (x[i] << 2) + (x[i] >> 1) + (x[i] & 6) + (x[i] | 9) + (x[i] ^ 5) + ~x[i]


def negative_index(x, i):
    return x[-1] * 10 + x[-2]


def bool_arithmetic(x, i):
    return (x[i] > 0) + (i > 2) * 3


def pass_and_docstring(x, i):
    """Does nothing of note."""
    if x[i] > 0:
        pass
    else:
        return 1
    return 2


FUNCTIONS = [
    f
    for f in list(globals().values())
    if getattr(f, "__module__", None) == __name__
    and getattr(f, "__code__", None) is not None
    and f.__code__.co_varnames[:2] == ("x", "i")
]
DATA = [-3, 5, 0, 2, 7, -1, 4, 1]


def kernel_of(function):
    @lp.kernel(name=function.__name__)
    def kernel(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        y[i] = function(x, i)

    return kernel


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_ir_gives_what_python_gives(function, run_kernel):
    module = build_module([kernel_of(function)])
    module.verify()
    result = np.zeros(len(DATA), np.int32)
    run_kernel(module, function.__name__, [np.array(DATA, np.int32), result], (len(DATA),))

    expected = [int(function(DATA, i)) for i in range(len(DATA))]
    assert expected == result.tolist()


def test_the_list_above_is_not_empty():
    assert len(FUNCTIONS) > 45
