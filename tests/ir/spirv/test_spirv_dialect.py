"""The spirv dialect: every operation prints and parses, and its verifier refuses what is wrong."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from lapilli.ir.context import make_context
from lapilli.ir.dialects.spirv import SPIRV_OPS
from lapilli.ir.verify import IRError, verify_module

from .operations_table import IMAGES, POINTERS, STRUCTURED, TABLE

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "spirv"
GOLDENS = sorted(GOLDEN.glob("*.mlir"))


def parse(text: str) -> Operation:
    return Parser(make_context(), text).parse_op()


def generic(op: Operation) -> str:
    output = StringIO()
    Printer(output, print_generic_format=True).print_op(op)
    return output.getvalue()


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_golden_round_trips(path: Path) -> None:
    text = path.read_text().rstrip("\n")
    module = parse(text)
    verify_module(module)
    assert text == generic(module)


def test_goldens_cover_every_operation() -> None:
    covered = {op.name for path in GOLDENS for op in parse(path.read_text()).walk()}
    covered |= {f"spirv.{row[0]}" for row in TABLE} | STRUCTURED | POINTERS | IMAGES
    assert set() == set(SPIRV_OPS) - covered


@pytest.mark.parametrize(
    "type_",
    [
        "!spirv.ptr<f32, StorageBuffer>",
        "!spirv.ptr<!spirv.ptr<i32, PhysicalStorageBuffer>, Function>",
        "!spirv.array<3 x f32>",
        "!spirv.array<3 x !spirv.array<2 x vector<4xf32>, stride=16>, stride=32>",
        "!spirv.rtarray<f32>",
        "!spirv.rtarray<f32, stride=4>",
        "!spirv.struct<()>",
        "!spirv.struct<(f32, i32)>",
        "!spirv.struct<(f32 [0], i32 [4])>",
        "!spirv.struct<(f32 [0, NonWritable], i32 [4, NonReadable, Volatile])>",
        "!spirv.struct<(f32 [NonWritable])>",
        "!spirv.struct<Name, (f32 [0, MatrixStride=16])>",
    ],
)
def test_type_round_trips(type_: str) -> None:
    assert type_ == str(Parser(make_context(), type_).parse_type())


@pytest.mark.parametrize(
    "attribute",
    [
        "#spirv.storage_class<PhysicalStorageBuffer>",
        "#spirv.scope<QueueFamily>",
        "#spirv.memory_semantics<None>",
        "#spirv.memory_semantics<AcquireRelease|WorkgroupMemory>",
        "#spirv.memory_access<Volatile|Aligned>",
        "#spirv.function_control<Inline|Pure>",
        "#spirv.execution_mode<SignedZeroInfNanPreserve>",
        "#spirv.vce<v1.3, [Shader, Int64], [SPV_KHR_storage_buffer_storage_class]>",
        "#spirv.vce<v1.0, [], []>",
    ],
)
def test_attribute_round_trips(attribute: str) -> None:
    assert attribute == str(Parser(make_context(), attribute).parse_attribute())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!spirv.ptr<f32, Nowhere>", "Nowhere is no StorageClass; expected one of UniformConstant"),
        ("!spirv.array<0 x f32>", "array length is at least 1"),
        ("!spirv.struct<(f32 [0], i32)>", "either all members of a struct have an offset or none"),
    ],
)
def test_bad_type_is_refused(text: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        Parser(make_context(), text).parse_type()
    assert isinstance(caught.value, ParseError) or "VerifyException" in type(caught.value).__name__


ARGUMENTS = (
    "%i: i32, %l: i64, %f: f32, %d: f64, %c: i1, %v: vector<4xf32>, %w: vector<3xi32>, "
    "%p: !spirv.ptr<f32, Function>, %q: !spirv.ptr<f32, Input>, "
    "%s: !spirv.ptr<!spirv.struct<(f32, i32)>, Function>, %a: !spirv.ptr<!spirv.array<3 x f32>, Function>, "
    "%x: !spirv.array<3 x f32>, %h: bf16, %b: i8"
)


def function_with(operation: str) -> str:
    types = ", ".join(argument.split(": ", 1)[1] for argument in _split_arguments())
    return f"""
