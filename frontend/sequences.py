"""What a tuple, a vector or a fixed array comes to: ``sum``, ``any``, ``all`` and ``lp.math.prod``."""

from __future__ import annotations

import ast

from .arithmetic import binary
from .builtins import expect_count
from .comparisons import all_of, any_of
from .composite_arrays import all_elements, is_array
from .conversions import condition, convert
from .dispatch import intrinsic
from .fixed_arrays import scalars_of
from .function_builder import FunctionBuilder
from .ir_types import BOOL, I32
from .values import FixedArray, Scalar, Tuple, Value, constant, describe


@intrinsic("math.prod")
def compile_prod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``prod(values, start=1)``, first to last as in Python."""
    expect_count(fb, node, arguments, "lp.math.prod", 1, 1)
    given = {keyword.arg: fb.evaluate(keyword.value) for keyword in node.keywords}
    result = given.get("start", constant(1))
    for item in _items(fb, arguments[0], node, "lp.math.prod", "the product of several numbers is a * b * c"):
        result = binary(fb, "Mult", result, item, node)
    return result


@intrinsic("builtins.sum")
def compile_sum(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``sum(values)`` and ``sum(values, start)``, first to last as in Python."""
    keywords = [fb.evaluate(keyword.value) for keyword in node.keywords]
    # What is added up has no keyword.
    expect_count(fb, node, arguments and [*arguments, *keywords], "sum", 1, 2)
    items = [
        *arguments[1:],
        *keywords,
        *_items(fb, arguments[0], node, "sum", "the sum of several numbers is a + b + c"),
    ]
    if not items:
        return constant(0)
    result, *others = items
    if isinstance(result, Scalar) and result.type is BOOL:
        result = convert(fb, result, I32)
    for item in others:
        result = binary(fb, "Add", result, item, node)
    return result


@intrinsic("builtins.any", "builtins.all")
def compile_any_all(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``any(values)`` and ``all(values)``: a bool, which no branch computes."""
    name = fb.callee.removeprefix("builtins.")
    expect_count(fb, node, arguments, name, 1, 1)
    word = "or" if name == "any" else "and"
    items = _items(
        fb, arguments[0], node, name, f"a single condition is one as it stands; join two with {word}"
    )
    truths = [condition(fb, item, node.args[0]) for item in items]
    return any_of(fb, truths) if name == "any" else all_of(fb, truths)


def _items(fb: FunctionBuilder, value: Value, node: ast.Call, name: str, of_numbers: str) -> list[Value]:
    """Returns what a sequence holds.

    Args:
        name: the function, for messages.
        of_numbers: what to write for a single number.
    """
    if isinstance(value, FixedArray):
        return [*scalars_of(fb, value, node)]
    if is_array(value):
        return all_elements(fb, value)
    if isinstance(value, Tuple):
        return list(value.items)
    from .elsewhere import IN_A_LOOP  # only for messages

    raise fb.error(
        node.args[0],
        f"{name} takes a tuple, a vector or a fixed array, found {describe(value)}",
        "LP2033",
        hint=of_numbers
        if isinstance(value, Scalar)
        else IN_A_LOOP
        if name == "sum"
        else "go through it in a loop",
    )
