"""What an atomic operation changes: ``i``, ``(i, j)``, ``(i, "count")``, ``(i, "bins", k)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .array_elements import Element, element_at
from .function_builder import FunctionBuilder
from .part_memory import Step
from .parts import COMPONENTS, bounded_step
from .struct_types import StructType
from .subscripts import is_index_tuple
from .types import FixedArrayType, ScalarType, Type
from .values import Array, Scalar, Static, Tuple, Value, describe
from .vector_types import CompositeArrayType, VecType


@dataclass(frozen=True, slots=True)
class AtomicPlace:
    """An element of an array, or a part of one."""

    element: Element
    path: tuple[Step, ...]
    """Into the element; empty: the element itself."""
    type: Type


def atomic_place(fb: FunctionBuilder, node: ast.expr, array: Array, index: Value) -> AtomicPlace:
    """Finds what the second argument of an atomic names.

    Args:
        node: the argument, blamed where it is wrong.
        array: the first argument.
        index: the argument's value: an index, or a tuple of the indices and the steps into a struct.

    Raises:
        CompileError: an index is no integer, or the element has no such part.
    """
    values, nodes = _flattened(index, node)
    count = _index_count(values)
    if not isinstance(array.type.element, ScalarType):
        count = min(count, array.type.ndim)  # what follows leads into the element, by name or by number
    indices = [_index(fb, array, value, where) for value, where in zip(values[:count], nodes, strict=False)]
    element = element_at(fb, array, indices, node)
    kind, path = array.type.element, ()
    for value, where in zip(values[count:], nodes[count:], strict=True):
        step, kind = _step(fb, kind, value, where)
        path = (*path, step)
    return AtomicPlace(element, path, kind)


_STEP = re.compile(r"[\w]+|[^\w]+")
"""What a text such as ``bins[3].count`` consists of: names and numbers, and what is between them."""


def _as_item(step: re.Match[str]) -> str:
    """Returns a step as it stands in the tuple of a place, or the gap to the next."""
    word = step.group()
    return f'"{word}"' if word.isidentifier() else word if word.isdigit() else " "


def part_hint(node: ast.expr, found: Type) -> str:
    """Returns how to name a number inside of a value that is none.

    Args:
        node: what was written for the place.
        found: the type of what is there.
    """
    steps = node.elts if isinstance(node, ast.Tuple) else [node]
    way = ", ".join(ast.unparse(step).replace("'", '"') for step in steps)
    if isinstance(found, StructType):
        return f'name a field: ({way}, "{found.fields[0].name}")'
    if isinstance(found, VecType):
        return f'name a component: ({way}, "x")'
    if isinstance(found, FixedArrayType | CompositeArrayType):
        return f"give the index of an element: ({way}, k)"
    return "keep what is updated so in an array of numbers"


def _flattened(index: Value, node: ast.expr) -> tuple[list[Value], list[ast.expr]]:
    """Returns the items of a tuple, and those of a tuple or of a vector of integers in its first place; each with the
    node to blame."""
    if not isinstance(index, Tuple) or not is_index_tuple(index):
        return [index], [node]
    items = list(index.items)
    parts = node.elts if isinstance(node, ast.Tuple) and len(node.elts) == len(items) else [node] * len(items)
    if not items:
        return [], []
    first, first_nodes = _flattened(items[0], parts[0])
    return [*first, *items[1:]], [*first_nodes, *parts[1:]]


def _index_count(values: Sequence[Value]) -> int:
    """Returns how many values are indices: those before the first name."""
    return next((i for i, v in enumerate(values) if _name(v) is not None), len(values))


def _name(value: Value) -> str | None:
    return value.obj if isinstance(value, Static) and isinstance(value.obj, str) else None


def _index(fb: FunctionBuilder, array: Array, value: Value, node: ast.AST) -> Scalar:
    if not isinstance(value, Scalar) or not value.type.is_integer:
        raise fb.error(
            node, f"an index of '{array.name}' must be an integer, found {describe(value)}", "LP2041"
        )
    return value


def _step(fb: FunctionBuilder, kind: Type, value: Value, node: ast.expr) -> tuple[Step, Type]:
    """Returns the step into a value of a type that a name or an index takes, and the type of what is there."""
    name = _name(value)
    if name is not None and isinstance(kind, StructType):
        position = kind.index_of(name)
        if position is not None:
            return position, kind.fields[position].type
        members = ", ".join(f.name for f in kind.fields)
        steps = ", ".join(_STEP.sub(_as_item, name).split()) if "." in name or "[" in name else ""
        raise fb.error(
            node,
            f"struct '{kind.name}' has no member '{name}'",
            "LP2046",
            hint=f"name each step by itself: (i, {steps})" if steps else f"it has {members}",
        )
    if name is not None and isinstance(kind, VecType):
        position = COMPONENTS.find(name) if len(name) == 1 else -1
        if 0 <= position < kind.size:
            return position, kind.element
    if isinstance(value, Scalar) and value.type.is_integer:
        if isinstance(kind, VecType):
            return bounded_step(fb, value, kind.size, node), kind.element
        if isinstance(kind, FixedArrayType | CompositeArrayType):
            return bounded_step(fb, value, kind.shape[0], node), kind.row(1)
    what = f"'{name}'" if name is not None else describe(value)
    expected = "an integer index"
    if isinstance(kind, StructType):
        expected = "the name of a member"
    elif isinstance(kind, ScalarType):
        expected = "nothing more"
    raise fb.error(node, f"{what} leads nowhere in {kind!r}; expected {expected}", "LP2046")
