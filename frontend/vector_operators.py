"""Operators and functions of vectors: one result for each component."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .conversions import convert
from .function_builder import FunctionBuilder
from .ir_types import I32, INDEX_TYPE
from .promotion import settled
from .types import i64
from .values import Composite, FixedArray, Scalar, Static, Tuple, Value, describe
from .vector_types import VecType
from .work_item_values import IdType, id_type


def by_component(
    fb: FunctionBuilder,
    values: Sequence[Value],
    node: ast.AST,
    what: str,
    compute: Callable[[list[Value]], Value],
) -> Value:
    """Computes each component of a result; numbers beside vectors count for every component.

    Args:
        what: the operator or function, for messages.
        compute: makes one component from one value of each operand.

    Raises:
        CompileError: vectors of different sizes, a struct or a fixed array.
    """
    vectors = [v for v in values if isinstance(v, Composite)]
    sizes = {v.type.size for v in vectors if isinstance(v.type, VecType)}
    wrong = next((v for v in vectors if not v.is_vector), None)
    wrong = wrong or next((v for v in values if isinstance(v, FixedArray)), None)
    wrong = wrong or next((v for v in values if isinstance(v, Tuple) and v not in vectors), None)
    if wrong is not None:
        from .suggestions import operand_hint  # only for messages

        hint = operand_hint(wrong, next((v for v in values if v is not wrong), wrong))
        raise fb.error(
            node, f"{what} takes numbers and vectors, found {describe(wrong)}", "LP2033", hint=hint
        )
    if len(sizes) != 1:
        found = " and ".join(describe(v) for v in vectors)
        raise fb.error(
            node,
            f"{what} takes vectors of one size, found {found}",
            "LP2033",
            hint="take as many components of the longer one, such as v.xy, or make a vector of the shorter one's",
        )
    (size,) = sizes
    items = [
        compute([v.items[position] if isinstance(v, Composite) else _of_component(v) for v in values])
        for position in range(size)
    ]
    is_of_ids = any(isinstance(v, Composite) and isinstance(v.type, IdType) for v in values)
    if isinstance(items[0], Tuple):  # frexp and its like have several results
        results = zip(*(item.items for item in items if isinstance(item, Tuple)), strict=True)
        return Tuple(tuple(vector_of(fb, _numbers(result)) for result in results))
    return vector_of(fb, _numbers(items), keeps_ids=is_of_ids)


def _numbers(items: Sequence[Value]) -> list[Scalar]:
    found = [item for item in items if isinstance(item, Scalar)]
    assert len(found) == len(items)
    return found


def _of_component(value: Value) -> Value:
    """Returns what a number or type beside a vector is for one component."""
    if isinstance(value, Static) and isinstance(value.obj, VecType):
        return Static(value.obj.element, value.obj.element.name)
    return value


def vector_of(fb: FunctionBuilder, items: Sequence[Scalar], *, keeps_ids: bool = False) -> Composite:
    """Makes a vector of components of one type.

    Args:
        keeps_ids: indices make an id; otherwise they become numbers of i32.
    """
    kind = items[0].type
    if keeps_ids and kind in (INDEX_TYPE, i64) and len(items) > 1:
        return Composite(tuple(items), id_type(len(items), kind))
    if not kind.bits or kind is INDEX_TYPE:  # literals, ids
        kind = I32 if kind is INDEX_TYPE else settled(kind)
    return Composite(tuple(convert(fb, item, kind) for item in items), VecType(kind, len(items)))
