"""Lengths of a kernel's arrays: evaluated as a driver would, checked before it, kept in images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.errors import InvalidError, KernelNotSupportedError
from lapilli.ir.size_arithmetic import SizeNode, evaluate, signed
from lapilli.spirv.device_image import DeviceImage
from lapilli.vk_runtime.array_sizes import MAX_PRIVATE_BYTES, check_array_sizes
from lapilli.vk_runtime.specialization import spec_entries

TILE = lp.SpecializationId(lp.i32, 8)


@lp.kernel(local_size=8)
def shared(out: lp.Array[lp.f32]):
    a = lp.local.array((TILE, TILE // 3), lp.f32)
    b = lp.private.array(TILE - 1, lp.i32)
    a[0, 0] = b[0]
    out[0] = a[0, 0]


def _image() -> DeviceImage:
    (image,) = compile_kernels(cast("list[Any]", [shared]))
    return DeviceImage.from_bytes(image.to_bytes())


def _check(tile: int, limit: int = 1 << 15) -> None:
    image = _image()
    values = {image.spec_constants[0].symbol: tile.to_bytes(4, "little", signed=True)}
    ids = image.kernels[0].abi.local_size_spec_ids
    assert ids is not None
    entries = spec_entries(image.spec_constants, values, (ids, (8, 1, 1)))
    check_array_sizes(image.kernels[0], image.spec_constants, entries, limit, "toy")


def test_sizes_within_the_limits_are_taken():
    _check(8)
    _check(3, limit=3 * 1 * 4)


@pytest.mark.parametrize(("tile", "spelled", "length"), [(2, "TILE // 3", 0), (-1, "TILE", -1)])
def test_length_below_one_names_constant_expression_and_value(tile: int, spelled: str, length: int):
    with pytest.raises(InvalidError, match=f"the length {spelled} of an array is {length}.*TILE is {tile}"):
        _check(tile)


def test_arrays_of_other_sources_are_named_by_their_bytes():
    kernel = _image().kernels[0]
    eight = replace(kernel.local_arrays[0], lengths=(0,), element_bytes=400, spelled=())
    foreign = replace(kernel, local_arrays=(eight,), size_nodes=(SizeNode(opcode="constant", operands=(8,)),))
    with pytest.raises(KernelNotSupportedError, match=r": an array of 3200 bytes \("):
        check_array_sizes(foreign, (), (), 1024, "toy")


def test_total_over_the_limit_names_need_and_limit():
    with pytest.raises(
        KernelNotSupportedError, match="needs 192 bytes of shared memory; device 'toy' has 191"
    ) as caught:
        _check(12, limit=12 * 4 * 4 - 1)
    assert "an array of TILE = 12 × TILE // 3 = 4 elements of 4 bytes (" in str(caught.value)
    assert str(caught.value).endswith("; TILE is 12")
    assert caught.value.location is not None and caught.value.location.line == 23


def test_private_arrays_have_a_limit():
    tile = MAX_PRIVATE_BYTES // 4 + 2
    with pytest.raises(KernelNotSupportedError, match="private memory"):
        _check(tile, limit=1 << 62)


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("SDiv", -7, 2, -3),
        ("SRem", -7, 2, -1),
        ("SMod", -7, 2, 1),
        ("SDiv", 7, 0, 0),
        ("UMod", 7, 0, 0),
        ("IMul", 1 << 20, 1 << 13, 0),
        ("ShiftRightArithmetic", -8, 1, -4),
        ("ShiftRightLogical", -1, 31, 1),
        ("ULessThan", 1, -1, 1),
        ("SLessThan", 1, -1, 0),
    ],
)
def test_arithmetic_is_that_of_32_bits(opcode: str, a: int, b: int, expected: int):
    nodes = [
        SizeNode(opcode="constant", operands=(a,)),
        SizeNode(opcode="spec_constant", operands=(5,)),
        SizeNode(opcode=opcode, operands=(0, 1)),
    ]
    assert signed(evaluate(nodes, {5: b})[2]) == expected


@pytest.mark.parametrize(
    ("opcode", "a", "b", "bits", "expected"),
    [
        ("SDiv", -7, 2, 8, -3),
        ("IMul", 100, 2, 8, -56),
        ("ULessThan", 1, -1, 16, 1),
        ("SLessThan", -1, 1, 64, 1),
        ("ShiftLeftLogical", 1, 40, 64, 1 << 40),
        ("ShiftRightArithmetic", -8, 1, 8, -4),
        ("ShiftRightArithmetic", -8, -1, 64, -1),
    ],
)
def test_arithmetic_is_that_of_the_bits(opcode: str, a: int, b: int, bits: int, expected: int):
    nodes = [
        SizeNode(opcode="constant", operands=(a,), bits=bits),
        SizeNode(opcode="spec_constant", operands=(5,), bits=bits),
        SizeNode(opcode=opcode, operands=(0, 1), bits=32 if "Less" in opcode else bits),
    ]
    assert signed(evaluate(nodes, {5: b})[2], bits) == expected


@pytest.mark.parametrize(
    ("opcode", "value", "bits", "to", "expected"),
    [
        ("SConvert", -3, 8, 32, (1 << 32) - 3),
        ("UConvert", -3, 8, 32, 253),
        ("SConvert", (1 << 32) + 8, 64, 32, 8),
    ],
)
def test_conversions_extend_and_cut(opcode: str, value: int, bits: int, to: int, expected: int):
    nodes = [
        SizeNode(opcode="spec_constant", operands=(0,), bits=bits),
        SizeNode(opcode=opcode, operands=(0,), bits=to),
    ]
    assert evaluate(nodes, {0: value})[1] == expected
