"""Negations of 8 and 16 bits, for drivers that take the widened -(-128) for 128 (`vk_runtime.quirks`).

Such a driver negates behind the widening where the result of a negation is widened, also by a comparison, a division or
a conversion to a float.  So that result becomes `negation | unknown zero`, which has to be there before.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_attribute, is_integer_type, is_vector_type
from .function_lowering import FunctionLowering
from .launch_place import unknown_zero
from .types import scalar_of

_NARROW = (8, 16)


def kept_narrow(fn: FunctionLowering, op: Operation, value: SSAValue) -> SSAValue:
    """Returns the lowered result of an operation, which is hidden where it is a negation of 8 or 16 bits."""
    env = fn.module.env
    if not env.widens_negations or not fn.has_inputs or not _is_narrow(value.type):
        return value
    negation = op.operands[0].owner if isinstance(op, arith.TruncIOp) else op
    if not isinstance(negation, Operation) or not _is_negation(negation):
        return value
    zero = fn.emit(spirv.UConvertOp, (unknown_zero(fn),), scalar_of(value.type))
    if is_vector_type(value.type):
        zero = fn.emit(spirv.CompositeConstructOp, (zero,) * value.type.element_count(), value.type)
    return fn.emit(spirv.BitwiseOrOp, (value, zero), value.type)


def is_short(type_: Attribute) -> bool:
    """Whether a converted type is one of 16-bit integers."""
    scalar = scalar_of(type_)
    return is_integer_type(scalar) and scalar.width.data == 16


def _is_narrow(type_: Attribute) -> bool:
    scalar = scalar_of(type_)
    return is_integer_type(scalar) and scalar.width.data in _NARROW


def _is_negation(op: Operation) -> bool:
    """Whether an operation is 0 - x, x * -1 or ~x + 1, which drivers take for one."""
    if isinstance(op, arith.SubiOp):
        return _number(op.lhs) == 0
    if isinstance(op, arith.MuliOp):
        return -1 in (_number(op.lhs), _number(op.rhs))
    if isinstance(op, arith.AddiOp):
        pairs = ((op.lhs, op.rhs), (op.rhs, op.lhs))
        return any(_number(one) == 1 and _is_complement(other) for one, other in pairs)
    return False


def _is_complement(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.XOrIOp) and -1 in (_number(owner.lhs), _number(owner.rhs))


def _number(value: SSAValue) -> int | None:
    """Returns the number that a constant holds, in each component of a vector, as a signed one."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        numbers = set(attribute.get_values())
        number = numbers.pop() if len(numbers) == 1 else None
    else:
        number = attribute.value.data if is_integer_attribute(attribute) else None
    scalar = scalar_of(value.type)
    if not isinstance(number, int) or not is_integer_type(scalar):
        return None
    return -1 if number == (1 << scalar.width.data) - 1 else number
