"""How many bits it takes to note which scalars of an array have been written, and which bit is whose."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.narrowing import is_integer_type, is_memref_type, is_vector_type
from .emitter import Emitter

WORD_BITS = 32
"""Bits are kept in integers of this width."""
_FLOATS = Float16Type | BFloat16Type | Float32Type | Float64Type
_MAXIMUM_COMPONENTS = 4


class ArrayShape:
    """One shared or private array of numbers or vectors.

    Attributes:
        array: the array.
        components: scalars of an element.
        stride: bits of an element; three components take the room of four, so that no element is in two words.
        lengths: extents, slowest dimension first; None: constants of the launch decide.
        name: what messages call it: ``shared array 'tile'``.
    """

    def __init__(self, array: SSAValue, kind: str, element: Attribute, components: int) -> None:
        self.array = array
        self.components = components
        self.stride = 4 if components == 3 else components
        assert is_memref_type(array.type)
        self.lengths = tuple(None if n == DYNAMIC_INDEX else n for n in array.type.get_shape())
        self.name = f"{kind} array '{array.name_hint}'" if array.name_hint else f"the {kind} array"
        self._element = element

    @staticmethod
    def of(array: SSAValue, kind: str) -> ArrayShape | None:
        """Returns the shape of a ``shared`` or ``private`` array; None where its elements are neither numbers nor
        vectors of up to four."""
        assert is_memref_type(array.type)
        element: Attribute = array.type.element_type
        components = 1
        if is_vector_type(element):
            shape = element.get_shape()
            element, components = element.element_type, math.prod(shape)
            if len(shape) != 1 or not 1 <= components <= _MAXIMUM_COMPONENTS:
                return None
        if not (isinstance(element, _FLOATS) or is_integer_type(element)) or not array.type.get_shape():
            return None
        return ArrayShape(array, kind, element, components)

    @property
    def word_count(self) -> int | None:
        """The words of the bits; None where constants of the launch decide."""
        scalars = self._scalars()
        return None if scalars is None else -(-scalars // WORD_BITS)

    @property
    def array_bytes(self) -> int | None:
        """The size of the array; None where constants of the launch decide."""
        scalars = self._scalars()
        return None if scalars is None else scalars * self._scalar_bytes()

    @property
    def total_bytes(self) -> int | None:
        """The size of the array and its bits; None where constants of the launch decide."""
        size, words = self.array_bytes, self.word_count
        return None if size is None or words is None else size + 4 * words

    def emit_word_count(self, emitter: Emitter) -> SSAValue:
        """Emits the number of words where the array itself need not have been made yet."""
        owner = self.array.owner
        sizes = iter(owner.operands if isinstance(owner, Operation) else ())
        lengths: list[SSAValue] = []
        for dimension, length in enumerate(self.lengths):
            if length is not None:
                lengths.append(emitter.number(length))
            elif isinstance(owner, Operation):
                lengths.append(emitter.as_i32(_copied(emitter, next(sizes), {})))
            else:
                lengths.append(emitter.extent(self.array, dimension))
        total = emitter.number(self.stride)
        for length in lengths:
            total = emitter.emit(arith.MuliOp, [total, length])
        rounded = emitter.emit(arith.AddiOp, [total, emitter.number(WORD_BITS - 1)])
        return emitter.emit(arith.DivUIOp, [rounded, emitter.number(WORD_BITS)])

    def emit_bit(self, emitter: Emitter, indices: Sequence[SSAValue]) -> SSAValue:
        """Emits the number of an element's first bit."""
        linear = emitter.as_i32(indices[0])
        for dimension, index in enumerate(indices[1:], start=1):
            linear = emitter.emit(arith.MuliOp, [linear, emitter.extent(self.array, dimension)])
            linear = emitter.emit(arith.AddiOp, [linear, emitter.as_i32(index)])
        return (
            linear if self.stride == 1 else emitter.emit(arith.MuliOp, [linear, emitter.number(self.stride)])
        )

    def _scalars(self) -> int | None:
        known = [length for length in self.lengths if length is not None]
        return math.prod(known) * self.stride if len(known) == len(self.lengths) else None

    def _scalar_bytes(self) -> int:
        if is_integer_type(self._element):
            bits = self._element.width.data
            return 4 if bits == 1 else -(-bits // 8)
        assert isinstance(self._element, _FLOATS)
        return self._element.bitwidth // 8


def _copied(emitter: Emitter, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """Emits a copy of a length's expression, which is of constants only."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return value
    if value not in known:
        for operand in owner.operands:
            _copied(emitter, operand, known)
        emitter.add(owner.clone(known))
    return known[value]
