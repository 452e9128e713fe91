"""Functions of sub-groups and work-groups, for any local size and sub-group size, against NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv
from lapilli.vk_runtime.launch import launch

pytestmark = pytest.mark.device

GROUPS = 3


@lp.kernel
def group_integers(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = lp.group.reduce(v, "add")
    out[1, i] = lp.group.reduce(v, op="min")
    out[2, i] = lp.group.reduce(v, "xor")
    out[3, i] = lp.group.inclusive_scan(v, "add")
    out[4, i] = lp.group.exclusive_scan(v, "add")
    out[5, i] = lp.group.exclusive_scan(v, "min")
    out[6, i] = lp.group.broadcast(v, lane=lp.local_range(0) - 1)
    out[7, i] = int(lp.group.any(v == 3)) + 2 * int(lp.group.all(v > -900))


def expected_group_integers(x):
    rows = x.reshape(GROUPS, -1)
    n = rows.shape[1]
    shifted = np.concatenate([np.full((GROUPS, 1), 2**31 - 1), rows[:, :-1]], axis=1)
    votes = (rows == 3).any(1) + 2 * (rows > -900).all(1)
    columns = [
        np.repeat(rows.sum(1), n),
        np.repeat(rows.min(1), n),
        np.repeat(np.bitwise_xor.reduce(rows, axis=1), n),
        np.cumsum(rows, axis=1).ravel(),
        (np.cumsum(rows, axis=1) - rows).ravel(),
        np.minimum.accumulate(shifted, axis=1).ravel(),
        np.repeat(rows[:, -1], n),
        np.repeat(votes, n),
    ]
    return np.stack(columns)


@pytest.mark.parametrize("local", [1, 2, 5, 24, 64, 129, 200])
@pytest.mark.parametrize("by_tree", [False, True])
def test_group_functions_for_any_local_size(device, local, by_tree):
    n = GROUPS * local
    x = np.random.default_rng(local).integers(-1000, 1000, n).astype(np.int32)
    x_device, out = lp.asarray(x, device=device), lp.empty((8, n), lp.i32, device=device)
    if by_tree:  # as on a device without sub-group arithmetic
        (image,) = compile_kernels([group_integers], TargetEnv())
        assert lp.Aspect.VK_SUBGROUP_ARITHMETIC not in image.kernels[0].aspects
        launch(device.default_queue, image, image.kernels[0], (n,), (local,), (x_device, out), {})
    else:
        group_integers[lp.NdRange(n, local)](x_device, out)
    np.testing.assert_array_equal(out.numpy(), expected_group_integers(x))


def test_sub_groups_reduce_what_they_gave_once_more():
    @lp.kernel(local_size=64)
    def total(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
        out[lp.global_id(0)] = lp.group.reduce(x[lp.global_id(0)], "max")

    text = inspect(total, "spirv", env=TargetEnv(optional_aspects=(int(lp.Aspect.VK_SUBGROUP_ARITHMETIC),)))
    assert isinstance(text, str)
    assert text.count("OpGroupNonUniformFMax") == 2


@lp.kernel(local_size=(4, 10))
def group_floats(x: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    total = 0.0
    for k in range(3):
        total += lp.group.reduce(x[i, j] + k, "add")
    out[i, j] = total + lp.group.inclusive_scan(x[i, j], "max")


def test_group_functions_in_a_loop_over_two_dimensions(device):
    # Small integers: sums are exact in any order.
    x = np.random.default_rng(5).integers(0, 50, (8, 10)).astype(np.float32)
    out = lp.empty((8, 10), device=device)
    group_floats[8, 10](lp.asarray(x, device=device), out)
    groups = x.reshape(2, 40)
    expected = 3 * groups.sum(1, keepdims=True) + 40 * 3 + np.maximum.accumulate(groups, axis=1)
    np.testing.assert_array_equal(out.numpy().reshape(2, 40), expected)


@lp.kernel(local_size=64)
def sums(x: lp.In[lp.f32], out: lp.Array[lp.f32]):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        lp.atomic.add(out, 0, total)


def test_reduction_of_an_array(device):
    x = np.random.default_rng(6).integers(-9, 9, 64 * 64).astype(np.float32)
    out = lp.zeros(1, device=device)
    sums[x.size](lp.asarray(x, device=device), out)
    assert out.numpy().tolist() == [x.sum()]


@lp.kernel
def places(size: lp.Out[lp.i32], lane: lp.Out[lp.i32], index: lp.Out[lp.i32], count: lp.Out[lp.i32]):
    i = lp.global_id(0)
    size[i] = lp.sub_group.size()
    lane[i] = lp.sub_group.id()
    index[i] = lp.sub_group.index()
    count[i] = lp.sub_group.count()


@lp.kernel
def sub_group_integers(x: lp.In[lp.u32], out: lp.Out[lp.u32, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = lp.sub_group.reduce(v, "add")
    out[1, i] = lp.sub_group.reduce(v, "max")
    out[2, i] = lp.sub_group.reduce(v, "or")
    out[3, i] = lp.sub_group.inclusive_scan(v, "add")
    out[4, i] = lp.sub_group.exclusive_scan(v, "add")
    out[5, i] = lp.sub_group.broadcast(v)
    out[6, i] = lp.sub_group.shuffle(v, 1)
    out[7, i] = lp.sub_group.shuffle_xor(v, 1)
    # Not inside the conditional: a lane that does not take part has no value to give (an H200 gives 0).
    before = lp.sub_group.shuffle_up(v, 1)
    out[8, i] = before if lp.sub_group.id() > 0 else v
    words = lp.sub_group.ballot(v > 50)
    out[9, i] = words.x + words[1] + lp.math.dot(words.zw, words.zw)
    out[10, i] = lp.u32(lp.sub_group.any(v > 90)) + 2 * lp.u32(lp.sub_group.all(v > 5))


def _shifted(v):
    return np.concatenate([v[:1], v[:-1]])


@pytest.mark.parametrize("local", [4, 10, 32])
def test_sub_group_functions_and_partial_sub_groups(device, local):
    n = 2 * local
    outs = [lp.empty(n, lp.i32, device=device) for _ in range(4)]
    places[lp.NdRange(n, local)](*outs)
    size, lane, index, count = (a.numpy() for a in outs)
    sub_group_size = device.info.sub_group_sizes[0]
    assert set(size) == {sub_group_size}
    assert set(count) == {-(-local // sub_group_size)}
    x = np.random.default_rng(local).integers(0, 100, n).astype(np.uint32)
    out = lp.empty((11, n), lp.u32, device=device)
    sub_group_integers[lp.NdRange(n, local)](lp.asarray(x, device=device), out)
    found = out.numpy()
    group = np.arange(n) // local
    for key in {*zip(group, index, strict=True)}:
        members = np.flatnonzero((group == key[0]) & (index == key[1]))
        members = members[np.argsort(lane[members])]
        v = x[members].astype(np.int64)
        assert lane[members].tolist() == list(range(len(v)))
        same = functools.partial(np.full, len(v))
        expected = [same(v.sum()), same(v.max()), same(np.bitwise_or.reduce(v)), v.cumsum(), v.cumsum() - v]
        expected += [same(v[0]), same(v[min(1, len(v) - 1)])]
        np.testing.assert_array_equal(found[:6, members], expected[:6])
        if len(v) > 1:
            np.testing.assert_array_equal(found[6, members], expected[6])
        if len(v) % 2 == 0:
            np.testing.assert_array_equal(found[7, members], v.reshape(-1, 2)[:, ::-1].ravel())
        np.testing.assert_array_equal(found[8, members], _shifted(v))
        ballot = sum(int(value > 50) << k for k, value in enumerate(v))
        np.testing.assert_array_equal(found[9, members], same(ballot))
        np.testing.assert_array_equal(found[10, members], same((v > 90).any() + 2 * (v > 5).all()))


def _under_an_id(out: lp.Array[lp.i32]):
    if lp.local_id(0) > 1:
        out[0] = lp.group.reduce(1, "add")


def _unknown_operation(out: lp.Array[lp.i32]):
    out[0] = lp.group.reduce(out[1], "plus")


def _bits_of_float(out: lp.Array[lp.f32]):
    out[0] = lp.sub_group.reduce(out[1], "xor")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_under_an_id, "not every work-item of the work-group reaches"),
        (_unknown_operation, "is one of \"add\", .* found 'plus'"),
        (_bits_of_float, 'there is no "xor" of lp.f32'),
    ],
)
def test_group_function_that_cannot_be(function, message):
    with pytest.raises(lp.CompileError, match=message) as caught:
        lp.kernel(function).inspect("ir")
    assert "test_groups.py:" in str(caught.value)


@lp.kernel(local_size=16)
def of_vectors(out: lp.Out[lp.f32, 2], counts: lp.Out[lp.i32x3]):
    i = lp.local_id(0)
    v = lp.f32x2(i, 1.0)
    total = lp.group.reduce(v, "add")
    before = lp.group.exclusive_scan(v, "add")
    until = lp.group.inclusive_scan(lp.f32x2(-i, i), op="max")
    third = lp.group.broadcast(v, lane=3)
    lane = lp.sub_group.id()
    same = lp.sub_group.shuffle(v, lane)
    first = lp.sub_group.broadcast(lp.f32x2(lane, 7.0))
    pairs = lp.sub_group.shuffle_xor(lp.i32x2(lane, -lane), 1)
    out[i, 0], out[i, 1] = total
    out[i, 2], out[i, 3] = before
    out[i, 4], out[i, 5] = until
    out[i, 6], out[i, 7] = third
    out[i, 8] = same.x + first.x + first.y
    out[i, 9] = pairs.x + pairs.y + (pairs.x ^ lane)
    counts[i] = lp.group.reduce(lp.i32x3(i, 1, -i), "min")


def test_group_functions_of_vectors_work_by_component(device):
    out = lp.zeros((16, 10), device=device)
    counts = lp.zeros(16, lp.i32x3, device=device)
    of_vectors[16](out, counts)
    rows = [[120, 16, i * (i - 1) / 2, i, 0, i, 3, 1, i + 7, 1] for i in range(16)]
    np.testing.assert_array_equal(out.numpy(), np.array(rows, np.float32))
    np.testing.assert_array_equal(counts.numpy(), [[0, 1, -15]] * 16)


@lp.kernel
def wide_sub_groups(x: lp.In[lp.i64], out: lp.Out[lp.i64, 2], lanes: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = lp.sub_group.reduce(v, "add")
    out[1, i] = lp.sub_group.inclusive_scan(v, "max")
    out[2, i] = lp.sub_group.exclusive_scan(v, "mul")
    out[3, i] = 0
    lanes[i] = lp.sub_group.index() * 1000 + lp.sub_group.id()
    if v % 3 != 0:  # the others take no part
        out[3, i] = lp.sub_group.exclusive_scan(v, "add")


def test_sub_groups_combine_64_bits(device):
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks vk_int64")
    x = np.random.default_rng(3).integers(-(2**40), 2**40, 13)
    out, lanes = lp.empty((4, 13), lp.i64, device=device), lp.empty(13, lp.i32, device=device)
    wide_sub_groups[lp.NdRange(13, 13)](lp.asarray(x, device=device), out, lanes)
    expected, group_of = np.zeros((4, 13), np.int64), lanes.numpy() // 1000
    for group in np.unique(group_of):
        members = np.flatnonzero(group_of == group)
        members = members[np.argsort(lanes.numpy()[members])]
        v, some = x[members], members[x[members] % 3 != 0]
        expected[0, members], expected[1, members] = v.sum(), np.maximum.accumulate(v)
        expected[2, members] = np.cumprod([1, *v[:-1]])
        expected[3, some] = np.cumsum(x[some]) - x[some]
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def of_literals(y: lp.Array[lp.f32]):
    shared = lp.local.array(4, lp.f32)
    shared[lp.local_id(0)] = 1
    total = 0
    for _ in range(3):
        total = total + lp.group.broadcast(1.5) + lp.group.inclusive_scan(0.5, "add")
    y[lp.global_id(0)] = total + lp.group.reduce(1.0, "add") + shared[lp.local_id(0)]


def test_literals_beside_variables_are_f32(device):
    y = lp.zeros(8, device=device)
    of_literals[lp.NdRange(8, 4)](y)
    np.testing.assert_array_equal(y.numpy().reshape(2, 4), [[11.0, 12.5, 14.0, 15.5]] * 2)
