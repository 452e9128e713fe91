"""What a tuple, a vector or a fixed array comes to: ``sum``, ``any``, ``all`` and ``lp.math.prod``."""

from __future__ import annotations

import ast

from .arithmetic import binary
from .builtins import expect_count
from .comparisons import all_of, any_of
from .composite_arrays import all_elements, element_at, is_array, shape_of
from .conversions import condition, convert
from .dispatch import intrinsic
from .fixed_arrays import elements_of, scalars_of
from .function_builder import FunctionBuilder
from .ir_types import BOOL, I32
from .values import FixedArray, Scalar, Tuple, Value, constant, describe


@intrinsic("math.prod")
def compile_prod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``prod(values, start=1)``, first to last as in Python."""
    expect_count(fb, node, arguments, "lp.math.prod", 1, 1)
    given = {keyword.arg: fb.evaluate(keyword.value) for keyword in node.keywords}
    result = given.get("start", constant(1))
    hint = "the product of several numbers is a * b * c"
    for item in _items(fb, arguments[0], node, "lp.math.prod", hint, by_rows=True):
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
        *_items(fb, arguments[0], node, "sum", "the sum of several numbers is a + b + c", by_rows=True),
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


def _items(
    fb: FunctionBuilder, value: Value, node: ast.Call, name: str, of_numbers: str, *, by_rows: bool = False
) -> list[Value]:
    """Returns what a sequence holds.

    Args:
        by_rows: whether a fixed array of several dimensions is taken by its rows, as Python goes through it.
        name: the function, for messages.
        of_numbers: what to write for a single number.
    """
    if isinstance(value, FixedArray):
        return elements_of(fb, value, node) if by_rows else [*scalars_of(fb, value, node)]
    if by_rows and is_array(value):
        length = (shape_of(value) or (0,))[0]
        return [element_at(fb, value, [constant(i)]) for i in range(length)]
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
