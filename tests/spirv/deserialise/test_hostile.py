"""Damaged modules give errors of ours and nothing else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.binary import ModuleBuilder, Section, encode_string
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

TESTS = Path(__file__).parents[2]
MODULES = [spirv_tools().assemble(path.read_text()) for path in (TESTS / "spirv" / "corpus").glob("*.spvasm")]
MODULES += [
    emit(next(iter(parse_module(path.read_text()).module.body.ops)), TargetEnv()).binary
    for path in sorted((TESTS / "golden" / "spirv").glob("*.mlir"))
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    module = draw(st.sampled_from(MODULES))
    words = list(struct.unpack(f"<{len(module) // 4}I", module))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(words) - 1))
        flip = st.sampled_from([words[place] ^ 1 << bit for bit in range(32)])
        words[place] = draw(st.one_of(st.integers(0, 200), flip, st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        words = words[: draw(st.integers(0, len(words)))]
    return struct.pack(f"<{len(words)}I", *words)


def survive(data: bytes) -> None:
    try:
        deserialise(data)
    except SpirvError as error:
        assert str(error)


@settings(max_examples=400, deadline=None)
@given(damaged())
def test_damaged_words(data: bytes) -> None:
    survive(data)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_words(data: bytes) -> None:
    survive(struct.pack("<5I", 0x07230203, 0x10500, 0, 50, 0) + data)


def with_body(instructions: str) -> bytes:
    return spirv_tools().assemble(
        f"""
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main "main"
        OpExecutionMode %main LocalSize 1 1 1
        %void = OpTypeVoid
        %kind = OpTypeFunction %void
        %bool = OpTypeBool
        %true = OpConstantTrue %bool
        %f32 = OpTypeFloat 32
        %one = OpConstant %f32 1
        %main = OpFunction %void None %kind
        %entry = OpLabel
        {instructions}
        OpFunctionEnd
        """
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%d = OpDPdx %f32 %one\nOpReturn", "OpDPdx: the dialect has no such operation"),
        ("OpKill", "OpKill: the dialect has no such operation"),
        ("OpBranch %entry", "OpBranch: the first block of a function cannot be branched to"),
        (
            "OpSelectionMerge %a None\nOpBranchConditional %true %a %b\n%b = OpLabel\n"
            "OpBranch %c\n%c = OpLabel\nOpBranch %b\n%a = OpLabel\nOpReturn",
            "",
        ),
        (
            "%x = OpFAdd %f32 %one %y\n%y = OpFAdd %f32 %one %one\nOpReturn",
            "%[0-9]+ is used where it is not defined",
        ),
    ],
)
def test_the_error_names_the_instruction(body: str, message: str) -> None:
    if not message:
        deserialise(with_body(body))  # a loop without OpLoopMerge is no structured loop, but still a graph
        return
    with pytest.raises(SpirvError, match=message):
        deserialise(with_body(body))


def test_types_of_types_do_not_explode() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.CAPABILITIES, Op.Capability, (1,))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    kind = builder.add_result(Section.GLOBALS, Op.TypeInt, (32, 0))
    for _ in range(200):
        kind = builder.add_result(Section.GLOBALS, Op.TypeStruct, (kind, kind))
    pointer = builder.add_result(Section.GLOBALS, Op.TypePointer, (6, kind))
    builder.add_result(Section.GLOBALS, Op.Variable, (6,), result_type=pointer)
    with pytest.raises(SpirvError, match="nested more than"):
        deserialise(builder.build())


def test_fragment_shaders_are_refused() -> None:
    data = with_body("OpReturn")
    fragment = data.replace(
        struct.pack("<I", 5) + struct.pack("<I", 1), struct.pack("<I", 4) + struct.pack("<I", 1)
    )
    assert encode_string("main") and fragment != data
    with pytest.raises(SpirvError, match="only compute shaders are supported, found Fragment"):
        deserialise(fragment)
