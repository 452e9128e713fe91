"""Operations that no golden file holds: each in a function whose arguments and globals it may use, and its words."""

from __future__ import annotations

from xdsl.ir import Operation

from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module

ARGUMENTS = {
    "i": "i32", "l": "i64", "f": "f32", "c": "i1", "b4": "vector<4xi8>", "c2": "vector<2xi1>",
    "v2": "vector<2xf32>", "v3": "vector<3xf32>", "v4": "vector<4xf32>", "w2": "vector<2xi32>", "w4": "vector<4xi32>",
    "d": "f64", "m": "!spirv.matrix<3 x vector<3xf32>>", "n": "!spirv.matrix<2 x vector<3xf32>>",
    "plain": "!spirv.array<2 x f32>", "h": "bf16",
    "a": "!spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>", "bm": "!spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>",
    "acc": "!spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>",
}  # fmt: skip
GLOBALS = {
    "buffer": "!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>",
    "matrices": "!spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>",
    "private": "!spirv.ptr<f32, Private>",
    "whole": "!spirv.ptr<i32, Private>",
    "composite": "!spirv.ptr<!spirv.array<4 x f32>, Private>",
}
SUBGROUP = "<{execution_scope = #spirv.scope<Subgroup>}>"

# Operation, its operands, its properties, its result, and the instruction that it becomes.
TABLE: list[tuple[str, str, str, str, str]] = [
    ("Transpose", "n", "", "!spirv.matrix<3 x vector<2xf32>>", "OpTranspose"),
    ("MatrixTimesScalar", "n f", "", "!spirv.matrix<2 x vector<3xf32>>", "OpMatrixTimesScalar"),
    ("MatrixTimesVector", "n v2", "", "vector<3xf32>", "OpMatrixTimesVector"),
    ("VectorTimesMatrix", "v3 n", "", "vector<2xf32>", "OpVectorTimesMatrix"),
    ("MatrixTimesMatrix", "m n", "", "!spirv.matrix<2 x vector<3xf32>>", "OpMatrixTimesMatrix"),
    ("OuterProduct", "v3 v2", "", "!spirv.matrix<2 x vector<3xf32>>", "OpOuterProduct"),
    ("SDot", "w2 w2", "", "i32", "OpSDot"),
    ("UDot", "b4 b4", "", "i32", "OpUDot"),
    (
        "SUDot", "i i", "<{format = #spirv.packed_vector_format<PackedVectorFormat4x8Bit>}>", "i32",
        "PackedVectorFormat4x8Bit",
    ),
    ("SDotAccSat", "w2 w2 i", "", "i32", "OpSDotAccSat"),
    ("UDotAccSat", "b4 b4 i", "", "i32", "OpUDotAccSat"),
    ("SUDotAccSat", "w2 w2 i", "", "i32", "OpSUDotAccSat"),
    ("Any", "c2", "", "i1", "OpAny"),
    ("All", "c2", "", "i1", "OpAll"),
    ("QuantizeToF16", "f", "", "f32", "OpQuantizeToF16"),
    ("CopyObject", "plain", "", "!spirv.array<2 x f32>", "OpCopyObject"),
    ("InBoundsAccessChain", "@composite i", "", "!spirv.ptr<f32, Private>", "OpInBoundsAccessChain"),
    ("ArrayLength", "@buffer", "<{array_member = 0 : i32}>", "i32", "OpArrayLength"),
    ("GL.Radians", "f", "", "f32", "Radians"),
    ("GL.Degrees", "f", "", "f32", "Degrees"),
    ("GL.PackSnorm4x8", "v4", "", "i32", "PackSnorm4x8"),
    ("GL.PackUnorm4x8", "v4", "", "i32", "PackUnorm4x8"),
    ("GL.PackSnorm2x16", "v2", "", "i32", "PackSnorm2x16"),
    ("GL.PackUnorm2x16", "v2", "", "i32", "PackUnorm2x16"),
    ("GL.PackHalf2x16", "v2", "", "i32", "PackHalf2x16"),
    ("GL.PackDouble2x32", "w2", "", "f64", "PackDouble2x32"),
    ("GL.UnpackSnorm4x8", "i", "", "vector<4xf32>", "UnpackSnorm4x8"),
    ("GL.UnpackUnorm4x8", "i", "", "vector<4xf32>", "UnpackUnorm4x8"),
    ("GL.UnpackSnorm2x16", "i", "", "vector<2xf32>", "UnpackSnorm2x16"),
    ("GL.UnpackUnorm2x16", "i", "", "vector<2xf32>", "UnpackUnorm2x16"),
    ("GL.UnpackHalf2x16", "i", "", "vector<2xf32>", "UnpackHalf2x16"),
    ("GL.UnpackDouble2x32", "d", "", "vector<2xi32>", "UnpackDouble2x32"),
    ("GL.Distance", "v3 v3", "", "f32", "Distance"),
    ("GL.FaceForward", "v3 v3 v3", "", "vector<3xf32>", "FaceForward"),
    ("GL.Reflect", "v3 v3", "", "vector<3xf32>", "Reflect"),
    ("GL.Refract", "v3 v3 f", "", "vector<3xf32>", "Refract"),
    ("GL.Determinant", "m", "", "f32", "Determinant"),
    ("GL.MatrixInverse", "m", "", "!spirv.matrix<3 x vector<3xf32>>", "MatrixInverse"),
    ("GL.ModfStruct", "f", "", "!spirv.struct<(f32, f32)>", "ModfStruct"),
    ("GL.Modf", "f @private", "", "f32", "Modf"),
    ("GL.Frexp", "f @whole", "", "f32", "Frexp"),
    ("GroupNonUniformElect", "", SUBGROUP, "i1", "OpGroupNonUniformElect"),
    ("GroupNonUniformAllEqual", "f", SUBGROUP, "i1", "OpGroupNonUniformAllEqual"),
    ("GroupNonUniformBroadcastFirst", "v3", SUBGROUP, "vector<3xf32>", "OpGroupNonUniformBroadcastFirst"),
    ("GroupNonUniformInverseBallot", "w4", SUBGROUP, "i1", "OpGroupNonUniformInverseBallot"),
    ("GroupNonUniformBallotBitExtract", "w4 i", SUBGROUP, "i1", "OpGroupNonUniformBallotBitExtract"),
    (
        "GroupNonUniformBallotBitCount", "w4",
        "<{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}>", "i32",
        "OpGroupNonUniformBallotBitCount",
    ),
    ("GroupNonUniformBallotFindLSB", "w4", SUBGROUP, "i32", "OpGroupNonUniformBallotFindLSB"),
    ("GroupNonUniformBallotFindMSB", "w4", SUBGROUP, "i32", "OpGroupNonUniformBallotFindMSB"),
    ("GroupNonUniformQuadBroadcast", "f $two", SUBGROUP, "f32", "OpGroupNonUniformQuadBroadcast"),
    ("GroupNonUniformQuadSwap", "f $two", SUBGROUP, "f32", "OpGroupNonUniformQuadSwap"),
    ("GroupNonUniformRotateKHR", "f i", SUBGROUP, "f32", "OpGroupNonUniformRotateKHR"),
    ("KHR.AssumeTrue", "c", "", "", "OpAssumeTrueKHR"),
    ("KHR.Expect", "i i", "", "i32", "OpExpectKHR"),
    ("KHR.ReadClock", "", "<{scope = #spirv.scope<Subgroup>}>", "i64", "OpReadClockKHR"),
    (
        "KHR.CooperativeMatrixLoad", "@element i",
        "<{matrix_layout = #spirv.coop_matrix_layout_khr<RowMajor>}>",
        "!spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>", "OpCooperativeMatrixLoadKHR",
    ),
    (
        "KHR.CooperativeMatrixStore", "@element a i",
        "<{matrix_layout = #spirv.coop_matrix_layout_khr<ColumnMajor>, "
        "memory_operand = #spirv.memory_access<Aligned>, alignment = 2 : i32}>", "",
        "OpCooperativeMatrixStoreKHR",
    ),
    (
        "KHR.CooperativeMatrixMulAdd", "a bm acc", "", "!spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>",
        "OpCooperativeMatrixMulAddKHR",
    ),
    (
        "KHR.CooperativeMatrixLength", "",
        "<{cooperative_matrix_type = !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>}>", "i32",
        "OpCooperativeMatrixLengthKHR",
    ),
]  # fmt: skip

