"""Types of the operands of arithmetic, logic, comparison, bit and conversion instructions.

Each opcode has a row: class of the result, class of the operands, and how their types relate.  Integer
operands may differ from the result in signedness only, except for unsigned division, whose types are equal.
Follows the rules of each instruction in SPIR-V 1.6 §3.49.11 to §3.49.15.

* Result and operands are of the class that the instruction asks for, with equally many components.
* Conversions that change only the width do change it; OpBitcast keeps the number of bits.
* OpSelect chooses between two values of its own type by a bool, or by bools of as many components.
* GLSL.std.450 instructions exist, have their number of operands, and float functions take floats of one type.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..binary import Instruction, decode_string
from ..errors import SpirvError
from ..tables import GLSL_STD_450, Op, glsl_std_450_name
from .context import Context
from .finding import Finding

RULE = "arithmetic"


class Relation(enum.Enum):
    """How the operand types relate to each other and to the result type."""

    SAME = enum.auto()
    """Operands have the result's type."""
    SAME_SHAPE = enum.auto()
    """Operands have the result's width and components; signedness is free."""
    EQUAL_OPERANDS = enum.auto()
    """Operands have one type; the result has as many components."""
    EQUAL_WIDTH = enum.auto()
    """Operands have one width; the result has as many components."""
    COMPONENTS = enum.auto()
    """Only the number of components agrees."""
    OTHER_WIDTH = enum.auto()
    """As COMPONENTS, and the width changes."""


class Row(NamedTuple):
    """Rule of an opcode."""

    result: str
    operands: str
    relation: Relation


_R = Relation
ROWS: dict[int, Row] = {
    **dict.fromkeys(
        (Op.IAdd, Op.ISub, Op.IMul, Op.SDiv, Op.SMod, Op.SRem, Op.SNegate, Op.Not),
        Row("int", "int", _R.SAME_SHAPE),
    ),
    **dict.fromkeys((Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor), Row("int", "int", _R.SAME_SHAPE)),
    **dict.fromkeys((Op.UDiv, Op.UMod), Row("unsigned", "unsigned", _R.SAME)),
    **dict.fromkeys((Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FRem, Op.FMod), Row("float", "float", _R.SAME)),
    Op.FNegate: Row("float", "float", _R.SAME),
    **dict.fromkeys((Op.IEqual, Op.INotEqual), Row("bool", "int", _R.EQUAL_WIDTH)),
    **dict.fromkeys(
        (Op.ULessThan, Op.ULessThanEqual, Op.UGreaterThan, Op.UGreaterThanEqual),
        Row("bool", "int", _R.EQUAL_WIDTH),
    ),
    **dict.fromkeys(
        (Op.SLessThan, Op.SLessThanEqual, Op.SGreaterThan, Op.SGreaterThanEqual),
        Row("bool", "int", _R.EQUAL_WIDTH),
    ),
    **dict.fromkeys(
        (
            Op.FOrdEqual,
            Op.FUnordEqual,
            Op.FOrdNotEqual,
            Op.FUnordNotEqual,
            Op.FOrdLessThan,
            Op.FUnordLessThan,
        ),
        Row("bool", "float", _R.EQUAL_OPERANDS),
    ),
    **dict.fromkeys(
        (Op.FOrdGreaterThan, Op.FUnordGreaterThan, Op.FOrdLessThanEqual, Op.FUnordLessThanEqual),
        Row("bool", "float", _R.EQUAL_OPERANDS),
    ),
    **dict.fromkeys(
        (Op.FOrdGreaterThanEqual, Op.FUnordGreaterThanEqual), Row("bool", "float", _R.EQUAL_OPERANDS)
    ),
    **dict.fromkeys((Op.IsNan, Op.IsInf), Row("bool", "float", _R.COMPONENTS)),
    **dict.fromkeys(
        (Op.LogicalAnd, Op.LogicalOr, Op.LogicalEqual, Op.LogicalNotEqual, Op.LogicalNot),
        Row("bool", "bool", _R.SAME),
    ),
    Op.ConvertFToU: Row("unsigned", "float", _R.COMPONENTS),
    Op.ConvertFToS: Row("int", "float", _R.COMPONENTS),
    Op.ConvertSToF: Row("float", "int", _R.COMPONENTS),
    Op.ConvertUToF: Row("float", "int", _R.COMPONENTS),
    Op.UConvert: Row("unsigned", "int", _R.OTHER_WIDTH),
    Op.SConvert: Row("int", "int", _R.OTHER_WIDTH),
    Op.FConvert: Row("float", "float", _R.COMPONENTS),
}
"""Rules by opcode."""
_SHIFTS = frozenset((Op.ShiftLeftLogical, Op.ShiftRightLogical, Op.ShiftRightArithmetic))


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    glsl = _glsl_sets(ctx)
    for item in ctx.module.instructions:
        if item.opcode in ROWS:
            messages = check_row(ctx, item, ROWS[item.opcode], item.operands)
        elif item.opcode in _SHIFTS:
            messages = _shift(ctx, item)
        elif item.opcode in _OTHERS:
            messages = _OTHERS[item.opcode](ctx, item)
        elif item.opcode == Op.ExtInst and item.operands[0] in glsl:
            messages = _glsl(ctx, item)
        else:
            continue
        yield from (Finding(message, item.ordinal, RULE) for message in messages)


