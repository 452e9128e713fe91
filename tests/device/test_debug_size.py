"""What checks of debug mode cost: a few instructions each, and none where the code proves or has checked the same."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp


@lp.kernel(debug=True)
def stencil(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]


@lp.kernel
def plain_stencil(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]


def _launched(kernel: lp.Kernel, device: lp.Device) -> str:
    arrays = [lp.ones((4, 6), device=device) for _ in range(2)]
    kernel[4, 6](*arrays).wait()
    return kernel.inspect("spirv")


def test_a_checked_kernel_is_at_most_three_times_as_long(device) -> None:
    checked, plain = _launched(stencil, device), _launched(plain_stencil, device)
    assert len(checked.splitlines()) <= 3 * len(plain.splitlines())
    # Six rows and columns of x, two of y, and NaN.
    assert checked.count("OpFunctionCall") == 9
    assert checked.count("OpAtomicCompareExchange") == 1


def test_what_a_loop_proves_is_not_checked(device) -> None:
    @lp.kernel(debug=True)
    def sums(x: lp.In[lp.i32, 2], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        total = 0
        for k in range(x.shape[1]):
            total += x[i, k] * x[i, k]
        y[i] = total

    @lp.kernel(debug=True)
    def too_far(x: lp.In[lp.i32, 2], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        total = 0
        for k in range(x.shape[1] + 1):
            total += x[i, k]
        y[i] = total

    x, y = lp.ones((3, 4), lp.i32, device=device), lp.zeros(3, lp.i32, device=device)
    sums[3](x, y).wait()
    assert y.numpy().tolist() == [4, 4, 4]
    optimised = sums.inspect("split")
    assert "dimension 0 of 'x'" in optimised
    assert "dimension 1 of 'x'" not in optimised
    with pytest.raises(
        lp.KernelTrap, match="index 4 is out of range of dimension 1 of 'x', whose extent is 4"
    ):
        too_far[3](x, y).wait()


def test_the_first_failure_of_a_work_item_is_told(device) -> None:
    @lp.kernel(debug=True)
    def several(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        total = 0
        for k in range(8):
            total += x[k]  # element 5 is the first that there is not
            assert k < 7, f"round {k}"
        y[lp.global_id(0)] = total // (total - total)

    x, y = lp.asarray(np.arange(5, dtype=np.int32), device=device), lp.zeros(1, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap) as raised:
        several[1](x, y).wait()
    assert raised.value.values == (5, 5)
    assert raised.value.location.line == several.function.__code__.co_firstlineno + 4


def test_values_of_64_and_32_bits_in_one_message(device) -> None:
    if lp.Aspect.VK_INT64 not in device.aspects:
        pytest.skip("the device lacks integers of 64 bits")

    @lp.kernel
    def mixed(a: lp.i64, b: lp.i32, c: lp.u64):
        assert a == 0, f"{a} {b} {c} {b + 1}"

    with pytest.raises(lp.KernelTrap, match=r"-4294967297 -7 18446744073709551615 -6; a is -4294967297"):
        mixed[1](-(2**32) - 1, -7, 2**64 - 1).wait()


def test_a_loop_without_rounds_checks_nothing(device) -> None:
    @lp.kernel(debug=True)
    def sums(i: lp.i32, n: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        total = 0
        for _ in range(n):
            total += x[i]
        y[lp.global_id(0)] = total

    x, y = lp.ones(4, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    sums[1](9, 0, x, y).wait()
    sums[1](3, 2, x, y).wait()
    assert y.numpy()[0] == 2
    with pytest.raises(lp.KernelTrap, match="index 9"):
        sums[1](9, 1, x, y).wait()
