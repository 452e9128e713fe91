"""Specialization constants are native: one module, a pipeline per value, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SCALE = lp.SpecializationId(lp.f32, 2.5)
OFFSET = lp.SpecializationId(lp.i32, -4)
NEGATE = lp.SpecializationId(lp.bool_, True)
TABLE = lp.SpecializationId(lp.FixedArray[lp.f32, 2, 3], [[1, 2, 3], [4, 5, 6]])
UNSET = lp.SpecializationId(lp.FixedArray[lp.u32, 4])


@lp.kernel
def scaled(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    v = x[i] * SCALE + lp.f32(OFFSET)
    out[i] = -v if NEGATE else v


@lp.kernel
def table_entry(out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    out[i, j] = TABLE[i][j] + TABLE[1, 2]


@lp.kernel
def zero_by_default(out: lp.Out[lp.u32]):
    i = lp.global_id(0)
    out[i] = UNSET[i] + UNSET[3]


def test_defaults_apply_where_nothing_is_set(device):
    out = lp.empty(3, device=device)
    scaled[3](lp.asarray(np.float32([1, 2, 3]), device=device), out)
    np.testing.assert_array_equal(out.numpy(), -(np.float32([1, 2, 3]) * 2.5 - 4))


def test_values_of_every_scalar_kind_reach_the_kernel(device):
    out = lp.empty(3, device=device)
    x = lp.asarray(np.float32([1, 2, 3]), device=device)
    scaled[3].spec({SCALE: 0.5, OFFSET: 7, NEGATE: False})(x, out)
    np.testing.assert_array_equal(out.numpy(), np.float32([1, 2, 3]) * 0.5 + 7)


def test_composite_is_read_with_run_time_indices(device):
    out = lp.empty((2, 3), device=device)
    table_entry[2, 3](out)
    np.testing.assert_array_equal(out.numpy(), np.float32([[1, 2, 3], [4, 5, 6]]) + 6)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    table_entry[2, 3].spec({TABLE: values})(out)
    np.testing.assert_array_equal(out.numpy(), values + 5)


def test_constant_without_default_is_zero(device):
    out = lp.full(4, 9, lp.u32, device=device)
    zero_by_default[4](out)
    assert out.numpy().tolist() == [0, 0, 0, 0]
    zero_by_default[4].spec({UNSET: [1, 2, 3, 2**32 - 1]})(out)
    assert out.numpy().tolist() == [0, 1, 2, 2**32 - 2]


def test_new_value_makes_a_pipeline_and_no_module(device):
    @lp.kernel
    def fresh(out: lp.Out[lp.f32]):
        out[lp.global_id(0)] = SCALE

    out = lp.empty(1, device=device)
    with lp.trace() as trace:
        for value in (1.0, 2.0, 3.0, 2.0, 1.0):
            fresh[1].spec({SCALE: value})(out)
            assert out.numpy().tolist() == [value]
    assert trace.count("module") == 1
    assert trace.count("pipeline") == 3
    assert trace.count("launch") == 5


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        (SCALE, "1"),
        (SCALE, None),
        (OFFSET, 2**31),
        (OFFSET, 1.5),
        (NEGATE, 2),
        (TABLE, [1, 2, 3]),
        (TABLE, np.zeros((3, 2), np.float32)),
        (UNSET, [0, 0, 0, -1]),
    ],
)
def test_value_that_does_not_fit_raises_at_the_call_and_launches_nothing(device, constant, value):
    out = lp.full(3, 5.0, device=device)
    x = lp.asarray(np.float32([1, 2, 3]), device=device)
    with lp.trace() as trace, pytest.raises(lp.KernelArgumentError) as caught:
        scaled[3].spec({constant: value})(x, out)
    assert constant.name in str(caught.value)
    assert trace.count("launch") == 0
    np.testing.assert_array_equal(out.numpy(), np.full(3, 5, np.float32))


@lp.kernel
def reads_no_constant(out: lp.Out[lp.i32]):
    unread = OFFSET + 1
    out[lp.global_id(0)] = 3 if unread == unread else 4


def test_a_constant_that_no_kernel_reads_may_be_set(device):
    out = lp.zeros(2, lp.i32, device=device)
    reads_no_constant[2].spec({OFFSET: 5, SCALE: 2})(out)  # one read and optimised away, one never read
    assert out.numpy().tolist() == [3, 3]
