"""What remedies for drivers find in modules of other compilers, and that what they make of it is valid."""

from __future__ import annotations

import pytest

from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.divided_rounds import rounds_hidden
from lapilli.spirv.foreign_module import rebind
from lapilli.spirv.loop_ends import ends_hidden
from lapilli.spirv.low_bits import low_bits_kept
from lapilli.spirv.module_view import is_behind_annotations
from lapilli.spirv.narrow_integers import ones_divided
from lapilli.spirv.negated_truths import negations_hidden
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

NEGATIONS = """
OpCapability Shader
OpCapability Float64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%double = OpTypeFloat 64
%pair = OpTypeVector %double 2
%place = OpTypePointer Function %double
%truth = OpConstantTrue %bool
%zero = OpConstant %double 0
%none = OpConstantNull %pair
%one = OpConstant %double 1
%minus = OpConstant %double -1
%half = OpConstant %double 0.5
%ones = OpConstantComposite %pair %one %minus
%i0 = OpConstant %int 0
%all = OpConstant %int -1
%main = OpFunction %void None %fn
%begin = OpLabel
%v = OpVariable %place Function
CODE
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    "code, count",
    [
        ("%c = OpSelect %double %truth %one %zero\n%n = OpFNegate %double %c", 1),
        ("%c = OpSelect %pair %truth %ones %none\n%n = OpFNegate %pair %c", 1),
        ("%c = OpSelect %int %truth %all %i0\n%f = OpConvertSToF %double %c\n%n = OpFNegate %double %f", 1),
        ("%c = OpSelect %double %truth %one %zero\nOpStore %v %c\n%a = OpLoad %double %v\n"
            "%n = OpFNegate %double %a", 1),
        ("%c = OpSelect %double %truth %half %zero\n%n = OpFNegate %double %c", 0),
        ("%l = OpLoad %double %v\n%n = OpFNegate %double %l", 0),
    ],
)  # fmt: skip
def test_which_negations_are_hidden(code: str, count: int) -> None:
    """Those of ones and zeros: only they go through f32 unchanged."""
    module = parse(spirv_tools().assemble(NEGATIONS.replace("CODE", code), "spv1.4"))
    changed = negations_hidden(module)
    assert [item.opcode for item in changed.instructions].count(Op.BitwiseOr) == count
    assert (changed is module) == (not count)
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None


GIVEN = """
OpCapability Shader
OpCapability Int64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %id BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%fn = OpTypeFunction %void
%long = OpTypeInt 64 0
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%input = OpTypePointer Input %uint
%local = OpTypePointer Function %uint
%id = OpVariable %input Input
%main = OpFunction %void None %fn
%begin = OpLabel
%v = OpVariable %local Function
%i = OpLoad %uint PLACE
%a = OpBitwiseAnd %uint %i %one
%b = OpUMod %uint %i %two
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(("place", "is_kept"), [("%id", False), ("%v", True)])
def test_ids_are_no_parts_of_wider_numbers(place: str, is_kept: bool) -> None:
    module = parse(spirv_tools().assemble(GIVEN.replace("PLACE", place)))
    assert (low_bits_kept(module) is not module) == is_kept


@pytest.mark.parametrize(
    ("mask", "is_kept"), [("1", True), ("3", True), ("0x100000001", False), ("5", False)]
)
def test_masks_are_judged_by_all_their_words(mask: str, is_kept: bool) -> None:
    """A mask whose lower word is 1 leaves bits of the upper one, too."""
    text = GIVEN.replace("PLACE", "%v").replace("%input =", f"%mask = OpConstant %long {mask}\n%input =")
    text = text.replace(
        "%a = OpBitwiseAnd %uint %i %one", "%u = OpUConvert %long %i\n%a = OpBitwiseAnd %long %u %mask"
    )
    module = parse(spirv_tools().assemble(text.replace("%b = OpUMod %uint %i %two\n", "")))
    assert (low_bits_kept(module) is not module) == is_kept


ONES = """
OpCapability Shader
OpCapability Int8
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%byte = OpTypeInt 8 0
%bytes = OpTypeVector %byte 2
%x = OpUndef %byte
%v = OpUndef %bytes
%one = OpConstant %byte 255
%ones = OpConstantComposite %bytes %one %one
%main = OpFunction %void None %fn
%begin = OpLabel
%q = OpUDiv %byte %one %x
%r = OpUDiv %bytes %ones %v
OpReturn
OpFunctionEnd
"""


