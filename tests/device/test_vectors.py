"""Vectors in kernels, in arrays and as arguments, on every device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

N = 7
X = np.random.default_rng(1).normal(size=(N, 4)).astype(np.float32)
Y = np.random.default_rng(2).normal(size=(N, 3)).astype(np.float32)


@lp.kernel
def construct(x: lp.In[lp.f32x4], out: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    v = x[i]
    two = lp.f32x2(v.x, 3)
    out[i] = (
        lp.f32x4(two, x[i].zwx.yx) + lp.f32x4(1.0) - lp.Vec[lp.f32, 4]() * lp.f32x4(lp.f32x3(v.xyz), v[3])
    )


def test_construction_splats_and_swizzles(device):
    out = lp.empty(N, lp.f32x4, device=device)
    construct[N](lp.asarray(X, dtype=lp.f32x4, device=device), out)
    expected = np.stack([X[:, 0], np.full(N, 3, np.float32), X[:, 3], X[:, 2]], axis=1) + 1
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def operate(x: lp.In[lp.i32x3], y: lp.In[lp.i32x3], out: lp.Out[lp.i32x3, 2]):
    i = lp.global_id(0)
    a, b = x[i], y[i]
    out[i, 0] = a // b
    out[i, 1] = a % b - 2 * b
    out[i, 2] = (a << 2) ^ ~b & -a
    out[i, 3] = lp.select((a < b) | (b == 3), a, lp.i32x3(100))
    out[i, 4] = min(a, b) + max(a, 0) + abs(b)


def test_operators_work_by_component(device):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-50, 50, (2, N, 3), dtype=np.int32)
    b[b == 0] = 3
    out = lp.empty((N, 5), lp.i32x3, device=device)
    operate[N](*(lp.asarray(v, dtype=lp.i32x3, device=device) for v in (a, b)), out)
    expected = np.stack(
        [
            a // b,
            a % b - 2 * b,
            (a << 2) ^ (~b & -a),
            np.where((a < b) | (b == 3), a, 100),
            np.minimum(a, b) + np.maximum(a, 0) + np.abs(b),
        ],
        axis=1,
    )
    np.testing.assert_array_equal(out.numpy(), expected)
    assert out.shape == (N, 5) and out.numpy().shape == (N, 5, 3)


@lp.kernel
def geometry(y: lp.In[lp.f32x3], w: lp.f32x3, out: lp.Out[lp.f32, 2], crossed: lp.Out[lp.f32x3]):
    i = lp.global_id(0)
    v = y[i]
    out[i, 0] = lp.math.dot(v, w)
    out[i, 1] = lp.math.length(v)
    out[i, 2] = lp.math.length(lp.math.normalize(v))
    out[i, 3] = lp.math.clamp(v, -0.5, 0.5).y + lp.math.mix(v, w, 0.25).z + lp.math.sqrt(abs(v)).x
    crossed[i] = lp.math.cross(v, w)


def test_geometric_functions(device):
    w = np.float32([0.5, -2, 3])
    out, crossed = lp.zeros((N, 4), device=device), lp.empty(N, lp.f32x3, device=device)
    geometry[N](lp.asarray(Y, dtype=lp.f32x3, device=device), (0.5, -2, 3), out, crossed)
    length = np.sqrt((Y * Y).sum(1))
    rest = np.clip(Y[:, 1], -0.5, 0.5) + Y[:, 2] * 0.75 + w[2] * 0.25 + np.sqrt(np.abs(Y[:, 0]))
    expected = np.stack([Y @ w, length, np.ones(N), rest], axis=1)
    np.testing.assert_allclose(
        out.numpy(), expected, rtol=1e-5, atol=1e-5
    )  # a few ulp of sqrt, division, sums
    np.testing.assert_allclose(crossed.numpy(), np.cross(Y, w), rtol=1e-5, atol=1e-5)


def rotate(v: lp.f32x4, k):
    if k > 1:
        return v.yzwx
    v.x = v.x + 1.0
    return v


@lp.kernel
def flow(x: lp.Array[lp.f32x4], bias: lp.f32x4, n: lp.i32):
    i = lp.global_id(0)
    total = bias
    for j in range(n):
        if j % 2:
            total[j % 4] = x[i][j % 4]
        else:
            total += rotate(x[i], j)
        if total.w > 4.0:
            break
    k = 0
    while k < 2:
        total = -total
        total[k] *= 2.0
        k += 1
    x[i] = total
    x[i].y += 0.5
    x[i][n % 4] = 9.0


def test_vectors_cross_control_flow_and_helpers(device):
    array = lp.asarray(X, dtype=lp.f32x4, device=device)
    flow[N](array, np.float32([1, 2, 3, 0]), 5)
    expected = np.empty_like(X)
    for i, v in enumerate(X):
        total = np.float32([1, 2, 3, 0])
        for j in range(5):
            if j % 2:
                total[j % 4] = v[j % 4]
            else:
                total = total + (v[[1, 2, 3, 0]] if j > 1 else v + np.float32([1, 0, 0, 0]))
            if total[3] > 4:
                break
        for k in range(2):
            total = -total
            total[k] *= 2
        total[1] += 0.5
        total[1] = 9
        expected[i] = total
    np.testing.assert_allclose(array.numpy(), expected, rtol=1e-6)


@lp.kernel
def convert(x: lp.In[lp.f32x2], whole: lp.Out[lp.i32x2], bits: lp.Out[lp.u32x2], truth: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    whole[i] = lp.i32x2(v)
    bits[i] = lp.bitcast(v, lp.u32x2)
    positive = v > 0.0
    truth[i] = lp.i32(positive.x) + 2 * lp.i32(positive[1])


def test_conversions(device):
    x = X[:, :2] * 10
    whole, bits = lp.empty(N, lp.i32x2, device=device), lp.empty(N, lp.u32x2, device=device)
    truth = lp.zeros(N, lp.i32, device=device)
    convert[N](lp.asarray(x, dtype=lp.f32x2, device=device), whole, bits, truth)
    np.testing.assert_array_equal(whole.numpy(), x.astype(np.int32))
    np.testing.assert_array_equal(bits.numpy(), x.view(np.uint32))
    np.testing.assert_array_equal(truth.numpy(), (x > 0) @ [1, 2])


SCALARS = [
    getattr(lp, name) for name in ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
]


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_every_element_type_goes_through_arrays_and_arguments(device, scalar, size):
    kind = lp.Vec[scalar, size]

    def double(x: lp.Array[kind], v: kind):
        i = lp.global_id(0)
        x[i] = x[i] + v

    host = np.arange(N * size).reshape(N, size).astype(scalar.dtype)
    array = lp.asarray(host, dtype=kind, device=device)
    try:
        lp.kernel(double)[N](array, [1] * size)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    np.testing.assert_array_equal(array.numpy(), host + scalar(1))


def test_arrays_of_vectors_on_the_host(device):
    array = lp.full(3, (1, 2, 3), lp.f32x3, device=device)
    np.testing.assert_array_equal(array.numpy(), np.tile(np.float32([1, 2, 3]), (3, 1)))
    assert (array.shape, array.nbytes, array.dtype) == ((3,), 36, np.dtype(("<f4", (3,))))
    np.testing.assert_array_equal(lp.ones(2, lp.u8x4, device=device).numpy(), np.ones((2, 4), np.uint8))
    np.testing.assert_array_equal(lp.zeros_like(array).numpy(), np.zeros((3, 3), np.float32))
    with pytest.raises(lp.InvalidError, match=r"takes host shape \(n, 3\); found \(4, 4\)"):
        lp.asarray(np.zeros((4, 4), np.float32), dtype=lp.f32x3, device=device)
    with pytest.raises(lp.InvalidError, match=r"has shape \(3, 4\); expected \(3, 3\)"):
        array.copy_from(np.zeros((3, 4), np.float32))


def test_wrong_arguments(device):
    y = lp.zeros(N, lp.f32x4, device=device)
    out, crossed = lp.zeros((N, 4), device=device), lp.empty(N, lp.f32x3, device=device)
    with pytest.raises(lp.KernelArgumentError, match=r"'y'.*Vec.f32, 3.*found.*Vec.f32, 4"):
        geometry[N](y, (1, 2, 3), out, crossed)
    with pytest.raises(
        lp.KernelArgumentError, match=r"'w' \(2 of 4\) has type lp.f32x3: expected a value of shape"
    ):
        geometry[N](crossed, (1, 2), out, crossed)


def twice(v: lp.f32x3) -> lp.f32x3:
    return v * 2.0


@lp.kernel
def unpack(out: lp.Out[lp.f32x3], m: lp.FixedArray[lp.f32, 2, 2] = ((1, 2), (3, 4)), v: lp.f32x2 = (5, 6)):
    total = 0.0
    for x in v:
        total += x
    a, b = v
    out[0] = twice(lp.i32x3(len(v), 2, 3)) + lp.f32x3(total, a * b, m[1][0] + max(v))


def test_annotated_helpers_unpacking_and_defaults(device):
    out = lp.zeros(1, lp.f32x3, device=device)
    unpack[1](out)
    np.testing.assert_array_equal(out.numpy(), [[4 + 11, 4 + 30, 6 + 9]])


@lp.struct
class Body:
    place: lp.f32x4
    cell: lp.i32x3


@lp.kernel
def swizzle_targets(v: lp.Array[lp.f32x4], w: lp.Array[lp.f32x3], bodies: lp.Array[Body]):
    i = lp.global_id(0)
    v[i].xw = v[i].wx
    v[i].yz += 1.0
    w[i].zx = lp.f32x2(5.0, 6.0)
    t = v[i]
    t.xyz *= lp.f32x3(1, 2, 3)
    t.wzyx = t
    v[i] = t
    bodies[i].cell.zy = bodies[i].cell.xz
    b = bodies[i]
    b.place.yx = lp.f32x2(7.0)
    bodies[i].place = b.place
    p = lp.private.array(2, lp.f32x4)
    p[0] = lp.f32x4(0.0)
    p[0].zw = v[i].xy
    v[i].x = p[0].w


def test_swizzles_are_assigned_to(device):
    v = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    bodies = np.zeros(3, Body.dtype)
    bodies["cell"] = np.arange(9).reshape(3, 3)
    there, w = lp.zeros(3, lp.f32x4, device=device), lp.ones(3, lp.f32x3, device=device)
    there.copy_from(v)
    array = lp.asarray(bodies, device=device)
    swizzle_targets[3](there, w, array)
    v[:, [0, 3]] = v[:, [3, 0]]
    v[:, 1:3] += 1
    v[:, :3] *= [1, 2, 3]
    v = v[:, ::-1].copy()
    v[:, 0] = v[:, 1]
    np.testing.assert_array_equal(there.numpy(), v)
    np.testing.assert_array_equal(w.numpy(), [[6, 1, 5]] * 3)
    bodies["cell"][:, [2, 1]] = bodies["cell"][:, [0, 2]]
    np.testing.assert_array_equal(array.numpy()["cell"], bodies["cell"])
    np.testing.assert_array_equal(array.numpy()["place"], [[7, 7, 0, 0]] * 3)


@lp.kernel
def regrouped(x: lp.In[lp.f32x4], narrow: lp.Out[lp.u8x16], wide: lp.Out[lp.u64x2], back: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    narrow[i] = lp.bitcast(x[i], lp.u8x16)
    words = lp.bitcast(x[i], lp.u64x2)
    wide[i] = words
    back[i] = lp.bitcast(lp.bitcast(words, lp.i16x8), lp.f32x4)


@lp.kernel
def in_two_words(x: lp.In[lp.f64], out: lp.Out[lp.u32x2], back: lp.Out[lp.f64]):
    i = lp.global_id(0)
    words = lp.bitcast(x[i], lp.u32x2)
    out[i] = words
    back[i] = lp.bitcast(words.yx, lp.f64)


def test_bits_of_vectors_are_those_of_memory(device):
    if not all(map(device.has, (lp.Aspect.VK_INT8, lp.Aspect.VK_INT16, lp.Aspect.VK_INT64, lp.Aspect.FP64))):
        pytest.skip("the device lacks integers of some width, or fp64")
    x = np.random.default_rng(1).random((3, 4), np.float32)
    kinds = lp.u8x16, lp.u64x2, lp.f32x4
    outs = [lp.empty(3, kind, device=device) for kind in kinds]
    regrouped[3](lp.asarray(x, lp.f32x4, device=device), *outs)
    for out in outs:
        assert out.numpy().tobytes() == x.tobytes()
    y = np.random.default_rng(2).random(3)
    words, back = lp.empty(3, lp.u32x2, device=device), lp.empty(3, lp.f64, device=device)
    in_two_words[3](lp.asarray(y, device=device), words, back)
    assert words.numpy().tobytes() == y.tobytes()
    assert back.numpy().tobytes() == y.view(np.uint32).reshape(3, 2)[:, ::-1].tobytes()


@lp.kernel
def parts_of_numbers(x: lp.In[lp.f32x3], out: lp.Out[lp.f32x3, 2], powers: lp.Out[lp.i32x3]):
    i = lp.global_id(0)
    out[0, i], powers[i] = lp.math.frexp(x[i])
    out[1, i], out[2, i] = lp.math.modf(x[i])


def test_functions_with_two_results_give_two_vectors(device):
    x = np.float32([[1.5, -2.25, 100.75]])
    out, powers = lp.empty((3, 1), lp.f32x3, device=device), lp.empty(1, lp.i32x3, device=device)
    parts_of_numbers[1](lp.asarray(x, lp.f32x3, device=device), out, powers)
    np.testing.assert_array_equal(out.numpy()[:, 0], [np.frexp(x)[0][0], *(part[0] for part in np.modf(x))])
    np.testing.assert_array_equal(powers.numpy(), np.frexp(x)[1])


@lp.kernel
def fields_beside_a_later_array(bodies: lp.Array[Body]):
    i = lp.global_id(0)
    place = bodies[i].place
    p = lp.private.array(3, lp.f32x4)
    for k in range(3):
        p[(k + i) % 3] = place * lp.f32(k)
    bodies[i].cell.x = lp.i32(p[i].x + p[(i + 1) % 3].w)


def test_fields_are_loaded_in_front_of_arrays_that_are_made_later(device):
    bodies = np.zeros(3, Body.dtype)
    bodies["place"] = np.arange(12).reshape(3, 4)
    array = lp.asarray(bodies, device=device)
    fields_beside_a_later_array[3](array)
    x, w = bodies["place"][:, 0], bodies["place"][:, 3]
    first, second = np.zeros((2, 3), int)
    for i in range(3):
        p = {(k + i) % 3: k for k in range(3)}
        first[i], second[i] = p[i], p[(i + 1) % 3]
    np.testing.assert_array_equal(array.numpy()["cell"][:, 0], x * first + w * second)
