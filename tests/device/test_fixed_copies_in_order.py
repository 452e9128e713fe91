"""Large fixed arrays whose elements were read in another order than they stand in."""

from __future__ import annotations

import numpy as np

import lapilli as lp

COUNT = 80
REST = ", ".join(f"t[{k}]" for k in range(2, COUNT))
SOURCE = f"""
import lapilli as lp

@lp.kernel
def replaces_a_read_element(x: lp.In[lp.f32], y: lp.Out[lp.FixedArray[lp.f32, {COUNT}]]):
    t = lp.private.array({COUNT}, lp.f32)
    for i in range({COUNT}):
        t[i] = x[i]
    old = t[1]
    t[1] = -5.0
    y[0] = lp.FixedArray[lp.f32, {COUNT}](t[0], old, {REST})
"""


def test_an_element_that_was_read_before_its_place_was_written_is_kept(device: lp.Device):
    kernel = lp.kernel_from_source(SOURCE)
    x = np.arange(COUNT, dtype=np.float32)
    y = lp.zeros((1,), lp.FixedArray[lp.f32, COUNT], device=device)
    kernel[1](lp.asarray(x, device=device), y)
    np.testing.assert_array_equal(np.asarray(y.numpy()).ravel(), x)
