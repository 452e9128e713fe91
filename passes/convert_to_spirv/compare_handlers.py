"""Handlers of comparisons and selection (`arith.cmpi`, `arith.cmpf`, `arith.select`)."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.types import ArrayType
from ...ir.narrowing import is_integer_attribute, is_vector_type
from ...ir.walk import operands_of
from .function_lowering import FunctionLowering, Handler
from .launch_place import component
from .loop_ends import with_end, with_far_end
from .low_bits import shifted
from .saturations import minimum_arms
from .signed_zeros import arms
from .types import float_type, is_bool, scalar_of

_INTEGER_PREDICATES: tuple[type[Operation], ...] = (
    spirv.IEqualOp,
    spirv.INotEqualOp,
    spirv.SLessThanOp,
    spirv.SLessThanEqualOp,
    spirv.SGreaterThanOp,
    spirv.SGreaterThanEqualOp,
    spirv.ULessThanOp,
    spirv.ULessThanEqualOp,
    spirv.UGreaterThanOp,
    spirv.UGreaterThanEqualOp,
)
"""By predicate number: `eq ne slt sle sgt sge ult ule ugt uge`."""
SLT, SGT, ULT, UGT = 2, 4, 6, 8
"""Predicate numbers of strict orders."""

_FLOAT_PREDICATES: dict[int, type[Operation]] = {
    1: spirv.FOrdEqualOp,
    2: spirv.FOrdGreaterThanOp,
    3: spirv.FOrdGreaterThanEqualOp,
    4: spirv.FOrdLessThanOp,
    5: spirv.FOrdLessThanEqualOp,
    6: spirv.FOrdNotEqualOp,
    8: spirv.FUnordEqualOp,
    9: spirv.FUnordGreaterThanOp,
    10: spirv.FUnordGreaterThanEqualOp,
    11: spirv.FUnordLessThanOp,
    12: spirv.FUnordLessThanEqualOp,
    13: spirv.FUnordNotEqualOp,
}
"""By predicate number: `oeq ogt oge olt ole one`, `ueq ugt uge ult ule une`."""
_FALSE, _ORDERED, _UNORDERED, _TRUE = 0, 7, 14, 15


def _predicate(op: Operation) -> int:
    predicate = op.properties["predicate"]
    assert is_integer_attribute(predicate)
    return predicate.value.data


def _cmpi(fn: FunctionLowering, op: Operation) -> None:
    number = _predicate(op)
    a, b = _ordered(fn, op) if number in _SIGNED_ORDER else _counted(fn, op)
    result = _compare_bools(fn, number, a, b) if is_bool(a.type) else compared(fn, number, a, b)
    fn.values[op.results[0]] = result


def _ordered(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of a signed order."""
    lhs, rhs = operands_of(op)
    return with_end(fn, rhs, lhs, shifted(fn, lhs)), with_end(fn, lhs, rhs, shifted(fn, rhs))


