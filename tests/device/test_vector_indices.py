"""Vectors of integers as indices, ``grid[base + offset]``, as in Taichi's ``ti.grouped``."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

OFFSETS = ((0, 0), (0, 1), (1, 0), (2, 2))


@lp.kernel
def scatter(grid: lp.Array[lp.i32, 2], out: lp.Out[lp.i32, 2], values: lp.Array[lp.f32x2, 2]):
    base = lp.i32x2(lp.global_id(0), lp.global_id(1))
    for offset in OFFSETS:
        lp.atomic.add(grid, (base + lp.i32x2(offset)) % 4, 1 + base.x)
    out[base.yx] = 10 * base.x + base.y
    values[base] = lp.f32x2(base)
    values[base].y += 0.5
    values[base][0] += 0.25


@pytest.mark.parametrize("debug", [False, True])
def test_arrays_and_atomics(device, debug):
    grid, out = (lp.zeros((4, 4), lp.i32, device=device) for _ in range(2))
    values = lp.zeros((4, 4), lp.f32x2, device=device)
    with lp.config.override(debug=debug):
        scatter[4, 4](grid, out, values)
    i, j = np.mgrid[:4, :4]
    expected = np.zeros((4, 4), np.int32)
    for down, right in OFFSETS:
        np.add.at(expected, ((i + down) % 4, (j + right) % 4), 1 + i)
    np.testing.assert_array_equal(grid.numpy(), expected)
    np.testing.assert_array_equal(out.numpy(), 10 * j + i)
    np.testing.assert_array_equal(values.numpy(), np.stack([i + 0.25, j + 0.5], -1))


@lp.kernel(local_size=(2, 4))
def through_memory(x: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2], k: lp.i32):
    tile, own = lp.local.array((2, 4), lp.f32), lp.private.array((2, 2), lp.f32)
    here = lp.i32x2(lp.global_id(0), lp.global_id(1))
    lane = lp.u32x2(lp.local_id(0), lp.local_id(1))
    tile[lane] = x[here]
    lp.barrier()
    own[lp.i32x2(k, 1 - k)] = tile[lp.i32x2(1, 3) - lp.i32x2(lane)]
    m = lp.FixedArray[lp.f32, 2, 2](1, 2, 3, 4)
    pair = (k, 0)
    out[here] = own[lp.i32x2(k, 1 - k)] + m[lp.i32x2(1, k)] + m[pair]


def test_other_memory(device):
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    out = lp.empty(x.shape, device=device)
    through_memory[x.shape](lp.asarray(x, device=device), out, 1)
    tiles = x.reshape(2, 2, 2, 4).swapaxes(1, 2)[:, :, ::-1, ::-1].swapaxes(1, 2).reshape(x.shape)
    np.testing.assert_array_equal(out.numpy(), tiles + 4 + 3)


def test_an_index_out_of_range_is_told(device):
    @lp.kernel
    def read(x: lp.In[lp.f32, 2], at: lp.i32x2, out: lp.Out[lp.f32]):
        out[0] = x[at]

    x, out = lp.ones((2, 3), device=device), lp.empty(1, device=device)
    with lp.config.override(debug=True):
        read[1](x, (1, 2), out)
        with pytest.raises(lp.KernelTrap, match="index 3 is out of range of dimension 1 of 'x'"):
            read[1](x, (1, 3), out).wait()
