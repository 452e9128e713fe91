"""Folding of float arithmetic, in the operands' own precision.

Only what IEEE 754 defines to the last bit is folded: NumPy scalars of the same type compute it.  An identity
is used only where it holds for every value, NaN and signed zeros included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.narrowing import is_integer_attribute
from ...ir.walk import operands_of
from .constants import FoldableFloat, bool_attribute, constant_float, is_foldable
from .fold_integers import Fold, Folded

_SCALARS: dict[type[Attribute], type[np.floating[Any]]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}
"""NumPy's scalar of each type that folds."""


def round_to(value: float, type_: FoldableFloat) -> float:
    """Returns `value` rounded to nearest even in `type_`; too large becomes infinite."""
    with np.errstate(all="ignore"):
        return float(_SCALARS[type(type_)](value))


def float_attribute(value: float, type_: FoldableFloat) -> FloatAttr:
    """Returns the attribute of `value`, rounded to `type_`."""
    return FloatAttr(round_to(value, type_), type_)


FloatFunction = Callable[[Any, Any], Any]
_BINARY: dict[type[Operation], FloatFunction] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
    arith.DivfOp: lambda a, b: a / b,
    arith.MinnumfOp: np.fmin,
    arith.MaxnumfOp: np.fmax,
    arith.MinimumfOp: np.minimum,
    arith.MaximumfOp: np.maximum,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": lambda a: -a,
    "math.absf": np.abs,
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
}
"""By the name of the operation: classes of the `math` dialect would import it."""
_MINIMA_AND_MAXIMA = frozenset((arith.MinnumfOp, arith.MaxnumfOp, arith.MinimumfOp, arith.MaximumfOp))


def _is(value: float | None, wanted: float) -> bool:
    return value is not None and value == wanted and math.copysign(1, value) == math.copysign(1, wanted)


def fold_binary(op: Operation) -> Folded:
    """Folds a float operation on two operands."""
    lhs, rhs = operands_of(op)
    (result,) = op.results
    type_ = result.type
    if not is_foldable(type_):
        return None
    a, b = constant_float(lhs), constant_float(rhs)
    if a is None or b is None:
        return None if a is b else _identity(op, lhs, rhs, a, b)
    if type(op) in _MINIMA_AND_MAXIMA and a == b == 0:
        return None  # which zero it is differs between the operations
    scalar = _SCALARS[type(type_)]
    with np.errstate(all="ignore"):
        return FloatAttr(float(_BINARY[type(op)](scalar(a), scalar(b))), type_)


def _identity(
    op: Operation, lhs: SSAValue, rhs: SSAValue, a: float | None, b: float | None
) -> SSAValue | None:
    kind = type(op)
    if kind is arith.MulfOp:
        return lhs if _is(b, 1.0) else rhs if _is(a, 1.0) else None
    if kind is arith.AddfOp:  # x + 0.0 turns -0.0 into 0.0, x + -0.0 changes nothing
        return lhs if _is(b, -0.0) else rhs if _is(a, -0.0) else None
    if kind is arith.SubfOp:
        return lhs if _is(b, 0.0) else None
    return lhs if kind is arith.DivfOp and _is(b, 1.0) else None


def fold_unary(op: Operation) -> Folded:
    """Folds a float operation on one operand."""
    (operand,) = op.operands
    type_ = op.results[0].type
    a = constant_float(operand)
    if a is not None and is_foldable(type_):
        with np.errstate(all="ignore"):
            return FloatAttr(float(_UNARY[op.name](_SCALARS[type(type_)](a))), type_)
    owner = operand.owner
    if type(op) is arith.NegfOp and type(owner) is arith.NegfOp:
        return owner.operands[0]
    return None


_PREDICATES: tuple[Callable[[float, float], bool], ...] = (
    lambda a, b: False,
    float.__eq__,
    float.__gt__,
    float.__ge__,
    float.__lt__,
    float.__le__,
    lambda a, b: a < b or a > b,
    lambda a, b: True,
    float.__eq__,
    float.__gt__,
    float.__ge__,
    float.__lt__,
    float.__le__,
    float.__ne__,
    lambda a, b: False,
    lambda a, b: True,
)
"""For ordered operands, by number: `false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true`."""
_FIRST_UNORDERED = 8


def fold_cmpf(op: Operation) -> Folded:
    """Folds a float comparison of constants."""
    lhs, rhs = operands_of(op)
    predicate = op.properties["predicate"]
    a, b = constant_float(lhs), constant_float(rhs)
    if a is None or b is None or not is_integer_attribute(predicate):
        return None
    return bool_attribute(is_true(predicate.value.data, a, b))


def is_true(predicate: int, a: float, b: float) -> bool:
    """Returns what `arith.cmpf` with that predicate gives."""
    if math.isnan(a) or math.isnan(b):
        return predicate >= _FIRST_UNORDERED
    return _PREDICATES[predicate](a, b)


def fold_float_cast(op: Operation) -> Folded:
    """Folds `extf` and `truncf` of a constant."""
    type_ = op.results[0].type
    a = constant_float(op.operands[0])
    if a is None or not is_foldable(type_):
        return None
    return float_attribute(a, type_)


FLOAT_FOLDS: dict[type[Operation], Fold] = {
    **dict.fromkeys(_BINARY, fold_binary),
    arith.CmpfOp: fold_cmpf,
    arith.ExtFOp: fold_float_cast,
    arith.TruncFOp: fold_float_cast,
}
"""Folds of float operations by operation class."""
UNARY_FOLDS: dict[str, Fold] = dict.fromkeys(_UNARY, fold_unary)
"""Those on one operand, by the name of the operation."""
