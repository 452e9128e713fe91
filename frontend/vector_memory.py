"""``lp.f32x4.load(i, a)`` and ``v.store(i, a)``: vectors in arrays of numbers, as those of SYCL's ``vec``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .arithmetic import binary
from .array_elements import Element, element_at, load_element, store_element
from .builtins import expect_count
from .conversions import as_index
from .function_builder import FunctionBuilder
from .types import ScalarType
from .values import Array, Composite, Image, Scalar, Static, Value, constant, describe
from .vector_types import VecType
from .work_item_members import as_index_value

_MEMBERS = ("load", "store")


def call_vector_member(fb: FunctionBuilder, node: ast.Call) -> Value | None:
    """Compiles ``lp.f32x4.load(i, a)`` and ``v.store(i, a)``: of the elements from ``n * i`` on, n being the size.

    Returns:
        The vector, None of a store; nothing where the call is of something else.

    Raises:
        CompileError: arguments that are no index and array of the vector's components.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _MEMBERS:
        return None
    from .calls import positional

    owner = fb.evaluate(node.func.value)
    kind = owner.obj if isinstance(owner, Static) else owner.type if isinstance(owner, Composite) else None
    if type(kind) is not VecType:
        return None
    is_load = node.func.attr == "load"
    if is_load is isinstance(owner, Composite):
        raise fb.error(
            node,
            f"{ast.unparse(node.func)}: a type loads and a value stores",
            "LP2046",
            hint=f"write v = {kind!r}.load(i, a) and v.store(i, a)",
        )
    arguments = positional(fb, node)
    expect_count(fb, node, arguments, f"{kind!r}.{node.func.attr}", 2, 2)
    elements = _elements(fb, kind, arguments, node)
    if not isinstance(owner, Composite):
        return Composite(tuple(load_element(fb, element, node.args[1]) for element in elements), kind)
    for element, item in zip(elements, owner.items, strict=True):
        store_element(fb, element, item, node.args[1], node.func.value)
    return Static(None, "None")


def _elements(
    fb: FunctionBuilder, kind: VecType, arguments: list[Value], node: ast.Call
) -> Iterator[Element]:
    """Yields the places of the components."""
    offset, array = as_index_value(fb, arguments[0]), arguments[1]
    if not isinstance(offset, Scalar) or not offset.type.is_integer:
        raise fb.error(node.args[0], f"an offset must be an integer, found {describe(offset)}", "LP2041")
    if not isinstance(array, Array) or isinstance(array, Image) or array.type.ndim != 1:
        found = describe(array)
        raise fb.error(
            node.args[1],
            f"{kind!r} is loaded from and stored to arrays of one dimension, found {found}",
            "LP2033",
        )
    element = array.type.element
    if not isinstance(element, ScalarType) or element is not kind.element:
        raise fb.error(
            node.args[1],
            f"{kind!r} is loaded from and stored to arrays of lp.{kind.element.spelling}, found {describe(array)}",
            "LP2033",
            hint="arrays of vectors are indexed: v = a[i]" if isinstance(element, VecType) else None,
        )
    wide = offset if offset.const is not None else as_index(fb, offset, node.args[0], "an offset")
    first = binary(fb, "Mult", wide, constant(kind.size), node)
    for position in range(kind.size):
        place = binary(fb, "Add", first, constant(position), node) if position else first
        assert isinstance(place, Scalar), describe(place)
        yield element_at(fb, array, [place], node.args[1])
