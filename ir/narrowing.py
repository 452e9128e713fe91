"""`isinstance` for xDSL's generic attributes, which leaves their parameters unknown to type checkers.

No class here has subclasses, and for an object of another class `isinstance` of an abstract one is a call in Python.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute

AnyInteger: TypeAlias = IntegerType | IndexType
"""What an integer attribute can be of."""


def is_integer_type(type_: object) -> TypeIs[IntegerType]:
    """Whether `type_` is an integer of any width, i1 included."""
    return type(type_) is IntegerType


def is_any_integer(type_: object) -> TypeIs[AnyInteger]:
    """Whether `type_` is an integer or index."""
    return type(type_) in (IntegerType, IndexType)


def is_vector_type(type_: object) -> TypeIs[VectorType[Attribute]]:
    """Whether `type_` is a vector."""
    return type(type_) is VectorType


def is_memref_type(type_: object) -> TypeIs[MemRefType[Attribute]]:
    """Whether `type_` is a memref."""
    return type(type_) is MemRefType


def is_integer_attribute(attribute: object) -> TypeIs[IntegerAttr[AnyInteger]]:
    """Whether `attribute` is an integer, bool or index."""
    return type(attribute) is IntegerAttr


def is_float_attribute(attribute: object) -> TypeIs[FloatAttr[AnyFloat]]:
    """Whether `attribute` is a float."""
    return type(attribute) is FloatAttr


def is_array_attribute(attribute: object) -> TypeIs[ArrayAttr[Attribute]]:
    """Whether `attribute` is an array."""
    return type(attribute) is ArrayAttr


def is_scalar_attribute(attribute: object) -> TypeIs[IntegerAttr[IntegerType] | FloatAttr[AnyFloat]]:
    """Whether `attribute` is an integer, bool or float (`index` is not checked for)."""
    return type(attribute) in (IntegerAttr, FloatAttr)


def is_dense(attribute: object) -> TypeIs[DenseIntOrFPElementsAttr[Any]]:
    """Whether `attribute` is the elements of a vector or tensor."""
    return type(attribute) is DenseIntOrFPElementsAttr
