"""The kernel dialect: what its verifiers refuse, and how parameters are read."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from lapilli.ir.call_graph import functions
from lapilli.ir.dialects.kernel import (
    GlobalRangeOp,
    KernelParameter,
    kernel_parameters,
    parameters_attribute,
)
from lapilli.ir.errors import Location
from lapilli.ir.parse import IRSyntaxError, parse_module
from lapilli.ir.verify import IRError, verify_module
from lapilli.ir.verify_attributes import verify_attributes


def check(text: str) -> None:
    module = parse_module(text).module
    verify_module(module)
    verify_attributes(module)


def kernel(attributes: str, body: str = "", arguments: str = "%x: memref<?xf32>, %a: i32") -> str:
    return f"func.func @k({arguments}) attributes {{gpu.kernel, {attributes}}} {{ {body} func.return }}"


ARRAY = '{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"}'
SCALAR = '{name = "a", dtype = "i32"}'


def test_a_kernel_with_all_attributes_verifies() -> None:
    check(kernel(f"kernel.parameters = [{ARRAY}, {SCALAR}], kernel.rank = 3 : i32, kernel.masked"))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (f"kernel.parameters = [{ARRAY}]", "one dictionary per argument, 2 here"),
        ('kernel.parameters = ["x", "a"]', "entry 0 of 'kernel.parameters' must be a dictionary"),
        (f"kernel.parameters = [{SCALAR}, {SCALAR}]", "an array has 'ndim' and a memref type"),
        (f"kernel.parameters = [{ARRAY}, {ARRAY}]", "an array has 'ndim' and a memref type"),
        (f"kernel.parameters = [{ARRAY.replace('1 :', '2 :')}, {SCALAR}]", "ndim is 2 : i32"),
        (f"kernel.parameters = [{ARRAY.replace('read', 'peek')}, {SCALAR}]", "unknown access 'peek'"),
        (f"kernel.parameters = [{ARRAY}, {SCALAR.replace('i32', 'int')}]", "unknown dtype 'int'"),
        (f"kernel.parameters = [{ARRAY}, {{name = 3 : i32}}]", "'name' must be a string"),
        (f"kernel.parameters = [{ARRAY}, {{nmae = 3 : i32}}]", "unknown keys ['nmae']"),
        ("kernel.rank = 0 : i32", "'kernel.rank' must be an i32 of 1 to 3"),
        ("kernel.rank = 1 : i64", "'kernel.rank' must be an i32 of 1 to 3"),
        ("kernel.local_size = array<i32: 8, 0>", "1 to 3 positive sizes"),
        ("kernel.local_size = array<i32: 1, 1, 1, 1>", "1 to 3 positive sizes"),
        ("kernel.local_size = array<i64: 8>", "1 to 3 positive sizes"),
        ("kernel.masked = 1 : i32", "no attribute of the kernel dialect"),
        ("kernel.masks", "no attribute of the kernel dialect"),
    ],
)
def test_wrong_attributes_are_refused(attributes: str, message: str) -> None:
    with pytest.raises(IRError) as caught:
        check(kernel(attributes))
    assert message in str(caught.value)


def test_kernel_attributes_stand_on_kernels_only() -> None:
    with pytest.raises(IRError, match=r"may stand on kernels only, found it on func\.func"):
        check("func.func @f() attributes {kernel.masked} { func.return }")


@pytest.mark.parametrize(("rank", "dimension"), [(1, 1), (2, 2), (3, 3), (3, -1)])
def test_global_range_is_of_a_dimension_of_the_range(rank: int, dimension: int) -> None:
    with pytest.raises(IRError, match=f"an i32 of 0 to {rank - 1}"):
        check(kernel(f"kernel.rank = {rank} : i32", f"%n = kernel.global_range {dimension}"))


def test_global_range_of_a_helper_may_have_any_dimension() -> None:
    check("func.func private @f() { %n = kernel.global_range 2  func.return }")


def test_global_range_dimension_is_an_i32() -> None:
    with pytest.raises(IRError, match="found 0 : i64"):
        check(
            kernel(
                "kernel.rank = 1 : i32", '%n = "kernel.global_range"() {dimension = 0 : i64} : () -> index'
            )
        )


def test_parameters_round_trip() -> None:
    parameters = (
        KernelParameter(name="x", dtype="f32", ndim=1, access="write"),
        KernelParameter(name="a", dtype="u32"),
    )
    (function,) = functions(parse_module(kernel("kernel.masked")).module)
    function.attributes["kernel.parameters"] = parameters_attribute(parameters)
    assert kernel_parameters(function) == parameters


def test_foreign_parameters_are_numbered_and_signed() -> None:
    text = kernel(
        "kernel.masked", arguments="%0: memref<?x?xf64>, %1: i1, %2: i16, %3: ui8, %4: index, %5: bf16"
    )
    (function,) = functions(parse_module(text).module)
    found = [(p.name, p.dtype, p.ndim) for p in kernel_parameters(function)]
    assert found == [
        ("arg0", "f64", 2),
        ("arg1", "bool", None),
        ("arg2", "i16", None),
        ("arg3", "u8", None),
        ("arg4", "i32", None),
        ("arg5", "bf16", None),
    ]


def test_foreign_parameter_of_unknown_kind_is_refused() -> None:
    (function,) = functions(parse_module(kernel("kernel.masked", arguments="%0: tuple<i32>")).module)
    with pytest.raises(VerifyException, match=r"needs an entry in 'kernel\.parameters'"):
        kernel_parameters(function)


def test_global_range_prints_what_it_parses() -> None:
    assert str(GlobalRangeOp(2)) == "%0 = kernel.global_range 2"


def test_errors_of_the_text_have_its_position() -> None:
    with pytest.raises(IRSyntaxError) as caught:
        parse_module("func.func @k() {\n  %n = kernel.global_range x\n}", "k.mlir")
    assert caught.value.location == Location("k.mlir", 2, 28)
    assert "    %n = kernel.global_range x\n" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "  \n", "\x00", "func.func @f(", '"', "}", "unknown.op", "%0 = nodialect.op"]
)
def test_text_that_is_no_ir_is_an_error(text: str) -> None:
    with pytest.raises(IRSyntaxError) as caught:
        parse_module(text, "bad.mlir")
    assert str(caught.value).startswith("bad.mlir:1:")


def test_a_long_string_that_is_not_closed_is_an_error() -> None:
    with pytest.raises(IRSyntaxError, match="before closing string literal"):
        parse_module('func.func @f() attributes {a = "' + "x" * 10_000)


def test_an_absurdly_wide_integer_type_is_an_error() -> None:
    with pytest.raises(IRSyntaxError, match=r"k\.mlir:1:19: error: integer types this wide"):
        parse_module("func.func @f(%0 : i99999999999) { func.return }", "k.mlir")


def test_positions_are_those_of_the_operations() -> None:
    parsed = parse_module("module {\n  func.func @f() {\n    func.return\n  }\n}", "p.mlir")
    positions = {op.name: str(place) for op, place in parsed.positions.items()}
    assert positions == {
        "builtin.module": "p.mlir:1:1",
        "func.func": "p.mlir:2:3",
        "func.return": "p.mlir:3:5",
    }


@pytest.mark.parametrize(
    ("number", "fits"), [(2**31 - 1, True), (-(2**31), True), (2**31, False), (5 * 10**9, False)]
)
def test_constants_of_type_index_have_32_bits(number: int, fits: bool) -> None:
    text = kernel("kernel.rank = 1 : i32", f"%c = arith.constant {number} : index")
    if fits:
        check(text)
        return
    with pytest.raises(IRError, match=f"'arith.constant' makes the index {number}"):
        check(text)


@pytest.mark.parametrize(
    "attribute",
    ["kernel.lanes = array<i32: 4>", "kernel.aligned_rows = array<i32: 0>", "kernel.settles = 3 : i32"],
)
def test_what_passes_write_is_in_no_input(attribute: str) -> None:
    with pytest.raises(IRError, match=attribute.partition(" ")[0]):
        check(kernel(f"kernel.rank = 1 : i32, {attribute}"))
