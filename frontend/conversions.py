"""Conversions between scalar types: what storing does by itself, and what ``lp.f32(x)`` does when asked.

Integer to integer keeps the low bits, float to integer truncates and saturates (NaN gives 0), and a literal must
fit unless the conversion is explicit.
"""

from __future__ import annotations

import ast
import math

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from ..ir.dialects.kernel import IN_RANGE
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, F64, I32, IR_INDEX, integer_attribute, ir_type
from .literal_choices import is_taken_anew, note_rounded_literal, select
from .promotion import fits, low_bits, rounded, saturated, settled
from .types import ScalarType, bf16
from .values import Composite, LiteralChoice, Scalar, Value, constant, describe, number_hint

# Indices of MLIR's arith predicates.
_CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "une": 13}
_CMPI = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}
CMPF = {name: {"predicate": IntegerAttr(number, i64)} for name, number in _CMPF.items()}
"""Properties of arith.cmpf by the predicate's name."""
CMPI = {name: {"predicate": IntegerAttr(number, i64)} for name, number in _CMPI.items()}
"""Properties of arith.cmpi by the predicate's name."""


def adapt(fb: FunctionBuilder, value: Scalar, target: ScalarType, node: ast.AST) -> Scalar:
    """Brings an operand to the type that promotion chose.

    Raises:
        CompileError: a literal that does not fit.
    """
    if value.type is target:
        return value
    if value.is_weak:
        return _adapt_literal(fb, value, target, node)
    if value.choice is not None and is_taken_anew(value, target):
        return _adapt_choice(fb, value.choice, target, node)
    if value.literal is not None and target is F64:
        note_rounded_literal(fb, value.literal, node)
    return convert(fb, value, target)


def _adapt_choice(fb: FunctionBuilder, choice: LiteralChoice, target: ScalarType, node: ast.AST) -> Scalar:
    if_true, if_false = adapt(fb, choice.if_true, target, node), adapt(fb, choice.if_false, target, node)
    return select(fb, choice, if_true, if_false)


def _adapt_literal(fb: FunctionBuilder, value: Scalar, target: ScalarType, node: ast.AST) -> Scalar:
    if value.const is None:
        return Scalar(target, bounds=value.bounds)
    if target.bits == 0:
        return constant(float(value.const)) if target.is_float else value
    if not fits(value.const, target):
        raise _misfit(fb, value, target, node)
    return _constant_of(float(value.const) if target.is_float else value.const, target)


_LONGEST_SPELLED = 40
"""Characters of a literal that messages show."""


def _misfit(fb: FunctionBuilder, value: Scalar, target: ScalarType, node: ast.AST) -> Exception:
    from .literal_places import literal_place  # only for messages

    const = value.const
    assert const is not None
    node = literal_place(node, const)
    spelled = repr(const) if len(repr(const)) <= _LONGEST_SPELLED else f"{repr(const)[:_LONGEST_SPELLED]}…"
    if isinstance(const, float) and target.is_integer:
        return fb.error(
            node,
            f"the literal {const!r} is a float, expected {describe(Scalar(target))}",
            "LP2036",
            hint=f"write an integer literal, or convert: lp.{settled(target).name}({const!r})",
        )
    limits = f" ({target.minimum} to {target.maximum})" if target.is_integer else ""
    wider = "lp.i64 or lp.u64" if target.is_integer else "lp.f64"
    if target.kind == "uint" and isinstance(const, int) and const < 0:
        raise fb.error(
            node,
            f"the literal {spelled} does not fit {describe(Scalar(target))}{limits}",
            "LP2035",
            hint=f"the number of the same bits is lp.{target.name}({const}); numbers below zero need a signed type",
        )
    unsigned = f"u{target.bits}"
    holds = target.kind == "int" and isinstance(const, int) and 0 <= const < 1 << target.bits
    return fb.error(
        node,
        f"the literal {spelled} does not fit {describe(Scalar(target))}{limits}",
        "LP2035",
        hint=f"lp.{unsigned} holds it: write lp.{unsigned}({spelled}), and lp.{unsigned}(…) around what it meets"
        if holds
        else f"convert it explicitly, or use a wider type such as {wider}",
    )


def _constant_of(value: float, target: ScalarType) -> Scalar:
    if target.is_float:
        return Scalar(target, const=rounded(float(value), target))
    bounds = (int(value), int(value)) if target.is_integer else None
    return Scalar(target, const=value, bounds=bounds)


def settle(fb: FunctionBuilder, value: Scalar, node: ast.AST) -> Scalar:
    """Gives a literal its own type: i32 or f32."""
    return adapt(fb, value, settled(value.type), node) if value.is_weak else value


