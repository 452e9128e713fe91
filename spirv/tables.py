"""The SPIR-V grammar, typed: opcodes, operand kinds, enumerants, capabilities, GLSL.std.450.

Reads the generated rows of `_generated` and adds, in `NEWER_INSTRUCTIONS` and `NEWER_ENUMERANTS`, what the
grammar file that they come from is too old for.  Rows become objects when they are first asked for, so
importing this costs about 2 ms.  Standard library only.

Numbers by name: `Op.Load`, `StorageClass.StorageBuffer`, `Decoration.SpecId` and so on are plain ints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from . import _generated
from ._generated_names import (
    AddressingModel,
    BuiltIn,
    Capability,
    Decoration,
    Dim,
    ExecutionMode,
    ExecutionModel,
    FunctionControl,
    GroupOperation,
    LinkageType,
    LoopControl,
    MemoryAccess,
    MemoryModel,
    MemorySemantics,
    Op,
    Scope,
    SelectionControl,
    SourceLanguage,
    StorageClass,
)

__all__ = [
    "GLSL_STD_450",
    "GRAMMAR_VERSION",
    "MAGIC_NUMBER",
    "MAX_ID_BOUND",
    "NEWER_ENUMERANTS",
    "NEWER_INSTRUCTIONS",
    "AddressingModel",
    "BuiltIn",
    "Capability",
    "CooperativeMatrixLayout",
    "CooperativeMatrixUse",
    "Decoration",
    "Dim",
    "Enumerant",
    "ExecutionMode",
    "ExecutionModel",
    "FunctionControl",
    "GroupOperation",
    "InstructionInfo",
    "LinkageType",
    "LoopControl",
    "MemoryAccess",
    "MemoryModel",
    "MemorySemantics",
    "NewerCapability",
    "NewerOp",
    "Op",
    "Operand",
    "Scope",
    "SelectionControl",
    "SourceLanguage",
    "StorageClass",
    "capability_closure",
    "enumerant",
    "enumerant_name",
    "enumerant_value",
    "glsl_std_450_name",
    "instruction",
    "is_bit_enum",
    "is_enum",
    "opcode",
    "opcode_name",
    "result_layouts",
]

Row = _generated.Row

GRAMMAR_VERSION: Final[tuple[int, int]] = _generated.GRAMMAR_VERSION
"""Newest SPIR-V version that the tables know."""
MAGIC_NUMBER: Final = 0x07230203
"""First word of a module (SPIR-V 1.6 §2.3)."""
MAX_ID_BOUND: Final = 0x3FFFFF
"""Largest id bound that every consumer takes (SPIR-V 1.6 §2.17, universal limits)."""


class NewerOp:
    """Opcodes newer than the generated table."""

    TypeCooperativeMatrixKHR = 4456
    CooperativeMatrixLoadKHR = 4457
    CooperativeMatrixStoreKHR = 4458
    CooperativeMatrixMulAddKHR = 4459
    CooperativeMatrixLengthKHR = 4460


class NewerCapability:
    """Capabilities newer than the generated table."""

    BFloat16TypeKHR = 5116
    BFloat16DotProductKHR = 5117
    BFloat16CooperativeMatrixKHR = 5118
    CooperativeMatrixKHR = 6022


class CooperativeMatrixLayout:
    """Memory layouts of a cooperative matrix."""

    RowMajorKHR = 0
    ColumnMajorKHR = 1


class CooperativeMatrixUse:
    """Roles of a cooperative matrix in a multiply-add."""

    MatrixAKHR = 0
    MatrixBKHR = 1
    MatrixAccumulatorKHR = 2


# The one table of facts that no generated row holds.  Each block names its specification; the numbers are
# checked against SPIRV-Tools by tests/spirv/test_tables.py.
_COOPERATIVE_MATRIX = ("SPV_KHR_cooperative_matrix",)
_BFLOAT16 = ("SPV_KHR_bfloat16",)
_MATRIX_CAPABILITY = ("CooperativeMatrixKHR",)

NEWER_INSTRUCTIONS: Final[tuple[Row, ...]] = (
    # SPV_KHR_cooperative_matrix, revision 2
    (
        "OpTypeCooperativeMatrixKHR",
        4456,
        "IdResult IdRef IdScope IdRef IdRef IdRef",
        _MATRIX_CAPABILITY,
        None,
        _COOPERATIVE_MATRIX,
    ),
    (
        "OpCooperativeMatrixLoadKHR",
        4457,
        "IdResultType IdResult IdRef IdRef IdRef? MemoryAccess?",
        _MATRIX_CAPABILITY,
        None,
        _COOPERATIVE_MATRIX,
    ),
    (
        "OpCooperativeMatrixStoreKHR",
        4458,
        "IdRef IdRef IdRef IdRef? MemoryAccess?",
        _MATRIX_CAPABILITY,
        None,
        _COOPERATIVE_MATRIX,
    ),
    (
        "OpCooperativeMatrixMulAddKHR",
        4459,
        "IdResultType IdResult IdRef IdRef IdRef CooperativeMatrixOperands?",
        _MATRIX_CAPABILITY,
        None,
        _COOPERATIVE_MATRIX,
    ),
    (
        "OpCooperativeMatrixLengthKHR",
        4460,
        "IdResultType IdResult IdRef",
        _MATRIX_CAPABILITY,
        None,
        _COOPERATIVE_MATRIX,
    ),
    # SPV_KHR_bfloat16, revision 1: OpTypeFloat takes an optional FP encoding (replaces the generated row)
    ("OpTypeFloat", 22, "IdResult LiteralInteger FPEncoding?", (), (1, 0), ()),
)

NEWER_ENUMERANTS: Final[dict[str, tuple[Row, ...]]] = {
    "Capability": (
        ("CooperativeMatrixKHR", 6022, "", (), None, _COOPERATIVE_MATRIX),
        ("BFloat16TypeKHR", 5116, "", (), None, _BFLOAT16),
        ("BFloat16DotProductKHR", 5117, "", ("BFloat16TypeKHR",), None, _BFLOAT16),
        (
            "BFloat16CooperativeMatrixKHR",
            5118,
            "",
            ("BFloat16TypeKHR", "CooperativeMatrixKHR"),
            None,
            _BFLOAT16,
        ),
    ),
    # The SPIR-V registry's list of source languages (spir-v.xml); debug information, of no meaning to a driver
    "SourceLanguage": (
        ("HERO_C", 8, "", (), (1, 0), ()),
        ("NZSL", 9, "", (), (1, 0), ()),
        ("WGSL", 10, "", (), (1, 0), ()),
        ("Slang", 11, "", (), (1, 0), ()),
        ("Zig", 12, "", (), (1, 0), ()),
        ("Rust", 13, "", (), (1, 0), ()),
    ),
    "FPEncoding": (("BFloat16KHR", 0, "", ("BFloat16TypeKHR",), None, _BFLOAT16),),
    "CooperativeMatrixOperands": (
        ("NoneKHR", 0x00, "", (), (1, 0), ()),
        ("MatrixASignedComponentsKHR", 0x01, "", (), (1, 0), ()),
        ("MatrixBSignedComponentsKHR", 0x02, "", (), (1, 0), ()),
        ("MatrixCSignedComponentsKHR", 0x04, "", (), (1, 0), ()),
        ("MatrixResultSignedComponentsKHR", 0x08, "", (), (1, 0), ()),
        ("SaturatingAccumulationKHR", 0x10, "", (), (1, 0), ()),
    ),
    "CooperativeMatrixLayout": (
        ("RowMajorKHR", 0, "", _MATRIX_CAPABILITY, None, _COOPERATIVE_MATRIX),
        ("ColumnMajorKHR", 1, "", _MATRIX_CAPABILITY, None, _COOPERATIVE_MATRIX),
    ),
    "CooperativeMatrixUse": (
        ("MatrixAKHR", 0, "", _MATRIX_CAPABILITY, None, _COOPERATIVE_MATRIX),
        ("MatrixBKHR", 1, "", _MATRIX_CAPABILITY, None, _COOPERATIVE_MATRIX),
        ("MatrixAccumulatorKHR", 2, "", _MATRIX_CAPABILITY, None, _COOPERATIVE_MATRIX),
    ),
    # SPV_KHR_maximal_reconvergence, revision 1.
    "ExecutionMode": (
        ("MaximallyReconvergesKHR", 6023, "", ("Shader",), None, ("SPV_KHR_maximal_reconvergence",)),
    ),
}
_NEWER_BIT_ENUMS = frozenset(("CooperativeMatrixOperands",))


@dataclass(frozen=True, slots=True)
class Operand:
    """One entry of an instruction's operand pattern."""

    kind: str
    """``IdRef``, ``LiteralString``, or an enumerated kind."""
    quantifier: str
    """Empty: exactly one; ``?``: at most one; ``*``: any number."""


