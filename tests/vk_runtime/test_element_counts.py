"""Arrays with more elements than positions of 32 bits reach: refused by their number, not by padding behind them."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.ir.kernel_info import BufferParameter, KernelInfo, LaunchAbi
from lapilli.vk_runtime.element_counts import check_count


def kernel(index_bits: int = 32) -> KernelInfo:
    return KernelInfo(name="k", entry_point="k", parameters=(), abi=LaunchAbi(rank=1, index_bits=index_bits))


def array(dtype: str) -> BufferParameter:
    return BufferParameter(name="x", dtype=dtype, ndim=1, access="read")


@pytest.mark.parametrize("dtype", ["u8", "i8", "bool"])
def test_single_bytes_in_whole_words(dtype):
    """2^31 - 1 of them lie in 2^31 bytes."""
    check_count(kernel(), array(dtype), 1 << 31)
    with pytest.raises(
        lp.KernelArgumentError, match=r"'x': the array has 2,147,483,652 elements.*index=lp\.i64"
    ):
        check_count(kernel(), array(dtype), (1 << 31) + 4)


def test_what_positions_reach():
    check_count(kernel(), array("f32"), (1 << 32) - 4)
    check_count(kernel(64), array("u8"), (1 << 32) - 4)
    check_count(kernel(), None, (1 << 32) - 4)
