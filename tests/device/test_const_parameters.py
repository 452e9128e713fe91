"""`lp.Const` parameters: constants of the code, a new image for each value."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

WEIGHTS = (1, 10, 100, 1000)


@lp.struct
class Window:
    width: lp.i32
    scale: lp.f32


@lp.kernel
def weighted(x: lp.Array[lp.i32], count: lp.Const[lp.i32]):
    values = lp.private.array(count // 2 + 1, lp.i32)
    total = 0
    for k in lp.static_range(count):
        values[0] = WEIGHTS[count - 1] * 0 + WEIGHTS[k]
        total += values[0]
    x[lp.global_id(0)] = total


@pytest.mark.native_only("no images are made")
def test_a_new_value_makes_a_new_image_and_an_old_one_none(device):
    x = lp.zeros(3, lp.i32, device=device)
    images = set()
    for count, expected in ((2, 11), (3, 111), (2, 11), (np.int32(3), 111)):
        with lp.trace() as trace:
            weighted[3](x, count)
        assert x.numpy().tolist() == [expected] * 3
        images |= {e.image for e in trace.events if e.kind == "launch"}
        assert trace.count("pipeline") == trace.count("module") <= 1
    assert len(images) == 2
    with lp.trace() as trace:
        weighted[3](x, 2)
    assert [e.kind for e in trace.events] == ["launch"]


@lp.kernel
def of_every_type(
    x: lp.Array[lp.f32],
    flag: lp.Const[lp.bool_],
    factor: lp.Const[lp.f32] = 0.5,
    *,
    window: lp.Const[Window] = Window(2, 3.0),  # noqa: B008 - constant
    offset: lp.Const[lp.f32x2] = (1.0, 2.0),
    table: lp.Const[lp.FixedArray[lp.i32, 3]] = (1, 2, 3),
):
    i = lp.global_id(0)
    if flag:
        x[i] = factor * window.scale + offset.y + table[i] + window.width
    else:
        x[i] = -1.0


def test_every_kind_of_value_may_be_constant(device):
    x = lp.zeros(3, device=device)
    of_every_type[3](x, True)
    np.testing.assert_array_equal(x.numpy(), [1.5 + 2 + 1 + 2, 1.5 + 2 + 2 + 2, 1.5 + 2 + 3 + 2])
    of_every_type[3](x, flag=True, window=Window(0, 4.0), offset=(0.0, -2.0), table=[0, 0, 7])
    np.testing.assert_array_equal(x.numpy(), [0, 0, 7])
    of_every_type[3](x, False)
    np.testing.assert_array_equal(x.numpy(), [-1, -1, -1])


@lp.kernel
def sign_of_zero(x: lp.Array[lp.u32], value: lp.Const[lp.f32]):
    x[lp.global_id(0)] = lp.bitcast(value, lp.u32)


def test_zero_and_minus_zero_are_two_values(device):
    x = lp.zeros(1, lp.u32, device=device)
    for value, bits in ((0.0, 0), (-0.0, 0x80000000), (1, 0x3F800000)):
        sign_of_zero[1](x, value)
        assert x.numpy()[0] == bits


def test_a_value_that_does_not_fit_names_the_parameter(device):
    x = lp.zeros(3, lp.i32, device=device)
    for value in (1.5, "2", None, 1 << 40, True):
        with pytest.raises(lp.KernelArgumentError, match="kernel 'weighted', argument 'count' \\(2 of 2\\)"):
            weighted[3](x, value)
    with pytest.raises(lp.CompileError, match="at least 1"):
        weighted[3](x, -5)


def test_a_kernel_without_default_has_no_code_before_its_value_is_known():
    with pytest.raises(lp.InvalidError, match=r"'count'.*expected a value, found none"):
        weighted.inspect("ir")
    assert "func.func @of_flag" in of_flag.inspect("ir")


@lp.kernel
def of_flag(x: lp.Array[lp.i32], flag: lp.Const[lp.bool_] = True):
    x[0] = 1 if flag else 2


@lp.kernel
def from_the_end(x: lp.In[lp.i32, 2], y: lp.Out[lp.i32], k: lp.Const[lp.i32]):
    y[0] = x[k, k]
    y[1] = x[0, lp.i32(-3)]
    y[2] = (1, 2, 3)[k]
    y[k] = lp.FixedArray[lp.i32, 3]((4, 5, 6))[k]


from_the_end_of_wide = lp.kernel(index=lp.i64)(from_the_end.function)


@pytest.mark.parametrize("kernel", [from_the_end, from_the_end_of_wide])
@pytest.mark.parametrize("is_debug", [False, True])
def test_a_negative_index_counts_from_the_end(device, kernel, is_debug):
    if kernel is from_the_end_of_wide and not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks vk_int64")
    x = lp.asarray(np.arange(12, dtype=np.int32).reshape(3, 4), device=device)
    y = lp.zeros(6, lp.i32, device=device)
    with lp.config.override(debug=is_debug):
        kernel[1](x, y, -2)
        assert y.numpy().tolist() == [6, 1, 2, 0, 5, 0]


@lp.kernel
def beside_literals(y: lp.Array[lp.i32, 2], narrow: lp.Const[lp.f32], at_run_time: lp.f32):
    for column, value in enumerate((narrow, at_run_time)):
        declared: lp.f32 = 0.1
        y[0, column] = value == 0.1
        y[1, column] = 0.1 <= value < 0.3
        y[2, column] = value in (0.3, 0.1)
        y[3, column] = declared == 0.1 and lp.f32(0.1) == value
        y[4, column] = value > 0.1
        y[5, column] = lp.f32x2(0.1).y != 0.1


def test_literals_take_the_type_of_a_constant_that_they_are_compared_with(device):
    y = lp.zeros((6, 2), lp.i32, device=device)
    beside_literals[1](y, 0.1, 0.1)
    np.testing.assert_array_equal(y.numpy(), [[1, 1], [1, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