@dataclass(frozen=True, slots=True)
class InstructionInfo:
    """What the grammar says of an opcode."""

    name: str
    """With its prefix: ``OpLoad``."""
    opcode: int
    operands: tuple[Operand, ...]
    """With IdResultType and IdResult, where it has them, in front."""
    has_result_type: bool
    has_result_id: bool
    capabilities: tuple[str, ...]
    """A module that uses it must declare at least one of them; empty: none needed."""
    min_version: tuple[int, int] | None
    """First SPIR-V version that has it; None: only through an extension."""
    extensions: tuple[str, ...]
    """Any of them brings it before `min_version`."""


@dataclass(frozen=True, slots=True)
class Enumerant:
    """One value, or one mask bit, of an enumerated operand kind."""

    kind: str
    name: str
    value: int
    parameters: tuple[Operand, ...]
    """Operands that follow it."""
    capabilities: tuple[str, ...]
    """At least one is needed; of a Capability: those that it implies, all of them."""
    min_version: tuple[int, int] | None
    extensions: tuple[str, ...]


_INSTRUCTION_ROWS: Final[dict[int, Row]] = {
    row[1]: row for row in (*_generated.INSTRUCTIONS, *NEWER_INSTRUCTIONS)
}


@cache
def _opcodes() -> dict[str, int]:
    return {**_generated.OPCODE_ALIASES, **{row[0]: number for number, row in _INSTRUCTION_ROWS.items()}}