STRUCTURED = {"spirv.Switch", "spirv.mlir.break", "spirv.mlir.continue"}
"""Tested by reading control flow that needs them."""
IMAGES = {
    "spirv.SampledImage",
    "spirv.Image",
    "spirv.ImageSampleExplicitLod",
    "spirv.ImageSampleProjExplicitLod",
    "spirv.ImageSampleDrefExplicitLod",
    "spirv.ImageSampleProjDrefExplicitLod",
    "spirv.ImageGather",
    "spirv.ImageDrefGather",
    "spirv.ImageFetch",
    "spirv.ImageRead",
    "spirv.ImageWrite",
    "spirv.ImageQuerySize",
    "spirv.ImageQuerySizeLod",
    "spirv.ImageQueryLevels",
    "spirv.ImageQuerySamples",
    "spirv.ImageTexelPointer",
    "spirv.ImageSparseSampleExplicitLod",
    "spirv.ImageSparseSampleDrefExplicitLod",
    "spirv.ImageSparseGather",
    "spirv.ImageSparseDrefGather",
    "spirv.ImageSparseFetch",
    "spirv.ImageSparseRead",
    "spirv.ImageSparseTexelsResident",
}
"""Tested by `test_images`, which makes the variables that they need."""
POINTERS = {
    "spirv.PtrAccessChain",
    "spirv.PtrEqual",
    "spirv.PtrNotEqual",
    "spirv.PtrDiff",
    "spirv.CopyLogical",
}
"""Tested by binaries with variable pointers."""


