"""Arguments: what is accepted without loss, and how everything else is refused by name."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.kernel_info import BufferParameter, KernelInfo, LaunchAbi, ScalarParameter
from lapilli.vk_runtime.argument_packer import ArgumentPacker
from lapilli.vk_runtime.arguments import ArgumentChecker
from lapilli.vk_runtime.scalars import scalar_value

from . import kernels


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (3, "i32", 3),
        (np.uint8(3), "i64", 3),
        (np.array(7), "u8", 7),
        (-128, "i8", -128),
        (2**64 - 1, "u64", 2**64 - 1),
        (True, "bool", 1),
        (np.bool_(False), "bool", 0),
        (3, "f32", 3.0),
        (np.float64(0.5), "f32", 0.5),
        (np.float16(0.5), "f64", 0.5),
        (float("inf"), "f32", float("inf")),
        (1.5, "f16", 1.5),
        (1.0, "bf16", 0x3F80),
        (1.00390625, "bf16", 0x3F80),  # a tie goes to even
        (float("-inf"), "bf16", 0xFF80),
    ],
)
def test_scalars_that_fit(value, dtype, expected):
    assert scalar_value(value, dtype) == expected


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (128, "i8"),
        (-1, "u32"),
        (2**32, "u32"),
        (1.0, "i32"),
        (True, "i32"),
        (True, "f32"),
        (1, "bool"),
        ("3", "f32"),
        (None, "i32"),
        (1e39, "f32"),
        (1e5, "f16"),
        (10**400, "f64"),
        (1 + 2j, "f32"),
        (np.zeros(2), "f32"),
    ],
)
def test_scalars_that_do_not(value, dtype):
    with pytest.raises(ValueError):
        scalar_value(value, dtype)


def test_nan_keeps_being_nan():
    assert scalar_value(float("nan"), "bf16") & 0x7FFF > 0x7F80
    assert np.isnan(scalar_value(np.float32("nan"), "f32"))


@pytest.fixture
def check(device):
    _, kernel = kernels.saxpy()
    return lambda *args: ArgumentChecker("saxpy", kernel.parameters).check(args, device)


@pytest.fixture
def x(device):
    return lp.zeros(4, device=device)


def refused(check, args, *words):
    with pytest.raises(lp.KernelArgumentError) as caught:
        check(*args)
    for word in ("saxpy", *words):
        assert word in str(caught.value), f"{word!r} not in {caught.value}"


def test_good_arguments_pass(check, x, device):
    check(2.0, x, lp.zeros(4, device=device))
    check(np.float32(2), x, lp.zeros(4, device=device))


def test_numbers_of_arguments(check, x):
    refused(check, (1.0, x), "missing: 'y'", "3 arguments")
    refused(check, (1.0, x, x, x), "1 too many")


def test_numpy_array_is_told_to_use_asarray(check, x):
    refused(check, (1.0, np.zeros(4, np.float32), x), "'x'", "Array[f32]", "float32", "lp.asarray(…)")
    refused(check, (1.0, np.zeros(4), x), "'x'", "Array[f32]", "float64", "lp.asarray(…, lp.f32)")


def test_dtype_rank_and_kind(check, x, device):
    refused(
        check,
        (1.0, lp.zeros(4, "f64", device=device), x),
        "'x'",
        "Array[f32]",
        "Array[f64]",
        "lp.asarray(x, lp.f32)",
    )
    refused(check, (1.0, lp.zeros((2, 2), device=device), x), "'x'", "Array[f32, 2]")
    refused(check, (1.0, 3, x), "'x'", "int 3")
    refused(check, (x, x, x), "'a'", "f32")
    refused(check, ("1", x, x), "'a'", "f32", "str")


def test_released_array(check, x, device):
    y = lp.zeros(4, device=device)
    y.release()
    refused(check, (1.0, x, y), "'y'", "released")


def test_array_of_another_device(check, x, device):
    other = next((d for d in lp.devices() if d is not device), None)
    if other is None:
        pytest.skip("one device only")
    refused(check, (1.0, x, lp.zeros(4, device=other)), "'y'", other.selector, device.selector)


def test_in_and_written_array_may_not_be_one(device, x):
    """lp.In overlaps with nothing that is written; plain arrays may be one."""
    declared = [
        BufferParameter(name="x", dtype="f32", ndim=1, access="read"),
        BufferParameter(name="y", dtype="f32", ndim=1, access="read_write"),
    ]

    def check(*args):
        ArgumentChecker("saxpy", declared).check(args, device)

    refused(check, (x, x), "'x'", "'y'", "same array")
    ArgumentChecker("k", [replace(p, may_alias=True) for p in declared]).check((x, x), device)
    ArgumentChecker("k", [replace(p, access="read") for p in declared]).check((x, x), device)


def test_block_is_packed_in_offset_order_and_widened():
    """Fields may lie in any order; small integers are 32 bits wide, f16 the low half of them."""
    kernel = KernelInfo(
        name="k",
        entry_point="k",
        parameters=(
            ScalarParameter(name="d", dtype="f64", offset_bytes=24),
            BufferParameter(name="x", dtype="f32", ndim=2, access="read", extent_offsets_bytes=(None, 8)),
            ScalarParameter(name="unused", dtype="i32", offset_bytes=None),
            ScalarParameter(name="b", dtype="i8", offset_bytes=12),
            ScalarParameter(name="h", dtype="f16", offset_bytes=16),
        ),
        abi=LaunchAbi(
            rank=2, range_offsets_bytes=(None, 4), base_offsets_bytes=(0, None), argument_block_bytes=36
        ),
    )
    packer = ArgumentPacker(kernel)
    array = type("Fake", (), {"_shape": (3, 7)})()
    values = packer.values((0.5, array, 99, -2, 1.5), ([], [0.5, 99, -2, 1.5]))
    memory = bytearray(36)
    assert (packer.range_dimensions, packer.base_dimensions) == ((1,), (0,))
    packer.pack_into(memory, 0, 640, 11, *values)
    assert memory == struct.pack("<iiiiexxxxxxdxxxx", 11, 640, 7, -2, 1.5, 0.5)


def test_block_that_contradicts_itself_is_refused():
    def kernel(offset, size):
        return KernelInfo(
            name="k",
            entry_point="k",
            parameters=(ScalarParameter(name="a", dtype="f64", offset_bytes=offset),),
            abi=LaunchAbi(rank=1, range_offsets_bytes=(4,), argument_block_bytes=size),
        )

    with pytest.raises(lp.KernelArgumentError, match="overlapping"):
        ArgumentPacker(kernel(0, 16))
    with pytest.raises(lp.KernelArgumentError, match="beyond"):
        ArgumentPacker(kernel(8, 12))
