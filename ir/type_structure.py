"""What a type is made of: the scalars of a composite value, and the types one must have to hold it.

Composites are `vector<…>`, `!spirv.array` and `!spirv.struct`.  A pointer or memref is a leaf: it refers to
memory of a type without holding a value of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IndexType,
    IntegerType,
    TensorType,
    TupleType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from .attribute_values import vector_elements
from .dialects.spirv.types import ArrayType, RuntimeArrayType, StructType


def component_types(type_: Attribute) -> tuple[tuple[Attribute, int], ...]:
    """Returns the direct components of a composite type as (type, how many of it in a row); () for a leaf.

    An array without a length (`!spirv.rtarray`) counts as one element.
    """
    if (vector := vector_elements(type_)) is not None:
        return (vector,)
    if type(type_) not in _COMPOSITES:  # isinstance of classes with an abstract base is a call in Python
        return ()
    if isinstance(type_, ArrayType):
        return ((type_.element_type, type_.count.data),)
    if isinstance(type_, RuntimeArrayType):
        return ((type_.element_type, 1),)
    if isinstance(type_, StructType):
        return tuple((member.type, 1) for member in type_.data.members)
    return ()


_COMPOSITES = frozenset((ArrayType, RuntimeArrayType, StructType))

MOST_LEAVES = 1 << 20
"""Scalars of a value that are looked at one by one."""


def scalar_leaves(type_: Attribute) -> tuple[Attribute, ...]:
    """Returns the scalar types of a value in C order; raises `TypeError` where one is no number or bool."""
    if _is_scalar(type_):
        return (type_,)
    components = component_types(type_)
    if not components:
        raise TypeError(f"type {type_} is not made of scalars")
    leaves: list[Attribute] = []
    for component, count in components:
        inner = scalar_leaves(component)
        if len(leaves) + len(inner) * count > MOST_LEAVES:
            raise TypeError(f"type {type_} is made of more than {MOST_LEAVES} scalars")
        leaves.extend(inner * count)
    return tuple(leaves)


def _is_scalar(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType | AnyFloat | IndexType)


def held_types(type_: Attribute) -> Iterator[Attribute]:
    """Yields `type_` and every type inside it that a value of it holds, outermost first.

    Tuples, complex numbers and tensors are looked through as well, though no kernel that is compiled has them.
    """
    yield type_
    for component in [component for component, _ in component_types(type_)] or _parts(type_):
        yield from held_types(component)


def _parts(type_: Attribute) -> Iterable[Attribute]:
    if isinstance(type_, TupleType):
        return type_.types.data
    if isinstance(type_, ComplexType | TensorType | UnrankedTensorType):
        return (cast("TensorType[Attribute]", type_).element_type,)
    return ()


def struct_name(type_: Attribute) -> str | None:
    """Returns the identifier of a named `!spirv.struct<Name, …>`, else None."""
    return (type_.data.identifier or None) if type(type_) is StructType else None
