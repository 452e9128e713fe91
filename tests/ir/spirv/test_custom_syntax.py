"""The custom syntax of the spirv dialect, as mlir-opt prints it."""

from __future__ import annotations

import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import i32
from xdsl.printer import Printer

from lapilli.ir.dialects import spirv
from lapilli.ir.parse import IRSyntaxError, parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

GOLDENS = Path(__file__).parents[2] / "golden" / "spirv"
CALLS = """
spirv.module Logical GLSL450 requires #spirv.vce<v1.3, [Shader, Linkage], []> {
  spirv.func @outside(i32) -> f32 "Pure" attributes {linkage_attributes =
    #spirv.linkage_attributes<linkage_name = "outside", linkage_type = <Import>>}
  spirv.func @nothing() "None" {
    spirv.Return
  }
  spirv.func @f(%n: i32) -> f32 "None" {
    spirv.FunctionCall @nothing() : () -> ()
    %0 = spirv.FunctionCall @outside(%n) : (i32) -> f32
    spirv.ReturnValue %0 : f32
  }
}
"""
TEXT = """
spirv.module @m Logical GLSL450 requires #spirv.vce<v1.3, [Shader, GroupNonUniformArithmetic], []> {
  spirv.SpecConstant @n spec_id(5) = 7 : i32
  spirv.SpecConstantComposite @pair (@n, @n) : !spirv.array<2 x i32>
  spirv.GlobalVariable @buffer bind(1, 2) {aliased} : !spirv.ptr<BLOCK, StorageBuffer>
  spirv.GlobalVariable @id built_in("GlobalInvocationId") : !spirv.ptr<vector<3xi32>, Input>
  spirv.func @twice(%x: f32, %y: vector<3xf32>) -> vector<3xf32> "Inline" {
    %one = spirv.Constant 1 : i32
    %0 = spirv.VectorInsertDynamic %x, %y[%one] : vector<3xf32>, i32
    %1 = spirv.CompositeInsert %x, %0[1 : i32] : f32 into vector<3xf32>
    %2 = spirv.VectorShuffle [1 : i32, 3 : i32, 5 : i32] %0, %1 : vector<3xf32>, vector<3xf32> -> vector<3xf32>
    %3 = spirv.VectorTimesScalar %2, %x : (vector<3xf32>, f32) -> vector<3xf32>
    spirv.ReturnValue %3 : vector<3xf32>
  }
  spirv.func @main() "None" {
    %zero = spirv.Constant 0 : i32
    %four = spirv.Constant 4 : i32
    %table = spirv.Constant [1 : i32, 2 : i32] : !spirv.array<2 x i32>
    %nested = spirv.Constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32> : !spirv.array<2 x !spirv.array<2 x i32>>
    %start = spirv.Variable init(%zero) : !spirv.ptr<i32, Function>
    %n = spirv.mlir.referenceof @n : i32
    %double = spirv.SpecConstantOperation wraps "spirv.IAdd"(%n, %n) : (i32, i32) -> i32
    %block = spirv.mlir.addressof @buffer : !spirv.ptr<BLOCK, StorageBuffer>
    %p = spirv.AccessChain %block[%zero, %four] : !spirv.ptr<BLOCK, StorageBuffer>, i32, i32
    %v = spirv.Load "StorageBuffer" %p ["Aligned", 4] : f32
    spirv.Store "StorageBuffer" %p, %v ["Volatile"] : f32
    %three = spirv.CompositeConstruct %v, %v, %v : (f32, f32, f32) -> vector<3xf32>
    %w = spirv.FunctionCall @twice(%v, %three) : (f32, vector<3xf32>) -> vector<3xf32>
    %x = spirv.CompositeExtract %w[2 : i32] : vector<3xf32>
    %less = spirv.FOrdLessThan %x, %v : f32
    %chosen = spirv.Select %less, %x, %v : i1, f32
    %scaled = spirv.GL.Ldexp %chosen : f32, %four : i32 -> f32
    %sum = spirv.GroupNonUniformFAdd "Subgroup" "Reduce" %scaled : f32
    %old = spirv.AtomicExchange <Device> <AcquireRelease> %p, %sum : !spirv.ptr<f32, StorageBuffer>
    spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
    spirv.mlir.selection control(Flatten) {
      spirv.BranchConditional %less [5, 10], ^then, ^merge
    ^then:
      spirv.Branch ^merge
    ^merge:
      spirv.mlir.merge
    }
    spirv.mlir.loop {
      spirv.Branch ^header(%zero : i32)
    ^header(%i: i32):
      %more = spirv.SLessThan %i, %four : i32
      spirv.BranchConditional %more, ^body, ^end
    ^body:
      %next = spirv.IAdd %i, %four : i32
      spirv.Branch ^header(%next : i32)
    ^end:
      spirv.mlir.merge
    }
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @main, @buffer, @id
  spirv.ExecutionMode @main "LocalSize", 32, 1, 1
}
""".replace("BLOCK", "!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>")


def generic(text: str) -> str:
    module = parse_module(text).module
    verify_module(module)
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def upstream(text: str) -> str:
    """Returns a text as mlir-opt prints it."""
    tool = shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt-19 is not installed")
    return subprocess.run([tool], input=text, capture_output=True, text=True, timeout=60, check=True).stdout


def test_what_is_read_is_what_upstream_reads() -> None:
    assert upstream(generic(TEXT)) == upstream(TEXT)


def test_it_is_read_again() -> None:
    assert generic(generic(TEXT)) == generic(TEXT)


