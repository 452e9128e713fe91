"""``lp.f32x4.load(i, a)`` and ``v.store(i, a)``: vectors of the elements of arrays of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@pytest.mark.behaviour("DT-09")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("element", ["f32", "i32", "f16", "u8"])
def test_vectors_are_loaded_and_stored(device: lp.Device, element: str, size: int):
    kind = lp.Vec[getattr(lp, element), size]

    @lp.kernel
    def twice_and_back_to_front(x: lp.In[getattr(lp, element)], y: lp.Out[getattr(lp, element)]):
        i = lp.global_id(0)
        v = kind.load(i, x)
        (v + v).store(4 - i, y)

    values = (np.arange(5 * size + 1) % 50).astype(kind.element.dtype)
    y = lp.full(5 * size + 1, 99, kind.element, device=device)
    try:
        twice_and_back_to_front[5](lp.asarray(values, device=device), y)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    expected = 2 * values[:-1].reshape(5, size)[::-1].reshape(-1)
    assert y.numpy().tolist() == [*expected.tolist(), 99]  # and nothing behind them


@lp.kernel(local_size=4)
def turned(it: lp.NdItem[1], x: lp.Array[lp.f32]):
    tile = lp.local.array(16, lp.f32)
    i = it.get_local_id(0)
    lp.f32x4.load(it.get_global_id(0), x).wzyx.store(3 - i, tile)
    it.barrier()
    lp.f32x4.load(i, tile).store(it.get_global_id(), x)


def test_shared_arrays_ids_and_swizzles(device: lp.Device):
    x = lp.asarray(np.arange(32, dtype=np.float32), device=device)
    turned[8](x)
    np.testing.assert_array_equal(x.numpy(), np.arange(32).reshape(2, 16)[:, ::-1].reshape(-1))


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("v.store(i, x)", "LP2039", "'x' is lp.In.* cannot be written"),
        ("lp.f32x4.load(i, out)", "LP2040", "'out' is lp.Out.* cannot be read"),
        ("lp.f32x4.load(0.5, x)", "LP2041", "an offset must be an integer"),
        ("lp.f32x4.load(i)", "LP2045", "takes 2 arguments"),
        ("lp.i32x4.load(i, x)", "LP2033", r"arrays of lp\.i32, found"),
        ("lp.f32x4.load(i, vectors)", "LP2033", r"arrays of lp\.f32, found"),
        ("lp.f32x4.load(i, matrix)", "LP2033", "of one dimension"),
        ("v.load(i, x)", "LP2046", "a type loads and a value stores"),
        ("lp.f32x4.store(i, x)", "LP2046", "a type loads and a value stores"),
    ],
)
def test_wrong_arguments(line: str, code: str, message: str):
    text = f"""import lapilli as lp
@lp.kernel
def k(x: lp.In[lp.f32], out: lp.Out[lp.f32], vectors: lp.Array[lp.f32x4], matrix: lp.Array[lp.f32, 2]):
    i, v = lp.global_id(0), lp.f32x4(1.0)
    {line}
"""
    with pytest.raises(lp.CompileError, match=message) as caught:
        lp.kernel_from_source(text).inspect("ir")
    assert caught.value.code == code
