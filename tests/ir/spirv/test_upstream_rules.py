"""Rules that MLIR's own verifier has: what breaks one is refused, and its neighbours stay."""

from __future__ import annotations

import re

import pytest

from lapilli.ir.errors import Error
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

ATOMIC = "memory_scope = #spirv.scope<Device>, semantics = #spirv.memory_semantics<{}>"
BARRIER = "memory_scope = #spirv.scope<Device>, memory_semantics = #spirv.memory_semantics<{}>"
BUFFER = "!spirv.ptr<i32, StorageBuffer>"
MATRIX = "!spirv.coopmatrix<16x8xf16, Subgroup, MatrixA>"
PACKED = "format = #spirv.packed_vector_format<PackedVectorFormat4x8Bit>"
SUBGROUP = "execution_scope = #spirv.scope<Subgroup>"
DENSE = "value = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>"

# Operation, types of its operands, its properties, type of its result, and what is wrong (nothing where empty).
RULES = [
    ("FAdd", "vector<4xf32> vector<4xf32>", "", "vector<4xf32>", ""),
    ("FAdd", "vector<5xf32> vector<5xf32>", "", "vector<5xf32>", "2, 3 or 4 components, found vector<5xf32>"),
    ("IAdd", "vector<1xi32> vector<1xi32>", "", "vector<1xi32>", "2, 3 or 4 components"),
    ("Undef", "", "", "vector<1xi32>", "of a type that SPIR-V has"),
    ("Undef", "", "", "index", "of a type that SPIR-V has"),
    ("BitFieldUExtract", "vector<2xi32> i32 i32", "", "vector<2xi32>", ""),
    ("BitFieldUExtract", "vector<2xi32> vector<2xi32> i32", "", "vector<2xi32>", "its offset to be an integer"),
    ("VectorExtractDynamic", "vector<2xi32> vector<2xi32>", "", "i32", "its index to be an integer"),
    ("GroupNonUniformShuffle", "f32 i32", SUBGROUP, "f32", ""),
    ("GroupNonUniformShuffle", "f32 vector<2xi32>", SUBGROUP, "f32", "its id to be a 32-bit integer"),
    ("GroupNonUniformShuffle", "index i32", SUBGROUP, "index", "expects a number"),
    ("AtomicIAdd", f"{BUFFER} i32", ATOMIC.format("AcquireRelease|UniformMemory"), "i32", ""),
    ("AtomicIAdd", f"{BUFFER} i32", ATOMIC.format("Acquire|Release"), "i32", "at most one memory order"),
    ("MemoryBarrier", "", BARRIER.format("Acquire|UniformMemory"), "", ""),
    ("MemoryBarrier", "", BARRIER.format("Acquire|SequentiallyConsistent"), "", "at most one memory order"),
    ("SUDot", "i32 i32", PACKED, "i32", ""),
    ("SUDot", "i64 i64", PACKED, "i64", "its packed operands to be a 32-bit integer"),
    ("FAdd", f"{MATRIX} {MATRIX}", "", MATRIX, ""),
    ("FMod", f"{MATRIX} {MATRIX}", "", MATRIX, "found !spirv.coopmatrix"),
    ("MatrixTimesScalar", f"{MATRIX} f16", "", MATRIX, ""),
    ("MatrixTimesScalar", f"{MATRIX} f32", "", MATRIX, "the scalar to be of type f16"),
    ("FConvert", MATRIX, "", MATRIX.replace("f16", "f32"), ""),
    ("FConvert", MATRIX, "", "!spirv.coopmatrix<8x16xf32, Subgroup, MatrixA>", "of one shape"),
    ("Constant", "", DENSE, "!spirv.array<2 x !spirv.array<3 x i32>>", ""),
    ("Constant", "", DENSE, "!spirv.array<3 x !spirv.array<2 x i32>>", "is no constant of type"),
    ("Constant", "", DENSE, "!spirv.array<2 x !spirv.array<3 x f32>>", "is no constant of type"),
    ("Constant", "", DENSE, "!spirv.array<2 x vector<3xi32>>", "is no constant of type"),
]  # fmt: skip


def function(name: str, operands: list[str], properties: str, result: str) -> str:
    arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(operands))
    values = ", ".join(f"%a{i}" for i in range(len(operands)))
    given = f" <{{{properties}}}>" if properties else ""
    assigned = "%r = " if result else ""
    return f"""
"func.func"() <{{sym_name = "f", function_type = ({", ".join(operands)}) -> ()}}> ({{
^bb0({arguments}):
  {assigned}"spirv.{name}"({values}){given} : ({", ".join(operands)}) -> {result or "()"}
  "func.return"() : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(("name", "operands", "properties", "result", "problem"), RULES)
def test_rules(name: str, operands: str, properties: str, result: str, problem: str) -> None:
    types = re.findall(r"(?:!spirv\.\w+<[^>]*>|\S+)", operands)
    module = parse_module(function(name, types, properties, result)).module
    if not problem:
        verify_module(module)
        return
    with pytest.raises(IRError, match=rf"'spirv\.{name}'.*{re.escape(problem)}"):
        verify_module(module)


VARIABLE = """
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>}> ({
  "spirv.func"() <{sym_name = "f", function_type = (i32) -> (), function_control = #spirv.function_control<None>}> ({
  ^bb0(%a: i32):
    %c = "spirv.Constant"() <{value = 3 : i32}> : () -> i32
    %v = "spirv.Variable"(INIT) <{storage_class = #spirv.storage_class<Function>}> : (i32) -> !spirv.ptr<i32, Function>
    "spirv.Return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_variables_start_as_constants() -> None:
    verify_module(parse_module(VARIABLE.replace("INIT", "%c")).module)
    with pytest.raises(IRError, match=r"starts as a constant; store other values with spirv\.Store"):
        verify_module(parse_module(VARIABLE.replace("INIT", "%a")).module)


ARRAYS = """
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>,
                   vce_triple = #spirv.vce<v1.3, [Shader], []>}> ({
  "spirv.func"() <{sym_name = "f", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %c = "spirv.Constant"() <{value = VALUE}> : () -> !spirv.array<2 x !spirv.array<3 x i32>>
    %v = "spirv.Variable"(%c) <{storage_class = #spirv.storage_class<Function>}>
      : (!spirv.array<2 x !spirv.array<3 x i32>>) -> !spirv.ptr<!spirv.array<2 x !spirv.array<3 x i32>>, Function>
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @f, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @f, execution_mode = #spirv.execution_mode<LocalSize>,
                            values = [1 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(
    ("dense", "nested"),
    [
        ("dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>",
         "[[1 : i32, 2 : i32, 3 : i32], [4 : i32, 5 : i32, 6 : i32]]"),
        ("dense<7> : tensor<2x3xi32>", "[[7 : i32, 7 : i32, 7 : i32], [7 : i32, 7 : i32, 7 : i32]]"),
    ],
)  # fmt: skip
def test_tensors_are_arrays_of_arrays(dense: str, nested: str) -> None:
    def binary(value: str) -> bytes:
        (module,) = parse_module(ARRAYS.replace("VALUE", value)).module.body.ops
        verify_module(module)
        return emit(module, TargetEnv()).binary

    assert binary(dense) == binary(nested)
    assert spirv_tools().validate(binary(dense)) is None


def test_numbers_that_are_no_words() -> None:
    (module,) = parse_module(
        ARRAYS.replace("VALUE", "dense<7> : tensor<2x3xi32>").replace("1 : i32]}", "-1 : i32]}")
    ).module.body.ops
    with pytest.raises(Error, match=r"-1 is no word of SPIR-V"):
        emit(module, TargetEnv())