def store_convert(fb: FunctionBuilder, value: Value, target: ScalarType, node: ast.AST, what: str) -> Scalar:
    """Converts as storing does: within a kind, and from bools and integers to floats.

    Args:
        what: the place that is stored to, for messages.

    Raises:
        CompileError: a float where an integer belongs, a number where a bool belongs, or no number at all.
    """
    if not isinstance(value, Scalar):
        raise fb.error(
            node,
            f"{what} holds {describe(Scalar(target))}, found {describe(value)}",
            "LP2033",
            hint=number_hint(value),
        )
    if value.type is target:
        return value
    if value.is_weak and target.kind != "bool":
        return _adapt_literal(fb, value, target, node)
    if (value.type.is_float and not target.is_float) or (target.kind == "bool" and value.type.kind != "bool"):
        cast = (
            "bool"
            if target.kind == "bool"
            else f"lp.{target.name}"
            if target.bits and target.name != "index"
            else "int"
        )
        raise fb.error(
            node,
            f"{what} holds {describe(Scalar(target))}, found {describe(value)}; that conversion must be written out",
            "LP2036",
            hint=f"write // for the quotient rounded down, or {cast}(…)"
            if _divides(node, target)
            else f"write {cast}(…)",
        )
    return adapt(fb, value, target, node)


def _divides(node: ast.AST, target: ScalarType) -> bool:
    """Returns whether an integer place takes what ``/`` gives."""
    return target.is_integer and isinstance(getattr(node, "op", None), ast.Div)


def convert(fb: FunctionBuilder, value: Scalar, target: ScalarType) -> Scalar:
    """Converts as ``lp.f32(x)`` does: any scalar to any scalar type."""
    source = value.type
    if source is target:
        return value
    if value.const is not None:
        is_rounded_twice = target is bf16 and source.bits > 0  # as at run time: through f32
        return _convert_constant(rounded(value.const, F32) if is_rounded_twice else value.const, target)
    if fb.is_dry:
        return Scalar(target)
    ssa = fb.ssa(value)
    if target.kind == "bool":
        return _to_bool(fb, value)
    if source.kind == "bool":
        return _from_bool(fb, value, target)
    if source.is_float and target.is_float:
        return Scalar(target, _float_to_float(fb, ssa, source, target))
    if source.is_float:
        return _float_to_integer(fb, value, target)
    if target.is_float:
        op = arith.SIToFPOp if source.is_signed else arith.UIToFPOp
        if target is bf16:  # rounds twice for integers beyond 24 bits, as NumPy with ml_dtypes does
            wide = fb.emit(op, [ssa], ir_type(F32))
            return Scalar(target, _float_to_float(fb, wide, F32, bf16))
        return Scalar(target, fb.emit(op, [ssa], ir_type(target)))
    return _integer_to_integer(fb, value, target)


def _convert_constant(value: int | float | bool, target: ScalarType) -> Scalar:
    if target.kind == "bool":
        return constant(bool(value))
    if target.is_float:
        try:
            return _constant_of(float(value), target)
        except OverflowError:
            return Scalar(target, const=math.inf if value > 0 else -math.inf)
    converted = saturated(value, target) if isinstance(value, float) else low_bits(int(value), target)
    return _constant_of(converted, target)


def _integer_to_integer(fb: FunctionBuilder, value: Scalar, target: ScalarType) -> Scalar:
    source, ssa = value.type, fb.ssa(value)
    if target.bits > source.bits:
        ssa = fb.emit(arith.ExtSIOp if source.is_signed else arith.ExtUIOp, [ssa], ir_type(target))
    elif target.bits < source.bits:
        ssa = fb.emit(arith.TruncIOp, [ssa], ir_type(target))
    bounds = value.bounds
    if bounds is not None and not (target.minimum <= bounds[0] and bounds[1] <= target.maximum):
        bounds = None
    return Scalar(target, ssa, bounds=bounds)


def _float_to_float(fb: FunctionBuilder, ssa: object, source: ScalarType, target: ScalarType):
    from typing import cast

    value = cast("SSAValue | None", ssa)
    if source.bits == target.bits == 16 or (source is bf16 and target is F64):
        value = fb.emit(arith.ExtFOp, [value], ir_type(F32))
        source = F32
    elif source is F64 and target is bf16:
        value = fb.emit(arith.TruncFOp, [value], ir_type(F32))
    return fb.emit(arith.ExtFOp if target.bits > source.bits else arith.TruncFOp, [value], ir_type(target))


def _to_bool(fb: FunctionBuilder, value: Scalar) -> Scalar:
    ssa = fb.ssa(value)
    if value.type.is_float:
        value = convert(fb, value, F32) if value.type is bf16 else value
        zero = fb.constant(0.0, value.type)
        # NaN is true in Python: unordered or unequal.
        return Scalar(BOOL, fb.emit(arith.CmpfOp, [fb.ssa(value), zero], ir_type(BOOL), CMPF["une"]))
    zero = fb.constant(0, value.type)
    return Scalar(BOOL, fb.emit(arith.CmpiOp, [ssa, zero], ir_type(BOOL), CMPI["ne"]))


def _from_bool(fb: FunctionBuilder, value: Scalar, target: ScalarType) -> Scalar:
    ssa = fb.ssa(value)
    if target.is_float:
        one, zero = fb.constant(1.0, target), fb.constant(0.0, target)
        return Scalar(target, fb.emit(arith.SelectOp, [ssa, one, zero], ir_type(target)))
    return Scalar(target, fb.emit(arith.ExtUIOp, [ssa], ir_type(target)), bounds=(0, 1))


