"""Truths about the low bits of 64-bit integers, for drivers that misjudge them (`vk_runtime.quirks`, low-bits).

Such a driver computes `x & 1`, and what the sign of `x << k` says, in as few bits as that takes, and takes what lies
above them for a part of it.  It does so of 64-bit numbers alone: lowest bits are taken of 32 bits that it does not
know, and other numbers are hidden where those bits are all that is left.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_type
from .function_lowering import FunctionLowering
from .narrow_negations import number_of
from .types import is_bool, scalar_of, with_scalar
from .unknown_zeros import zeros_like

_DEPTH = 6
"""How many operations are looked through."""
_MASKS = (1, 3)
"""Of which one bit may be all that is left: x * x & 3 is x & 1."""
_DOUBLED = (arith.AddiOp, arith.SubiOp)
"""What may give a number twice: x + x, x * 3 - x and (x + 1) - (y - x) are x << 1 to the driver."""
_SUMS = (arith.AddiOp, arith.SubiOp, arith.OrIOp, arith.XOrIOp, arith.AndIOp, arith.SelectOp)
_THROUGH = (*_SUMS, arith.MuliOp, arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp)


def lowest_bit(fn: FunctionLowering, op: Operation) -> SSAValue | None:
    """Returns what an `and` gives, or a narrowing to i1 before it is compared, if that are the lowest bits of 64; else
    None."""
    value = op.operands[0]
    if not fn.module.env.misjudges_low_bits or is_bool(value.type):
        return None
    mask = 1
    if isinstance(op, arith.AndIOp):
        value, mask = _masked(op)
    return _lowest(fn, fn.value(value), mask) if mask in _MASKS and _is_of_64_bits(value, _DEPTH) else None


def _masked(op: arith.AndIOp) -> tuple[SSAValue, int | None]:
    """Returns what is masked, and the mask if it is known."""
    mask = number_of(op.rhs)
    return (op.lhs, mask) if mask is not None else (op.rhs, number_of(op.lhs))


def _lowest(fn: FunctionLowering, value: SSAValue, mask: int | None) -> SSAValue:
    """Returns the lowest bits of a lowered integer; the driver knows neither them nor what they are taken from."""
    type_ = value.type
    word = fn.module.types(with_scalar(type_, i32))
    if type_ != word:
        value = fn.emit(spirv.UConvertOp, (value,), word)
    bits = fn.emit(spirv.BitwiseAndOp, (kept(fn, value), fn.constant(word, mask or 0)), word)
    bits = kept(fn, bits)
    return bits if type_ == word else fn.emit(spirv.UConvertOp, (bits,), type_)


def shifted(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns an operand of a signed comparison, or the base of an arithmetic shift, lowered as it may be used."""
    lowered = fn.value(value)
    if (
        not fn.module.env.misjudges_low_bits
        or scalar_of(lowered.type) != i64
        or not _is_shifted(value, _DEPTH)
    ):
        return lowered
    return kept(fn, lowered)


def kept(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns a lowered integer as one that the driver does not know, and of which it needs every bit.

    Sums with a zero do for most, but not for x * x: of a sum's low bits it needs the low bits of what is summed alone.
    """
    return fn.emit(spirv.ShiftRightLogicalOp, (value, zeros_like(fn, value)), value.type)


def _is_of_64_bits(value: SSAValue, depth: int) -> bool:
    """Whether an integer has 64 bits, or is computed from some that were narrowed, and maybe widened since."""
    scalar = scalar_of(value.type)
    if not is_integer_type(scalar) or scalar.width.data == 64:
        return is_integer_type(scalar)
    owner = value.owner
    if isinstance(owner, arith.TruncIOp | arith.ExtUIOp | arith.ExtSIOp):
        return _is_of_64_bits(owner.operands[0], depth)
    return (
        depth > 0
        and isinstance(owner, _THROUGH)
        and any(_is_of_64_bits(v, depth - 1) for v in owner.operands)
    )


def _is_shifted(value: SSAValue, depth: int) -> bool:
    """Whether an integer is made of one whose upper bits are shifted out."""
    owner = value.owner
    if isinstance(owner, arith.ShLIOp):
        return True
    if isinstance(owner, arith.MuliOp):
        return any(_is_power_of_two(number_of(operand)) for operand in owner.operands)
    if isinstance(owner, _DOUBLED) and not _summands(owner.lhs, depth).isdisjoint(
        _summands(owner.rhs, depth)
    ):
        return True
    return depth > 0 and isinstance(owner, _SUMS) and any(_is_shifted(v, depth - 1) for v in owner.operands)


def _summands(value: SSAValue, depth: int) -> set[SSAValue]:
    """Returns what an integer is a sum, a difference or a multiple of, constants left out."""
    owner = value.owner
    if depth > 0 and isinstance(owner, _DOUBLED):
        return _summands(owner.lhs, depth - 1) | _summands(owner.rhs, depth - 1)
    if depth > 0 and isinstance(owner, arith.MuliOp):
        known = [operand for operand in owner.operands if number_of(operand) is None]
        return _summands(known[0], depth - 1) if len(known) == 1 else {value}
    return set() if number_of(value) is not None else {value}


def _is_power_of_two(number: int | None) -> bool:
    return number is not None and number & (number - 1) == 0 and number not in (0, 1)
