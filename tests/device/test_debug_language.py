"""Debug mode in the midst of the language: the line of the first failure, on devices and in the interpreter.

Each kernel fails in the line with ``# TRAP``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Pair:
    a: lp.i32
    v: lp.i32x2

    def at(self, x: lp.In[lp.i32]) -> lp.i32:
        if self.a < 6:
            return self.v.y
        return x[self.a + self.v.x]  # TRAP


def early(x: lp.In[lp.i32], i: lp.i32) -> lp.i32:
    for k in range(4):
        if k == 3:
            return x[i + k]  # TRAP
    return 0


def helper_with_returns(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = early(x, i)


def method(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = Pair(i, lp.i32x2(1, 2)).at(x)


def nested_loops(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    total = 0
    for a in range(4):
        for b in range(4):
            if b == 3:
                break
            total += x[a + b]
        else:
            total = 0
        total += x[a * 3]  # TRAP
    y[lp.global_id(0)] = total


def condition_of_while(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    k = 0
    while x[k] < 100:  # TRAP
        k += 1
        if k > 20:
            break
    else:
        k = 3
    y[lp.global_id(0)] = k


def loop_else(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(4):
        if k == 5:
            break
    else:
        y[i] = 10 // (x[i] - x[i])  # TRAP


def short_circuit(x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[i] = lp.i32(i < 5 and x[i + 3] > 0)
    y[i] += lp.i32(i > 4 or x[i + 4] > 0)  # TRAP


def conditional_expression(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = 5 if i > 3 else 100 % x[i]  # TRAP


def vector_component(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = lp.i32x4(x[0], x[1], x[2], x[3])[i]  # TRAP


def private_array(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    p = lp.private.array(4, lp.i32)
    p[0] = x[0]
    for k in range(3):
        y[lp.global_id(0)] = p[k]  # TRAP


def shared_atomic(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    lp.atomic.add(tile, lp.local_id(0), x[0])  # TRAP
    lp.barrier()
    y[lp.global_id(0)] = tile[lp.local_id(0)]


def item(it: lp.NdItem[1], x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = it.get_global_id(0)
    y[i] = x[i + it.get_local_id(0)]  # TRAP


def assert_between(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    for k in range(3):
        if k == 1:
            continue
        assert x[i] + k < 9, f"{x[i]} {k}"  # TRAP
        y[i] = k


KERNELS: list[Callable[..., None]] = [
    helper_with_returns, method, nested_loops, condition_of_while, loop_else, short_circuit, conditional_expression,
    vector_component, private_array, shared_atomic, item, assert_between,
]  # fmt: skip
OF_FUNCTIONS = {helper_with_returns: early, method: Pair.at}


def _line(function: Callable[..., None]) -> int:
    lines, first = inspect.getsourcelines(OF_FUNCTIONS.get(function, function))
    return first + next(number for number, line in enumerate(lines) if "# TRAP" in line)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_the_line(function: Callable[..., None], device) -> None:
    kernel = lp.kernel(debug=True)(function)
    for interprets in (False, True):
        x, y = lp.asarray(np.arange(8, dtype=np.int32), device=device), lp.zeros(8, lp.i32, device=device)
        with lp.config.override(interpret=interprets), pytest.raises(lp.KernelTrap) as raised:
            kernel[lp.NdRange(8, 4)](x, y).wait()
        assert raised.value.location is not None
        assert raised.value.location.line == _line(function)
