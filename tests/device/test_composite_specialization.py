"""Specialization constants that are vectors and structs, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Curve:
    steps: lp.u8
    gain: lp.f32 = 2.0
    offset: lp.i32x2
    enabled: lp.bool_
    weights: lp.FixedArray[lp.f32, 3]


SCALE = lp.SpecializationId(lp.f32x3, 1, 2, 3)
CURVE = lp.SpecializationId(Curve, Curve(gain=3.0, offset=(4, 5), weights=[1, 2, 3]))


@lp.kernel
def vectors(out: lp.Out[lp.f32x3]):
    out[lp.global_id(0)] = SCALE * 2.0


@lp.kernel
def structs(out: lp.Out[lp.f32], k: lp.i32):
    curve = CURVE
    if curve.enabled:
        curve.gain += 100.0
    out[0] = curve.gain
    out[1] = curve.weights[k]
    out[2] = lp.f32(curve.offset.x - curve.offset.y)


def test_vector_constants(device):
    assert SCALE.default.tolist() == [1, 2, 3] and [leaf.offset_bytes for leaf in SCALE.leaves] == [0, 4, 8]
    out = lp.zeros(1, lp.f32x3, device=device)
    vectors[1](out)
    np.testing.assert_array_equal(out.numpy(), [[2, 4, 6]])
    vectors[1].spec({SCALE: (5, 6, 7)})(out)
    np.testing.assert_array_equal(out.numpy(), [[10, 12, 14]])


def test_struct_constants_skip_padding(device):
    assert [leaf.offset_bytes for leaf in CURVE.leaves] == [0, 4, 8, 12, 16, 20, 24, 28]
    assert CURVE.size_bytes == 32 and CURVE.default == Curve(0, 3.0, (4, 5), False, [1, 2, 3])
    out = lp.zeros(3, device=device)
    try:
        structs[1](out, 1)
    except lp.KernelNotSupportedError as error:  # the u8 member
        assert "swiftshader" in device.selector, error
        return
    np.testing.assert_array_equal(out.numpy(), [3, 2, -1])
    structs[1].spec({CURVE: Curve(offset=(9, 1), enabled=True, weights=[7, 8, 9])})(out, 2)
    np.testing.assert_array_equal(out.numpy(), [102, 9, 8])
    with pytest.raises(lp.KernelArgumentError, match="expected an instance of it"):
        structs[1].spec({CURVE: 3})(out, 1)


def test_struct_of_words(device):
    pair = lp.struct(type("Pair", (), {"__annotations__": {"a": lp.f32, "b": lp.u32x2}}))
    constant = lp.SpecializationId(pair, pair(1.5, (2, 3)))

    def read(out: lp.Out[lp.f32]):
        out[0] = constant.a + lp.f32(constant.b.y)

    kernel, out = lp.kernel(read), lp.zeros(1, device=device)
    kernel[1](out)
    assert out.numpy()[0] == 4.5
    kernel[1].spec({constant: pair(1.0, (0, 9))})(out)
    assert out.numpy()[0] == 10.0
