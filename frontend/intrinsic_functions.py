"""``lp.select`` and ``lp.shuffle``."""

from __future__ import annotations

import ast

from .branches import joined_type
from .builtins import expect_count
from .conversions import adapt, condition, convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import BOOL, I32
from .literal_choices import chosen_type, with_choice
from .math_mixing import choose
from .values import Composite, Scalar, Tuple, Value, describe, number_hint
from .vector_types import VECTOR_SIZES, VecType


@intrinsic("select")
def compile_select(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.select(condition, if_true, if_false)``: both values are computed, one is taken."""
    expect_count(fb, node, arguments, "lp.select", 3, 3)
    test = condition(fb, arguments[0], node.args[0])
    values: list[Scalar] = []
    for value, part in zip(arguments[1:], node.args[1:], strict=True):
        if not isinstance(value, Scalar):
            raise fb.error(
                part,
                f"lp.select chooses between numbers, found {describe(value)}",
                "LP2033",
                hint=number_hint(value),
            )
        values.append(value)
    scalar = joined_type(fb, values[0], values[1], node)
    if_true, if_false = (convert(fb, v, I32) if v.type is BOOL and scalar is not BOOL else v for v in values)
    if not scalar.bits and not fb.is_dry:
        scalar = chosen_type(if_true, if_false)
    if_true, if_false = adapt(fb, if_true, scalar, node), adapt(fb, if_false, scalar, node)
    if test.const is not None:
        return if_true if test.const else if_false
    result = choose(fb, test, if_true, if_false)
    return result if fb.is_dry else with_choice(fb, result, test, values[0], values[1])


@intrinsic("shuffle")
def compile_shuffle(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.shuffle(a, b, (0, 5, …))``: components of two vectors, those of `b` after those of `a`."""
    expect_count(fb, node, arguments, "lp.shuffle", 3, 3)
    vectors = [_vector(fb, value, part) for value, part in zip(arguments[:2], node.args[:2], strict=True)]
    kinds = [vector.type for vector in vectors]
    assert isinstance(kinds[0], VecType) and isinstance(kinds[1], VecType)
    if kinds[0].element != kinds[1].element:
        raise fb.error(
            node,
            f"lp.shuffle takes vectors of one element type, found {kinds[0]!r} and {kinds[1]!r}",
            "LP2033",
            hint=f"convert one: lp.{kinds[0].element.spelling}x{kinds[1].size}(…)",
        )
    components = [*vectors[0].items, *vectors[1].items]
    positions = _positions(fb, arguments[2], node.args[2], len(components))
    return Composite(tuple(components[p] for p in positions), VecType(kinds[0].element, len(positions)))


def _vector(fb: FunctionBuilder, value: Value, node: ast.AST) -> Composite:
    if not isinstance(value, Composite) or not value.is_vector:
        raise fb.error(node, f"lp.shuffle takes vectors, found {describe(value)}", "LP2033")
    return value


def _positions(fb: FunctionBuilder, value: Value, node: ast.AST, count: int) -> list[int]:
    items = value.items if isinstance(value, Tuple) and not isinstance(value, Composite) else ()
    positions = [item.const for item in items if isinstance(item, Scalar) and item.type.is_integer]
    known = [int(position) for position in positions if position is not None]
    if len(known) != len(items) or len(known) not in VECTOR_SIZES:
        raise fb.error(
            node,
            "the indices of lp.shuffle are a tuple of 1, 2, 3, 4, 8 or 16 literal integers, found "
            + ("one known at run time only" if len(known) < len(items) else describe(value)),
            "LP2051",
            hint="write them out: (0, 1, 4, 5)",
        )
    wrong = next((position for position in known if not 0 <= position < count), None)
    if wrong is not None:
        raise fb.error(
            node,
            f"index {wrong} is out of range of the {count} components of both vectors",
            "LP2042",
            hint=f"indices go from 0 to {count - 1}",
        )
    return known
