"""Folding of conversions: of constants, and of pairs that undo each other."""

from __future__ import annotations

import math
import struct

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, ModuleOp
from xdsl.ir import Operation, OpResult

from ...ir.dialects.kernel import WIDE
from ...ir.narrowing import (
    is_any_integer,
    is_float_attribute,
    is_integer_attribute,
    is_integer_type,
    is_memref_type,
)
from ...ir.walk import operands_of
from .constants import (
    FoldableFloat,
    constant_attribute,
    constant_float,
    constant_integer,
    integer_attribute,
    integer_width,
    unsigned,
    wrap,
)
from .fold_floats import float_attribute
from .fold_integers import Fold, Folded

_EXTENSIONS = (arith.ExtSIOp, arith.ExtUIOp)


def fold_integer_cast(op: Operation) -> Folded:
    """Folds `extsi`, `extui`, `trunci` and `index_cast` of a constant or of a cast from the result's type."""
    (operand,) = op.operands
    type_ = op.results[0].type
    if not is_any_integer(type_):
        return None
    value = constant_integer(operand)
    if value is not None:
        source_width, width = integer_width(operand.type), integer_width(type_)
        assert source_width is not None and width is not None
        if type(op) is arith.ExtUIOp:
            value = unsigned(value, source_width)
        if isinstance(type_, IndexType) and value != wrap(value, width):
            return None  # kernels whose ids have 64 bits keep all of it
        return integer_attribute(wrap(value, width), type_)
    return _undone_cast(op)


def _undone_cast(op: Operation) -> Folded:
    (operand,) = operands_of(op)
    # By type(): isinstance is a call in Python for others.
    inner = operand.op if type(operand) is OpResult else None
    if inner is None or not (sources := operands_of(inner)):
        return None
    source = sources[0]
    if source.type != op.results[0].type:
        return None
    if isinstance(op, arith.TruncIOp):
        return source if isinstance(inner, _EXTENSIONS) else None
    if isinstance(op, arith.IndexCastOp) and isinstance(inner, arith.IndexCastOp):
        # Through a narrower type the pair loses bits.
        source_width, width = integer_width(source.type), integer_width(operand.type)
        if source_width is None or width is None or width < source_width:
            return None
        return source if width > source_width or not _is_wide(op) else None
    return None


def _is_wide(op: Operation) -> bool:
    """Whether an index may have 64 bits: in a module with a kernel whose ids have as many."""
    outside = op.parent_op()
    while outside is not None:
        if WIDE in outside.attributes:
            return True
        if isinstance(outside, ModuleOp):
            return any(WIDE in function.attributes for function in outside.body.ops)
        outside = outside.parent_op()
    return False


def fold_integer_to_float(op: Operation) -> Folded:
    """Folds `sitofp` and `uitofp` of a constant that the float holds exactly."""
    (operand,) = op.operands
    type_ = op.results[0].type
    value = constant_integer(operand)
    width = integer_width(operand.type)
    if value is None or width is None or not isinstance(type_, FoldableFloat):
        return None
    if type(op) is arith.UIToFPOp:
        value = unsigned(value, width)
    # A number beyond 2**53 would be rounded twice on its way through Python's float.
    return float_attribute(float(value), type_) if abs(value) <= 1 << 53 else None


def fold_float_to_integer(op: Operation) -> Folded:
    """Folds `fptosi` and `fptoui` of a constant that fits; any other result is not defined."""
    (operand,) = op.operands
    type_ = op.results[0].type
    value = constant_float(operand)
    if value is None or not is_integer_type(type_) or not math.isfinite(value):
        return None
    width = type_.width.data
    number = math.trunc(value)
    low, high = (0, 1 << width) if type(op) is arith.FPToUIOp else (-(1 << (width - 1)), 1 << (width - 1))
    return integer_attribute(wrap(number, width), type_) if low <= number < high else None


_FORMATS = {
    (16, True): "<e",
    (32, True): "<f",
    (64, True): "<d",
    (16, False): "<h",
    (32, False): "<i",
    (64, False): "<q",
}


def fold_bitcast(op: Operation) -> Folded:
    """Folds a bitcast to the same type, of a bitcast, or of a constant."""
    (operand,) = op.operands
    type_ = op.results[0].type
    if operand.type == type_:
        return operand
    owner = operand.owner
    if type(owner) is arith.BitcastOp and owner.operands[0].type == type_:
        return owner.operands[0]
    attribute = constant_attribute(operand)
    if is_float_attribute(attribute) and is_integer_type(type_):
        value = constant_float(operand)
        if value is None or math.isnan(value):  # a NaN's payload is not kept in the attribute
            return None
        packed = struct.pack(_FORMATS[type_.width.data, True], value)
        return integer_attribute(struct.unpack(_FORMATS[type_.width.data, False], packed)[0], type_)
    if is_integer_attribute(attribute) and isinstance(type_, FoldableFloat):
        packed = struct.pack(_FORMATS[type_.bitwidth, False], attribute.value.data)
        value = struct.unpack(_FORMATS[type_.bitwidth, True], packed)[0]
        return None if math.isnan(value) else FloatAttr(value, type_)
    return None


def fold_dim(op: Operation) -> Folded:
    """Folds `memref.dim` of an extent that the type states."""
    source, index = op.operands
    dimension = constant_integer(index)
    if dimension is None or not is_memref_type(source.type):
        return None
    shape = source.type.get_shape()
    if not 0 <= dimension < len(shape) or shape[dimension] == DYNAMIC_INDEX:
        return None
    return integer_attribute(shape[dimension], IndexType())


CAST_FOLDS: dict[type[Operation], Fold] = {
    arith.ExtSIOp: fold_integer_cast,
    arith.ExtUIOp: fold_integer_cast,
    arith.TruncIOp: fold_integer_cast,
    arith.IndexCastOp: fold_integer_cast,
    arith.SIToFPOp: fold_integer_to_float,
    arith.UIToFPOp: fold_integer_to_float,
    arith.FPToSIOp: fold_float_to_integer,
    arith.FPToUIOp: fold_float_to_integer,
    arith.BitcastOp: fold_bitcast,
    memref.DimOp: fold_dim,
}
"""Folds of conversions by operation class."""