@cache
def _operands(pattern: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(word[:-1], word[-1]) if word[-1] in "?*" else Operand(word, "") for word in pattern.split()
    )


def opcode(name: str) -> int:
    """Returns the number of ``OpLoad``, also under an older spelling; KeyError where there is none."""
    return _opcodes()[name]


def opcode_name(number: int) -> str:
    """Returns the spelling of an opcode, or ``opcode 12345`` where it is unknown."""
    row = _INSTRUCTION_ROWS.get(number)
    return row[0] if row is not None else f"opcode {number}"


@cache
def instruction(number: int) -> InstructionInfo | None:
    """Returns the grammar of an opcode, or None where it is unknown."""
    row = _INSTRUCTION_ROWS.get(number)
    if row is None:
        return None
    name, _, pattern, capabilities, version, extensions = row
    has_type, has_id = _layout_of(pattern)
    return InstructionInfo(
        name, number, _operands(pattern), has_type, has_id, capabilities, version, extensions
    )


def _layout_of(pattern: str) -> tuple[bool, bool]:
    return (pattern.startswith("IdResultType"), "IdResult" in pattern.split(" ", 2)[:2])


@cache
def result_layouts() -> dict[int, tuple[bool, bool]]:
    """Returns, for every known opcode, whether it has a result type and a result id."""
    return {number: _layout_of(row[2]) for number, row in _INSTRUCTION_ROWS.items()}


@cache
def _enumerants(kind: str) -> dict[int, Row]:
    generated = _generated.ENUMERANTS.get(kind, ())
    return {row[1]: row for row in (*generated, *NEWER_ENUMERANTS.get(kind, ()))}


@cache
def _enumerant_values(kind: str) -> dict[str, int]:
    aliases = {name: value for (of, name), value in _generated.ENUMERANT_ALIASES.items() if of == kind}
    return {**aliases, **{row[0]: value for value, row in _enumerants(kind).items()}}


def is_bit_enum(kind: str) -> bool:
    """Whether operands of this kind are masks."""
    return kind in _generated.BIT_ENUMS or kind in _NEWER_BIT_ENUMS


def is_enum(kind: str) -> bool:
    """Whether operands of this kind are enumerants or masks of them."""
    return bool(_enumerants(kind))


@lru_cache(maxsize=4096)  # of numbers that any module may have
def enumerant(kind: str, value: int) -> Enumerant | None:
    """Returns the enumerant of a value (of a mask: of one bit), or None where it is unknown."""
    row = _enumerants(kind).get(value)
    if row is None:
        return None
    name, _, parameters, capabilities, version, extensions = row
    return Enumerant(kind, name, value, _operands(parameters), capabilities, version, extensions)


def enumerant_name(kind: str, value: int) -> str:
    """Returns the spelling of an enumerant, ``A|B`` for a mask, and the number where it has none."""
    rows = _enumerants(kind)
    if value in rows:
        return rows[value][0]
    if not is_bit_enum(kind):
        return str(value)
    bits = [1 << n for n in range(value.bit_length()) if value >> n & 1]
    return "|".join(rows[bit][0] if bit in rows else hex(bit) for bit in bits)


def enumerant_value(kind: str, name: str) -> int:
    """Returns the value of an enumerant, also under an older spelling; KeyError where there is none."""
    return _enumerant_values(kind)[name]


def capability_closure(declared: Iterable[int]) -> frozenset[int]:
    """Returns the capabilities with all that they imply, transitively."""
    closure: set[int] = set()
    pending = list(declared)
    while pending:
        capability = pending.pop()
        if capability in closure:
            continue
        closure.add(capability)
        row = _enumerants("Capability").get(capability)
        if row is not None:
            pending.extend(enumerant_value("Capability", name) for name in row[3])
    return frozenset(closure)


GLSL_STD_450: Final[dict[str, tuple[int, int]]] = _generated.GLSL_STD_450
"""Instruction name (``Sqrt``) → (number, number of operands) of the extended set ``GLSL.std.450``."""


@cache
def _glsl_names() -> dict[int, str]:
    return {number: name for name, (number, _) in GLSL_STD_450.items()}


def glsl_std_450_name(number: int) -> str | None:
    """Returns the name of a GLSL.std.450 instruction, or None where it is unknown."""
    return _glsl_names().get(number)
