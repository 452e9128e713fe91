"""Control flow in kernels does what Python does: several exits, else of loops, short circuits, ends of ranges."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from tests.device.python_loops import FUNCTIONS, NESTS, effects

pytestmark = pytest.mark.device
TABLE = [3, 1, 4, 1, 5, 9, 2, 6]
WORK_ITEMS = 3
LEVELS = [(function, 1) for function in FUNCTIONS] + [(function, 2) for function in NESTS]


@pytest.mark.parametrize(
    ("function", "level"), LEVELS, ids=[f"{function.__name__}-{level}" for function, level in LEVELS]
)
def test_kernels_do_what_python_does(function, level: int, device) -> None:
    @lp.kernel(opt_level=level)
    def kernel(n: lp.i32, x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        out[i] = function(i, n, x)

    x = lp.asarray(np.array(TABLE, np.int32), device=device)
    out = lp.zeros(WORK_ITEMS, lp.i32, device=device)
    for n in (0, 1, 2, 3, 4, 5, 7, 9):
        kernel[WORK_ITEMS](n, x, out)
        assert out.numpy().tolist() == [int(function(i, n, TABLE)) for i in range(WORK_ITEMS)], n


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("n", [0, 3, 8])
def test_tests_run_as_often_as_in_python(n: int, level: int, device) -> None:
    @lp.kernel(opt_level=level)
    def kernel(n: lp.i32, c: lp.Array[lp.i32], out: lp.Out[lp.i32]):
        out[0] = effects(n, c)

    expected = [0] * 8
    total = effects(n, expected)
    counts, out = lp.zeros(8, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    kernel[1](n, counts, out)
    assert [total, *expected] == [*out.numpy().tolist(), *counts.numpy().tolist()]