def check_row(ctx: Context, item: Instruction, row: Row, operands: tuple[int, ...]) -> Iterator[str]:
    """Yields how an instruction, or what an OpSpecConstantOp wraps, breaks its row."""
    result = item.result_type or 0
    if not _is_of(ctx, result, row.result):
        yield f"the result type {ctx.spell(result)} of {item.name} is no {row.result} scalar or vector"
        return
    types = [ctx.type_id(operand) for operand in operands]
    for operand, kind in zip(operands, types, strict=True):
        if not _is_of(ctx, kind, row.operands):
            yield f"operand {ctx.spell(operand)} of {item.name} is no {row.operands} scalar or vector"
            return
        problem = _relation_problem(ctx, row.relation, result, kind, types[0])
        if problem:
            yield f"operand {ctx.spell(operand)} of {item.name} {problem}"


def _relation_problem(ctx: Context, relation: Relation, result: int, kind: int, first: int) -> str:
    if relation is Relation.SAME:
        return "" if kind == result else f"is not of the result type {ctx.spell(result)}"
    if ctx.components(kind) != ctx.components(result):
        return "has another number of components than the result"
    if relation is Relation.SAME_SHAPE and ctx.width(kind) != ctx.width(result):
        return "has another width than the result"
    if relation is Relation.EQUAL_OPERANDS and kind != first:
        return "is of another type than the first"
    if relation is Relation.EQUAL_WIDTH and ctx.width(kind) != ctx.width(first):
        return "has another width than the first"
    if relation is Relation.OTHER_WIDTH and ctx.width(kind) == ctx.width(result):
        return "already has the width of the result"
    return ""


def _is_of(ctx: Context, type_id: int, name: str) -> bool:
    return _CLASSES[name](ctx, type_id)


_CLASSES: dict[str, Callable[[Context, int], bool]] = {
    "int": Context.is_int,
    "unsigned": Context.is_unsigned,
    "float": Context.is_float,
    "bool": Context.is_bool,
}


def _shift(ctx: Context, item: Instruction) -> Iterator[str]:
    result, (base, count) = item.result_type or 0, item.operands
    if not ctx.is_int(result):
        yield f"the result type {ctx.spell(result)} of {item.name} is no int scalar or vector"
        return
    for operand in (base, count):
        kind = ctx.type_id(operand)
        if not ctx.is_int(kind) or ctx.components(kind) != ctx.components(result):
            yield f"operand {ctx.spell(operand)} of {item.name} is no int of the result's components"
    if ctx.width(ctx.type_id(base)) != ctx.width(result):
        yield f"the base {ctx.spell(base)} of {item.name} has another width than the result"


def _select(ctx: Context, item: Instruction) -> Iterator[str]:
    condition, *objects = item.operands
    result, kind = item.result_type or 0, ctx.type_id(condition)
    counts = (1, ctx.components(result))
    # Before SPIR-V 1.4 a vector needs a vector of bools.
    if ctx.module.version < (1, 4):
        counts = counts[1:]
    if not ctx.is_bool(kind) or ctx.components(kind) not in counts:
        yield f"the condition {ctx.spell(condition)} of OpSelect is no bool that fits the result"
    for operand in objects:
        if ctx.type_id(operand) != result:
            yield f"operand {ctx.spell(operand)} of OpSelect is not of the result type {ctx.spell(result)}"


