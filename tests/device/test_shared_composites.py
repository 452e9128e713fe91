"""Structs and fixed arrays as elements of shared and private arrays, and atomics on their parts."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

N = 8


@lp.struct
class Body:
    mass: lp.f32
    place: lp.f32x3
    count: lp.i32
    table: lp.FixedArray[lp.i32, 2, 3]
    is_fast: lp.bool_


@lp.struct
class Small:
    tag: lp.i8
    half: lp.f16
    bits: lp.FixedArray[lp.u16, 3]
    is_set: lp.bool_
    wide: lp.Vec[lp.i16, 8]


@lp.struct
class Wide:
    number: lp.i64
    value: lp.f64


LENGTH = lp.SpecializationId(lp.u32, N)


def fill(bodies, i):
    body = Body(mass=i * 0.5, count=i, is_fast=i % 2 == 0)
    body.place.y = i * 3
    body.table[1, i % 3] = 7
    bodies[i] = body
    bodies[i].place.xz = lp.f32x2(1.0, 2.0)
    bodies[i].table[0, i % 3] += i


def total(bodies, i):
    body = bodies[i]
    return body.mass + body.place.x + body.place.y + body.place.z + body.count + len(bodies) + body.is_fast


@lp.kernel(local_size=N)
def shared(out: lp.Out[lp.f32, 2], made: lp.LocalArray[Body]):
    i = lp.local_id(0)
    bodies = lp.local.array(LENGTH, Body)
    fill(bodies, i)
    fill(made, i)
    lp.barrier()
    other = N - 1 - i
    out[i, 0] = total(bodies, other)
    out[i, 1] = bodies[other].table[0, other % 3] + bodies[other].table[1, other % 3]
    out[i, 2] = total(made, other)


@lp.kernel
def private(out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    bodies = lp.private.array(N, Body)
    grids = lp.private.array((2, 2), lp.FixedArray[lp.i32, 2, 2])
    for j in range(N):
        fill(bodies, j)
    for j in range(8):
        grids[j // 4, j % 2][j // 2 % 2, 1] = j
    out[i, 0] = total(bodies, i)
    out[i, 1] = bodies[i].table[0, i % 3] + bodies[i].table[1, i % 3]
    out[i, 2] = grids[i // 4, i % 2][i // 2 % 2, 1]


def expected(i, length=N):
    return i * 0.5 + 1 + i * 3 + 2 + i + length + (i % 2 == 0)


def test_shared_arrays_of_structs(device):
    out = lp.zeros((N, 3), device=device)
    shared[N](out, lp.local(N + 2))
    rows = [[expected(i), i + 7, expected(i, N + 2)] for i in range(N - 1, -1, -1)]
    np.testing.assert_array_equal(out.numpy(), np.array(rows, np.float32))
    shared[N].spec({LENGTH: N + 1})(out, lp.local(N))
    assert out.numpy()[:, 0].tolist() == [expected(i, N + 1) for i in range(N - 1, -1, -1)]


def test_private_arrays_of_structs_and_fixed_arrays(device):
    out = lp.zeros((N, 3), device=device)
    private[N](out)
    rows = [[expected(i), i + 7, i] for i in range(N)]
    np.testing.assert_array_equal(out.numpy(), np.array(rows, np.float32))


@lp.kernel(local_size=16)
def atomics_on_parts(out: lp.Out[lp.f32, 2]):
    bodies = lp.local.array((2, 2), Body)
    points = lp.local.array(2, lp.f32x4)
    i = lp.local_id(0)
    if i < 4:
        bodies[i // 2, i % 2] = Body()
    if i < 2:
        points[i] = lp.f32x4(1, 2, 3, 4)
    lp.barrier()
    lp.atomic.add(bodies, (i % 2, 1, "mass"), 0.5)
    lp.atomic.max(bodies, (i % 2, 1, "place", "y"), lp.f32(i))
    lp.atomic.sub(bodies, (i % 2, 1, "place", i % 3), 1.0)
    lp.atomic.add(bodies, (i % 2, 1, "table", 1, i % 3), i)
    lp.atomic.or_(bodies, (i % 2, 1, "is_fast"), i == 5)
    lp.atomic.add(points, (i % 2, "y"), 0.25)
    lp.atomic.exchange(points, (i % 2, 3), 9.0)
    lp.barrier()
    if i < 2:
        body, point = bodies[i, 1], points[i]
        out[i, 0] = body.mass
        out[i, 1] = body.place.x + body.place.z
        out[i, 2] = body.table[1, 0] + body.table[1, 1] * 100 + body.table[1, 2] * 10000
        out[i, 3] = body.is_fast
        out[i, 4] = point.x * 1000 + point.y * 100 + point.z * 10 + point.w
        out[i, 5] = bodies[i, 0].mass


def test_atomics_on_floats_and_bools_inside_of_shared_elements(device):
    out = lp.zeros((2, 6), device=device)
    atomics_on_parts[16](out)
    for half, found in enumerate(out.numpy()):
        ids = np.arange(half, 16, 2)
        sums = [ids[ids % 3 == k].sum() for k in range(3)]
        taken = [(ids % 3 == k).sum() for k in range(3)]
        wanted = [
            4.0, -taken[0] - taken[2], sums[0] + sums[1] * 100 + sums[2] * 10000, half == 1,
            1000 + 400 + 30 + 9, 0,
        ]  # fmt: skip
        np.testing.assert_array_equal(found, np.array(wanted, np.float32))


@lp.kernel(local_size=16)
def narrow_atomics(out: lp.Out[lp.i32, 2]):
    cells = lp.local.array(2, Small)
    bytes_ = lp.local.array(2, lp.i8x4)
    halves = lp.local.array(2, lp.f16x2)
    flags = lp.local.array(2, lp.boolx3)
    i = lp.local_id(0)
    if i < 2:
        cells[i] = Small(tag=-3)
        bytes_[i] = lp.i8x4(1, 2, 3, 4)
        halves[i] = lp.f16x2(0.5)
        flags[i] = lp.boolx3(False)
    lp.barrier()
    lp.atomic.add(cells, (i % 2, "tag"), 2)
    lp.atomic.max(cells, (i % 2, "half"), lp.f16(i))
    lp.atomic.or_(cells, (i % 2, "bits", i % 3), lp.u16(1) << lp.u16(i))
    lp.atomic.add(cells, (i % 2, "wide", i // 2), lp.i16(i))
    lp.atomic.xor(cells, (i % 2, "is_set"), True)
    lp.atomic.sub(bytes_, (i % 2, i % 4), 20)
    lp.atomic.add(halves, (i % 2, "y"), 0.5)
    lp.atomic.compare_exchange(flags, (i % 2, 2), False, True)
    lp.barrier()
    if i < 2:
        cell, vector = cells[i], bytes_[i]
        out[i, 0] = cell.tag
        out[i, 1] = lp.i32(cell.half)
        out[i, 2] = cell.bits[0] | cell.bits[1] | cell.bits[2]
        out[i, 3] = cell.wide[0] + cell.wide[7]
        out[i, 4] = cell.is_set
        out[i, 5] = lp.i32(vector.x) * 1000000 + lp.i32(vector.y) * 10000 + vector.z * lp.i32(100) + vector.w
        out[i, 6] = lp.i32(halves[i].y * 10.0)
        out[i, 7] = lp.i32(flags[i].x) + lp.i32(flags[i].z) * 2


def test_atomics_on_less_than_32_bits_inside_of_shared_elements(device):
    needed = lp.Aspect.VK_INT8, lp.Aspect.VK_INT16, lp.Aspect.FP16
    if not all(device.has(aspect) for aspect in needed):
        pytest.skip("needs vk_int8, vk_int16 and fp16")
    out = lp.zeros((2, 8), lp.i32, device=device)
    narrow_atomics[16](out)
    for half, found in enumerate(out.numpy().tolist()):
        parts = [1, 2, 3, 4]
        for i in range(half, 16, 2):
            parts[i % 4] -= 20
        x, y, z, w = parts
        mask = sum(1 << i for i in range(half, 16, 2))
        packed = x * 1000000 + y * 10000 + z * 100 + w
        assert found == [13, 14 + half, mask, 14 + 2 * half, 0, packed, 45, 2]


@lp.kernel(local_size=N)
def wide(out: lp.Out[lp.f32]):
    pairs = lp.local.array(N, Wide)
    i = lp.local_id(0)
    pairs[i] = Wide(i, lp.f64(i) + 0.5)
    lp.barrier()
    lp.atomic.add(pairs, (0, "number"), 1)
    lp.atomic.add(pairs, (0, "value"), 1.0)
    lp.barrier()
    out[i] = lp.f32(pairs[N - 1 - i].number) + lp.f32(pairs[N - 1 - i].value)


def test_members_of_64_bits(device):
    if not (device.has(lp.Aspect.ATOMIC64) and device.has(lp.Aspect.FP64)):
        pytest.skip("needs atomic64 and fp64")
    out = lp.zeros(N, device=device)
    wide[N](out)
    assert out.numpy()[::-1].tolist() == [2 * N + 0.5, *(2 * i + 0.5 for i in range(1, N))]


@lp.kernel(local_size=N, debug=True)
def out_of_range(out: lp.Out[lp.f32]):
    bodies = lp.local.array(N, Body)
    bodies[lp.local_id(0) + 1].mass = 1.0
    out[lp.global_id(0)] = 1.0


def test_an_index_out_of_range_in_debug_mode(device):
    with pytest.raises(lp.KernelTrap, match="index 8 is out of range"):
        out_of_range[N](lp.zeros(N, device=device)).wait()


@lp.kernel(local_size=N)
def too_large(out: lp.Out[lp.f32]):
    bodies = lp.local.array(100000, Body)
    bodies[lp.local_id(0)] = Body()
    lp.barrier()
    out[lp.global_id(0)] = bodies[0].mass


@pytest.mark.native_only("the interpreter has no limit of shared memory")
def test_shared_memory_over_the_limit_is_named(device):
    with pytest.raises(lp.KernelNotSupportedError, match="shared memory"):
        too_large[N](lp.zeros(N, device=device)).wait()
