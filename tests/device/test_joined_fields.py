"""Fields of one struct that are loaded as a vector: what is read, and what a store in between changes."""

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect


@lp.struct
class Mixed:
    place: lp.f32x3
    number: lp.i32
    pair: lp.f32x2
    bits: lp.u32
    size: lp.f32


@lp.struct
class Pair:
    a: lp.f32
    b: lp.i32


@lp.struct
class Three:
    a: lp.f32
    b: lp.f32
    c: lp.f32


@lp.struct
class Nested:
    first: Pair
    more: lp.FixedArray[lp.f32, 2]


@lp.kernel
def read_all(x: lp.In[Mixed, 2], out: lp.Out[lp.f32, 2], whole: lp.Out[lp.u32]):
    i, j = lp.global_id(0), lp.global_id(1)
    e = x[i, j]
    out[i, j] = (
        e.place.x + 10.0 * e.place.y + 100.0 * e.place.z + lp.f32(e.number) + e.pair.x * e.pair.y + e.size
    )
    whole[i * x.shape[1] + j] = e.bits ^ lp.u32(e.number)


@lp.kernel
def store_between(x: lp.Array[Mixed]):
    i = lp.global_id(0)
    a = x[i].place.x
    x[i].place.y = 2.0 * a
    x[i].place.z = x[i].place.x + x[i].place.y + x[i].place.z


@lp.kernel
def alias(x: lp.Array[Pair], y: lp.Array[Pair]):
    i = lp.global_id(0)
    a = x[i].a
    y[i].b = 7
    x[i].a = a + lp.f32(x[i].b)


@lp.kernel
def pairs(x: lp.In[Pair], t: lp.In[Three], n: lp.In[Nested], k: lp.i32, out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    p, q, r = x[i], t[i], n[i]
    out[i] = (
        p.a * lp.f32(p.b)
        + q.a
        + q.b * q.c
        + r.first.a * lp.f32(r.first.b)
        + r.more[0] * r.more[1]
        + n[i].more[k]
    )


@lp.kernel(index=lp.i64)
def wide_positions(x: lp.In[Mixed], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = x[i].place.x + x[i].place.y + x[i].place.z


def _mixed(*shape):
    random = np.random.default_rng(4)
    x = np.zeros(shape, _of(Mixed))
    x["place"], x["pair"], x["size"] = (
        random.random((*shape, 3)),
        random.random((*shape, 2)),
        random.random(shape),
    )
    x["number"] = random.integers(-9, 9, shape)
    x["bits"] = random.integers(0, 1 << 32, shape, dtype=np.uint32)
    return x


def _of(struct):
    return lp.zeros(1, struct).numpy().dtype


def _filled(struct, count):
    x = np.zeros(count, _of(struct))
    flat = x.view(np.uint32).reshape(count, -1)
    flat[:] = np.random.default_rng(2).random(flat.shape, np.float32).view(np.uint32)
    return x


def test_every_field_is_read(device):
    x = _mixed(5, 6)
    out, whole = lp.zeros((5, 6), device=device), lp.zeros(30, lp.u32, device=device)
    read_all[5, 6](lp.asarray(x, dtype=Mixed, device=device), out, whole)
    p = x["place"]
    expected = (
        p[..., 0] + 10 * p[..., 1] + 100 * p[..., 2] + x["number"] + x["pair"].prod(axis=-1) + x["size"]
    )
    assert np.allclose(out.numpy(), expected, rtol=1e-5)
    assert (whole.numpy().reshape(5, 6) == x["bits"] ^ x["number"].astype(np.uint32)).all()


def test_a_store_in_between_is_seen(device):
    x = _mixed(20)
    array = lp.asarray(x, dtype=Mixed, device=device)
    store_between[20](array)
    found, p = array.numpy(), x["place"]
    assert np.allclose(found["place"][:, 1], 2 * p[:, 0])
    assert np.allclose(found["place"][:, 2], 3 * p[:, 0] + p[:, 2])
    assert (found["bits"] == x["bits"]).all()


def test_a_store_to_the_same_memory_is_seen(device):
    x = np.zeros(8, _of(Pair))
    x["a"], x["b"] = np.arange(8), 100
    array = lp.asarray(x, dtype=Pair, device=device)
    alias[8](array, array)
    assert array.numpy()["a"].tolist() == [7.0 + i for i in range(8)]


def test_pairs_structs_of_three_and_nested_ones(device):
    x, t, n = _filled(Pair, 9), _filled(Three, 9), _filled(Nested, 9)
    x["b"], n["first"]["b"] = np.arange(9), 3
    out = lp.zeros(9, device=device)
    arrays = [lp.asarray(v, dtype=s, device=device) for v, s in ((x, Pair), (t, Three), (n, Nested))]
    pairs[9](*arrays, 1, out)
    expected = x["a"] * x["b"] + t["a"] + t["b"] * t["c"] + n["first"]["a"] * 3 + n["more"].prod(axis=-1)
    assert np.allclose(out.numpy(), expected + n["more"][:, 1], rtol=1e-5)


def test_positions_of_64_bits(device):
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks vk_int64")
    x = _mixed(11)
    out = lp.zeros(11, device=device)
    wide_positions[11](lp.asarray(x, dtype=Mixed, device=device), out)
    assert np.allclose(out.numpy(), x["place"].sum(axis=1))


def test_they_are_one_load(device):
    text = str(inspect(read_all, "spirv", env=device.target_env))
    assert text.count("OpLoad %v4float") + text.count("OpLoad %v4uint") == 2
