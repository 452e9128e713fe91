"""Builtins and functions of lapilli under other names than their own do the same, on every device."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import lapilli as lp
from lapilli import static_range as unrolled

pytestmark = pytest.mark.device

minimum, largest, rounds = min, max, range
CHOICES = (min, max)


@lp.kernel
def other_names(n: lp.i32, x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    out[i, 0] = minimum(x[i], 2)
    out[i, 1] = largest(x[i], 2)
    out[i, 2] = builtins.min(x[i], 2) + builtins.max(x[i], 2)
    smaller = min
    out[i, 3] = smaller(x[i], 1, 2)
    for position, choice in enumerate(CHOICES):
        out[i, 4 + position] = choice(x[i], 2)
    total = 0
    for k in rounds(n):  # n is known at run time only: this is no static_range
        total += k
    for k in builtins.range(n):
        total += k
    for k in unrolled(3):
        total += k
    out[i, 6] = total


def test_a_function_is_what_it_is_whatever_it_is_called(device):
    x = np.arange(5, dtype=np.int32)
    out = lp.zeros((5, 7), lp.i32, device=device)
    other_names[5](4, lp.asarray(x, device=device), out)
    low, high = np.minimum(x, 2), np.maximum(x, 2)
    rows = [low, high, low + high, np.minimum(x, 1), low, high, np.full(5, 15)]
    np.testing.assert_array_equal(out.numpy(), np.transpose(rows))
