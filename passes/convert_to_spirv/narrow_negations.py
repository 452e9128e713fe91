"""Negations of 8 and 16 bits, for drivers that take the widened -(-128) for 128 (`vk_runtime.quirks`).

Such a driver negates behind the widening where the result of a negation is widened, also by a comparison, a division or
a conversion to a float.  So a zero that it does not know is what is subtracted from.  Of (b - b) - a and b * a where b
is a specialization constant, the operand that it may find out is put together with such a zero.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_attribute, is_integer_type
from .function_lowering import FunctionLowering
from .types import scalar_of
from .unknown_zeros import zeros_like

_NARROW = (8, 16)


def negation(fn: FunctionLowering, op: Operation) -> SSAValue | None:
    """Returns what an operation gives if that is a negation of 8 or 16 bits, perhaps of more bits before, else None."""
    (result,) = op.results
    if not fn.module.env.widens_negations:
        return None
    type_ = fn.type(result.type)
    if not is_narrow(type_):
        return None
    is_narrowed = isinstance(op, arith.TruncIOp)
    made = op.operands[0].owner if is_narrowed else op
    negated = _negated(made)
    if negated is None:
        difference = _with_hidden(fn, made)
        return fn.emit(spirv.UConvertOp, (difference,), type_) if difference and is_narrowed else difference
    value = fn.value(negated)
    if is_narrowed:
        value = fn.emit(spirv.UConvertOp, (value,), type_)
    return fn.emit(spirv.ISubOp, (zeros_like(fn, value), value), type_)


def _with_hidden(fn: FunctionLowering, op: object) -> SSAValue | None:
    """Returns arithmetic that is a negation for one number of an operand, which is hidden; None where there is none."""
    if not isinstance(op, arith.SubiOp | arith.MuliOp | arith.AddiOp):
        return None
    found = _found_out(fn, op)
    if found is None:
        return None
    operands = [fn.value(value) for value in (op.lhs, op.rhs)]
    zeros = zeros_like(fn, operands[found])
    operands[found] = fn.emit(spirv.IAddOp, (operands[found], zeros), zeros.type)
    return fn.emit(_KINDS[type(op)], operands, operands[found].type)


_KINDS: dict[type[Operation], type[Operation]] = {
    arith.SubiOp: spirv.ISubOp,
    arith.MuliOp: spirv.IMulOp,
    arith.AddiOp: spirv.IAddOp,
}


def _found_out(fn: FunctionLowering, op: arith.SubiOp | arith.MuliOp | arith.AddiOp) -> int | None:
    """Returns which operand, not a literal, the driver may find out to be what makes a negation of an operation."""
    candidates = (0,) if isinstance(op, arith.SubiOp) else (0, 1)
    for number in candidates:
        value, other = op.operands[number], op.operands[1 - number]
        if isinstance(op, arith.AddiOp) and not isinstance(other.owner, arith.XOrIOp):
            continue
        if number_of(value) is None and fn.module.known_numbers.is_known(value):
            return number
    return None


def is_short(type_: Attribute) -> bool:
    """Whether a converted type is one of 16-bit integers."""
    scalar = scalar_of(type_)
    return is_integer_type(scalar) and scalar.width.data == 16


def is_narrow(type_: Attribute) -> bool:
    """Whether a converted type is one of 8- or 16-bit integers."""
    scalar = scalar_of(type_)
    return is_integer_type(scalar) and scalar.width.data in _NARROW


def _negated(op: object) -> SSAValue | None:
    """Returns x of an operation that is 0 - x, x * -1 or ~x + 1, which drivers take for a negation; else None."""
    if isinstance(op, arith.SubiOp):
        return op.rhs if number_of(op.lhs) == 0 else None
    if isinstance(op, arith.MuliOp):
        return _other(op.lhs, op.rhs, -1)
    if isinstance(op, arith.AddiOp):
        complement = _other(op.lhs, op.rhs, 1)
        owner = None if complement is None else complement.owner
        return _other(owner.lhs, owner.rhs, -1) if isinstance(owner, arith.XOrIOp) else None
    return None


def _other(lhs: SSAValue, rhs: SSAValue, number: int) -> SSAValue | None:
    """Returns the operand beside a constant with a number; None where there is no such constant."""
    return rhs if number_of(lhs) == number else lhs if number_of(rhs) == number else None


def number_of(value: SSAValue) -> int | None:
    """Returns the number that a constant holds, in each component of a vector; all bits set are -1."""
    owner, scalar = value.owner, scalar_of(value.type)
    if not isinstance(owner, arith.ConstantOp) or not is_integer_type(scalar):
        return None
    attribute = owner.value
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        numbers = set(attribute.get_values())
    else:
        numbers = {attribute.value.data} if is_integer_attribute(attribute) else set[int]()
    number = numbers.pop() if len(numbers) == 1 else None
    if not isinstance(number, int):
        return None
    return -1 if number == (1 << scalar.width.data) - 1 else number
