"""Choices between two literals: ``x * (0.1 if c else 0.2)`` of f64 is no product with 0.1 rounded to f32.

Such a value has the type of a variable, i32 or f32, and beside types of 32 bits and more that of what it meets, as a
literal has.  It keeps i32 and f32 beside narrower types, as comparisons do, which could not hold what was written.
"""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from operator import is_

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from .analysis import VALUE
from .function_builder import FunctionBuilder
from .ir_types import F32, I32, WEAK_FLOAT, WEAK_INT, ir_type
from .promotion import fits, rounded
from .types import ScalarType, u32
from .values import LiteralChoice, RoundedLiteral, Scalar, Tuple, Value

_LEAST_BITS = 32


def _choice_of(fb: FunctionBuilder, test: Scalar, if_true: Value, if_false: Value) -> LiteralChoice | None:
    """Returns the choice between two values; None where they are more than literals and choices of them."""
    if not (isinstance(if_true, Scalar) and isinstance(if_false, Scalar)):
        return None
    kinds = (_literal_type(fb, if_true), _literal_type(fb, if_false))
    if kinds[0] is None or kinds[1] is None:
        return None
    return LiteralChoice(test, if_true, if_false, WEAK_FLOAT if WEAK_FLOAT in kinds else WEAK_INT)


def with_choice(fb: FunctionBuilder, result: Scalar, test: Scalar, if_true: Value, if_false: Value) -> Scalar:
    """Returns the result of a choice between two values, with what is known of literals among them."""
    choice = _choice_of(fb, test, if_true, if_false)
    if choice is not None:
        return replace(result, choice=choice)
    lost = _rounded_part(if_true) or _rounded_part(if_false)
    return result if lost is None or result.type is not F32 else replace(result, literal=lost)


def _rounded_part(value: Value) -> RoundedLiteral | None:
    """Returns a literal of a choice that f32 does not hold."""
    if not isinstance(value, Scalar):
        return None
    if value.choice is not None:
        return _rounded_part(value.choice.if_true) or _rounded_part(value.choice.if_false)
    if value.type is WEAK_FLOAT and value.const is not None and rounded(value.const, F32) != value.const:
        return RoundedLiteral(float(value.const), "")
    return value.literal


def _literal_type(fb: FunctionBuilder, value: Scalar) -> ScalarType | None:
    if value.is_weak and value.const is not None:
        return value.type
    if value.choice is not None and _is_seen(fb, value.choice.test.ssa):
        return value.choice.type
    return None


def _is_seen(fb: FunctionBuilder, ssa: SSAValue | None) -> bool:
    """Whether a value was computed in the block that is built now, or one around it."""
    if ssa is None:
        return False
    home = ssa.owner if isinstance(ssa.owner, Block) else ssa.owner.parent
    block: Block | None = fb.block
    while block is not None and block is not home:
        block = block.parent_block()
    return block is not None


def chosen_type(first: Scalar, second: Scalar) -> ScalarType:
    """Returns the type of a choice between two literals by itself: masks such as 0xFFFFFFFF are u32."""
    if WEAK_FLOAT in (first.type, second.type):
        return F32
    constants = [value.const for value in (first, second) if value.const is not None]
    is_large = any(not fits(c, I32) for c in constants) and all(fits(c, u32) for c in constants)
    return u32 if is_large else I32


def meets(value: Scalar, other: ScalarType) -> ScalarType:
    """Returns the type that `value` brings to an operation with one of type `other`."""
    is_wide = other.kind != "bool" and other.bits >= _LEAST_BITS
    return value.type if value.choice is None or not is_wide else value.choice.type


def is_taken_anew(value: Scalar, target: ScalarType) -> bool:
    """Whether the literals of `value` are chosen from in type `target`, in place of a conversion of the value."""
    choice = value.choice
    is_wide = target.kind != "bool" and target.bits >= _LEAST_BITS
    return choice is not None and is_wide and (target.is_float or not value.type.is_float)


def select(fb: FunctionBuilder, choice: LiteralChoice, if_true: Scalar, if_false: Scalar) -> Scalar:
    """Emits the choice between two values of one type."""
    operands = [fb.ssa(choice.test), fb.ssa(if_true), fb.ssa(if_false)]
    return Scalar(if_true.type, fb.emit(arith.SelectOp, operands, ir_type(if_true.type)))


def held_by(variable: str, held: Value, given: Value | None) -> Value:
    """Returns what a variable keeps of a value: a number of its type, and the literal that this type had to round.

    Args:
        variable: its name.
        held: the value in the variable's type.
        given: the value before; None where a type was declared.
    """
    if isinstance(held, Tuple):
        given_items = given.items if isinstance(given, Tuple) else ()
        before = given_items if len(given_items) == len(held.items) else (None,) * len(held.items)
        items = tuple(held_by(variable, a, b) for a, b in zip(held.items, before, strict=True))
        return held if all(map(is_, items, held.items)) else held.with_items(items)
    if not isinstance(held, Scalar):
        return held
    literal = given.const if isinstance(given, Scalar) and given.type is WEAK_FLOAT else None
    if literal is None or held.type is not F32 or held.const in (None, literal) or math.isnan(literal):
        return held if held.choice is None else replace(held, choice=None)
    return replace(held, literal=RoundedLiteral(float(literal), variable))


def note_rounded_literal(fb: FunctionBuilder, literal: RoundedLiteral, node: ast.AST) -> None:
    """Adds a warning where f64 takes what a variable of type f32 has left of a literal: 0.100000001490116 of 0.1."""
    what, how = {VALUE: ("what a helper returns", "returned"), "": ("what is chosen", "chosen from")}.get(
        literal.variable, (f"variable '{literal.variable}'", "assigned to it")
    )
    message = (
        f"{what} is an lp.f32 in '{fb.source.name}', as only literals are {how}, and f64 takes {literal.value!r} here "
        f"as {rounded(literal.value, F32)!r}; write lp.f64({literal.value!r}) there, or lp.f32({literal.value!r}) if "
        "that is meant"
    )
    is_new = all(found.message != message for _, found in fb.module.findings)
    if is_new and fb.module.library_call is None:
        fb.warn(node, message)