SIGNED_INPUT = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %id BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%bools = OpTypeVector %bool 2
%int = OpTypeInt 32 1
%ints = OpTypeVector %int 2
%one = OpConstant %int 1
%minus = OpConstant %int -1
%ones = OpConstantComposite %ints %one %one
%below = OpConstantComposite %ints %minus %minus
%input = OpTypePointer Input %int
%id = OpVariable %input Input
%main = OpFunction %void None %fn
%begin = OpLabel
OpBranch %header
%header = OpLabel
%k = OpPhi %ints %below %begin %next %header
%goes_on = OpSLessThan %bools %k %ones
%any = OpCompositeExtract %bool %goes_on 0
%next = OpIAdd %ints %k %ones
OpLoopMerge %end %header None
OpBranchConditional %any %header %end
%end = OpLabel
OpReturn
OpFunctionEnd
"""


def test_ends_are_hidden_where_the_module_gives_the_index_a_sign() -> None:
    changed = ends_hidden(parse(spirv_tools().assemble(SIGNED_INPUT)))
    assert [item.opcode for item in changed.instructions].count(Op.IAdd) == 2
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None


def test_ones_are_divided_in_types_that_the_module_has_not() -> None:
    changed = ones_divided(parse(spirv_tools().assemble(ONES)))
    assert [item.opcode for item in changed.instructions].count(Op.UConvert) == 6
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None


FORWARD = """
OpCapability Shader
OpCapability Int64
OpCapability PhysicalStorageBufferAddresses
OpExtension "SPV_KHR_physical_storage_buffer"
OpMemoryModel PhysicalStorageBuffer64 GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%name = OpString "node.glsl"
OpMemberDecorate %node 0 Offset 0
OpDecorate %node Block
FIRST
%void = OpTypeVoid
%fn = OpTypeFunction %void
%long = OpTypeInt 64 1
%two = OpConstant %long 2
%four = OpConstant %long 4
%node = OpTypeStruct %to_node
%to_node = OpTypePointer PhysicalStorageBuffer %node
%undefined = OpUndef %long
%main = OpFunction %void None %fn
%begin = OpLabel
%r = OpSRem %long %undefined %two
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("first", ["OpTypeForwardPointer %to_node PhysicalStorageBuffer", "OpLine %name 1 1"])
def test_decorations_are_added_before_what_may_come_first_behind_them(first: str) -> None:
    text = FORWARD.replace("FIRST", first)
    if "Forward" not in first:
        text = text.replace("%void = ", "OpTypeForwardPointer %to_node PhysicalStorageBuffer\n%void = ")
    module = parse(spirv_tools().assemble(text))
    assert spirv_tools().validate(serialise(module), "vulkan1.3") is None
    changed = low_bits_kept(module)
    assert changed is not module
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None
    decorations = [item.ordinal for item in rebind(module, {1: 2}).instructions if item.opcode == Op.Decorate]
    behind = next(item.ordinal for item in rebind(module, {1: 2}).instructions if is_behind_annotations(item))
    assert max(decorations) < behind


LOOP = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%procedure = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%first = OpConstant %int {first}
%step = OpConstant %int {step}
%last = OpConstant %int {last}
%main = OpFunction %void None %procedure
%entry = OpLabel
OpBranch %header
%header = OpLabel
%k = OpPhi %int %first %entry %next %more
%test = {compare}
OpLoopMerge %merge %more None
OpBranchConditional %test %more %merge
%more = OpLabel
%next = OpIAdd %int %k %step
OpBranch %header
%merge = OpLabel
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    ("compare", "first", "step", "last", "is_hidden"),
    [
        ("OpSLessThan %bool %k %last", 0, 1, 1000, False),
        ("OpSLessThan %bool %k %last", 0, 1, 2**31 - 1, False),
        ("OpSGreaterThan %bool %k %last", 1000, -1, -1, False),
        ("OpSGreaterThan %bool %k %last", 2**31 - 1, -1, 0, True),
        ("OpSGreaterThan %bool %k %last", 2**31 - 1, -2, -1, False),
        ("OpSGreaterThan %bool %k %last", 2**31 - 1, -1, -1, True),
        ("OpSLessThan %bool %last %k", 0, -1, -(2**31), True),
        ("OpINotEqual %bool %k %last", 0, -1, -(2**31), True),
        ("OpINotEqual %bool %k %last", 7, 1, 7, True),
        ("OpUGreaterThan %bool %k %last", 0, -1, 0, True),
        ("OpULessThan %bool %k %last", 0, 1, 64, False),
    ],
)
def test_which_ends_of_loops_are_hidden(
    compare: str, first: int, step: int, last: int, is_hidden: bool
) -> None:
    text = LOOP.format(compare=compare, first=first, step=step, last=last)
    module = parse(spirv_tools().assemble(text, "spv1.3"))
    found = rounds_hidden(module)
    assert (found is not module) == is_hidden
    assert spirv_tools().validate(serialise(found), "vulkan1.1") is None


@pytest.mark.parametrize(
    ("compare", "step", "is_hidden"),
    [
        ("OpSLessThan %bool %k %last", 1, False),
        ("OpSGreaterThan %bool %k %last", -2, False),
        ("OpSGreaterThan %bool %k %last", -1, True),
        ("OpINotEqual %bool %k %last", -1, True),
    ],
)
def test_ends_that_the_driver_alone_knows(compare: str, step: int, is_hidden: bool) -> None:
    """A specialization constant may be any number, which is no reason to hide the ends of loops that count up."""
    text = LOOP.format(compare=compare, first=0, step=step, last=64).replace(
        "%last = OpConstant", "%last = OpSpecConstant"
    )
    module = parse(spirv_tools().assemble(text, "spv1.3"))
    found = rounds_hidden(module)
    assert (found is not module) == is_hidden
    assert spirv_tools().validate(serialise(found), "vulkan1.1") is None


def test_starts_that_are_null() -> None:
    text = LOOP.format(compare="OpUGreaterThan %bool %k %last", first=0, step=-1, last=0).replace(
        "%first = OpConstant %int 0", "%first = OpConstantNull %int"
    )
    module = parse(spirv_tools().assemble(text, "spv1.3"))
    assert rounds_hidden(module) is not module
