"""What lowers one operation on vectors has: the components of its operands, and the shapes of its types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.attribute_values import integer
from ...ir.narrowing import is_vector_type
from .place import UpstreamPlace

MOST_COMPONENTS = 1024
"""Of one vector: each is a value of its own."""


class VectorPlace(UpstreamPlace):
    """An operation on vectors."""

    def __init__(
        self,
        op: Operation,
        components: Mapping[SSAValue, Sequence[SSAValue]],
        anchor: Operation | None = None,
    ) -> None:
        super().__init__(op, anchor=anchor)
        self._components = components

    def for_inner(self, op: Operation) -> VectorPlace:
        """Returns the place of an operation inside of this one, which goes where this one stands."""
        return VectorPlace(op, self._components, self.op)

    def parts(self, value: SSAValue) -> list[SSAValue]:
        """Returns the components of a vector in C order; a scalar is its only one."""
        return list(self._components[value]) if is_vector_type(value.type) else [value]

    def one(self, value: SSAValue) -> SSAValue:
        """Returns a scalar, or the only component of a vector."""
        parts = self.parts(value)
        if len(parts) != 1:
            raise self.refused(f"expected one number, found {value.type}")
        return parts[0]

    def integer(self, name: str) -> int:
        """Returns the number of a property."""
        number = integer(self.op.properties.get(name))
        if number is None:
            raise self.refused(f"its {name} is a number")
        return number

    def expect(self, holds: bool, rule: str) -> None:
        """Raises the error that the operation breaks a rule of upstream's where that does not hold."""
        if not holds:
            raise self.refused(f"{rule}; see what mlir-opt says of it")


VectorLowering = Callable[[VectorPlace], Sequence[Sequence[SSAValue]]]
"""Returns the components of each result."""


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """Returns the shape of a vector, () of a scalar."""
    return tuple(cast("Any", type_).get_shape()) if isinstance(type_, VectorType) else ()


def element_of(type_: Attribute) -> Attribute:
    """Returns the type of the components, any type but a vector's itself."""
    return cast("Any", type_).element_type if isinstance(type_, VectorType) else type_


def count_of(type_: Attribute) -> int:
    """Returns the number of components."""
    return prod(shape_of(type_))


def places_of(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields the places in a shape, in C order."""
    return product(*map(range, shape))


def position_of(place: Sequence[int], shape: Sequence[int]) -> int:
    """Returns how many places come before one, in C order."""
    position = 0
    for index, extent in zip(place, shape, strict=True):
        position = position * extent + index
    return position
