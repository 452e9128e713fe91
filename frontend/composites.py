"""Vectors, structs and fixed arrays as values: their types, making them from scalars, converting them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .composite_arrays import gathered
from .conversions import store_convert
from .fixed_arrays import construct_fixed, whole_of
from .function_builder import FunctionBuilder
from .struct_types import StructType
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Tuple, Value, describe
from .vector_types import CompositeArrayType, VecType


def value_type(value: Value) -> Type:
    """Returns the type of a number, vector, struct or fixed array."""
    assert isinstance(value, Scalar | Composite | FixedArray)
    return value.type


def convert_composite(fb: FunctionBuilder, value: Value, wanted: Type, node: ast.AST, what: str) -> Value:
    """Converts a value as storing does: components within a kind, structs not at all.

    A tuple of as many numbers is a vector or a fixed array where one is wanted, as it is on the host.

    Raises:
        CompileError: it is of another type.
    """
    if isinstance(wanted, ScalarType):
        return store_convert(fb, value, wanted, node, what)
    if isinstance(value, Composite) and value.type == wanted:
        return value
    if isinstance(value, FixedArray) and isinstance(wanted, FixedArrayType):
        value = whole_of(fb, value)
        if value.type == wanted:
            return value
    source = value.type if isinstance(value, Composite) else None
    if isinstance(source, VecType) and isinstance(wanted, VecType) and source.size == wanted.size:
        assert isinstance(value, Composite)
        items = [store_convert(fb, item, wanted.element, node, what) for item in value.items]
        return Composite(tuple(items), wanted)
    if isinstance(wanted, CompositeArrayType) and _is_plain_tuple(value, wanted.shape[0]):
        assert isinstance(value, Tuple)
        parts = [convert_composite(fb, item, wanted.row(1), node, what) for item in value.items]
        return gathered(fb, wanted, parts)
    numbers = _numbers_of_tuple(value)
    if isinstance(wanted, VecType | FixedArrayType) and numbers and len(numbers) == wanted.size:
        items = [store_convert(fb, item, wanted.element, node, what) for item in numbers]
        if isinstance(wanted, VecType):
            return Composite(tuple(items), wanted)
        return construct_fixed(fb, wanted, [fb.ssa(item) for item in items])
    raise fb.error(
        node,
        f"{what} holds {wanted!r}, found {describe(value)}",
        "LP2033",
        hint=f"make one: {wanted!r}(…)",
    )


def _is_plain_tuple(value: Value, length: int) -> bool:
    """Whether a value is no vector or struct but a tuple of as many items."""
    return isinstance(value, Tuple) and not isinstance(value, Composite) and len(value.items) == length


def _numbers_of_tuple(value: Value) -> list[Scalar] | None:
    """Returns the numbers in a tuple, and in tuples in it, in C order; None where it holds anything else."""
    if not isinstance(value, Tuple) or isinstance(value, Composite):
        return None
    numbers: list[Scalar] = []
    for item in value.items:
        found = [item] if isinstance(item, Scalar) else _numbers_of_tuple(item)
        if found is None:
            return None
        numbers += found
    return numbers


def typed_composite(kind: VecType | StructType | CompositeArrayType) -> Composite:
    """Returns some value of a type, for type inference."""
    if isinstance(kind, VecType):
        return Composite(tuple(Scalar(kind.element) for _ in range(kind.size)), kind)
    if isinstance(kind, CompositeArrayType):
        return Composite(tuple(typed_value_of(member) for member in kind.members), kind)
    return Composite(tuple(typed_value_of(f.type) for f in kind.fields), kind)


def typed_value_of(kind: Type) -> Value:
    """Returns some value of a type, for type inference."""
    if isinstance(kind, VecType | StructType | CompositeArrayType):
        return typed_composite(kind)
    if isinstance(kind, FixedArrayType):
        return FixedArray(kind, None)
    assert isinstance(kind, ScalarType)
    return Scalar(kind)


def build_value(fb: FunctionBuilder, kind: Type, leaf: Callable[[ScalarType], Scalar]) -> Value:
    """Makes a value of a type from its scalars, asked for in C order."""
    if isinstance(kind, ScalarType):
        return leaf(kind)
    if isinstance(kind, VecType):
        return Composite(tuple(leaf(kind.element) for _ in range(kind.size)), kind)
    if isinstance(kind, StructType):
        return Composite(tuple(build_value(fb, f.type, leaf) for f in kind.fields), kind)
    if isinstance(kind, CompositeArrayType):
        return gathered(fb, kind, [build_value(fb, kind.element, leaf) for _ in range(kind.size)])
    assert isinstance(kind, FixedArrayType)
    return construct_fixed(fb, kind, [fb.ssa(leaf(kind.element)) for _ in range(kind.size)])
