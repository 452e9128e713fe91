"""Plain Python values out of xDSL attributes.

xDSL's containers are generic, and `isinstance` leaves their parameter unknown: these few functions are the
one place that says what is inside.  They have no subclasses, and `isinstance` of an abstract class is a call in Python
for each object of another one, so they are told by their class.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def elements(attribute: Attribute | None) -> tuple[Attribute, ...] | None:
    """Returns the elements of an array attribute, None for anything else."""
    if type(attribute) is not ArrayAttr:
        return None
    return attribute.data


def integer(attribute: Attribute | None, type_: Attribute | None = None) -> int | None:
    """Returns the value of an integer attribute (of type `type_` where given), None for anything else."""
    if type(attribute) is not IntegerAttr:
        return None
    typed = cast("IntegerAttr[IntegerType]", attribute)
    return typed.value.data if type_ is None or typed.type == type_ else None


def integers(attribute: Attribute | None, type_: Attribute | None = None) -> tuple[int, ...] | None:
    """Returns the numbers of `[1 : i32, …]` or `array<i32: 1, …>`, None for anything else.

    With `type_` given, every number must be of that type.
    """
    if type(attribute) is DenseArrayBase:
        numbers = cast("DenseArrayBase[IntegerType]", attribute)
        element_type = cast(Attribute, numbers.elt_type)
        if not isinstance(element_type, IntegerType) or type_ not in (None, element_type):
            return None
        return tuple(int(value) for value in numbers.get_values())
    parts = elements(attribute)
    if parts is None:
        return None
    values = [integer(part, type_) for part in parts]
    found = tuple(value for value in values if value is not None)
    return found if len(found) == len(values) else None


def memref_element_type(type_: Attribute) -> Attribute | None:
    """Returns the element type of a memref, None for any other type."""
    return type_.element_type if type(type_) is MemRefType else None


def memref_rank(type_: Attribute) -> int | None:
    """Returns the dimensions of a memref, None for any other type."""
    return type_.get_num_dims() if type(type_) is MemRefType else None


def vector_elements(type_: Attribute) -> tuple[Attribute, int] | None:
    """Returns the element type of a vector and how many elements it has, None for any other type."""
    if type(type_) is not VectorType:
        return None
    return type_.element_type, prod(type_.get_shape())