def _float_to_integer(fb: FunctionBuilder, value: Scalar, target: ScalarType) -> Scalar:
    """Truncates and saturates.  SPIR-V leaves OpConvertFToS undefined out of range, so it only sees values in range."""
    if value.type.bits == 16:  # its limits are below those of the integer types
        value = convert(fb, value, F32)
    source, ssa = value.type, fb.ssa(value)
    # Powers of two, exact in f32; the upper limit is the first value that does not fit.
    low, high = fb.constant(float(target.minimum), source), fb.constant(float(target.maximum + 1), source)
    boolean, real, integer = ir_type(BOOL), ir_type(source), ir_type(target)
    largest = fb.constant(target.maximum, target)
    if target.is_signed:
        is_low = fb.emit(arith.CmpfOp, [ssa, low], boolean, CMPF["olt"])
        least = fb.emit(arith.SelectOp, [is_low, low, ssa], real)
    else:
        is_positive = fb.emit(arith.CmpfOp, [ssa, low], boolean, CMPF["ogt"])
        least = fb.emit(arith.SelectOp, [is_positive, ssa, low], real)  # NaN is 0 already
    fits = fb.emit(arith.CmpfOp, [least, high], boolean, CMPF["olt"])
    safe = fb.emit(arith.SelectOp, [fits, least, fb.constant(0.0, source)], real)
    result = fb.emit(arith.FPToSIOp if target.is_signed else arith.FPToUIOp, [safe], integer)
    if target.is_signed:
        is_high = fb.emit(arith.CmpfOp, [ssa, high], boolean, CMPF["oge"])
        result = fb.emit(arith.SelectOp, [is_high, largest, result], integer)
    else:
        result = fb.emit(arith.SelectOp, [fits, result, largest], integer)
    bounds = (0, target.maximum) if not target.is_signed else None
    return Scalar(target, result, bounds=bounds)


def condition(fb: FunctionBuilder, value: Value, node: ast.AST) -> Scalar:
    """Returns the truth of `value`, as ``bool(value)`` does.

    Raises:
        CompileError: it has none.
    """
    if not isinstance(value, Scalar):
        is_vector = isinstance(value, Composite) and value.is_vector
        raise fb.error(
            node,
            f"a condition is a number or a bool, found {describe(value)}",
            "LP2033",
            hint="write any(v) or all(v), or choose by component with lp.select"
            if is_vector
            else number_hint(value),
        )
    return convert(fb, value, BOOL)


def as_index(fb: FunctionBuilder, value: Scalar, node: ast.AST, what: str) -> Scalar:
    """Returns an integer as it is used for indices: at least 32 bits wide.

    Raises:
        CompileError: it is no integer.
    """
    if not value.type.is_integer:
        raise fb.error(
            node, f"{what} must be an integer, found {describe(value)}", "LP2041", hint="convert it: int(…)"
        )
    if value.is_weak or value.type.bits < 32:
        return adapt(fb, value, I32, node)
    return value


def literal_position(fb: FunctionBuilder, index: Scalar, length: int, node: ast.AST) -> int | None:
    """Returns the position from 0 that a literal index names, None for other indices.

    Raises:
        CompileError: it is out of range.
    """
    if index.const is None:
        return None
    position = int(index.const)
    if not -length <= position < length:
        raise fb.error(
            node,
            f"index {position} is out of range of a dimension of length {length}",
            "LP2042",
            hint=f"indices go from 0 to {length - 1}",
        )
    return position % length


def index_constant(fb: FunctionBuilder, value: int) -> SSAValue:
    """Returns a constant of type index."""
    return fb.prologue_value(
        (IR_INDEX, value),
        arith.ConstantOp,
        IR_INDEX,
        properties={"value": integer_attribute(value, IR_INDEX)},
    )


def kept_in_range(fb: FunctionBuilder, index: Scalar, extent: Scalar) -> Scalar:
    """Returns a number between 0 and an extent that is the index where that is in range."""
    # As unsigned numbers, negative indices are the largest: one minimum keeps both ends.
    last = _last(fb, extent, index.type)
    ssa = fb.emit(arith.MinUIOp, [fb.ssa(index), last], ir_type(index.type))
    if ssa is not None and extent.const is not None and int(extent.const).bit_count() == 1:
        op = ssa.owner
        assert isinstance(op, Operation)
        op.attributes[IN_RANGE] = UnitAttr()
    return Scalar(index.type, ssa)


def _last(fb: FunctionBuilder, extent: Scalar, scalar: ScalarType) -> SSAValue | None:
    if extent.const is not None:
        return fb.constant(int(extent.const) - 1, scalar)
    last = fb.emit(arith.SubiOp, [extent.ssa, fb.constant(1, I32)], i32)
    return last if scalar.bits == I32.bits else fb.emit(arith.ExtUIOp, [last], ir_type(scalar))
