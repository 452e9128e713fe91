"""Zeros that a driver knows, kept from it where it computes with them otherwise than IEEE 754 says.

Mesa's llvmpipe asks each operand whether it is the constant 0.0: 0.0 * x and 0.0 / x are 0.0 then, x / 0.0 is
undefined, and x + 0.0 is x, also for -0.0 (lp_build_mul, lp_build_div, lp_build_add; it subtracts by adding).
Constants are also what Mesa finds out: specialization constants, what loops that it writes out begin with and count,
elements of private arrays, n - n, x < x, arms of branches that it can decide, what was stored before it is loaded.

So such an operand becomes `bitcast(bits | id >> 31)` or a selection that never happens: ids have 31 bits, which the
driver does not know.  Specialization constants stay constants unless they are zero: `select(c == 0.0, hidden, c)`.
Loops begin with hidden values, see `loop_starts`.  Literal factors and divisors: see `zero_operands`.
"""

from __future__ import annotations

import math
import struct
from typing import cast

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f32, i1, i32
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spec_constant import GetOp
from ...ir.narrowing import is_float_attribute, is_vector_type
from .function_lowering import FunctionLowering
from .known_numbers import is_element, yielded
from .launch_place import unknown_zero
from .types import is_float, scalar_of
from .value_samples import LOADS

_COMPUTED = frozenset((arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp))
_NOT_KEPT = (arith.ConstantOp, arith.SIToFPOp, arith.UIToFPOp)
_DEPTH = 80
"""How many operations are followed; what lies behind is taken for a zero."""


def summand(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the lowered operand of a sum or difference, hidden where the driver may know it for a zero.

    Elements of arrays stay as they are: only the sign of a zero is at stake, and they are often summed up.
    """
    owner = value.owner
    is_loaded = is_element(value) or (type(owner) is not Block and cast("Operation", owner).name in LOADS)
    if is_loaded or ((parts := fn.module.known_numbers.parts_of(value)) is not None and parts.is_carried):
        return fn.value(value)
    return factor(fn, value)


def factor(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the lowered operand of a product or quotient, hidden where the driver may know it for a zero."""
    lowered = fn.value(value)
    if not hides(fn) or not may_be_known_zero(fn, value):
        return lowered
    if not _stays_constant(fn, value):
        return hidden(fn, lowered)
    type_ = lowered.type
    is_zero = fn.emit(spirv.FOrdEqualOp, (lowered, fn.constant(type_, 0.0)), fn.module.types.bool_like(type_))
    return fn.emit(spirv.SelectOp, (is_zero, hidden(fn, lowered), lowered), type_)


def _stays_constant(fn: FunctionLowering, value: SSAValue) -> bool:
    """Whether the driver may make more of a number that it knows, and that is no zero: of specialization constants."""
    owner = value.owner
    return isinstance(owner, GetOp) or (
        not isinstance(owner, Block)
        and owner.name.startswith("arith.")
        and not isinstance(owner, _NOT_KEPT)
        and fn.module.known_numbers.is_known(value)
    )


def hides(fn: FunctionLowering) -> bool:
    """Whether zeros are hidden in a function."""
    return fn.module.env.folds_zeros and fn.has_inputs


def may_be_known_zero(fn: FunctionLowering, value: SSAValue, depth: int = _DEPTH) -> bool:
    """Whether the driver may find out that a float, or a component of a vector, is a zero; loops begin hidden."""
    known = fn.module.known_zeros.get(value)
    if known is None and type(value.owner) is not Block:  # isinstance() of a class of IR is a call in Python
        known = depth == 0 or _may_be_zero(fn, cast("Operation", value.owner), value, depth)
        fn.module.known_zeros[value] = known
    return known or False


def _may_be_zero(fn: FunctionLowering, owner: Operation, value: SSAValue, depth: int) -> bool:
    numbers, kind = fn.module.known_numbers, type(owner)
    if kind in _COMPUTED:
        return numbers.is_known(value)
    if kind is arith.ConstantOp:
        return _has_zero(owner)
    if owner.name in LOADS:
        return is_element(value) or numbers.may_hold(
            owner.operands[0], lambda v: _is_stored_zero(fn, v, depth)
        )
    if kind is arith.SelectOp:
        condition, *arms = owner.operands
        return _is_chosen_zero(fn, condition, arms, depth)
    if type(owner) is scf.IfOp:
        return _is_chosen_zero(fn, owner.cond, yielded(owner, value), depth)
    if type(owner) is func.CallOp:
        result = numbers.result_of(owner, value)
        return result is not None and may_be_known_zero(fn, result, depth - 1)
    if (parts := numbers.parts_of(value)) is not None:
        return not parts.is_complete or any(may_be_known_zero(fn, part, depth - 1) for part in parts.values)
    passes_on = owner.name.startswith(("vector.", "spirv.Group")) or len(owner.operands) == 1
    floats = [operand for operand in owner.operands if is_float(scalar_of(operand.type))] if passes_on else []
    if any(may_be_known_zero(fn, operand, depth - 1) for operand in floats):
        return True
    return numbers.is_known(value)  # 0.4 is no zero, and what it is rounded to may be one


def _is_stored_zero(fn: FunctionLowering, value: SSAValue, depth: int) -> bool:
    return is_float(scalar_of(value.type)) and may_be_known_zero(fn, value, depth - 1)


def _is_chosen_zero(fn: FunctionLowering, condition: SSAValue, arms: list[SSAValue], depth: int) -> bool:
    are_zeros = [may_be_known_zero(fn, arm, depth - 1) for arm in arms]
    return fn.module.known_numbers.any_is_chosen(condition, are_zeros)


def _has_zero(constant: Operation) -> bool:
    attribute = constant.properties["value"]
    if is_float_attribute(attribute):
        return attribute.value.data == 0
    return isinstance(attribute, DenseIntOrFPElementsAttr) and 0 in attribute.get_values()


def hidden(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns a lowered float, or vector of floats, as one that the driver does not know.

    Of other types than f32 it might be -inf, for all that the driver knows: negative, and not finite.
    """
    nothing, type_ = unknown_zero(fn), value.type
    if type_ is f32:
        number = fn.constant_number(value)
        if number is None:
            bits = fn.emit(spirv.BitcastOp, (value,), i32)
        else:
            bits = fn.constant(i32, struct.unpack("<i", struct.pack("<f", number))[0])
        is_nothing = number == 0 and struct.pack("<f", number) == bytes(4)
        either = nothing if is_nothing else fn.emit(spirv.BitwiseOrOp, (nothing, bits), i32)
        return fn.emit(spirv.BitcastOp, (either,), f32)
    never = fn.emit(spirv.INotEqualOp, (nothing, fn.index(0)), i1)
    if is_vector_type(type_):
        count = type_.element_count()
        never = fn.emit(spirv.CompositeConstructOp, (never,) * count, fn.module.types.bool_like(type_))
    return fn.emit(spirv.SelectOp, (never, fn.constant(type_, -math.inf), value), type_)
