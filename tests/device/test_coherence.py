"""What work-items tell each other through buffers lies in coherent memory, also where two arrays are the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.kernel import KernelFunction


@lp.kernel(local_size=64)
def through_another(a: lp.Array[lp.f32], b: lp.Array[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    b[i] = lp.f32(i)
    lp.barrier()
    out[i] = a[i ^ 1]


@lp.kernel(local_size=64)
def written_twice(out: lp.Out[lp.f32], x: lp.In[lp.f32]):
    i = lp.global_id(0)
    out[i] = 0.0
    lp.barrier()
    if i % 2 == 0:
        out[i ^ 1] = x[i]


@lp.kernel(local_size=64)
def read_first(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    v = x[i ^ 1]
    lp.barrier()
    y[i] = v


def swap(v: lp.f32) -> lp.f32:
    part = lp.local.array(64, lp.f32)
    part[lp.local_id(0)] = v
    lp.barrier()
    return part[lp.local_id(0) ^ 1]


@lp.kernel(local_size=64)
def of_a_helper(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = swap(x[i])


def wait():
    lp.barrier()


@lp.kernel(local_size=64, opt_level=0)
def around_a_helper(out: lp.Out[lp.f32], x: lp.In[lp.f32]):
    i = lp.global_id(0)
    out[i] = 0.0
    wait()
    if i % 2 == 0:
        out[i ^ 1] = x[i]


@lp.kernel(local_size=64)
def of_a_group(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = lp.group.reduce(x[i], "add")


@lp.kernel(local_size=64)
def through_a_fence(x: lp.In[lp.f32], y: lp.Array[lp.f32], flag: lp.Array[lp.u32]):
    i = lp.global_id(0)
    y[i] = x[i]
    lp.mem_fence()
    lp.atomic.add(flag, 0, 1)


COHERENT = {
    through_another: {"a", "b"},
    written_twice: {"out"},
    read_first: set(),
    of_a_helper: set(),
    around_a_helper: {"out"},
    of_a_group: set(),
    through_a_fence: {"y", "flag"},
}


@pytest.mark.parametrize("kernel", COHERENT, ids=lambda kernel: kernel.__name__)
def test_arrays_on_both_sides_of_a_barrier_are_coherent(kernel: KernelFunction) -> None:
    found = re.findall(r"OpDecorate %\w+?_([a-z]+) Coherent", kernel.inspect("spirv"))
    assert COHERENT[kernel] == set(found)


@pytest.mark.device
def test_one_array_given_twice_is_seen_behind_a_barrier(device: lp.Device) -> None:
    a, out = lp.zeros(256, device=device), lp.zeros(256, device=device)
    through_another[256](a, a, out)
    np.testing.assert_array_equal(out.numpy(), np.arange(256) ^ 1)


@pytest.mark.device
def test_what_was_written_first_is_overwritten(device: lp.Device) -> None:
    x, out = lp.asarray(np.arange(256, dtype=np.float32), device=device), lp.zeros(256, device=device)
    written_twice[256](out, x)
    expected = np.where(np.arange(256) % 2, np.arange(256) - 1, 0)
    np.testing.assert_array_equal(out.numpy(), expected)
