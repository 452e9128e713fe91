"""``lp.compile_options(spec_constants="emulated")``: the same results through hidden arguments, on every device."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import executable_for
from tests.host_bf16 import require_host_numbers

lp.compile_options(spec_constants="emulated")

pytestmark = pytest.mark.device


@lp.struct
class Curve:
    enabled: lp.bool_
    gain: lp.f32 = 2.0
    offset: lp.i32x2
    weights: lp.FixedArray[lp.f32, 3]


SCALE = lp.SpecializationId(lp.f32, 1.5)
SHIFT = lp.SpecializationId(lp.i32, -7)
NEGATE = lp.SpecializationId(lp.bool_, True)
CURVE = lp.SpecializationId(Curve, Curve(weights=[1, 2, 3]))
TABLE = lp.SpecializationId(lp.FixedArray[lp.u32, 4, 4], np.arange(16).reshape(4, 4))
CURVES = lp.SpecializationId(lp.FixedArray[Curve, 2], [Curve(True, 3.0), Curve(offset=(5, 6))])
LENGTH = lp.SpecializationId(lp.i32, 4)


def bent(v):
    return v * CURVE.gain + lp.f32(CURVE.offset.y) if CURVE.enabled else v


@lp.kernel
def k(x: lp.In[lp.f32], out: lp.Out[lp.f32], more: lp.f32):
    i = lp.global_id(0)
    v = bent(x[i] * SCALE) + lp.f32(SHIFT) + more + CURVE.weights[i % 3] + lp.f32(TABLE[i % 4, 3])
    out[i] = -v if NEGATE else v


def expected(x, values, more):
    get = lambda c: values.get(c, c.default)  # noqa: E731
    curve = get(CURVE)
    v = x * np.float32(get(SCALE))
    if curve.enabled:
        v = v * curve.gain + curve.offset[1]
    i = np.arange(x.size)
    v = v + get(SHIFT) + more + curve.weights[i % 3] + np.asarray(get(TABLE))[i % 4, 3]
    return -v if get(NEGATE) else v


VALUES = (
    (SCALE, 0.25),
    (SHIFT, 2**20),
    (NEGATE, False),
    (CURVE, Curve(True, 3.0, (1, 2), [4, 5, 6])),
    (TABLE, np.full((4, 4), 9)),
)


@pytest.mark.behaviour("SC-11")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_any_set_of_values_in_any_order(device, count):
    x = np.arange(6, dtype=np.float32)
    source, out = lp.asarray(x, device=device), lp.empty(6, device=device)
    for chosen in itertools.islice(itertools.permutations(VALUES, count), 12):
        k[6].spec(dict(chosen))(source, out, 0.5)
        np.testing.assert_allclose(out.numpy(), expected(x, dict(chosen), 0.5), rtol=1e-6)


@pytest.mark.behaviour("SC-11")
def test_values_travel_with_the_arguments_and_share_a_pipeline(device):
    @lp.kernel
    def fresh(out: lp.Out[lp.f32]):
        out[lp.global_id(0)] = SCALE

    out = lp.empty(1, device=device)
    with lp.trace() as trace:
        for value in (1.0, 2.0, 3.0, 1.0):
            fresh[1].spec({SCALE: value})(out)
            assert out.numpy().tolist() == [value]
    assert (trace.count("module"), trace.count("pipeline"), trace.count("launch")) == (1, 1, 4)


def test_the_image_describes_the_hidden_arguments(device):
    image = executable_for(k, 1, device).image
    assert all(constant.is_emulated for constant in image.spec_constants)
    block = image.spec_constant_block
    assert block is not None
    for constant in image.spec_constants:
        start = constant.offset_bytes
        assert block[start : start + constant.size_bytes] == constant.default
    assert type(image).from_bytes(image.to_bytes()) == image
    assert "SpecId" in k.inspect("spirv")  # the local size alone
    assert k.inspect("spirv").count("SpecId") == 3


@pytest.mark.behaviour("SC-11")
def test_array_lengths_stay_native(device):
    @lp.kernel
    def summed(out: lp.Out[lp.i32]):
        kept = lp.private.array(LENGTH, lp.i32)
        for i in range(LENGTH):
            kept[i] = i + SHIFT
        total = 0
        for i in range(LENGTH):
            total += kept[i]
        out[0] = total

    out = lp.zeros(1, lp.i32, device=device)
    for n, shift in ((4, -7), (6, 1), (1, 0)):
        summed[1].spec({LENGTH: n, SHIFT: shift})(out)
        assert out.numpy()[0] == n * shift + n * (n - 1) // 2
    constants = executable_for(summed, 1, device).image.spec_constants
    assert {c.name: c.is_emulated for c in constants} == {"LENGTH": False, "SHIFT": True}


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (lp.i8, -100),
        (lp.u8, 200),
        (lp.i16, -30000),
        (lp.u16, 60000),
        (lp.i64, -(2**40)),
        (lp.u64, 2**63 + 1),
        (lp.f16, 1.5),
        (lp.bf16, -2.5),
        (lp.f64, 0.1),
        (lp.u32, 2**32 - 1),
    ],
)
def test_every_scalar_type(device, dtype, value):
    require_host_numbers(dtype)
    constant = lp.SpecializationId(dtype, 1)

    @lp.kernel
    def read(out: lp.Out[dtype]):
        out[0] = constant

    out = lp.zeros(1, dtype, device=device)
    try:
        read[1](out)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error))
    assert out.numpy()[0] == 1
    read[1].spec({constant: value})(out)
    assert out.numpy()[0] == value


def test_a_misfit_and_a_spec_parameter(device):
    @lp.kernel(local_size="TILE")
    def tiled(out: lp.Out[lp.i32], *, TILE: lp.Spec[lp.i32] = 8):
        out[lp.global_id(0)] = lp.local_range(0) * 100 + TILE

    out = lp.zeros(4, lp.i32, device=device)
    tiled[4](out)
    assert out.numpy().tolist() == [808] * 4
    tiled[4](out, TILE=2)
    assert out.numpy().tolist() == [202] * 4
    with pytest.raises(lp.KernelArgumentError, match="'TILE' has type"):
        tiled[4](out, TILE="2")


@lp.kernel
def of_curves(out: lp.Out[lp.f32]):
    curve = CURVES[lp.global_id(0)]
    out[lp.global_id(0)] = (
        curve.gain + lp.f32(curve.offset.y) + (100.0 if curve.enabled else 0.0) + curve.weights[2]
    )


def test_fixed_arrays_of_structs(device):
    out = lp.zeros(2, lp.f32, device=device)
    of_curves[2](out)
    assert out.numpy().tolist() == [103, 8]
    of_curves[2].spec({CURVES: [Curve(), Curve(True, 1.0, (2, 3), (4, 5, 6))]})(out)
    assert out.numpy().tolist() == [2, 110]
