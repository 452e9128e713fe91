"""Handlers of two-operand arithmetic (`arith`)."""

from __future__ import annotations

from xdsl.dialects import arith, ub
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i64
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel import IN_RANGE
from ...ir.dialects.spirv.types import StructType
from ...ir.walk import operands_of
from ..narrowing import is_float_attribute, is_integer_attribute
from .float_expression import FloatExpression
from .function_lowering import NO_ATTRIBUTES, FunctionLowering, Handler
from .signed_extrema import may_be_folded
from .spec_constant_table import bf16_bits
from .types import float_type, is_bool, scalar_of
from .zero_operands import divf, mulf


def _integer(
    kind: type[Operation],
    bool_kind: type[Operation] | None = None,
    *,
    is_first: type[Operation] | None = None,
) -> Handler:
    """Lowers to `kind`; on i1, where SPIR-V has no integers, to `bool_kind`.

    Extrema that drivers would fold wrongly choose the first operand where it passes the comparison `is_first`.
    """

    def lower(fn: FunctionLowering, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        a, b = fn.value(lhs), fn.value(rhs)
        if a.type is not b.type:  # an index of 64 bits and one of 32
            a, b = fn.array_indices(op.operands, i64)
        type_ = a.type
        chosen = kind
        if is_bool(type_):
            if bool_kind is None:
                raise TypeError(f"there is no such arithmetic on {type_}")
            chosen = bool_kind
        (result,) = op.results
        if is_first is not None and chosen is kind and may_be_folded((lhs, rhs)):
            test = fn.emit(is_first, (a, b), fn.module.types.bool_like(type_))
            fn.values[result] = fn.emit(spirv.SelectOp, (test, a, b), type_)
        else:
            fn.values[result] = fn.emit(chosen, (a, b), type_)

    return lower


_MINIMUM, _LOW_BITS = _integer(spirv.GLUMinOp, spirv.LogicalAndOp), _integer(spirv.BitwiseAndOp)


def _unsigned_minimum(fn: FunctionLowering, op: Operation) -> None:
    is_mask = fn.module.env.masks_indices and IN_RANGE in op.attributes
    (_LOW_BITS if is_mask else _MINIMUM)(fn, op)


def _float(kind: type[Operation], *, contracts: bool = False) -> Handler:
    """Lowers to `kind`; `contracts` where a driver may fuse it with a neighbour."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        (result,) = op.results
        float_type(lhs.type)
        a = fn.value(lhs)
        attributes = fn.float_attributes if contracts else NO_ATTRIBUTES
        fn.values[result] = fn.emit(kind, (a, fn.value(rhs)), a.type, attributes=attributes)

    return lower


def _operand_signs_differ(fn: FunctionLowering, op: Operation) -> SSAValue:
    a, b = (fn.value(value) for value in op.operands)
    mixed = fn.emit(spirv.BitwiseXorOp, (a, b), a.type)
    return fn.emit(spirv.SLessThanOp, (mixed, fn.constant(a.type, 0)), fn.module.types.bool_like(a.type))


def _truncated(fn: FunctionLowering, op: Operation, division: type[Operation]) -> tuple[SSAValue, SSAValue]:
    """Emits the quotient towards zero, and whether a remainder is left."""
    a, b = (fn.value(value) for value in op.operands)
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


def _floordivsi(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes down by one where a remainder is left and the signs differ."""
    quotient, inexact = _truncated(fn, op, spirv.SDivOp)
    negative = _operand_signs_differ(fn, op)
    adjust = fn.emit(spirv.LogicalAndOp, (inexact, negative), inexact.type)
    _stepped(fn, op, spirv.ISubOp, quotient, adjust)


def _ceildivsi(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes up by one where a remainder is left and the signs agree."""
    quotient, inexact = _truncated(fn, op, spirv.SDivOp)
    positive = fn.emit(spirv.LogicalNotOp, (_operand_signs_differ(fn, op),), inexact.type)
    adjust = fn.emit(spirv.LogicalAndOp, (inexact, positive), inexact.type)
    _stepped(fn, op, spirv.IAddOp, quotient, adjust)


def _ceildivui(fn: FunctionLowering, op: Operation) -> None:
    """Truncates, then goes up by one where a remainder is left."""
    quotient, inexact = _truncated(fn, op, spirv.UDivOp)
    _stepped(fn, op, spirv.IAddOp, quotient, inexact)


def _ordered_extremum(is_maximum: bool) -> Handler:
    """`minimumf` and `maximumf`: NaN wins, and -0.0 is less than 0.0; GLSL.std.450 has neither.

    Where the operands compare equal they have the same bits, zeros aside: "and" of the bits is 0.0 if either
    is, "or" is -0.0 if either is.  Of other floats than f32 the signs alone are put together.
    """
    first, second = (
        (spirv.FOrdGreaterThanOp, spirv.FOrdLessThanOp)
        if is_maximum
        else (spirv.FOrdLessThanOp, spirv.FOrdGreaterThanOp)
    )
    combine = spirv.BitwiseAndOp if is_maximum else spirv.BitwiseOrOp

    def lower(fn: FunctionLowering, op: Operation) -> None:
        float_type(op.operands[0].type)
        a, b = (fn.value(value) for value in op.operands)
        type_ = a.type
        expression = FloatExpression(fn, type_)
        condition_type = expression.bool
        words = [expression.sign_word(value) for value in (a, b)]
        word = fn.emit(combine, words, expression.word)
        if expression.has_words:
            combined = fn.emit(spirv.BitcastOp, (word,), type_)
        else:
            combined = expression.signed(a, word)
        nan = fn.emit(spirv.FAddOp, (a, b), type_)
        equal = fn.emit(spirv.FOrdEqualOp, (a, b), condition_type)
        result = fn.emit(spirv.SelectOp, (equal, combined, nan), type_)
        take_b = fn.emit(second, (a, b), condition_type)
        result = fn.emit(spirv.SelectOp, (take_b, b, result), type_)
        take_a = fn.emit(first, (a, b), condition_type)
        fn.values[op.results[0]] = fn.emit(spirv.SelectOp, (take_a, a, result), type_)

    return lower


def _poison(fn: FunctionLowering, op: Operation) -> None:
    """`ub.poison`, which nothing may depend on: zero.  Upstream's lift-cf-to-scf puts it where a value is missing."""
    fn.values[op.results[0]] = fn.constant(fn.type(op.results[0].type), 0)


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


BINARY_HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    ub.PoisonOp: _poison,
    # On i1, as on any width, addition is modulo 2: exclusive or.
    arith.AddiOp: _integer(spirv.IAddOp, spirv.LogicalNotEqualOp),
    arith.SubiOp: _integer(spirv.ISubOp, spirv.LogicalNotEqualOp),
    arith.MuliOp: _integer(spirv.IMulOp, spirv.LogicalAndOp),
    arith.MulSIExtendedOp: _extended(spirv.SMulExtendedOp),
    arith.MulUIExtendedOp: _extended(spirv.UMulExtendedOp),
    arith.DivSIOp: _integer(spirv.SDivOp),
    arith.DivUIOp: _integer(spirv.UDivOp),
    arith.RemSIOp: _integer(spirv.SRemOp),
    arith.RemUIOp: _integer(spirv.UModOp),
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.AndIOp: _integer(spirv.BitwiseAndOp, spirv.LogicalAndOp),
    arith.OrIOp: _integer(spirv.BitwiseOrOp, spirv.LogicalOrOp),
    arith.XOrIOp: _integer(spirv.BitwiseXorOp, spirv.LogicalNotEqualOp),
    arith.ShLIOp: _integer(spirv.ShiftLeftLogicalOp),
    arith.ShRSIOp: _integer(spirv.ShiftRightArithmeticOp),
    arith.ShRUIOp: _integer(spirv.ShiftRightLogicalOp),
    # Signed i1: true is -1, the smaller one.
    arith.MinSIOp: _integer(spirv.GLSMinOp, spirv.LogicalOrOp, is_first=spirv.SLessThanOp),
    arith.MaxSIOp: _integer(spirv.GLSMaxOp, spirv.LogicalAndOp, is_first=spirv.SGreaterThanOp),
    arith.MinUIOp: _unsigned_minimum,
    arith.MaxUIOp: _integer(spirv.GLUMaxOp, spirv.LogicalOrOp),
    arith.AddfOp: _float(spirv.FAddOp, contracts=True),
    arith.SubfOp: _float(spirv.FSubOp, contracts=True),
    arith.MulfOp: mulf,
    arith.DivfOp: divf,
    arith.MinnumfOp: _float(spirv.GLNMinOp),
    arith.MaxnumfOp: _float(spirv.GLNMaxOp),
    arith.MinimumfOp: _ordered_extremum(is_maximum=False),
    arith.MaximumfOp: _ordered_extremum(is_maximum=True),
}
"""Handlers of constants and of arithmetic on two operands."""
