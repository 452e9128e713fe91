"""Bytes to instructions and back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapilli.ir.errors import InvalidError
from lapilli.spirv.binary import (
    MAX_INSTRUCTION_WORDS,
    Instruction,
    Module,
    ModuleBuilder,
    Section,
    decode_string,
    encode_instruction,
    encode_string,
    parse,
    serialise,
)
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.operands import decode_operands, id_operands
from lapilli.spirv.tables import MAX_ID_BOUND, Decoration, Op, result_layouts

WORDS = st.integers(0, 2**32 - 1)


@st.composite
def instructions(draw: st.DrawFn, bound: int) -> Instruction:
    code = draw(st.one_of(st.sampled_from(sorted(result_layouts())), st.integers(0, 65535)))
    has_type, has_id = result_layouts().get(code, (False, False))
    return Instruction(
        code,
        draw(WORDS) if has_type else None,
        draw(st.integers(1, bound - 1)) if has_id else None,
        tuple(draw(st.lists(WORDS, max_size=6))),
    )


@st.composite
def modules(draw: st.DrawFn) -> Module:
    bound = draw(st.integers(2, MAX_ID_BOUND))
    items = draw(st.lists(instructions(bound), max_size=12))
    return Module(
        version=(1, draw(st.integers(0, 6))),
        bound=bound,
        generator=draw(WORDS),
        instructions=tuple(item._replace(ordinal=n) for n, item in enumerate(items)),
    )


@given(modules())
def test_parse_undoes_serialise(module: Module) -> None:
    assert parse(serialise(module)) == module


def test_serialise_undoes_parse(corpus_module: bytes) -> None:
    assert serialise(parse(corpus_module)) == corpus_module


def test_other_byte_order_is_swapped(saxpy: bytes) -> None:
    words = struct.unpack(f"<{len(saxpy) // 4}I", saxpy)
    assert parse(struct.pack(f">{len(words)}I", *words)) == parse(saxpy)


def header(
    *, magic: int = 0x07230203, version: int = 0x10500, bound: int = 5, schema: int = 0
) -> tuple[int, ...]:
    return (magic, version, 0, bound, schema)


@pytest.mark.parametrize(
    ("words", "offset", "message"),
    [
        (header(magic=0x12345678), 0, "magic number"),
        (header(version=0x20000), 1, "version 1.x"),
        (header(version=0x10501), 1, "version 1.x"),
        (header(bound=0), 3, "id bound"),
        (header(bound=MAX_ID_BOUND + 1), 3, "id bound"),
        (header(schema=1), 4, "schema"),
        ((*header(), 0), 5, "word count of 0"),
        (
            (*header(), 2 << 16 | Op.Capability, 1, 3 << 16 | Op.Name, 1),
            7,
            "has 3 words, but only 2 are left",
        ),
        ((*header(), 2 << 16 | Op.IAdd, 1), 5, "ends before its result id"),
        ((*header(), 2 << 16 | Op.TypeVoid, 5), 6, "defines id 5; ids are 1 to 4"),
        ((*header(), 2 << 16 | Op.TypeVoid, 0), 6, "defines id 0"),
    ],
)
def test_malformed_modules(words: tuple[int, ...], offset: int, message: str) -> None:
    with pytest.raises(SpirvError, match=message) as caught:
        parse(struct.pack(f"<{len(words)}I", *words))
    assert caught.value.word_offset == offset
    assert isinstance(caught.value, InvalidError)


@pytest.mark.parametrize("data", [b"", b"\x03\x02\x23\x07", bytes(19), bytes(22)])
def test_sizes_that_no_module_has(data: bytes) -> None:
    with pytest.raises(SpirvError, match="whole words"):
        parse(data)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_strings_come_back(text: str) -> None:
    words = encode_string(text)
    assert decode_string((7, *words, 9), 1) == (text, 1 + len(words))
    assert len(words) == len(text.encode()) // 4 + 1


def test_strings_that_cannot_be() -> None:
    with pytest.raises(SpirvError, match="zero character"):
        encode_string("a\0b")
    with pytest.raises(SpirvError, match="does not end"):
        decode_string((0x41414141,))
    with pytest.raises(SpirvError, match="not UTF-8"):
        decode_string((0x000000FF,))


def test_instruction_of_too_many_words() -> None:
    assert len(encode_instruction(Op.TypeStruct, (1,) * (MAX_INSTRUCTION_WORDS - 2), None, 2)) == 65535
    with pytest.raises(SpirvError, match="at most 65535"):
        encode_instruction(Op.TypeStruct, (1,) * (MAX_INSTRUCTION_WORDS - 1), None, 2)


def test_builder_orders_sections_and_keeps_marks() -> None:
    builder = ModuleBuilder((1, 5))
    void = builder.add_result(Section.GLOBALS, Op.TypeVoid, mark="void")
    builder.add(Section.DEBUG_NAMES, Op.Name, (void, *encode_string("void")))
    builder.add(Section.CAPABILITIES, Op.Capability, (1,), mark="shader")
    module = parse(builder.build())
    assert [item.name for item in module.instructions] == ["OpCapability", "OpName", "OpTypeVoid"]
    assert builder.marks() == ("shader", None, "void")
    assert (module.version, module.bound) == ((1, 5), 2)


def test_operands_by_the_grammar(saxpy: bytes) -> None:
    items = {item.name: item for item in parse(saxpy).instructions}
    entry = decode_operands(items["OpEntryPoint"])
    assert [o.kind for o in entry] == ["ExecutionModel", "IdRef", "LiteralString", *["IdRef"] * 4]
    binding = Instruction(Op.Decorate, None, None, (3, Decoration.Binding, 1))
    assert [o.kind for o in decode_operands(binding)] == ["IdRef", "Decoration", "LiteralInteger"]
    assert id_operands(items["OpAccessChain"]) == items["OpAccessChain"].operands


def test_operands_behind_masks_and_wrapped_opcodes() -> None:
    # Aligned brings a literal, MakePointerVisible a scope; the lowest bit comes first.
    load = Instruction(Op.Load, 1, 2, (3, 0x2 | 0x10, 16, 4))
    assert [o.kind for o in decode_operands(load)[2:]] == ["LiteralInteger", "IdScope"]
    with pytest.raises(SpirvError, match="ends before an operand"):
        decode_operands(load._replace(operands=(3, 0x2)))
    wrapped = Instruction(Op.SpecConstantOp, 1, 2, (Op.IAdd, 3, 4))
    assert id_operands(wrapped) == (3, 4)
    with pytest.raises(SpirvError, match="cannot wrap itself"):
        decode_operands(wrapped._replace(operands=(Op.SpecConstantOp, Op.SpecConstantOp)))
