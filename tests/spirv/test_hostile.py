"""Damaged and hostile modules: nothing but our errors, and no hang."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapilli.spirv.binary import ModuleBuilder, Section, encode_string, parse
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Decoration, Op, StorageClass
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.validation import validate

from .corpus_modules import CORPUS_MODULES

G, A = Section.GLOBALS, Section.ANNOTATIONS


def survive(data: bytes) -> bool:
    """Runs everything that reads modules; whether our validation accepts."""
    try:
        is_valid = not validate(data)
    except SpirvError:
        is_valid = False
    with contextlib.suppress(SpirvError):
        reflect(data)
    with contextlib.suppress(SpirvError):
        deserialise(data)
    return is_valid


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A module with up to three words changed, cut or not."""
    words = list(struct.unpack(f"<{len(module := draw(st.sampled_from(CORPUS_MODULES))) // 4}I", module))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words) - 1))
        small = st.integers(0, 400)
        flip = st.sampled_from([words[place] ^ 1 << bit for bit in range(32)])
        words[place] = draw(st.one_of(small, flip, st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        words = words[: draw(st.integers(0, len(words)))]
    return struct.pack(f"<{len(words)}I", *words)


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_damaged_modules_raise_our_errors_only(data: bytes) -> None:
    survive(data)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_raise_our_errors_only(data: bytes, has_header: bool) -> None:
    survive(struct.pack("<5I", 0x07230203, 0x10500, 0, 50, 0) + data if has_header else data)


@settings(max_examples=100, deadline=None)
@given(damaged())
def test_what_is_rejected_by_us_is_rejected_by_spirv_tools(data: bytes) -> None:
    try:
        findings = validate(data)
    except SpirvError:
        return
    # SPIRV-Tools checks neither UTF-8 nor the operand types that these findings are about.
    stricter = ("not UTF-8", "local size has a component of 0", "OpSpecConstantOp", "has stride")
    if findings and not any(text in f.message for f in findings for text in stricter):
        assert spirv_tools().validate(data, scalar_block_layout=True) is not None, findings


def test_struct_of_structs_does_not_explode() -> None:
    builder = ModuleBuilder((1, 5))
    kind = builder.add_result(G, Op.TypeInt, (32, 0))
    for _ in range(200):
        struct_id = builder.add_result(G, Op.TypeStruct, (kind, kind))
        for member in (0, 1):
            builder.add(A, Op.MemberDecorate, (struct_id, member, Decoration.Offset, member << 31))
        kind = struct_id
    survive(builder.build())


def test_deep_arrays_do_not_recurse() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    word = builder.add_result(G, Op.TypeInt, (32, 0))
    length = builder.add_result(G, Op.Constant, (0xFFFFFFFF,), result_type=word)
    kind = word
    for _ in range(5000):
        kind = builder.add_result(G, Op.TypeArray, (kind, length))
        builder.add(A, Op.Decorate, (kind, Decoration.ArrayStride, 0xFFFFFFFF))
    pointer = builder.add_result(G, Op.TypePointer, (StorageClass.StorageBuffer, kind))
    builder.add_result(G, Op.Variable, (StorageClass.StorageBuffer,), result_type=pointer)
    survive(builder.build())


@pytest.mark.parametrize("target", ["struct", "array", "pointer"])
def test_types_that_contain_themselves(target: str) -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    own = builder.bound
    words = {"struct": (own,), "array": (own, own), "pointer": (StorageClass.StorageBuffer, own)}[target]
    code = {"struct": Op.TypeStruct, "array": Op.TypeArray, "pointer": Op.TypePointer}[target]
    builder.add_result(G, code, words)
    assert not survive(builder.build())


def test_functions_that_call_in_a_circle() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    builder.add(Section.CAPABILITIES, Op.Capability, (1,))
    void = builder.add_result(G, Op.TypeVoid)
    kind = builder.add_result(G, Op.TypeFunction, (void,))
    first, second = builder.new_id(), builder.new_id()
    builder.add(Section.ENTRY_POINTS, Op.EntryPoint, (5, first, *encode_string("f")))
    for own, other in ((first, second), (second, first)):
        builder.add(Section.FUNCTIONS, Op.Function, (0, kind), result_type=void, result_id=own)
        builder.add_result(Section.FUNCTIONS, Op.Label)
        builder.add_result(Section.FUNCTIONS, Op.FunctionCall, (other,), result_type=void)
        builder.add(Section.FUNCTIONS, Op.Return)
        builder.add(Section.FUNCTIONS, Op.FunctionEnd)
    data = builder.build()
    assert reflect(data).entry_point("f").bindings == ()
    assert any("calls itself" in finding.message for finding in validate(data))


def test_decoration_groups_of_groups_do_not_explode() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    one, two = (builder.add_result(A, Op.DecorationGroup) for _ in range(2))
    builder.add(A, Op.Decorate, (one, Decoration.Aliased))
    for _ in range(40):
        builder.add(A, Op.GroupDecorate, (one, *[two] * 20))
        builder.add(A, Op.GroupDecorate, (two, *[one] * 20))
    survive(builder.build())


def test_longest_instruction_is_read() -> None:
    builder = ModuleBuilder((1, 5))
    word = builder.add_result(G, Op.TypeInt, (32, 0))
    builder.add_result(G, Op.TypeStruct, (word,) * 65533)
    data = builder.build()
    assert len(parse(data).instructions[1].operands) == 65533
    survive(data)


def test_a_buffer_block_whose_id_is_claimed_twice() -> None:
    text = """
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        %twice = OpString "the same id"
        OpDecorate %block BufferBlock
        OpMemberDecorate %block 0 Offset 0
        %int = OpTypeInt 32 1
        %block = OpTypeStruct %int
        %pointer = OpTypePointer Uniform %block
        %twice = OpVariable %pointer Uniform
    """
    assert not survive(spirv_tools().assemble(text))
