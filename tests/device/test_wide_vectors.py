"""Vectors of 1, 8 and 16 components, which SPIR-V has not: scalars in kernels, arrays in memory."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SIZES = (1, 2, 3, 4, 8, 16)


def values(kind, n: int) -> np.ndarray:
    """Small numbers that every type holds, as (n, components)."""
    count = n * kind.size
    return (np.arange(count) % 7).astype(kind.element.dtype).reshape(n, kind.size)


def run(call) -> None:
    try:
        call()
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.mark.behaviour("DT-05")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("element", ["f16", "f32", "i32", "u8", "f64"])
def test_arithmetic_and_memory(device: lp.Device, element: str, size: int):
    kind = lp.Vec[getattr(lp, element), size]

    @lp.kernel
    def combine(x: lp.In[kind], y: lp.Array[kind], s: getattr(lp, element)):
        i = lp.global_id(0)
        v = x[i] + s * y[i]
        v[size - 1] = v[0]
        y[i] = max(v, x[i])

    x, y = values(kind, 5), values(kind, 5)[::-1].copy()
    array = lp.asarray(y, dtype=kind, device=device)
    assert array.shape == (5,) and array.dtype == np.dtype((kind.element.dtype, (size,)))
    run(lambda: combine[5](lp.asarray(x, dtype=kind, device=device), array, 2))
    expected = x + kind.element.dtype.type(2) * y
    expected[:, -1] = expected[:, 0]
    np.testing.assert_array_equal(array.numpy(), np.maximum(expected, x))  # exact: small integers


@lp.struct
class Cell:
    name: lp.i32
    weights: lp.f32x8


@lp.kernel
def swap(cells: lp.Array[Cell], scale: lp.f32x16, out: lp.Array[lp.f32x8]):
    i = lp.global_id(0)
    w = cells[i].weights
    low = lp.shuffle(scale, scale, (0, 1, 2, 3, 4, 5, 6, 7))
    high = lp.shuffle(scale, scale, (8, 9, 10, 11, 12, 13, 14, 15))
    out[i] = w * low + high
    cells[i].weights[3] = lp.math.dot(w, low)
    out[i].x = w[cells[i].name]


def test_in_structs_arguments_and_shuffles(device: lp.Device):
    cells = np.zeros(3, Cell.dtype)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    cells["name"], cells["weights"] = [5, 0, 7], np.arange(24).reshape(3, 8)
    array, out = lp.asarray(cells, device=device), lp.empty(3, lp.f32x8, device=device)
    scale = np.arange(16, dtype=np.float32)
    swap[3](array, scale, out)
    w, expected = cells["weights"], cells["weights"] * scale[:8] + scale[8:]
    expected[:, 0] = w[range(3), cells["name"]]
    np.testing.assert_array_equal(out.numpy(), expected)  # exact: small integers
    np.testing.assert_array_equal(array.numpy()["weights"][:, 3], w @ scale[:8])


WEIGHTS = lp.SpecializationId(lp.f32x8, (1, 2, 3, 4, 5, 6, 7, 8))


@lp.kernel
def weighted(out: lp.Array[lp.f32]):
    w = WEIGHTS
    out[lp.global_id(0)] = w[0] + 10.0 * w[7]


def test_specialization_constants(device: lp.Device):
    out = lp.zeros(1, device=device)
    weighted[1](out)
    assert out.numpy()[0] == 81
    weighted[1].spec({WEIGHTS: range(8, 0, -1)})(out)
    assert out.numpy()[0] == 18


def test_host_values():
    assert lp.f16x8(1).tolist() == [1] * 8 and lp.f16x16(range(16)).dtype == np.float16
    assert lp.Vec[lp.f16, 8] == lp.f16x8 and repr(lp.f16x16) == "lp.f16x16"
    for wrong in (0, 5, 7, 9, 32, -1):
        with pytest.raises(lp.CompileError, match="1, 2, 3, 4, 8 or 16"):
            lp.Vec[lp.f16, wrong]


def test_arrays_that_kernels_make_hold_shorter_ones():
    @lp.kernel
    def k(out: lp.Array[lp.f32]):
        own = lp.private.array(4, lp.f32x8)
        out[0] = own[0][0]

    with pytest.raises(lp.CompileError, match="vectors of 2 to 4"):
        k.inspect("ir")
    with pytest.raises(lp.CompileError, match="LocalArray"):
        lp.LocalArray[lp.f32x16]
