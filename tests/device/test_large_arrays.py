"""Arrays larger than a descriptor shows (maxStorageBufferRange): kernels take their addresses."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import trace

pytestmark = pytest.mark.native_only("the interpreter has no descriptors")

LIMIT = 4096
"""Bytes that descriptors of the masked device show."""


@lp.struct
class Pair:
    a: lp.f32
    b: lp.i32


@lp.kernel
def saxpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def transpose(x: lp.In[lp.i32, 2], y: lp.Out[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    y[j, i] = x[i, j]


@lp.kernel
def scatter(x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[x[i]] = 1


@lp.kernel
def gather(x: lp.In[lp.i32], at: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = x[at[i]]


@lp.kernel
def swap(x: lp.Array[Pair], y: lp.Array[lp.f32x4]):
    i = lp.global_id(0)
    x[i].a = lp.f32(x[i].b)
    y[i] = y[i] * 2.0


@lp.kernel
def count(x: lp.In[lp.i32], n: lp.Array[lp.u32]):
    i = lp.global_id(0)
    assert x[i] >= 0
    lp.atomic.add(n, x[i] % n.size, lp.u32(1))


@lp.kernel(local_size=64)
def sums(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        y[lp.group_id(0)] = total


@pytest.fixture
def small(device):
    """The device with descriptors of 4 KiB."""
    masked = device.masked(limits={"maxStorageBufferRange": LIMIT})
    if not masked.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("no bufferDeviceAddress")
    return masked


@pytest.mark.parametrize("n", [LIMIT // 4, LIMIT // 4 + 1, 5000])
def test_every_element_is_reached(small, n):
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_device = lp.asarray(y, device=small)
    for _ in range(3):  # the second goes the short way
        saxpy[n](2.0, lp.asarray(x, device=small), on_device)
    np.testing.assert_array_equal(on_device.numpy(), 6 * x + 1)


def test_one_form_each(small):
    """Small arrays keep the descriptors, large ones compile once."""

    @lp.kernel
    def double(x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        x[i] = x[i] * 2.0

    with trace.trace() as t:
        for n in (8, 5000, 8, 5000):
            x = lp.ones(n, device=small)
            double[8](x)
            assert x.numpy()[:8].tolist() == [2] * 8
    assert t.count("module") == 2 and t.count("launch") == 4


def test_two_dimensions(small):
    x = np.arange(60 * 70, dtype=np.int32).reshape(60, 70)
    y = lp.zeros((70, 60), lp.i32, device=small)
    transpose[60, 70](lp.asarray(x, device=small), y)
    np.testing.assert_array_equal(y.numpy(), x.T)


def test_an_index_out_of_range_is_harmless(small):
    """Addresses have no robustness: writes beyond the array stay inside, reads give some element of it."""
    wrong = np.array([-1, 5000, 2**31 - 1, -(2**31), 10**9, 4999, 0], np.int32)
    before, y, behind = (lp.zeros(5000, lp.i32, device=small) for _ in range(3))
    for _ in range(2):
        scatter[wrong.size](lp.asarray(wrong, device=small), y)
    assert not before.numpy().any() and not behind.numpy().any()
    x, found = lp.full(5000, 7, lp.i32, device=small), lp.zeros(wrong.size, lp.i32, device=small)
    gather[wrong.size](x, lp.asarray(wrong, device=small), found)
    assert found.numpy().tolist() == [7] * wrong.size


def test_an_empty_array_beside_a_large_one(small):
    x, at = lp.zeros(0, lp.i32, device=small), lp.zeros(5000, lp.i32, device=small)
    y = lp.zeros(5000, lp.i32, device=small)
    gather[5000](x, at, y)
    y.numpy()


def test_structs_and_vectors(small):
    pairs = np.zeros(2000, np.dtype([("a", "<f4"), ("b", "<i4")]))
    pairs["b"] = np.arange(2000)
    vectors = np.arange(8000, dtype=np.float32).reshape(2000, 4)
    x, y = lp.asarray(pairs, device=small), lp.asarray(vectors, device=small, dtype=lp.f32x4)
    swap[2000](x, y)
    np.testing.assert_array_equal(x.numpy()["a"], np.arange(2000))
    np.testing.assert_array_equal(np.asarray(y.numpy()).reshape(2000, 4), vectors * 2)


def test_atomics_and_asserts(small):
    x, n = lp.asarray(np.arange(5000, dtype=np.int32), device=small), lp.zeros(16, lp.u32, device=small)
    count[5000](x, n)
    np.testing.assert_array_equal(n.numpy(), np.bincount(np.arange(5000) % 16))
    count[5000](lp.full(5000, -1, lp.i32, device=small), n)
    with pytest.raises(lp.KernelTrap, match="kernel 'count'"):
        n.numpy()


def test_groups(small):
    x, y = lp.ones(6400, lp.i32, device=small), lp.zeros(100, lp.i32, device=small)
    sums[6400](x, y)
    assert y.numpy().tolist() == [64] * 100


def test_a_graph(small):
    x, y = lp.ones(5000, device=small), lp.zeros(5000, device=small)
    with lp.graph() as g:
        event = saxpy[5000](2.0, x, y)
        saxpy[5000](3.0, x, y)
    for _ in range(2):
        g.replay()
    assert (y.numpy() == 10).all()
    g.update(event, a=4.0)
    g.replay()
    assert (y.numpy() == 17).all()


def test_other_queues_and_command_groups(small):
    x, y, queue = lp.ones(5000, device=small), lp.zeros(5000, device=small), lp.Queue(small)
    saxpy[5000].on(queue)(1.0, x, y)
    queue.parallel_for(5000, saxpy, 1.0, x, y)
    assert (y.numpy() == 2).all()


def test_without_addresses_the_error_names_the_limit(device):
    masked = device.masked(
        limits={"maxStorageBufferRange": LIMIT}, without=(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS,)
    )
    x = lp.zeros(5000, device=masked)
    assert not x.numpy().any()
    with pytest.raises(
        lp.KernelNotSupportedError, match=r"argument 'x': the array has 20,000 bytes.*maxStorageBufferRange"
    ):
        saxpy[8](1.0, x, lp.zeros(8, device=masked))


def test_more_than_the_driver_shows(device):
    """No mask: an array beyond the driver's own limit."""
    limit = device.physical.limits.max_storage_buffer_range_bytes
    if limit > 256 << 20 or not device.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("would take too much memory, or has no bufferDeviceAddress")
    n = (limit >> 2) + 1000
    x = lp.zeros(n, lp.i32, device=device)
    at = np.array([0, n // 2, n - 1], np.int32)
    scatter[at.size](lp.asarray(at, device=device), x)
    found = x.numpy()
    assert found.sum() == 3 and (found[at] == 1).all()
