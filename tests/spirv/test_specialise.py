"""Freezing specialization constants and setting their defaults, against spirv-opt."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapilli.ir.errors import InvalidError, KernelArgumentError
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.reflect import reflect
from lapilli.spirv.specialise import freeze_spec_constants, parse_spec_values, set_spec_constant_defaults
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

SPIRV_OPT = shutil.which("spirv-opt")

MODULE = """
OpCapability Shader
OpCapability Int64
OpCapability Int16
OpCapability Float64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %flag SpecId 0
OpDecorate %number SpecId 1
OpDecorate %unsigned SpecId 2
OpDecorate %wide SpecId 3
OpDecorate %single SpecId 4
OpDecorate %double SpecId 5
OpDecorate %narrow SpecId 6
%void = OpTypeVoid
%entry = OpTypeFunction %void
%bool = OpTypeBool
%i32 = OpTypeInt 32 1
%u32 = OpTypeInt 32 0
%i64 = OpTypeInt 64 1
%i16 = OpTypeInt 16 1
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%vector = OpTypeVector %i32 2
%bools = OpTypeVector %bool 2
%flag = OpSpecConstantTrue %bool
%number = OpSpecConstant %i32 -7
%unsigned = OpSpecConstant %u32 3
%wide = OpSpecConstant %i64 5000000000
%single = OpSpecConstant %f32 1.5
%double = OpSpecConstant %f64 2.5
%narrow = OpSpecConstant %i16 -3
%two = OpConstant %i32 2
%pair = OpSpecConstantComposite %vector %number %two
BODY
%main = OpFunction %void None %entry
%label = OpLabel
OpReturn
OpFunctionEnd
"""

OPERATIONS = {
    "add": "%r = OpSpecConstantOp %i32 IAdd %number %two",
    "subtract": "%r = OpSpecConstantOp %i32 ISub %two %number",
    "multiply": "%r = OpSpecConstantOp %i32 IMul %number %number",
    "divide": "%r = OpSpecConstantOp %i32 SDiv %number %two",
    "divide unsigned": "%large = OpSpecConstantOp %u32 IAdd %number %unsigned\n"
    "%r = OpSpecConstantOp %u32 UDiv %large %unsigned",
    "remainder": "%r = OpSpecConstantOp %i32 SRem %number %two",
    "modulo": "%r = OpSpecConstantOp %i32 SMod %number %two",
    "modulo unsigned": "%large = OpSpecConstantOp %u32 IAdd %number %unsigned\n"
    "%r = OpSpecConstantOp %u32 UMod %large %unsigned",
    "negate": "%r = OpSpecConstantOp %i32 SNegate %number",
    "not": "%r = OpSpecConstantOp %i32 Not %number",
    "and": "%r = OpSpecConstantOp %i32 BitwiseAnd %number %two",
    "or": "%r = OpSpecConstantOp %i32 BitwiseOr %number %two",
    "xor": "%r = OpSpecConstantOp %i32 BitwiseXor %number %two",
    "shift left": "%r = OpSpecConstantOp %i32 ShiftLeftLogical %number %two",
    "shift right": "%r = OpSpecConstantOp %i32 ShiftRightArithmetic %number %two",
    "shift right logical": "%r = OpSpecConstantOp %i32 ShiftRightLogical %number %two",
    "equal": "%r = OpSpecConstantOp %bool IEqual %number %two",
    "not equal": "%r = OpSpecConstantOp %bool INotEqual %number %two",
    "less": "%r = OpSpecConstantOp %bool SLessThan %number %two",
    "less unsigned": "%r = OpSpecConstantOp %bool ULessThan %number %unsigned",
    "greater": "%r = OpSpecConstantOp %bool SGreaterThanEqual %number %two",
    "logical": "%r = OpSpecConstantOp %bool LogicalNot %flag",
    "logical and": "%x = OpSpecConstantOp %bool SLessThan %number %two\n"
    "%r = OpSpecConstantOp %bool LogicalAnd %flag %x",
    "select": "%r = OpSpecConstantOp %i32 Select %flag %number %two",
    "extract": "%r = OpSpecConstantOp %i32 CompositeExtract %pair 0",
    "insert": "%r = OpSpecConstantOp %vector CompositeInsert %two %pair 0",
    "shuffle": "%r = OpSpecConstantOp %vector VectorShuffle %pair %pair 1 0",
    "vector": "%r = OpSpecConstantOp %vector IAdd %pair %pair",
    "vector comparison": "%r = OpSpecConstantOp %bools SLessThan %pair %pair",
    "chain": "%a = OpSpecConstantOp %i32 IAdd %number %two\n%r = OpSpecConstantOp %i32 IMul %a %a",
}


def module(body: str = "") -> bytes:
    """Returns `MODULE` with `body`; a constant of one member holds %r, whose own id spirv-opt replaces."""
    result = re.search(r"%r = OpSpecConstantOp (%\w+)", body)
    if result is not None:
        body += f"\n%holder = OpTypeStruct {result[1]}\n%held = OpSpecConstantComposite %holder %r"
    return spirv_tools().assemble(MODULE.replace("BODY", f"{body}\n"), "vulkan1.3")


def spirv_opt(binary: bytes, *options: str) -> bytes:
    assert SPIRV_OPT is not None
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in.spv"), Path(folder, "out.spv")
        source.write_bytes(binary)
        subprocess.run([SPIRV_OPT, *options, source, "-o", out], check=True, timeout=60)
        return out.read_bytes()


def values(binary: bytes) -> dict[int, object]:
    """Returns what every constant is, by id."""
    found: dict[int, object] = {}
    for item in parse(binary).instructions:
        number = item.result_id or 0
        if item.opcode == Op.Constant:
            found[number] = item.operands
        elif item.opcode in (Op.ConstantTrue, Op.ConstantFalse):
            found[number] = item.opcode == Op.ConstantTrue
        elif item.opcode == Op.ConstantComposite:
            found[number] = [found[part] for part in item.operands]
    return found


def constants_left(binary: bytes) -> list[str]:
    return [item.name for item in parse(binary).instructions if item.name.startswith("OpSpecConstant")]


def result_id(binary: bytes) -> int:
    """The last constant of a module."""
    return [i.result_id or 0 for i in parse(binary).instructions if "Constant" in i.name][-1]


@pytest.mark.skipif(SPIRV_OPT is None, reason="spirv-opt is not installed")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_frozen_operations_are_what_spirv_opt_computes(operation: str) -> None:
    binary = module(OPERATIONS[operation])
    ours = freeze_spec_constants(binary)
    theirs = spirv_opt(binary, "--freeze-spec-const", "--fold-spec-const-op-composite")
    assert spirv_tools().validate(ours, "vulkan1.3") is None
    assert constants_left(ours) == []
    number = result_id(binary)
    if not constants_left(theirs):  # some versions leave a few operations
        assert values(ours)[number] == values(theirs)[number]


def test_operations_have_the_values_of_the_specification() -> None:
    expected = {
        "add": (2**32 - 5,), "divide": (2**32 - 3,), "remainder": (2**32 - 1,), "modulo": (1,),
        "shift right": (2**32 - 2,),
        "divide unsigned": ((2**32 - 4) // 3,), "modulo unsigned": ((2**32 - 4) % 3,),
        "less": True, "less unsigned": False, "logical": False,
        "select": (2**32 - 7,), "insert": [(2,), (2,)], "shuffle": [(2,), (2**32 - 7,)], "chain": (25,),
        "vector": [(2**32 - 14,), (4,)], "vector comparison": [False, False],
    }  # fmt: skip
    for operation, value in expected.items():
        binary = module(OPERATIONS[operation])
        assert values(freeze_spec_constants(binary))[result_id(binary)] == [value], operation


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from([name for name in OPERATIONS if name not in ("logical", "logical and")]),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(1, 2**32 - 1),
)
@pytest.mark.skipif(SPIRV_OPT is None, reason="spirv-opt is not installed")
def test_random_values_fold_as_spirv_opt_folds(operation: str, number: int, unsigned: int) -> None:
    binary = set_spec_constant_defaults(module(OPERATIONS[operation]), {1: number, 2: unsigned})
    theirs = spirv_opt(binary, "--freeze-spec-const", "--fold-spec-const-op-composite")
    ours = freeze_spec_constants(binary)
    if not constants_left(theirs):
        assert values(ours)[result_id(binary)] == values(theirs)[result_id(binary)]


def test_spec_ids_disappear() -> None:
    frozen = freeze_spec_constants(module())
    assert reflect(frozen).spec_constants == ()
    assert spirv_tools().validate(frozen, "vulkan1.3") is None
    assert freeze_spec_constants(frozen) == frozen


SETTINGS: list[tuple[dict[int, object], str]] = [
    ({0: False}, "0:false"),
    ({1: 2**31 - 1}, "1:2147483647"),
    ({1: -1}, "1:-1"),
    ({2: 2**32 - 1}, "2:4294967295"),
    ({3: -(2**63)}, "3:-9223372036854775808"),
    ({4: 0.1}, "4:0.1"),
    ({4: 3}, "4:3"),
    ({5: 1e300}, "5:1e300"),
    ({1: 255, 5: 0.5}, "1:0xff 5:0.5"),
]


@pytest.mark.skipif(SPIRV_OPT is None, reason="spirv-opt is not installed")
@pytest.mark.parametrize(("settings_", "text"), SETTINGS)
def test_defaults_are_set_as_spirv_opt_sets_them(settings_: dict[int, object], text: str) -> None:
    ours = set_spec_constant_defaults(module(), settings_)  # type: ignore[arg-type]
    assert parse_spec_values(text) == settings_
    theirs = spirv_opt(module(), f"--set-spec-const-default-value={text}")
    assert [c.default for c in reflect(ours).spec_constants] == [
        c.default for c in reflect(theirs).spec_constants
    ]


def test_narrow_numbers_are_extended_by_their_sign() -> None:
    found = reflect(set_spec_constant_defaults(module(), {6: -2})).spec_constants
    assert found[6].default == -2
    assert spirv_tools().validate(set_spec_constant_defaults(module(), {6: -2}), "vulkan1.3") is None


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({9: 1}, r"no specialization constant with SpecId 9; it has 0, 1, 2, 3, 4, 5, 6"),
        ({0: 2}, "SpecId 0: expected a value of type bool, found 2"),
        ({1: True}, "SpecId 1: expected a value of type i32, found True"),
        ({1: 2**32}, "of type i32"),
        ({1: 0.5}, "of type i32"),
        ({1: float("nan")}, "of type i32"),
        ({2: -(2**31) - 1}, "of type u32"),
        ({4: 1e39}, "of type f32"),
        ({4: "1"}, "of type f32"),
    ],
)
def test_values_that_do_not_fit_are_refused(settings_: dict[int, object], message: str) -> None:
    with pytest.raises(KernelArgumentError, match=message):
        set_spec_constant_defaults(module(), settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "1", "1:", ":1", "a:1", "1:x", "1:2 1:3", "4294967296:1", "-1:2"])
def test_malformed_pairs_are_refused(text: str) -> None:
    with pytest.raises(InvalidError, match="expected"):
        parse_spec_values(text)


@pytest.mark.parametrize("width", [0, 24, 2**31, 2**32 - 1])
def test_integers_of_widths_that_there_are_not_are_left(width: int) -> None:
    """A mask of that many bits would be half a gigabyte."""
    parsed = parse(module(""))
    items = [i._replace(operands=(width, 0)) if i.opcode == Op.TypeInt else i for i in parsed.instructions]
    binary = serialise(replace(parsed, instructions=tuple(items)))
    with contextlib.suppress(SpirvError):
        freeze_spec_constants(binary)


def test_composites_that_grow_without_end_are_left() -> None:
    doubling = ["%p0 = OpSpecConstantComposite %vector %number %number", "%t0 = OpTypeStruct %vector %vector"]
    doubling.append("%s0 = OpSpecConstantComposite %t0 %p0 %p0")
    for n in range(1, 60):
        doubling += [f"%t{n} = OpTypeStruct %t{n - 1} %t{n - 1}"]
        doubling += [f"%s{n} = OpSpecConstantComposite %t{n} %s{n - 1} %s{n - 1}"]
    doubling.append("%part = OpSpecConstantOp %t58 CompositeExtract %s59 0")
    binary = freeze_spec_constants(module("\n".join(doubling)))
    # Not validated: SPIRV-Tools itself takes time without end for it.
    assert constants_left(binary) == ["OpSpecConstantOp"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_hostile_words_are_folded_or_refused(data: st.DataObject) -> None:
    words = bytearray(module(OPERATIONS["vector"] + "\n" + re.sub("%r", "%q", OPERATIONS["insert"])))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(5, len(words) // 4 - 1)) * 4
        word = data.draw(st.one_of(st.integers(0, 60), st.integers(0, 2**32 - 1)))
        words[place : place + 4] = word.to_bytes(4, "little")
    try:
        freeze_spec_constants(set_spec_constant_defaults(bytes(words), {1: 3}))
    except (SpirvError, InvalidError, KernelArgumentError):
        return
