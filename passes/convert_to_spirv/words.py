"""Values of less than 32 bits in 32-bit words: what a shared array holds whose elements atomics reach.

Vulkan's instructions of 8 and 16 bits are optional, atomics of that width are none of them.  So a shared array of
such elements has a word for each, the upper bits zero, where the module has an atomic operation on them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr, Float16Type, VectorType, f16, i1, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp
from ...ir.dialects.spirv.scalars import component_count
from ...ir.narrowing import is_integer_type, is_vector_type
from .function_lowering import FunctionLowering
from .types import integer_attribute, scalar_of

_PAIR = VectorType(f16, [2])


def is_narrow(type_: Attribute) -> bool:
    """Whether a scalar of the device has less than 32 bits."""
    if is_integer_type(type_):
        return type_.width.data < 32
    return isinstance(type_, Float16Type)


def by_component(
    fn: FunctionLowering, value: SSAValue, type_: Attribute, renew: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """Returns the number, or the vector of type `type_`, that `renew` makes of a number or of each component."""
    if not is_vector_type(value.type):
        return renew(value)
    parts = [
        renew(fn.emit(CompositeExtractOp, (value,), scalar_of(value.type), {"indices": _path(position)}))
        for position in range(component_count(value.type))
    ]
    return fn.emit(CompositeConstructOp, tuple(parts), type_)


def _path(position: int) -> Attribute:
    return ArrayAttr([integer_attribute(position, 32)])


def to_word(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the bits of a narrow value as an i32, the upper ones zero."""
    if value.type == i1:
        return fn.emit(spirv.SelectOp, (value, fn.index(1), fn.index(0)), i32)
    if is_integer_type(value.type):
        return fn.emit(spirv.UConvertOp, (value,), i32)
    # By a pair of halves, whose first one has the low bits: that needs no 16-bit integers.
    zero = fn.constant(value.type, 0.0)
    pair = fn.emit(CompositeConstructOp, (value, zero), fn.type(_PAIR))
    return fn.emit(spirv.BitcastOp, (pair,), i32)


def from_word(fn: FunctionLowering, word: SSAValue, type_: Attribute) -> SSAValue:
    """Returns the value of a narrow type that the low bits of an i32 are."""
    if type_ == i1:
        return fn.emit(spirv.INotEqualOp, (word, fn.index(0)), i1)
    if is_integer_type(type_):
        return fn.emit(spirv.UConvertOp, (word,), type_)
    pair = fn.emit(spirv.BitcastOp, (word,), fn.type(_PAIR))
    return fn.emit(CompositeExtractOp, (pair,), type_, {"indices": _path(0)})