@pytest.mark.parametrize(
    "name", ["atomics", "memory", "physical_addresses", "scalar_ops", "spec_constants", "wide_types"]
)
def test_goldens_as_upstream_prints_them(name: str) -> None:
    printed = upstream((GOLDENS / f"{name}.mlir").read_text())
    assert upstream(generic(printed)) == printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%r = spirv.IAdd %a : i32", r"2:20: error: expected ','"),
        ("%r = spirv.FAdd %a, %a : f32", "operand is used with type f32"),
        ("%r = spirv.CompositeExtract %v[4 : i32] : vector<4xi32>", "selects nothing in vector<4xi32>"),
        ('%r = spirv.Load "Nowhere" %a : i32', "'Nowhere' is no StorageClass"),
        ("%r = spirv.AccessChain %a[%a] : i32, i32", "expected a !spirv.ptr, found i32"),
        ("%r = spirv.IAddCarry %a, %a : i32", "expected a struct, found i32"),
        ("%r = spirv.CompositeConstruct %a, %a : (i32) -> vector<2xi32>", "2 operands and 1 types"),
        ("%r = spirv.Ordered %a, %a : i32", "Ordered is not registered; the spirv dialect here has what compute"),
        ("%r = spirv.Constant [1 : i32]", "the type of a constant is missing"),
    ],
)  # fmt: skip
def test_mistakes(line: str, message: str) -> None:
    with pytest.raises(IRSyntaxError, match=message):
        parse_module(f"func.func @f(%a: i32, %v: vector<4xi32>) {{\n{line}\n  func.return\n}}")


BACK = """
spirv.module Logical GLSL450 requires #spirv.vce<v1.3, [Shader], []> {
  spirv.SpecConstant @n spec_id(5) = 7 : i32
  spirv.func @main() "None" {
    %zero = spirv.Constant 0 : i32
    spirv.mlir.loop {
      spirv.Branch ^header(%zero, %zero, %zero : i32, i32, i32)
    ^header(%i: i32, %j: i32, %k: i32):
      %less = spirv.SLessThan %i, %j : i32
      spirv.BranchConditional %less, ^body, ^end
    ^body:
      %four = spirv.Constant 4 : i32
      %n = spirv.mlir.referenceof @n : i32
      %double = spirv.SpecConstantOperation wraps "spirv.IAdd"(%n, %n) : (i32, i32) -> i32
      %nothing = spirv.Undef : i32
      spirv.Branch ^header(%four, %double, %nothing : i32, i32, i32)
    ^end:
      spirv.mlir.merge
    }
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @main
  spirv.ExecutionMode @main "LocalSize", 1, 1, 1
}
"""


def test_constants_that_branches_back_bring() -> None:
    (module,) = parse_module(BACK).module.body.ops
    assert spirv_tools().validate(emit(module, TargetEnv()).binary) is None


MODULE = "spirv.module Logical GLSL450 {{\n{}\n}}"
FUNCTION = 'spirv.func @f() "None" {{\n{}\n  spirv.Return\n}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MODULE.format(FUNCTION.format("  spirv.SpecConstant @s = 5 : i32")), "in a module, found it in spirv.func"),
        (MODULE.format(FUNCTION.format(FUNCTION.format("").replace("@f", "@g"))), "stands in a module"),
        (MODULE.format(FUNCTION.format("") + 2 * '\nspirv.EntryPoint "GLCompute" @f'), "@f is there twice"),
        (MODULE.format("func.func @f() {\n  func.return\n}"), "holds operations of the spirv dialect, found func.func"),
        (MODULE.format('spirv.func @f() "None"'), "@f has no body, and no linkage_attributes"),
    ],
)  # fmt: skip
def test_modules(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify_module(parse_module(text).module)


@pytest.mark.parametrize(
    "type_",
    ["array<4 x i48>", "array<4 x vector<5xf32>>", "ptr<tensor<4xf32>, Uniform>", "struct<(f32, tensor<4xf32>)>",
     "matrix<3 x vector<5xf32>>", "array<4 x f32, stride=0>", "rtarray<complex<f32>>"],
)  # fmt: skip
def test_types_that_spirv_has_not(type_: str) -> None:
    with pytest.raises(IRSyntaxError):
        parse_module(f'func.func @f() {{\n  %u = "spirv.Undef"() : () -> !spirv.{type_}\n  func.return\n}}')


def test_declarations_and_calls_without_arguments() -> None:
    module = parse_module(CALLS).module
    verify_module(module)
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, spirv.FuncOp)}
    assert [list(op.function_type.inputs) for op in functions.values()] == [[i32], [], [i32]]
    assert not functions["outside"].body.blocks
    calls = [op for op in module.walk() if isinstance(op, spirv.FunctionCallOp)]
    assert [len(op.operands) for op in calls] == [0, 1]


def test_operands_of_images() -> None:
    """As MLIR 19 prints them; it calls the property `imageoperands`, and MLIR 21, as we do, `image_operands`."""
    image = "!spirv.sampled_image<!spirv.image<f32, Dim2D, IsDepth, NonArrayed, SingleSampled, NeedSampler, Unknown>>"
    text = f"""func.func @f(%s: {image}, %xy: vector<2xf32>, %z: f32, %by: vector<2xi32>) {{
      %0 = spirv.ImageDrefGather %s : {image}, %xy : vector<2xf32>, %z : f32
        ["Offset"](%by : vector<2xi32>) -> vector<4xf32>
      return
    }}"""
    read = parse_module(text).module
    verify_module(read)
    assert (
        '"spirv.ImageDrefGather"(%s, %xy, %z, %by) <{image_operands = #spirv.image_operands<Offset>}>'
        in str(read)
    )
    if shutil.which("mlir-opt-19"):
        done = subprocess.run(["mlir-opt-19"], input=text, capture_output=True, text=True, timeout=60)
        assert parse_module(done.stdout).module.is_structurally_equivalent(read), done.stderr
