"""Handlers of constants and of two-operand arithmetic (`arith`), extrema aside."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i64
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.types import StructType
from ...ir.narrowing import is_float_attribute, is_integer_attribute
from ...ir.walk import operands_of
from .float_order import attributes_of_sum
from .function_lowering import FunctionLowering, Handler
from .known_zeros import summand
from .low_bits import lowest_bit, shifted
from .narrow_negations import negation
from .narrow_quotients import quotient_of_ones
from .signed_zeros import beside
from .spec_constant_table import bf16_bits
from .types import float_type, is_bool, scalar_of
from .zero_operands import divf, mulf


def integer(kind: type[Operation], bool_kind: type[Operation] | None = None) -> Handler:
    """Lowers to `kind`; on i1, where SPIR-V has no integers, to `bool_kind`."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        a, b = integers(fn, op) if bool_kind is not None else _numbers(fn, op)
        chosen = bool_kind if bool_kind is not None and is_bool(a.type) else kind
        fn.values[op.results[0]] = fn.emit(chosen, (a, b), a.type)

    return lower


def integers(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of arithmetic on integers, of one type."""
    lhs, rhs = operands_of(op)
    a, b = fn.value(lhs), fn.value(rhs)
    if a.type is not b.type:  # an index of 64 bits and one of 32
        a, b = fn.array_indices(op.operands, i64)
    return a, b


def _numbers(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the same where SPIR-V has nothing of the kind on truth values."""
    a, b = integers(fn, op)
    if is_bool(a.type):
        raise TypeError(f"there is no such arithmetic on {a.type}")
    return a, b


def _negating(handler: Handler) -> Handler:
    """Lowers arithmetic that may be a negation."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        negated = negation(fn, op)
        if negated is None:
            handler(fn, op)
        else:
            fn.values[op.results[0]] = negated

    return lower


def _unsigned_quotient(fn: FunctionLowering, op: Operation) -> None:
    quotient = quotient_of_ones(fn, op)
    if quotient is None:
        _UNSIGNED_QUOTIENT(fn, op)
    else:
        fn.values[op.results[0]] = quotient


def _and(fn: FunctionLowering, op: Operation) -> None:
    bits = lowest_bit(fn, op)
    if bits is None:
        _AND(fn, op)
    else:
        fn.values[op.results[0]] = bits


def _signed_shift(fn: FunctionLowering, op: Operation) -> None:
    """To the right, with copies of the sign."""
    base = op.operands[0]
    a, b = _numbers(fn, op)
    if a is fn.value(base):  # and no index that was widened
        a = shifted(fn, base)
    fn.values[op.results[0]] = fn.emit(spirv.ShiftRightArithmeticOp, (a, b), a.type)


_UNSIGNED_QUOTIENT = integer(spirv.UDivOp)
_AND = integer(spirv.BitwiseAndOp, spirv.LogicalAndOp)


def floating(kind: type[Operation]) -> Handler:
    """Lowers to `kind`."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        float_type(lhs.type)
        a = fn.value(lhs)
        fn.values[op.results[0]] = fn.emit(kind, (a, fn.value(rhs)), a.type)

    return lower


def _sum(kind: type[Operation]) -> Handler:
    """Lowers a sum or difference of floats."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        (result,) = op.results
        float_type(lhs.type)
        first, second = summand(fn, lhs), summand(fn, rhs)
        a, b = beside(fn, first, second), beside(fn, second, first)
        fn.values[result] = fn.emit(kind, (a, b), a.type, attributes=attributes_of_sum(fn, lhs, rhs))

    return lower


def _signs_differ(fn: FunctionLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    mixed = fn.emit(spirv.BitwiseXorOp, (a, b), a.type)
    return fn.emit(spirv.SLessThanOp, (mixed, fn.constant(a.type, 0)), fn.module.types.bool_like(a.type))


def _truncated(
    fn: FunctionLowering, a: SSAValue, b: SSAValue, division: type[Operation]
) -> tuple[SSAValue, SSAValue]:
    """Emits the quotient towards zero, and whether a remainder is left."""
    quotient = fn.emit(division, (a, b), a.type)
    product = fn.emit(spirv.IMulOp, (quotient, b), a.type)
    return quotient, fn.emit(spirv.INotEqualOp, (product, a), fn.module.types.bool_like(a.type))


def _stepped(
    fn: FunctionLowering, op: Operation, step: type[Operation], quotient: SSAValue, adjust: SSAValue
) -> None:
    """The result is the quotient, or where `adjust` holds its neighbour."""
    type_ = quotient.type
    neighbour = fn.emit(step, (quotient, fn.constant(type_, 1)), type_)
    fn.values[op.results[0]] = fn.emit(spirv.SelectOp, (adjust, neighbour, quotient), type_)


def _remsi(fn: FunctionLowering, op: Operation) -> None:
    """a - a / b * b: Vulkan leaves open what SRem gives for negative operands, and NVIDIA's driver uses that."""
    a, b = _numbers(fn, op)
    quotient = fn.emit(spirv.SDivOp, (a, b), a.type)
    product = fn.emit(spirv.IMulOp, (quotient, b), a.type)
    fn.values[op.results[0]] = fn.emit(spirv.ISubOp, (a, product), a.type)


def _floordivsi(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes down by one where a remainder is left and the signs differ."""
    a, b = _numbers(fn, op)
    quotient, inexact = _truncated(fn, a, b, spirv.SDivOp)
    adjust = fn.emit(spirv.LogicalAndOp, (inexact, _signs_differ(fn, a, b)), inexact.type)
    _stepped(fn, op, spirv.ISubOp, quotient, adjust)


def _ceildivsi(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes up by one where a remainder is left and the signs agree."""
    a, b = _numbers(fn, op)
    quotient, inexact = _truncated(fn, a, b, spirv.SDivOp)
    positive = fn.emit(spirv.LogicalNotOp, (_signs_differ(fn, a, b),), inexact.type)
    adjust = fn.emit(spirv.LogicalAndOp, (inexact, positive), inexact.type)
    _stepped(fn, op, spirv.IAddOp, quotient, adjust)


def _ceildivui(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes up by one where a remainder is left."""
    quotient, inexact = _truncated(fn, *_numbers(fn, op), spirv.UDivOp)
    _stepped(fn, op, spirv.IAddOp, quotient, inexact)


def _constant(fn: FunctionLowering, op: Operation) -> None:
    attribute = op.properties["value"]
    (result,) = op.results
    type_ = fn.type(result.type)
    if is_integer_attribute(attribute):
        fn.values[result] = fn.constant(type_, attribute.value.data)
    elif is_float_attribute(attribute):
        # A converted type other than the attribute's own is bf16's 16 bits.
        is_float = attribute.type == type_
        number = attribute.value.data if is_float else bf16_bits(attribute.value.data)
        fn.values[result] = fn.constant(type_, number, attribute if is_float else None)
    elif isinstance(attribute, DenseIntOrFPElementsAttr):
        if scalar_of(result.type) != scalar_of(type_):
            raise TypeError(
                f"vector constants of {scalar_of(result.type)} are not lowered; write them in i32 or f32"
            )
        fn.values[result] = fn.constant_of(op.properties["value"], type_)
    else:
        raise TypeError(f"the device has no constant {attribute}")


def _extended(kind: type[Operation]) -> Handler:
    """Lowers a product of twice the width to `kind`, whose result is a struct of both halves."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        operands = tuple(fn.value(value) for value in op.operands)
        type_ = operands[0].type
        if is_bool(type_):
            raise TypeError(f"'{op.name}' multiplies integers of 8 bits or more, found {type_}")
        product = fn.emit(kind, operands, StructType.get([type_, type_]))
        for position, result in enumerate(op.results):
            half = spirv.CompositeExtractOp(product, [position])
            fn.add(half)
            fn.values[result] = half.component

    return lower


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    # On i1, as on any width, addition is modulo 2: exclusive or.
    arith.AddiOp: _negating(integer(spirv.IAddOp, spirv.LogicalNotEqualOp)),
    arith.SubiOp: _negating(integer(spirv.ISubOp, spirv.LogicalNotEqualOp)),
    arith.MuliOp: _negating(integer(spirv.IMulOp, spirv.LogicalAndOp)),
    arith.MulSIExtendedOp: _extended(spirv.SMulExtendedOp),
    arith.MulUIExtendedOp: _extended(spirv.UMulExtendedOp),
    arith.DivSIOp: integer(spirv.SDivOp),
    arith.DivUIOp: _unsigned_quotient,
    arith.RemSIOp: _remsi,
    arith.RemUIOp: integer(spirv.UModOp),
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.AndIOp: _and,
    arith.OrIOp: integer(spirv.BitwiseOrOp, spirv.LogicalOrOp),
    arith.XOrIOp: integer(spirv.BitwiseXorOp, spirv.LogicalNotEqualOp),
    arith.ShLIOp: integer(spirv.ShiftLeftLogicalOp),
    arith.ShRSIOp: _signed_shift,
    arith.ShRUIOp: integer(spirv.ShiftRightLogicalOp),
    arith.AddfOp: _sum(spirv.FAddOp),
    arith.SubfOp: _sum(spirv.FSubOp),
    arith.MulfOp: mulf,
    arith.DivfOp: divf,
}
"""Handlers by operation."""
