"""``lp.bitcast``: the bits of a number or vector as a number or vector of another type of the same size."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.dialects import arith

from .arithmetic import binary
from .builtins import expect_count
from .conversions import convert, settle
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import BOOL, INDEX_TYPE, ir_type
from .types import ScalarType, scalar_of, u8, u16, u32, u64
from .values import Composite, Scalar, Static, Value, constant, describe
from .vector_types import VecType

_UNSIGNED = {kind.bits: kind for kind in (u8, u16, u32, u64)}


@intrinsic("bitcast")
def compile_bitcast(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.bitcast(value, T)``; of a vector, a number T as wide as its components stands for all of them.

    Raises:
        CompileError: no type, no number or vector, bools, or another size.
    """
    expect_count(fb, node, arguments, "lp.bitcast", 2, 2)
    value, target = arguments[0], _target(fb, node.args[1], arguments[1])
    parts = _parts(fb, node.args[0], value)
    element = target.element if isinstance(target, VecType) else target
    width = parts[0].type.bits
    if isinstance(value, Composite) and target is element and width == element.bits:
        target = VecType(element, len(parts))
    size = target.size * element.bits if isinstance(target, VecType) else element.bits
    if width and width * len(parts) != size:  # without a width it is a literal whose type is not known yet
        raise fb.error(
            node,
            f"lp.bitcast needs types of one size: {describe(value)} has {width * len(parts)} bits, "
            f"{target!r} has {size}",
            "LP2033",
            hint="convert to a type of the same size first",
        )
    if not fb.is_dry:
        if width != element.bits:
            words = [_reinterpreted(fb, part, _UNSIGNED[width]) for part in parts]
            parts = _regrouped(fb, words, element.bits, node)
        parts = [_reinterpreted(fb, part, element) for part in parts]
    elif isinstance(target, VecType):
        parts = [Scalar(element)] * target.size
    else:
        parts = [Scalar(element)]
    return Composite(tuple(parts), target) if isinstance(target, VecType) else parts[0]


def _target(fb: FunctionBuilder, node: ast.AST, value: Value) -> ScalarType | VecType:
    found = value.obj if isinstance(value, Static) else None
    target = found if isinstance(found, VecType) else scalar_of(found)
    if target is None or BOOL in (target, getattr(target, "element", None)):
        raise fb.error(
            node,
            f"lp.bitcast needs a type such as lp.u32, found {describe(value)}",
            "LP2033",
            hint="write lp.bitcast(v, lp.u32)",
        )
    return target


def _parts(fb: FunctionBuilder, node: ast.AST, value: Value) -> list[Scalar]:
    """Returns a number, or the components of a vector."""
    items = value.items if isinstance(value, Composite) and value.is_vector else (value,)
    parts: list[Scalar] = []
    for item in items:
        if not isinstance(item, Scalar) or item.type is BOOL:
            raise fb.error(node, f"lp.bitcast takes a number or vector, found {describe(value)}", "LP2033")
        parts.append(item if item.is_weak and fb.is_dry else settle(fb, item, node))
    return parts


def _reinterpreted(fb: FunctionBuilder, value: Scalar, target: ScalarType) -> Scalar:
    """Returns the bits of a number as another type of the same width."""
    if ir_type(value.type) != ir_type(target):
        return Scalar(target, fb.emit(arith.BitcastOp, [fb.ssa(value)], ir_type(target)))
    return Scalar(target, fb.ssa(value)) if target is not INDEX_TYPE else value


def _regrouped(fb: FunctionBuilder, words: Sequence[Scalar], width: int, node: ast.AST) -> list[Scalar]:
    """Returns the bits of unsigned integers as unsigned integers of another width; the first ones are the lowest."""
    kind, own = _UNSIGNED[width], words[0].type.bits
    found: list[Scalar] = []
    if width < own:
        for word in words:
            for low in range(0, own, width):
                found.append(convert(fb, _shifted(fb, "RShift", word, low, node), kind))
        return found
    for first in range(0, len(words), width // own):
        total = convert(fb, words[first], kind)
        for place in range(1, width // own):
            part = _shifted(fb, "LShift", convert(fb, words[first + place], kind), place * own, node)
            total = _number(binary(fb, "BitOr", total, part, node))
        found.append(total)
    return found


def _shifted(fb: FunctionBuilder, operator: str, value: Scalar, places: int, node: ast.AST) -> Scalar:
    return _number(binary(fb, operator, value, constant(places), node)) if places else value


def _number(value: Value) -> Scalar:
    assert isinstance(value, Scalar)
    return value
