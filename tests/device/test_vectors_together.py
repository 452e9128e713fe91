"""Vectors and structs where work-items work together: shared and private arrays of vectors, barriers, atomics."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

COUNT = lp.SpecializationId(lp.i32, 3)


@lp.struct
class Body:
    position: lp.f32x3
    mass: lp.f32


@lp.kernel(local_size=8)
def reverse(x: lp.In[lp.f32x4], y: lp.In[lp.f32x3], out: lp.Out[lp.f32x4]):
    fours = lp.local.array(8, lp.f32x4)
    threes = lp.local.array((2, 8), lp.f32x3)
    flags = lp.local.array(8, lp.boolx2)
    i, g = lp.local_id(0), lp.global_id(0)
    fours[i] = x[g]
    threes[1, i] = y[g]
    threes[1, i].z = 2.0 * y[g].z
    flags[i] = lp.boolx2(x[g].x > 0, x[g].y > 0)
    lp.barrier()
    last = 7 - i
    v = fours[last]
    v.y = threes[1, last][i % 3]
    v.z = threes[-1, last].z
    if flags[last].x and not flags[last].y:
        v.w = 100.0
    out[g] = v


def test_shared_arrays_of_vectors(device):
    random = np.random.default_rng(5)
    x = random.normal(size=(16, 4)).astype(np.float32)
    y = random.normal(size=(16, 3)).astype(np.float32)
    out = lp.empty(16, lp.f32x4, device=device)
    reverse[16](
        lp.asarray(x, dtype=lp.f32x4, device=device), lp.asarray(y, dtype=lp.f32x3, device=device), out
    )
    doubled = y * np.array([1, 1, 2], np.float32)
    last = np.arange(16).reshape(2, 8)[:, ::-1].ravel()
    expected = x[last].copy()
    expected[:, 1] = doubled[last, np.arange(16) % 8 % 3]
    expected[:, 2] = doubled[last, 2]
    expected[(x[last, 0] > 0) & ~(x[last, 1] > 0), 3] = 100
    np.testing.assert_array_equal(out.numpy(), expected)


def total(table, n):
    result = lp.f32x2()
    for k in range(n):
        result += table[k]
    return result


@lp.kernel
def private(out: lp.Array[lp.f32x2]):
    table = lp.private.array(COUNT + 1, lp.f32x2)
    i = lp.global_id(0)
    for k in range(table.shape[0]):
        table[k] = lp.f32x2(float(i), float(k))
        table[k].x += 1.0
    out[i] = total(table, table.shape[0])


@pytest.mark.parametrize("count", [1, 3])
def test_private_arrays_of_vectors_of_specialized_length(device, count):
    out = lp.zeros(5, lp.f32x2, device=device)
    private[5].spec({COUNT: count})(out)
    n = count + 1
    expected = [(n * (i + 1), n * (n - 1) / 2) for i in range(5)]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, np.float32))


@lp.kernel(local_size=8)
def gather(bodies: lp.Array[Body], scale: lp.f32x3, totals: lp.Array[lp.f32]):
    i = lp.global_id(0)
    moved = bodies[i].position * scale
    bodies[i].position = moved
    lp.atomic.add(totals, 0, bodies[i].mass)
    lp.atomic.max(totals, (1,), moved.y)
    lp.barrier()
    if lp.local_id(0) == 0:
        bodies[i].mass = bodies[i + 7].mass + bodies[i].position.x


def test_structs_beside_atomics_and_barriers(device):
    bodies = np.zeros(16, Body.dtype)
    bodies["position"] = np.arange(48).reshape(16, 3)
    bodies["mass"] = np.arange(16)
    array, totals = lp.asarray(bodies, device=device), lp.zeros(2, device=device)
    gather[16](array, (2.0, 3.0, 4.0), totals)
    moved = bodies["position"] * np.array([2, 3, 4], np.float32)
    np.testing.assert_array_equal(totals.numpy(), [bodies["mass"].sum(), moved[:, 1].max()])
    mass = bodies["mass"].copy()
    mass[[0, 8]] = mass[[7, 15]] + moved[[0, 8], 0]
    np.testing.assert_array_equal(array.numpy()["position"], moved)
    np.testing.assert_array_equal(array.numpy()["mass"], mass)


@lp.kernel(local_size=8)
def reduce(x: lp.In[lp.f32x2], low: lp.f32x2, out: lp.Out[lp.f32x2]):
    i = lp.global_id(0)
    v = x[i] + low
    out[i] = lp.f32x2(lp.group.reduce(v.x, "add"), lp.group.reduce(v.y, "max"))


def test_group_functions_of_components(device):
    x = np.arange(32, dtype=np.float32).reshape(16, 2)
    out = lp.empty(16, lp.f32x2, device=device)
    reduce[16](lp.asarray(x, dtype=lp.f32x2, device=device), (1.0, 0.5), out)
    groups = x.reshape(2, 8, 2)
    expected = np.stack([(groups[..., 0] + 1).sum(1), groups[..., 1].max(1) + 0.5], axis=1).repeat(8, axis=0)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.struct
class Settings:
    offset: lp.f32 = 1.0


@lp.kernel
def add_default(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] += Settings().offset


def test_a_struct_class_that_is_bound_anew_compiles_again(device, monkeypatch):
    out = lp.zeros(3, device=device)
    add_default[3](out)

    @lp.struct
    class Other:
        offset: lp.f32 = 4.0

    monkeypatch.setitem(globals(), "Settings", Other)
    add_default[3](out)
    np.testing.assert_array_equal(out.numpy(), [5, 5, 5])
