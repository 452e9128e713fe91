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

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f32, i1, i32
from xdsl.ir import Block, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spec_constant import GetOp
from ...ir.narrowing import is_float_attribute, is_vector_type
from ..optimise.effects import array_of
from .function_lowering import FunctionLowering
from .known_numbers import is_known
from .launch_place import unknown_zero
from .types import is_float, scalar_of

_LOADS = ("memref.load", "kernel.load_field", "kernel.load_wide")
_STORES = ("memref.store", "kernel.store_field", "kernel.store_wide")
_STORES_READ = 16
"""How many stores to an array are looked at; of more, one is taken for a zero."""
_DEPTH = 6
"""How many operations are followed to find out where a value comes from."""

_FROM_INTEGERS = (arith.SIToFPOp, arith.UIToFPOp)


def summand(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the lowered operand of a sum or difference, hidden where the driver may know it for a zero.

    Elements of arrays stay as they are: only the sign of a zero is at stake, and they are often summed up.
    """
    owner = value.owner
    is_loaded = _is_element(value) or (not isinstance(owner, Block) and owner.name in _LOADS)
    return fn.value(value) if is_loaded else factor(fn, value)


def factor(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the lowered operand of a product or quotient, hidden where the driver may know it for a zero."""
    lowered = fn.value(value)
    if not hides(fn) or not may_be_known_zero(value, _DEPTH):
        return lowered
    if fn.constant_number(lowered) is not None or isinstance(value.owner, (memref.LoadOp, *_FROM_INTEGERS)):
        return hidden(fn, lowered)
    type_ = lowered.type
    is_zero = fn.emit(spirv.FOrdEqualOp, (lowered, fn.constant(type_, 0.0)), fn.module.types.bool_like(type_))
    return fn.emit(spirv.SelectOp, (is_zero, hidden(fn, lowered), lowered), type_)


def hides(fn: FunctionLowering) -> bool:
    """Whether zeros are hidden in a function."""
    return fn.module.env.folds_zeros and fn.has_inputs


def may_be_known_zero(value: SSAValue, depth: int) -> bool:
    """Whether the driver may find out that a float, or a component of a vector, is a zero; loops begin hidden."""
    owner = value.owner
    if depth == 0 or isinstance(owner, Block):
        return False
    if isinstance(owner, arith.ConstantOp):
        return _has_zero(owner)
    if isinstance(owner, GetOp) or _is_element(value):
        return True
    if owner.name in _LOADS:
        return _may_hold_zero(array_of(owner.operands[0]), depth)
    if isinstance(owner, _FROM_INTEGERS):
        return is_known(owner.operands[0], depth)
    if isinstance(owner, arith.SelectOp):
        condition, *arms = owner.operands
        return _is_chosen_zero(condition, arms, depth)
    if isinstance(owner, scf.IfOp):
        return _is_chosen_zero(owner.cond, yielded(owner, value), depth)
    passes_on = owner.name.startswith(("vector.", "spirv.Group")) or len(owner.operands) == 1
    if passes_on and any(may_be_known_zero(operand, depth - 1) for operand in owner.operands):
        return True
    return is_known(value, depth)  # 0.4 is no zero, and what it is rounded to may be one


def _is_chosen_zero(condition: SSAValue, arms: list[SSAValue], depth: int) -> bool:
    are_zeros = [may_be_known_zero(arm, depth - 1) for arm in arms]
    return all(are_zeros) or (any(are_zeros) and is_known(condition, depth))


def _may_hold_zero(array: SSAValue, depth: int) -> bool:
    """Whether the function stores a zero that the driver may know into an array, from where it forwards it to loads."""
    uses = [use.operation for use in array.uses]
    stored = [
        op.operands[0] for op in uses if op.name in _STORES and is_float(scalar_of(op.operands[0].type))
    ]
    if len(stored) > _STORES_READ or any(may_be_known_zero(value, min(depth - 1, 3)) for value in stored):
        return True
    return any(_may_hold_zero(op.results[0], depth) for op in uses if isinstance(op, memref.CollapseShapeOp))


def _has_zero(constant: arith.ConstantOp) -> bool:
    attribute = constant.value
    if is_float_attribute(attribute):
        return attribute.value.data == 0
    return isinstance(attribute, DenseIntOrFPElementsAttr) and 0 in attribute.get_values()


def _is_element(value: SSAValue) -> bool:
    """Whether a value is read from a private array, among them specialization constants that are indexed."""
    owner = value.owner
    if isinstance(owner, memref.LoadOp):
        return isinstance(array_of(owner.memref).owner, memref.AllocaOp)
    while isinstance(owner, spirv.LoadOp | spirv.AccessChainOp):
        owner = owner.operands[0].owner
    return isinstance(owner, spirv.VariableOp)


def yielded(op: scf.IfOp, value: SSAValue) -> list[SSAValue]:
    """Returns what the arms of a branch give for one of its results."""
    number = op.results.index(value)
    ends = [region.block.last_op for region in op.regions if region.blocks]
    return [end.operands[number] for end in ends if end is not None]


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
