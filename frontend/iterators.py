"""``enumerate``, ``zip``, ``reversed`` and the elements of arrays, as for loops run over them.

Things whose length is known are unrolled.  Loops over arrays are loops over positions that read each element when its
round begins, so that they see what earlier rounds have stored.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from .arithmetic import binary
from .array_elements import array_extent, element_at
from .builtins import expect_count, min_max
from .composite_arrays import elements_along, load_element, shape_of, without_rows
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .iteration import iterable_items
from .part_memory import ElementPart, load_place
from .values import Array, Elements, Image, Iteration, RangeValue, Scalar, Tuple, Value, constant


def elements(fb: FunctionBuilder, value: Value, node: ast.expr) -> Elements | None:
    """Returns how a loop reads arrays of one dimension and rows of fixed arrays, None where `value` is neither.

    Args:
        node: where the array stands, for messages.
    """
    match value:
        case Elements():
            return value
        case Array() as array if array.type.ndim == 1 and not isinstance(array, Image):
            kind = array.type.element

            def element(index: Scalar) -> Value:
                return load_place(fb, ElementPart(element_at(fb, array, [index], node), kind), node)

            return Elements(array_extent(fb, array, 0), element)
        case _ if shape := shape_of(value):
            return Elements(
                constant(shape[0]), lambda index: without_rows(fb, load_element(fb, value, [index], node))
            )
        case _:
            return None


@intrinsic("builtins.enumerate")
def compile_enumerate(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``enumerate(t)``, ``enumerate(t, start)`` and ``enumerate(t, start=n)``."""
    given = [*zip(arguments, node.args, strict=True)]
    given += [(fb.evaluate(keyword.value), keyword.value) for keyword in node.keywords]
    # What is enumerated has no keyword.
    expect_count(fb, node, arguments and [value for value, _ in given], "enumerate", 1, 2)
    start = 0
    if len(given) == 2:
        first, where = given[1]
        if not isinstance(first, Scalar) or not isinstance(first.const, int):
            hint = "add a start that is known at run time only to the number: i + start"
            raise fb.error(where, "the start of enumerate must be a literal integer", "LP2051", hint=hint)
        start = first.const
    found = elements(fb, arguments[0], node.args[0])
    if found is None:
        items = iterable_items(fb, arguments[0], node.args[0])
        return Iteration(tuple(Tuple((constant(start + i), item)) for i, item in enumerate(items)))

    def numbered(index: Scalar) -> Value:
        number = binary(fb, "Add", index, constant(start), node) if start else index
        return Tuple((number, found.item(index)))

    return Elements(found.count, numbered)


@intrinsic("builtins.reversed")
def compile_reversed(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``reversed(x)`` of a range, an array, or a thing of known length."""
    expect_count(fb, node, arguments, "reversed", 1, 1)
    (value,) = arguments
    if isinstance(value, RangeValue):
        return _reversed_range(value)
    found = elements(fb, value, node.args[0])
    if found is None:
        return Iteration(tuple(reversed(iterable_items(fb, value, node.args[0]))))
    last = binary(fb, "Sub", found.count, constant(1), node)

    def from_end(index: Scalar) -> Value:
        position = binary(fb, "Sub", last, index, node)
        assert isinstance(position, Scalar)
        return found.item(position)

    return Elements(found.count, from_end)


def _reversed_range(value: RangeValue) -> RangeValue:
    bounds = (value.start, value.stop, value.step)
    if all(bound.is_weak and bound.const is not None for bound in bounds) and not value.is_static:
        turned = range(*(int(bound.const or 0) for bound in bounds))[::-1]
        return RangeValue(constant(turned.start), constant(turned.stop), constant(turned.step))
    return replace(value, is_reversed=not value.is_reversed)


@intrinsic("builtins.zip")
def compile_zip(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``zip(t, u)``, and ``zip(t, u, strict=True)`` over things of known length."""
    found = [elements(fb, value, part) for value, part in zip(arguments, node.args, strict=True)]
    arrays = [part for part in found if part is not None]
    if arrays and len(arrays) == len(found):
        return _of_arrays(fb, node, arrays)
    if any(part and shape_of(value) is None for part, value in zip(found, arguments, strict=True)):
        raise fb.error(
            node,
            "zip takes arrays, or things whose length is known, not both",
            "LP2051",
            hint="loop over indices: for i in range(len(a))",
        )
    parts = [
        elements_along(fb, value) if shape_of(value) else iterable_items(fb, value, part)
        for value, part in zip(arguments, node.args, strict=True)
    ]
    if _is_strict(fb, node) and len({len(part) for part in parts}) > 1:
        lengths = ", ".join(str(len(part)) for part in parts)
        raise fb.error(node, f"zip(strict=True) of different lengths: {lengths}", "LP2033")
    return Iteration(tuple(Tuple(items) for items in zip(*parts, strict=False)))


def _of_arrays(fb: FunctionBuilder, node: ast.Call, parts: Sequence[Elements]) -> Elements:
    """Returns the elements of several arrays side by side, up to the end of the shortest."""
    if _is_strict(fb, node):
        raise fb.error(
            node,
            "zip(strict=True) takes things whose length is known",
            "LP2051",
            hint="leave strict out; assert len(a) == len(b) where it matters",
        )
    count = parts[0].count
    for part in parts[1:]:
        count = min_max(fb, "min", count, part.count, node)
    return Elements(count, lambda index: Tuple(tuple(part.item(index) for part in parts)))


def _is_strict(fb: FunctionBuilder, node: ast.Call) -> bool:
    values = [fb.evaluate(keyword.value) for keyword in node.keywords]
    return any(isinstance(value, Scalar) and bool(value.const) for value in values)
