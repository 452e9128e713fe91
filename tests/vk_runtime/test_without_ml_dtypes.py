"""bf16 on hosts without ml_dtypes: numbers become its bits, and uint16 are its bits already."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.composite_dtypes import composite_dtype
from lapilli.vk_runtime.dtypes import bfloat16_dtype
from lapilli.vk_runtime.host_data import bfloat16_bits

BITS = {1.5: 0x3FC0, -2: 0xC000, 3: 0x4040, float("inf"): 0x7F80}


@pytest.fixture(autouse=True)
def without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    caches = (bfloat16_dtype, composite_dtype)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize("dtype", [None, np.float16, np.float32, np.float64])
def test_numbers_become_bits(device, dtype):
    values = list(BITS) if dtype is None else np.array(list(BITS), dtype)
    assert lp.asarray(values, lp.bf16, device=device).numpy().tolist() == list(BITS.values())
    vectors = lp.asarray(np.reshape(np.asarray(values), (2, 2)), lp.Vec[lp.bf16, 2], device=device)
    assert vectors.numpy().ravel().tolist() == list(BITS.values())


def test_fills(device):
    assert lp.full(2, 1.5, lp.bf16, device=device).numpy().tolist() == [0x3FC0] * 2
    assert lp.ones(2, lp.bf16, device=device).numpy().tolist() == [0x3F80] * 2
    assert (
        lp.zeros(2, lp.Vec[lp.bf16, 2], device=device).fill([3, 1.5]).numpy().tolist()
        == [[0x4040, 0x3FC0]] * 2
    )
    with pytest.raises(lp.InvalidError, match="does not fit bf16"):
        lp.full(2, 1e39, lp.bf16, device=device)


def test_bits_stay(device):
    array = lp.asarray(np.uint16([0x3FC0, 0xC000]), lp.bf16, device=device)
    assert array.numpy().tolist() == [0x3FC0, 0xC000]
    assert array.copy_from(array.numpy()[::-1].copy()).numpy().tolist() == [0xC000, 0x3FC0]
    with pytest.raises(lp.InvalidError, match=r"the bits of bf16: lp\.asarray\(x, lp\.bf16\)"):
        array.copy_from(np.float32([1, 2]))


def test_rounds_to_nearest_even():
    numbers = np.arange(0x3F80_0000, 0x3F84_0000, 0x1000, np.uint32).view(np.float32)
    kept = bfloat16_bits(numbers).astype(np.uint32) << 16
    distance = np.abs(kept.view(np.float32) - numbers)
    neighbours = (kept + np.uint32(0x1_0000)).view(np.float32), (kept - np.uint32(0x1_0000)).view(np.float32)
    for neighbour in neighbours:
        other = np.abs(neighbour - numbers)
        assert (distance <= other).all() and not (kept[distance == other] >> 16 & 1).any()
    assert np.isnan((bfloat16_bits(np.float32([np.nan])).astype(np.uint32) << 16).view(np.float32)).all()
