"""Arrays of up to eight dimensions, in the memory of the device, of the work-group and of the work-item."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def conv2d(x: lp.In[lp.f32, 4], w: lp.In[lp.f32, 4], y: lp.Out[lp.f32, 4]):
    to, row, column = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    images, channels, _, _ = x.shape
    for n in range(images):
        total = 0.0
        for c in range(channels):
            for i in range(w.shape[2]):
                for j in range(w.shape[3]):
                    total += x[n, c, row + i, column + j] * w[to, c, i, j]
        y[n, to, row, column] = total


def picture_and_weights():
    rng = np.random.default_rng(1)
    x, w = rng.random((2, 3, 8, 9), np.float32), rng.random((4, 3, 3, 3), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return x, w, np.einsum("ncrsij,ocij->nors", windows, w)


@pytest.mark.parametrize("debug", [False, True])
def test_batches_of_channels_and_rows(device, debug):
    x, w, expected = picture_and_weights()
    y = lp.empty(expected.shape, device=device)
    with lp.config.override(debug=debug):
        conv2d[y.shape[1:]](lp.asarray(x, device=device), lp.asarray(w, device=device), y)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


@lp.struct
class Cell:
    mass: lp.f32
    number: lp.i32


@lp.kernel
def number(cells: lp.Array[Cell, 8], seen: lp.Array[lp.i32, 5]):
    position = lp.global_id(0)
    a, b, c, d, e, f, g, h = cells.shape
    rest, k7 = divmod(position, h)
    rest, k6 = divmod(rest, g)
    rest, k5 = divmod(rest, f)
    rest, k4 = divmod(rest, e)
    rest, k3 = divmod(rest, d)
    rest, k2 = divmod(rest, c)
    cells[rest // b, rest % b, k2, k3, k4, k5, k6, k7].number = position + a + cells.ndim
    lp.atomic.add(cells, (-1, 0, -1, 0, 0, 0, -1, 0, "mass"), 1.0)
    lp.atomic.add(seen, (0, 1, 0, -1, 0), 1)


def test_eight_dimensions_of_structs(device):
    shape = (2, 1, 3, 2, 1, 2, 2, 3)
    cells, seen = lp.zeros(shape, Cell, device=device), lp.zeros((2, 2, 1, 3, 1), lp.i32, device=device)
    count = cells.size
    number[count](cells, seen)
    found = cells.numpy()
    np.testing.assert_array_equal(found["number"].reshape(-1), np.arange(count) + 2 + 8)
    assert found["mass"][-1, 0, -1, 0, 0, 0, -1, 0] == found["mass"].sum() == count
    assert seen.numpy()[0, 1, 0, -1, 0] == count


@lp.kernel(local_size=16)
def turn(x: lp.Array[lp.f32, 4], given: lp.LocalArray[lp.f32, 4]):
    tile = lp.local.array((2, 2, 2, 2), lp.f32)
    mine = lp.private.array((2, 1, 2, 1, 2), lp.f32)
    i = lp.local_id(0)
    for k in range(8):
        mine[k >> 2, 0, (k >> 1) & 1, 0, k & 1] = k
    a, b, c, d = i >> 3, (i >> 2) & 1, (i >> 1) & 1, i & 1
    tile[a, b, c, d] = x[a, b, c, d]
    given[a, b, c, d] = x[a, b, c, d]
    lp.barrier()
    x[a, b, c, d] = tile[1 - a, 1 - b, 1 - c, 1 - d] + 100 * given[d, c, b, a] + mine[b, 0, 0, 0, d]


def test_shared_and_private_arrays(device):
    host = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
    x = lp.asarray(host, device=device)
    turn[16](x, lp.local((2, 2, 2, 2)))
    own = np.arange(8, dtype=np.float32).reshape(2, 2, 2)[:, 0, :]
    np.testing.assert_array_equal(
        x.numpy(), host[::-1, ::-1, ::-1, ::-1] + 100 * host.T + own[None, :, None, :]
    )


def test_views_copies_and_strides(device):
    host = np.arange(120, dtype=np.int32).reshape(2, 3, 4, 5)
    x = lp.asarray(host.transpose(3, 1, 0, 2)[::2], device=device)
    np.testing.assert_array_equal(x.numpy(), host.transpose(3, 1, 0, 2)[::2])
    assert x.reshape(1, 3, 1, 3, 1, 8).shape == (1, 3, 1, 3, 1, 8)
    assert lp.zeros((1,) * 8, device=device).ndim == 8
    with pytest.raises(
        lp.InvalidError, match=r"arrays have 1 to 8 dimensions, found shape \(1, 1, .*join dimen"
    ):
        lp.zeros((1,) * 9, device=device)
    with pytest.raises(lp.InvalidError, match=r"1 to 8 dimensions, found shape \(\); give it one, \(1,\)"):
        lp.zeros((), device=device)
    assert lp.asarray(np.float32(3), device=device).shape == (1,)


@pytest.mark.native_only("bundles run on devices")
def test_a_bundle_file_keeps_them(device, tmp_path: Path):
    x, w, expected = picture_and_weights()
    context = device.default_context
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=conv2d)
    bundle.save(tmp_path / "conv.lpk")
    kernel = lp.load_kernel_bundle(context, tmp_path / "conv.lpk").get_kernel("conv2d")
    y = lp.empty(expected.shape, device=device)
    arrays = (lp.asarray(x, device=device), lp.asarray(w, device=device), y)
    device.default_queue.parallel_for(y.shape[1:], kernel, *arrays)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_an_index_out_of_range_is_found_in_the_last_dimension(device):
    @lp.kernel(debug=True)
    def beyond(x: lp.In[lp.f32, 5], k: lp.i32, out: lp.Out[lp.f32]):
        out[0] = x[0, 0, 0, 0, k]

    x, out = lp.zeros((1, 2, 1, 2, 3), device=device), lp.zeros(1, device=device)
    with pytest.raises(
        lp.KernelTrap, match="index 3 is out of range of dimension 4 of 'x', whose extent is 3"
    ):
        beyond[1](x, 3, out).wait()