"spirv.module"() <{{addressing_model = #spirv.addressing_model<Logical>,
                   memory_model = #spirv.memory_model<GLSL450>}}> ({{
  "spirv.SpecConstant"() <{{default_value = 1.0 : f32, sym_name = "sc"}}> : () -> ()
  "spirv.GlobalVariable"() <{{sym_name = "g", type = !spirv.ptr<f32, Workgroup>}}> : () -> ()
  "spirv.func"() <{{function_control = #spirv.function_control<None>, function_type = ({types}) -> (),
                  sym_name = "k"}}> ({{
  ^bb0({ARGUMENTS}):
    %zero = "spirv.Constant"() <{{value = 0 : i32}}> : () -> i32
    %three = "spirv.Constant"() <{{value = 3 : i32}}> : () -> i32
    {operation}
    "spirv.Return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()"""


def _split_arguments() -> list[str]:
    return ["%" + part.rstrip(", ") for part in ARGUMENTS.split("%")[1:]]


REFUSED = [
    ('"spirv.IAdd"(%i, %l) : (i32, i64) -> i32', "second operand to be of type i32, found i64"),
    ('"spirv.IAdd"(%f, %f) : (f32, f32) -> f32', "operands to be an integer of 8, 16, 32 or 64 bits"),
    ('"spirv.FAdd"(%h, %h) : (bf16, bf16) -> bf16', "bf16 has no arithmetic"),
    ('"spirv.FAdd"(%f, %f) : (f32, f32) -> f64', "result to be of type f32, found f64"),
    ('"spirv.FNegate"(%i) : (i32) -> i32', "operand to be a float"),
    ('"spirv.GL.Sin"(%d) : (f64) -> f64', "a float of 16 or 32 bits"),
    ('"spirv.GL.Fma"(%f, %f, %d) : (f32, f32, f64) -> f32', "third operand to be of type f32"),
    ('"spirv.IEqual"(%i, %i) : (i32, i32) -> i32', "result to be i1"),
    ('"spirv.SLessThan"(%w, %w) : (vector<3xi32>, vector<3xi32>) -> i1', "result to have 3 components"),
    ('"spirv.LogicalAnd"(%i, %i) : (i32, i32) -> i32', "operands to be i1"),
    ('"spirv.Select"(%i, %f, %f) : (i32, f32, f32) -> f32', "condition to be i1"),
    ('"spirv.ShiftLeftLogical"(%i, %f) : (i32, f32) -> i32', "shift count to be an integer"),
    ('"spirv.SConvert"(%i) : (i32) -> i32', "operand and result of different widths"),
    ('"spirv.ConvertFToS"(%i) : (i32) -> i32', "operand to be a float"),
    ('"spirv.Bitcast"(%i) : (i32) -> f64', "equally many bits, found 32 in i32 and 64 in f64"),
    ('"spirv.Bitcast"(%i) : (i32) -> i32', "two different types"),
    ('"spirv.Load"(%p) : (!spirv.ptr<f32, Function>) -> i32', "result to be of type f32, found i32"),
    ('"spirv.Load"(%f) : (f32) -> f32', "expects a !spirv.ptr, found f32"),
    (
        '"spirv.Load"(%p) <{memory_access = #spirv.memory_access<Aligned>}> : '
        "(!spirv.ptr<f32, Function>) -> f32",
        "alignment if and only if",
    ),
    ('"spirv.Store"(%p, %i) : (!spirv.ptr<f32, Function>, i32) -> ()', "stored value to be of type f32"),
    ('"spirv.Store"(%q, %f) : (!spirv.ptr<f32, Input>, f32) -> ()', "cannot write storage class Input"),
    (
        '"spirv.AccessChain"(%s, %i) : (!spirv.ptr<!spirv.struct<(f32, i32)>, Function>, i32) -> '
        "!spirv.ptr<f32, Function>",
        "has to be a spirv.Constant",
    ),
    (
        '"spirv.AccessChain"(%a, %three) : (!spirv.ptr<!spirv.array<3 x f32>, Function>, i32) -> '
        "!spirv.ptr<f32, Function>",
        r"index 0 \(3\) selects nothing in !spirv.array<3 x f32>",
    ),
    (
        '"spirv.AccessChain"(%s, %zero) : (!spirv.ptr<!spirv.struct<(f32, i32)>, Function>, i32) -> '
        "!spirv.ptr<i32, Function>",
        "result to be of type !spirv.ptr<f32, Function>",
    ),
    (
        '"spirv.Variable"() <{storage_class = #spirv.storage_class<Private>}> : () -> '
        "!spirv.ptr<f32, Private>",
        "is in storage class Function",
    ),
    (
        '"spirv.CompositeExtract"(%v) <{indices = [4 : i32]}> : (vector<4xf32>) -> f32',
        r"index 0 \(4\) selects nothing",
    ),
    (
        '"spirv.CompositeExtract"(%x) <{indices = [0 : i32]}> : (!spirv.array<3 x f32>) -> i32',
        "result to be of type f32",
    ),
    (
        '"spirv.CompositeInsert"(%i, %v) <{indices = [0 : i32]}> : (i32, vector<4xf32>) -> vector<4xf32>',
        "the object to be of type f32",
    ),
    ('"spirv.CompositeConstruct"(%f, %f) : (f32, f32) -> vector<3xf32>', "needs 3 components, found 2"),
    (
        '"spirv.CompositeConstruct"(%f, %i) : (f32, i32) -> !spirv.array<2 x f32>',
        "constituent 1 to be of type f32",
    ),
    (
        '"spirv.VectorShuffle"(%v, %v) <{components = [0 : i32, 8 : i32]}> : '
        "(vector<4xf32>, vector<4xf32>) -> vector<2xf32>",
        "component 8 is none of the 8",
    ),
    ('"spirv.VectorExtractDynamic"(%f, %i) : (f32, i32) -> f32', "expects a vector, found f32"),
    ('"spirv.Constant"() <{value = 1 : i32}> : () -> f32', "no constant of type f32"),
    ('"spirv.Constant"() <{value = [1.0 : f32]}> : () -> !spirv.array<2 x f32>', "no constant of type"),
    ('"spirv.mlir.addressof"() <{variable = @none}> : () -> !spirv.ptr<f32, Workgroup>', "refers to @none"),
    (
        '"spirv.mlir.addressof"() <{variable = @sc}> : () -> !spirv.ptr<f32, Workgroup>',
        "no spirv.GlobalVariable",
    ),
    ('"spirv.mlir.addressof"() <{variable = @g}> : () -> !spirv.ptr<i32, Workgroup>', "result to be of type"),
    ('"spirv.mlir.referenceof"() <{spec_const = @g}> : () -> f32', "no specialization constant"),
    ('"spirv.mlir.referenceof"() <{spec_const = @sc}> : () -> i32', "result to be of type f32"),
    ('"spirv.FunctionCall"() <{callee = @k}> : () -> ()', r"found arguments \(\)"),
    ('"spirv.FunctionCall"() <{callee = @g}> : () -> ()', "is no spirv.func"),
    (
        '"spirv.AtomicIAdd"(%p, %f) <{memory_scope = #spirv.scope<Device>, '
        "semantics = #spirv.memory_semantics<None>}> : (!spirv.ptr<f32, Function>, f32) -> f32",
        "what its pointer points to to be an integer",
    ),
    ('"spirv.ConvertUToPtr"(%l) : (i64) -> !spirv.ptr<f32, Function>', "pointer to PhysicalStorageBuffer"),
    (
        '"spirv.SpecConstantOperation"() ({ %n = "spirv.FAdd"(%f, %f) : (f32, f32) -> f32 '
        '"spirv.mlir.yield"(%n) : (f32) -> () }) : () -> f32',
        "cannot wrap spirv.FAdd",
    ),
    (
        '"spirv.SpecConstantOperation"() ({ %n = "spirv.IAdd"(%i, %i) : (i32, i32) -> i32 '
        '"spirv.mlir.yield"(%n) : (i32) -> () }) : () -> i32',
        "constants and specialization constants only",
    ),
    (
        '"spirv.SpecConstantOperation"() ({ %n = "spirv.IAdd"(%three, %three) : (i32, i32) -> i32 '
        '"spirv.mlir.merge"() : () -> () }) : () -> i32',
        "belongs into spirv.mlir.selection",
    ),
    (
        '"spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> '
        '({ "spirv.Return"() : () -> () }) : () -> ()',
        "has a last block that consists of spirv.mlir.merge",
    ),
    (
        '"spirv.mlir.loop"() <{loop_control = #spirv.loop_control<None>}> ({ "spirv.Branch"()[^m] : () -> () '
        '^m: "spirv.mlir.merge"() : () -> () }) : () -> ()',
        "has at least an entry, header, continue and merge block",
    ),
]


@pytest.mark.parametrize(("operation", "message"), REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_verifier_refuses(operation: str, message: str) -> None:
    result = "" if operation.rstrip().endswith("-> ()") else "%r = "
    module = parse(function_with(result + operation))
    with pytest.raises(IRError, match=message) as caught:
        verify_module(module)
    assert caught.value.operation.name in operation


def test_refusal_names_the_operations_location() -> None:
    module = parse(function_with('%r = "spirv.IAdd"(%i, %l) : (i32, i64) -> i32 loc("k.py":7:3)'))
    with pytest.raises(IRError, match=r"^k\.py:7:3: 'spirv\.IAdd' expects") as caught:
        verify_module(module)
    assert caught.value.operation is not None and caught.value.operation.name == "spirv.IAdd"
    assert str(caught.value.location) == "k.py:7:3"


def test_use_before_definition_is_refused() -> None:
    module = parse(
        function_with('%r = "spirv.Not"(%later) : (i32) -> i32 %later = "spirv.Not"(%i) : (i32) -> i32')
    )
    with pytest.raises(IRError, match=r"'spirv\.Not' uses %later where it is not defined"):
        verify_module(module)


def test_value_does_not_leave_a_structured_region() -> None:
    module = parse(
        function_with(
            '"spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> ({ '
            '%in = "spirv.Not"(%i) : (i32) -> i32 "spirv.Branch"()[^m] : () -> () '
            '^m: "spirv.mlir.merge"() : () -> () }) : () -> ()'
        )
    )
    function = module.regions[0].block.last_op
    assert function is not None
    body = function.regions[0].blocks[0]
    selection = next(op for op in body.ops if op.name == "spirv.mlir.selection")
    inner = selection.regions[0].blocks[0].first_op
    assert inner is not None
    user = SPIRV_OPS["spirv.Not"].create(operands=[inner.results[0]], result_types=[inner.results[0].type])
    body.insert_op_after(user, selection)
    with pytest.raises(IRError, match="where it is not defined"):
        verify_module(module)