def parsed(text: str) -> Operation:
    """Returns the `spirv.module` that is all of a text, verified."""
    found = parse_module(text).module
    verify_module(found)
    (op,) = found.body.ops
    return op


def module(row: tuple[str, str, str, str, str]) -> str:
    """Returns a module with the operation in a function."""
    name, operands, properties, result, _ = row
    lines: list[str] = []
    values: list[str] = []
    types: list[str] = []
    used = [operand for operand in dict.fromkeys(operands.split()) if operand[0] not in "@$"]
    for operand in operands.split():
        if operand == "$two":
            lines.append('%two = "spirv.Constant"() <{value = 2 : i32}> : () -> i32')
            operand, type_ = "two", "i32"
        elif operand == "@element":
            kind, type_ = GLOBALS["matrices"], "!spirv.ptr<f16, StorageBuffer>"
            lines.append(f'%base = "spirv.mlir.addressof"() <{{variable = @matrices}}> : () -> {kind}')
            lines.append('%zero = "spirv.Constant"() <{value = 0 : i32}> : () -> i32')
            lines.append(
                f'%element = "spirv.AccessChain"(%base, %zero, %zero) : ({kind}, i32, i32) -> {type_}'
            )
            operand = "element"
        elif operand[0] == "@":
            type_ = GLOBALS[operand[1:]]
            lines.append(f'%p = "spirv.mlir.addressof"() <{{variable = {operand}}}> : () -> {type_}')
            operand = "p"
        else:
            type_ = ARGUMENTS[operand]
        values.append(f"%{operand}")
        types.append(type_)
    prefix, to = ("%r = ", result) if result else ("", "()")
    signature = f"({', '.join(types)}) -> {to}"
    lines.append(f'{prefix}"spirv.{name}"({", ".join(values)}) {properties} : {signature}')
    globals_ = [
        f'"spirv.GlobalVariable"() <{{sym_name = "{key}", type = {type_}'
        + (f", binding = {index} : i32, descriptor_set = 0 : i32" if "StorageBuffer" in type_ else "")
        + "}> : () -> ()"
        for index, (key, type_) in enumerate(GLOBALS.items())
        if f"@{key}" in " ".join(lines)
    ]
    inputs = ", ".join(ARGUMENTS[u] for u in used)
    parameters = ", ".join(f"%{u}: {ARGUMENTS[u]}" for u in used)
    model = "Vulkan" if name.startswith("KHR.Coop") else "GLSL450"
    control = "function_control = #spirv.function_control<None>"
    body = "\n".join(lines)
    return f"""
"spirv.module"() <{{addressing_model = #spirv.addressing_model<Logical>,
                   memory_model = #spirv.memory_model<{model}>}}> ({{
  {chr(10).join(globals_)}
  "spirv.func"() <{{sym_name = "f", function_type = ({inputs}) -> (), {control}}}> ({{
  ^bb0({parameters}):
    {body}
    "spirv.Return"() : () -> ()
  }}) : () -> ()
  "spirv.func"() <{{sym_name = "k", function_type = () -> (), {control}}}> ({{
    "spirv.Return"() : () -> ()
  }}) : () -> ()
  "spirv.EntryPoint"() <{{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}}> : () -> ()
  "spirv.ExecutionMode"() <{{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>,
                            values = [1 : i32, 1 : i32, 1 : i32]}}> : () -> ()
}}) : () -> ()
"""
