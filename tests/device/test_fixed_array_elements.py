"""Arrays whose elements are fixed arrays, as fields of matrices in Taichi and Warp, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Matrix = lp.FixedArray[lp.f32, 3, 3]
Four = lp.FixedArray[lp.f32, 4]
Bins = lp.FixedArray[lp.i32, 2, 5]


def turned(m: Matrix, v):
    return m @ v


@lp.kernel
def products(
    a: lp.In[Matrix, 2], x: lp.In[lp.f32x3, 2], y: lp.Out[lp.f32x3, 2], t: lp.Out[Matrix, 2], k: lp.i32
):
    i, j = lp.global_id(0), lp.global_id(1)
    y[i, j] = turned(a[i, j], x[i, j])
    t[i, j] = 2.0 * a[i, j].T
    if a[i, j].shape[0] == len(a[i, j]) and a[i, j].size == 9:
        t[i, j][k, 0] = a[i, j][0][k]
        t[i, j][1] = a[i, j][2]


def test_matrices_are_elements(device):
    a, x = (
        np.random.default_rng(1).random((4, 5, 4, 3), np.float32)[..., :3, :],
        np.ones((4, 5, 3), np.float32),
    )
    y, t = lp.empty((4, 5), lp.f32x3, device=device), lp.empty((4, 5), Matrix, device=device)
    products[4, 5](lp.asarray(a, Matrix, device=device), lp.asarray(x, lp.f32x3, device=device), y, t, 2)
    expected = 2 * a.swapaxes(2, 3)
    expected[..., 2, 0], expected[..., 1, :] = a[..., 0, 2], a[..., 2, :]
    np.testing.assert_allclose(y.numpy(), a.sum(3), rtol=1e-6)
    np.testing.assert_array_equal(t.numpy(), expected)


@lp.kernel(local_size=8)
def shared(a: lp.In[Matrix], out: lp.Out[Matrix], given: lp.LocalArray[Matrix]):
    i, lane = lp.global_id(0), lp.local_id(0)
    own = lp.local.array(8, Matrix)
    own[lane] = a[i]
    given[lane] = a[i]
    lp.barrier()
    out[i] = own[7 - lane] - given[(lane + 1) % 8]


def test_matrices_in_shared_memory(device):
    a = np.random.default_rng(2).random((16, 3, 3), np.float32)
    out = lp.empty(16, Matrix, device=device)
    shared[16](lp.asarray(a, Matrix, device=device), out, lp.local(8))
    groups = a.reshape(2, 8, 3, 3)
    expected = (groups[:, ::-1] - np.roll(groups, -1, 1)).reshape(a.shape)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def count(bins: lp.Array[Bins], keys: lp.In[lp.i32], total: lp.Out[lp.i32]):
    key = keys[lp.global_id(0)]
    lp.atomic.add(bins, (0, key % 2, key % 5), 1)


@lp.kernel
def add_up(bins: lp.In[Bins], total: lp.Out[Bins]):
    found = Bins()
    for one in bins:
        found += one
    total[0] = found


def test_atomics_and_loops(device):
    keys = np.random.default_rng(3).integers(0, 100, 64).astype(np.int32)
    bins = lp.zeros(3, Bins, device=device)
    count[64](bins, lp.asarray(keys, device=device), lp.zeros(1, lp.i32, device=device))
    expected = np.zeros((2, 5), np.int32)
    np.add.at(expected, (keys % 2, keys % 5), 1)
    total = lp.empty(1, Bins, device=device)
    add_up[1](bins, total)
    np.testing.assert_array_equal(total.numpy()[0], expected)


def test_an_array_of_numbers_is_refused(device):
    bins = lp.zeros((3, 2, 5), lp.i32, device=device)
    with pytest.raises(lp.KernelArgumentError, match=r"lp\.asarray\(x, lp\.FixedArray\[lp\.i32, 2, 5\]\)"):
        add_up[1](bins, lp.empty(1, Bins, device=device))


@lp.kernel
def sums(a: lp.In[Four], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    total = 0.0
    for k in range(4):
        total += a[i][k]
    out[i] = total


def test_as_many_numbers_as_a_vector(device):
    """NumPy has one dtype for both, so an array of one is an array of the other."""
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    for dtype in (Four, lp.f32x4, np.dtype(("f4", 4))):
        out = lp.empty(3, device=device)
        sums[3](lp.asarray(host, dtype, device=device), out)
        np.testing.assert_array_equal(out.numpy(), host.sum(1))


@lp.kernel
def element_of(a: lp.In[Matrix], k: lp.i32, out: lp.Out[lp.f32]):
    out[0] = a[0][k, 0]


def test_debug_mode_checks_both_indices(device):
    out = lp.empty(1, device=device)
    with lp.config.override(debug=True), pytest.raises(lp.KernelTrap, match="index 3 is out of range"):
        element_of[1](lp.zeros(1, Matrix, device=device), 3, out).wait()


def test_in_a_bundle_file(device, tmp_path):
    bundle = lp.get_kernel_bundle(lp.Context(device), state=lp.BundleState.EXECUTABLE, kernel=add_up)
    bundle.save(tmp_path / "matrices.lpk")
    loaded = lp.load_kernel_bundle(lp.Context(device), tmp_path / "matrices.lpk")
    host = np.arange(20, dtype=np.int32).reshape(2, 2, 5)
    total = lp.empty(1, Bins, device=device)
    with lp.Queue(device, context=loaded.context).submit() as h:
        h.use_kernel_bundle(loaded)
        h.parallel_for(1, add_up, lp.asarray(host, Bins, device=device), total)
    np.testing.assert_array_equal(total.numpy()[0], host.sum(0))
