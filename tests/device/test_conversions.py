"""Conversions of numbers that lie between two of the other type, beside its largest ones, and of what is no number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
ASPECTS = {
    "8": (lp.Aspect.VK_INT8, lp.Aspect.VK_STORAGE_8BIT),
    "16": (lp.Aspect.VK_INT16, lp.Aspect.VK_STORAGE_16BIT),
    "32": (),
    "64": (lp.Aspect.VK_INT64,),
    "f16": (lp.Aspect.FP16, lp.Aspect.VK_STORAGE_16BIT),
    "f32": (),
    "f64": (lp.Aspect.FP64,),
}


def _dtype(name: str) -> np.dtype:
    return np.dtype({"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:])


def _has(device: lp.Device, name: str) -> bool:
    return all(device.has(aspect) for aspect in ASPECTS[name if name[0] == "f" else name[1:]])


def _arguments(name: str) -> np.ndarray:
    """Returns numbers beside powers of two, halfway between floats and around those, and numbers of every size."""
    dtype, random = _dtype(name), np.random.default_rng(3)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        near = {s * 2**k + d for k in range(64) for d in (-1, 0, 1) for s in (1, -1)}
        drawn = random.integers(info.min, info.max, 800, dtype, endpoint=True)
        return np.concatenate([np.array([n for n in near if info.min <= n <= info.max], dtype), drawn])
    halves = np.arange(-4097, 4098) / 2
    powers = np.concatenate([np.ldexp([s * 1.0, s * 1.5], k) for k in range(-30, 70) for s in (1, -1)])
    with np.errstate(over="ignore"):
        near = np.concatenate([halves, powers, [-0.0, np.nan, np.inf, -np.inf]]).astype(dtype)
        return np.concatenate([near, np.nextafter(near, dtype.type(np.inf)), np.nextafter(near, -near)])


def _expected(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if x.dtype.kind == "f" and dtype.kind != "f":
        info = np.iinfo(dtype)
        bounded = (0 if np.isnan(v) else v if np.isinf(v) else int(v) for v in x.tolist())
        return np.array([int(min(max(v, info.min), info.max)) for v in bounded], dtype)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
def test_numbers_are_rounded_once_and_saturate(device: lp.Device, source: str) -> None:
    if not _has(device, source):
        pytest.skip(f"the device lacks {source}")
    targets = [name for name in (*INTEGERS, *FLOATS) if _has(device, name)]
    parameters = ", ".join(f"as_{name}: lp.Out[lp.{name}]" for name in targets)
    lines = "".join(f"    as_{name}[i] = lp.{name}(x[i])\n" for name in targets)
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef convert(x: lp.In[lp.{source}], {parameters}):\n    i = lp.global_id(0)\n{lines}"
    )
    x = _arguments(source)
    found = [lp.empty(len(x), getattr(lp, name), device=device) for name in targets]
    kernel[len(x)](lp.asarray(x, device=device), *found)
    for name, values in zip(targets, found, strict=True):
        expected, result = _expected(x, _dtype(name)), values.numpy()
        if expected.dtype.kind == "f":  # what is subnormal, here or there, may be flushed
            is_tiny = np.abs(expected) < np.finfo(expected.dtype).tiny
            if x.dtype.kind == "f":
                is_tiny |= np.abs(x) < np.finfo(x.dtype).tiny
                np.testing.assert_array_equal(np.signbit(result[is_tiny]), np.signbit(x[is_tiny]))
            expected = np.where(is_tiny & (result == 0), result, expected)
        np.testing.assert_array_equal(result, expected, f"{source} to {name}")


@lp.kernel
def count_comparisons(x: lp.In[lp.f32], counts: lp.Out[lp.u32, 2]):
    i = lp.global_id(0)
    above = lp.u32(0)
    for k in range(x.size):
        above += x[k] > x[i]
    counts[i, 0] = above
    counts[i, 1] = (x[i] > 1.0) + lp.u32(4294967290)
    counts[i, 2] = lp.u32(2147483648) < (x[i] > 1.0)


def test_a_comparison_counts_in_unsigned_sums(device: lp.Device) -> None:
    x = np.arange(4, dtype=np.float32)
    counts = lp.zeros((4, 3), lp.u32, device=device)
    count_comparisons[4](lp.asarray(x, device=device), counts)
    expected = [3 - x, 4294967290 + (x > 1), np.zeros(4)]
    np.testing.assert_array_equal(counts.numpy(), np.transpose(expected).astype(np.uint32))


@lp.kernel
def few_bits_and_back(x: lp.In[lp.u32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[i, 0] = lp.f32(lp.f16((x[i] & 255) << 12))
    out[i, 1] = lp.f32(lp.f16(-lp.i32(x[i] & 15) << 28))
    out[i, 2] = lp.f32(lp.f16(lp.f32(x[i] & 15) * 2.0**40))


@lp.kernel
def halves_and_back(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    half = lp.f16(x[i])
    out[i, 0] = lp.f32(half)
    out[i, 1] = lp.f32(-half)
    out[i, 2] = lp.f32(lp.bitcast(lp.bitcast(half, lp.u16), lp.f16))
    out[i, 3] = lp.f32(lp.f16x2(half, lp.f16(1)).x)
    out[i, 4] = lp.f32x2(lp.f16x2(lp.f32x2(1.0, x[i]))).y
    kept = lp.f16(0)
    for k in range(2):
        if x[i] > k - 1.0:
            kept = lp.f16(x[i] + 0.0)
    out[i, 5] = lp.f32(kept)
    mine = lp.private.array(2, lp.f16)
    mine[i % 2] = half
    out[i, 6] = lp.f32(mine[i % 2])
    out[i, 7] = lp.f32(lp.math.atan(half))


@pytest.mark.parametrize("as_elsewhere", [False, True])
def test_f32_that_becomes_f16_and_f32_again_is_rounded(
    device: lp.Device, as_elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _has(device, "f16"):
        pytest.skip("the device lacks f16")
    if as_elsewhere:
        env = replace(device.target_env, skips_half_rounding=True)
        monkeypatch.setitem(vars(device), "target_env", env)
    x = np.array([0, 1, 2049, 2051, 4097, 32769, 65503, 65519, 65520, 65535, 0.1, 1e-4, np.inf], np.float32)
    out = lp.zeros((len(x), 8), lp.f32, device=device)
    halves_and_back[len(x)](lp.asarray(x, device=device), out)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).astype(np.float32)
    found = out.numpy()
    for way, expected in enumerate([half, -half, half, half, half, half, half]):
        np.testing.assert_array_equal(found[:, way], expected, f"way {way}")
    np.testing.assert_array_equal(found[:, 7], found[:, 7].astype(np.float16), "a function's result")


@pytest.mark.parametrize("as_elsewhere", [False, True])
def test_integers_of_few_bits_may_be_too_large_for_f16(
    device: lp.Device, as_elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _has(device, "f16"):
        pytest.skip("the device lacks f16")
    if as_elsewhere:
        env = replace(device.target_env, skips_half_rounding=True)
        monkeypatch.setitem(vars(device), "target_env", env)
    x = np.array([0, 1, 3, 8, 15, 200, 255], np.uint32)
    out = lp.zeros((len(x), 3), lp.f32, device=device)
    few_bits_and_back[len(x)](lp.asarray(x, device=device), out)
    with np.errstate(over="ignore"):
        columns = [(x & 255) << 12, -(x.astype(np.int32) & 15) << 28, (x & 15).astype(np.float64) * 2.0**40]
        expected = np.stack([np.asarray(c).astype(np.float16) for c in columns], 1).astype(np.float32)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_zeros_and_nan_become_f16_and_f32_again(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not _has(device, "f16"):
        pytest.skip("the device lacks f16")
    env = replace(device.target_env, skips_half_rounding=True)
    monkeypatch.setitem(vars(device), "target_env", env)
    x = np.array([0.0, -0.0, np.nan], np.float32)
    out = lp.zeros((3, 8), lp.f32, device=device)
    halves_and_back[3](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(np.signbit(out.numpy()[:2, 0]), [False, True])
    assert np.isnan(out.numpy()[2, 0])


@lp.kernel
def of_bounded(
    words: lp.In[lp.u32],
    floats: lp.In[lp.f32],
    parts: lp.Out[lp.f32, 2],
    whole: lp.Out[lp.u32, 2],
    signed: lp.Out[lp.i32],
):
    i = lp.global_id(0)
    w = words[i]
    v = floats[i]
    parts[i, 0] = lp.f32(w & 255)
    parts[i, 1] = lp.f32(w >> 8)
    parts[i, 2] = lp.f32(w >> 1)
    parts[i, 3] = lp.f32((w & 65535) * 65535)
    whole[i, 0] = lp.u32(min(max(v, 0.0), 255.0))
    whole[i, 1] = lp.u32(max(v, 0.0))
    whole[i, 2] = lp.u32(min(v, 255.0))
    whole[i, 3] = lp.u32(abs(v))
    signed[i] = lp.i32(min(max(v, -128.0), 127.0))


def test_conversions_of_what_has_bounds(device: lp.Device) -> None:
    floats = _arguments("f32")
    words = np.resize(_arguments("u32"), floats.size)
    parts = lp.zeros((floats.size, 4), device=device)
    whole = lp.zeros((floats.size, 4), lp.u32, device=device)
    signed = lp.zeros(floats.size, lp.i32, device=device)
    of_bounded[floats.size](
        lp.asarray(words, device=device), lp.asarray(floats, device=device), parts, whole, signed
    )
    masked = np.stack([words & 255, words >> 8, words >> 1, (words & 65535) * np.uint32(65535)], axis=1)
    np.testing.assert_array_equal(parts.numpy(), masked.astype(np.float32))
    positive = np.fmax(floats, np.float32(0))
    chosen = (np.fmin(positive, np.float32(255)), positive, np.fmin(floats, np.float32(255)), np.abs(floats))
    expected = np.stack([_expected(v, np.dtype(np.uint32)) for v in chosen], axis=1)
    np.testing.assert_array_equal(whole.numpy(), expected)
    held = np.fmin(np.fmax(floats, np.float32(-128)), np.float32(127))
    np.testing.assert_array_equal(signed.numpy(), _expected(held, np.dtype(np.int32)))
