"""Wrong launches raise the documented class, name what is wrong, and leave nothing half done."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def add(x: lp.In[lp.f32], n: lp.u32, y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    if lp.u32(i) < n:
        y[i] += x[i]


@pytest.fixture
def arrays(device):
    return lp.zeros(8, device=device), lp.zeros(8, device=device)


def expect(call, error, *words):
    with lp.trace() as trace, pytest.raises(error) as caught:
        call()
    assert trace.count("launch") == 0
    for word in words:
        assert word in str(caught.value), f"{word!r} not in {caught.value}"
    return caught.value


def test_missing_argument_is_named(arrays):
    x, _ = arrays
    error = expect(lambda: add[8](x, 8), lp.KernelArgumentError, "add", "'y'")
    assert isinstance(error, TypeError)
    assert error.errc is lp.Errc.KERNEL_ARGUMENT


def test_extra_argument(arrays):
    x, y = arrays
    expect(lambda: add[8](x, 8, y, 1), lp.KernelArgumentError, "add", "3", "4")


def test_unknown_and_repeated_names(arrays):
    x, y = arrays
    expect(lambda: add[8](x, 8, z=y), lp.KernelArgumentError, "'z'")
    expect(lambda: add[8](x, 8, y, x=x), lp.KernelArgumentError, "'x'")


@lp.kernel
def of_points(points: lp.In[lp.f32x3]):
    pass


def test_rows_where_vectors_belong(device):
    rows = lp.zeros((8, 3), device=device)
    expect(lambda: of_points[8](rows), lp.KernelArgumentError, "'points'", "lp.asarray(x, lp.f32x3)")
    with pytest.raises(lp.KernelArgumentError) as caught:
        of_points[8](lp.zeros((8, 4), device=device))
    assert "makes vectors" not in str(caught.value)


def test_keywords_work(arrays):
    x, y = arrays
    x.fill(2.0)
    add[8](n=3, y=y, x=x)
    assert y.numpy().tolist() == [2.0] * 3 + [0.0] * 5


def test_ndarray_where_an_array_belongs(arrays):
    _, y = arrays
    expect(lambda: add[8](np.zeros(8, np.float32), 8, y), lp.KernelArgumentError, "'x'", "lp.asarray")


def test_array_where_a_scalar_belongs(arrays):
    x, y = arrays
    expect(lambda: add[8](x, x, y), lp.KernelArgumentError, "'n'", "u32")


def test_wrong_dtype_and_rank(arrays, device):
    _, y = arrays
    ints = lp.zeros(8, lp.i32, device=device)
    expect(lambda: add[8](ints, 8, y), lp.KernelArgumentError, "'x'", "f32", "i32")
    plane = lp.zeros((2, 4), device=device)
    expect(lambda: add[8](plane, 8, y), lp.KernelArgumentError, "'x'", "1", "2")


@pytest.mark.parametrize("value", [-1, 2**32, 1.0, "8", None])
def test_scalar_out_of_its_type(arrays, value):
    x, y = arrays
    expect(lambda: add[8](x, value, y), lp.KernelArgumentError, "'n'", "u32")


@pytest.mark.parametrize("range_", [-1, (-1, 4), 2**31, 1.5, "8", (1, 1, 1, 1), None])
def test_impossible_range(arrays, range_):
    x, y = arrays
    error = expect(lambda: add[range_](x, 8, y), lp.NdRangeError)
    assert isinstance(error, ValueError)
    assert error.errc is lp.Errc.ND_RANGE


@lp.kernel
def plane(y: lp.Array[lp.f32]):
    y[lp.global_id(0) * 4 + lp.global_id(1)] = 1.0


@pytest.mark.parametrize("range_", [np.array([2, 4]), ((2, 4),), [2, "4"], lp.NdRange(((2, 4),), (1, 1))])
def test_what_is_no_range_is_no_fault_of_the_kernel(arrays, range_):
    _, y = arrays  # a launch of one dimension would not even compile
    expect(lambda: plane[range_](y), lp.NdRangeError, "range", "integers")


def test_local_size_must_divide_and_not_be_zero(arrays):
    x, y = arrays
    expect(lambda: add[lp.NdRange(8, 3)](x, 8, y), lp.NdRangeError, "8", "3")
    expect(lambda: add[lp.NdRange(8, 0)](x, 8, y), lp.NdRangeError, "0")
    expect(lambda: add[lp.NdRange((8, 8), 4)](x, 8, y), lp.NdRangeError)


def test_local_size_over_the_limit(arrays, device):
    x, y = arrays
    limit = device.info.max_work_group_size
    n = limit * 2
    expect(
        lambda: add[lp.NdRange(n, n)](x, 8, y),
        lp.KernelNotSupportedError,
        str(limit),
        str(n),
        device.name,
    )


def test_arguments_are_checked_before_the_range(arrays):
    x, _ = arrays
    expect(lambda: add[-1](x, 8), lp.KernelArgumentError)


def test_read_and_write_of_one_array_must_not_overlap(device):
    @lp.kernel
    def copy(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = x[i]

    x = lp.zeros(8, device=device)
    expect(lambda: copy[8](x, x), lp.KernelArgumentError, "'x'", "'y'")


def test_call_without_a_range(arrays):
    x, y = arrays
    expect(lambda: add(x, 8, y), lp.InvalidError, "add[")


def test_released_array(arrays):
    x, y = arrays
    x.release()
    expect(lambda: add[8](x, 8, y), lp.KernelArgumentError, "'x'")


@pytest.mark.device
def test_array_of_another_device():
    devices = lp.devices()
    if len(devices) < 2:
        pytest.skip("needs two Vulkan devices")
    queue = lp.Queue(devices[0])
    x, y = lp.zeros(8, device=devices[1]), lp.zeros(8, device=devices[0])
    expect(lambda: add[8].on(queue)(x, 8, y), lp.KernelArgumentError, "'x'", devices[1].selector)


def test_a_failed_launch_leaves_the_kernel_usable(arrays, device):
    x, y = arrays
    expect(lambda: add[-1](x, 8, y), lp.NdRangeError)
    add[8](lp.ones(8, device=device), 8, y)
    np.testing.assert_array_equal(y.numpy(), np.ones(8, np.float32))


def test_work_item_functions_are_refused_on_the_host():
    expect(lambda: lp.global_id(0), lp.InvalidError, "global_id", "kernel")


@lp.kernel
def copy_in_to_out(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = x[i]


@lp.kernel
def add_twice(x: lp.Array[lp.f32], y: lp.Array[lp.f32], z: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = x[i] + 1.0
    z[i] = x[i] + 1.0


def test_overlap_is_checked_at_every_launch(device):
    x, y = lp.zeros(8, device=device), lp.zeros(8, device=device)
    copy_in_to_out[8](x, y)
    expect(lambda: copy_in_to_out[8](x, x), lp.KernelArgumentError, "'x'", "'y'")


def test_plain_arrays_may_be_the_same_memory(device):
    x, z = lp.zeros(8, device=device), lp.zeros(8, device=device)
    add_twice[8](x, x, z)  # the second read of x sees the first write
    assert x.numpy().tolist() == [1] * 8
    assert z.numpy().tolist() == [2] * 8


@lp.kernel
def takes_bools(flags: lp.Array[lp.bool_], flag: lp.bool_):
    flags[0] = flag


def test_bools_are_named_as_programs_write_them(device):
    flags = lp.zeros(2, lp.bool_, device=device)
    expect(lambda: takes_bools[1](flags, 1), lp.KernelArgumentError, "'flag'", "expected lp.bool_")
    for wrong in ([True], np.zeros(2, np.int32), 1, lp.zeros(2, device=device)):
        expect(lambda wrong=wrong: takes_bools[1](wrong, True), lp.KernelArgumentError, ", lp.bool_)")
    expect(lambda: takes_bools[1](flags, flags), lp.KernelArgumentError, "'flag'", "lp.Array[lp.bool_]")