def _counted(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of another comparison."""
    lhs, rhs = operands_of(op)
    return with_far_end(fn, rhs, lhs, fn.value(lhs)), with_far_end(fn, lhs, rhs, fn.value(rhs))


def compared(fn: FunctionLowering, number: int, a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns whether two lowered integers compare as a predicate of `arith.cmpi` says, by its number."""
    condition = fn.module.types.bool_like(a.type)
    narrow = _narrowed(fn, number, a, b)
    if isinstance(narrow, bool):
        return fn.constant(condition, narrow)
    if narrow is None and number in _SIGNED_ORDER and fn.module.env.folds_wide_orders:
        number, narrow = _unsigned_if_wide(fn, number, a, b)
    return fn.emit(_INTEGER_PREDICATES[number], narrow or (a, b), condition)


def _unsigned_if_wide(
    fn: FunctionLowering, number: int, a: SSAValue, b: SSAValue
) -> tuple[int, tuple[SSAValue, SSAValue]]:
    """Returns a signed order of 64-bit integers as that of unsigned ones, each more by 2**63; others as they are.

    What is a constant here is not all that a driver finds to be one: specialization constants, arguments of helpers,
    sums of loops that it unrolls.  So every such order is hidden from those that misjudge them.
    """
    if scalar_of(a.type) != i64:
        return number, (a, b)
    bias = fn.constant(a.type, -(1 << 63))
    left, right = (fn.emit(spirv.BitwiseXorOp, (value, bias), a.type) for value in (a, b))
    return number + ULT - SLT, (left, right)


_SIGNED_ORDER = {2: int.__lt__, 3: int.__le__, 4: int.__gt__, 5: int.__ge__}
"""Signed orders by predicate number."""
_LIMIT = 1 << 31


def _narrowed(
    fn: FunctionLowering, number: int, a: SSAValue, b: SSAValue
) -> tuple[SSAValue, SSAValue] | bool | None:
    """Returns 32-bit operands, or the result, for the order of a widened i32 and a 64-bit constant; else None.

    Cheaper, and right where Mesa 22.3 is not: NIR folds such an order to a constant whatever the i32 is.
    """
    order = _SIGNED_ORDER.get(number)
    if order is None or a.type != i64:
        return None
    first, second = fn.constant_number(a), fn.constant_number(b)
    if second is not None and (source := _widened(a)) is not None:
        fits = -_LIMIT <= second < _LIMIT
        return (source, fn.constant(i32, second)) if fits else order(0, int(second))
    if first is not None and (source := _widened(b)) is not None:
        fits = -_LIMIT <= first < _LIMIT
        return (fn.constant(i32, first), source) if fits else order(int(first), 0)
    return None


def _widened(value: SSAValue) -> SSAValue | None:
    """Returns the i32 that `value` is the sign extension of."""
    owner = value.owner
    if isinstance(owner, spirv.SConvertOp) and owner.operands[0].type == i32:
        return owner.operands[0]
    return None


_BOOL_EQUALITY: dict[int, type[Operation]] = {0: spirv.LogicalEqualOp, 1: spirv.LogicalNotEqualOp}
_BOOL_ORDER: dict[int, tuple[bool, type[Operation]]] = {
    # Signed true is -1: a < b where a is true and b is false.
    2: (False, spirv.LogicalAndOp),
    3: (False, spirv.LogicalOrOp),
    4: (True, spirv.LogicalAndOp),
    5: (True, spirv.LogicalOrOp),
    6: (True, spirv.LogicalAndOp),
    7: (True, spirv.LogicalOrOp),
    8: (False, spirv.LogicalAndOp),
    9: (False, spirv.LogicalOrOp),
}
"""By predicate number: whether the first operand is the one that is negated, and how the two are joined."""


def _compare_bools(fn: FunctionLowering, number: int, a: SSAValue, b: SSAValue) -> SSAValue:
    type_ = a.type
    if number in _BOOL_EQUALITY:
        return fn.emit(_BOOL_EQUALITY[number], (a, b), type_)
    negates_first, join = _BOOL_ORDER[number]
    if negates_first:
        a = fn.emit(spirv.LogicalNotOp, (a,), type_)
    else:
        b = fn.emit(spirv.LogicalNotOp, (b,), type_)
    return fn.emit(join, (a, b), type_)


def _cmpf(fn: FunctionLowering, op: Operation) -> None:
    lhs, rhs = operands_of(op)
    float_type(lhs.type)
    a, b = fn.value(lhs), fn.value(rhs)
    type_ = fn.module.types.bool_like(a.type)
    number = _predicate(op)
    kind = _FLOAT_PREDICATES.get(number)
    if kind is not None:
        result = fn.emit(kind, (a, b), type_)
    elif number in (_FALSE, _TRUE):
        result = fn.constant(type_, -1 if number == _TRUE else 0)
    else:
        result = _unordered(fn, a, b)
        if number == _ORDERED:
            result = fn.emit(spirv.LogicalNotOp, (result,), type_)
    fn.values[op.results[0]] = result


def _unordered(fn: FunctionLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    # OpUnordered needs the capability Kernel, which Vulkan does not have.
    type_ = fn.module.types.bool_like(a.type)
    first = fn.emit(spirv.IsNanOp, (a,), type_)
    if a is b:
        return first
    return fn.emit(spirv.LogicalOrOp, (first, fn.emit(spirv.IsNanOp, (b,), type_)), type_)


def _select(fn: FunctionLowering, op: Operation) -> None:
    condition = fn.value(op.operands[0])
    if_true, if_false = minimum_arms(fn, op, arms(fn, op.operands[1], op.operands[2]))
    chosen = _chosen_parts if fn.module.env.spirv_version < (1, 4) else _chosen
    fn.values[op.results[0]] = chosen(fn, condition, if_true, if_false)


def _chosen(fn: FunctionLowering, condition: SSAValue, if_true: SSAValue, if_false: SSAValue) -> SSAValue:
    return fn.emit(spirv.SelectOp, (condition, if_true, if_false), if_true.type)


def _chosen_parts(
    fn: FunctionLowering, condition: SSAValue, if_true: SSAValue, if_false: SSAValue
) -> SSAValue:
    """The same below SPIR-V 1.4, which chooses no arrays, and vectors by a vector of conditions."""
    type_ = if_true.type
    if isinstance(type_, ArrayType):
        parts = [
            _chosen_parts(fn, condition, *(_part(fn, arm, number) for arm in (if_true, if_false)))
            for number in range(type_.count.data)
        ]
        return fn.emit(spirv.CompositeConstructOp, parts, type_)
    if is_vector_type(type_) and not is_vector(condition):
        conditions = (condition,) * type_.element_count()
        condition = fn.emit(spirv.CompositeConstructOp, conditions, fn.module.types.bool_like(type_))
    return _chosen(fn, condition, if_true, if_false)


def _part(fn: FunctionLowering, array: SSAValue, number: int) -> SSAValue:
    assert isinstance(array.type, ArrayType)
    indices = {"indices": component(number)}
    return fn.emit(spirv.CompositeExtractOp, (array,), array.type.element_type, indices)


def is_vector(value: SSAValue) -> bool:
    """Whether `value` is a vector."""
    return is_vector_type(value.type)


HANDLERS: dict[type[Operation], Handler] = {
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
}
"""Handlers of comparisons and selection."""