def _bitcast(ctx: Context, item: Instruction) -> Iterator[str]:
    result, kind = item.result_type or 0, ctx.type_id(item.operands[0])
    if ctx.pointer(result) or ctx.pointer(kind):
        return
    bits = [ctx.width(t) * ctx.components(t) for t in (result, kind)]
    if 0 in bits:
        yield "OpBitcast is between numeric scalars and vectors"
    elif bits[0] != bits[1]:
        yield f"OpBitcast of {bits[1]} bits to {bits[0]}"


def _any_all(ctx: Context, item: Instruction) -> Iterator[str]:
    kind = ctx.type_id(item.operands[0])
    if ctx.opcode(item.result_type or 0) != Op.TypeBool:
        yield f"the result type of {item.name} is no bool"
    if not ctx.is_bool(kind) or ctx.components(kind) == 1:
        yield f"operand {ctx.spell(item.operands[0])} of {item.name} is no vector of bools"


def _dot(ctx: Context, item: Instruction) -> Iterator[str]:
    first, second = (ctx.type_id(operand) for operand in item.operands)
    element = ctx.scalar(first)
    if not ctx.is_float(first) or ctx.components(first) == 1 or first != second:
        yield "OpDot is of two vectors of floats of one type"
    elif element is not None and element.result_id != item.result_type:
        yield "the result type of OpDot is not the component type of its operands"


def _vector_times_scalar(ctx: Context, item: Instruction) -> Iterator[str]:
    vector, scalar = (ctx.type_id(operand) for operand in item.operands)
    element = ctx.scalar(vector)
    if vector != item.result_type or not ctx.is_float(vector) or ctx.components(vector) == 1:
        yield "the vector of OpVectorTimesScalar is not of the result type, a vector of floats"
    elif element is not None and element.result_id != scalar:
        yield "the scalar of OpVectorTimesScalar is not of the vector's component type"


_OTHERS: dict[int, Callable[[Context, Instruction], Iterator[str]]] = {
    Op.Select: _select,
    Op.Bitcast: _bitcast,
    Op.Any: _any_all,
    Op.All: _any_all,
    Op.Dot: _dot,
    Op.VectorTimesScalar: _vector_times_scalar,
}

_GLSL_FLOAT = frozenset(
    (
        *("Round", "RoundEven", "Trunc", "FAbs", "FSign", "Floor", "Ceil", "Fract", "Radians", "Degrees"),
        *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
        *("Atan2", "Pow", "Exp", "Log", "Exp2", "Log2", "Sqrt", "InverseSqrt", "FMin", "FMax", "FClamp"),
        *("FMix", "Step", "SmoothStep", "Fma", "Normalize", "FaceForward", "Reflect"),
        *("NMin", "NMax", "NClamp"),
    )
)
"""Functions whose operands have the result's type, a float."""
_GLSL_INT = frozenset(("SAbs", "SSign", "UMin", "SMin", "UMax", "SMax", "UClamp", "SClamp"))
"""Functions of integers of the result's shape."""


def _glsl_sets(ctx: Context) -> set[int]:
    found: set[int] = set()
    for item in ctx.view.of_opcode(Op.ExtInstImport):
        try:
            name = decode_string(item.operands)[0]
        except SpirvError:
            continue  # the grammar family has found it
        if name == "GLSL.std.450" and item.result_id is not None:
            found.add(item.result_id)
    return found


def _glsl(ctx: Context, item: Instruction) -> Iterator[str]:
    _, number, *operands = item.operands
    name = glsl_std_450_name(number)
    if name is None:
        yield f"GLSL.std.450 has no instruction {number}"
        return
    expected = GLSL_STD_450[name][1]
    if len(operands) != expected:
        yield f"GLSL.std.450 {name} has {len(operands)} operands; expected {expected}"
    result = item.result_type or 0
    if name in _GLSL_FLOAT:
        if not ctx.is_float(result):
            yield f"the result type {ctx.spell(result)} of GLSL.std.450 {name} is no float"
        for operand in operands:
            if ctx.type_id(operand) != result:
                yield f"operand {ctx.spell(operand)} of GLSL.std.450 {name} is not of the result type"
    elif name in _GLSL_INT:
        yield from check_row(ctx, item, Row("int", "int", Relation.SAME_SHAPE), tuple(operands))
