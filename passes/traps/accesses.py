"""Checks of debug mode at single operations: the pass trap-accesses, for kernels that no front end of ours wrote.

input:    %v = memref.load %x[%i]     output:    %n = memref.dim %x, %c0    %out = arith.cmpi uge, %i, %n
                                                 kernel.check %out "index {0} is out of range of dimension 0 of 'x' …"
                                                 %v = memref.load %x[%i]

Indices of arrays and integer divisors, as `frontend/checks.py` does for Python.

Invariant: functions that other modules call are not changed: only a kernel has a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.call_graph import CallGraph, Function, has_body
from ...ir.dialects import aspect
from ...ir.dialects.kernel import WIDE
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_reports import DTYPE_WIDTHS
from ...ir.walk import operations
from ..narrowing import is_integer_type, is_memref_type
from ..optimise.constants import constant_integer
from .emitter import Emitter

_SIGNED = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)
_DIVISIONS = (*_SIGNED, arith.DivUIOp, arith.RemUIOp, arith.CeilDivUIOp)


def trap_accesses(module: Operation) -> None:
    """Adds the checks to kernels and their helpers, in place."""
    graph = CallGraph.of(module)
    exported = graph.reachable(function for function in graph.functions if aspect.is_external(function))
    for function in graph.functions:
        if has_body(function) and function not in exported:
            _trap(function)


@dataclass(frozen=True)
class TrapAccesses(ModulePass):
    """Makes kernels report indices out of range and integer divisions by zero."""

    name = "trap-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        trap_accesses(op)


def _trap(function: Function) -> None:
    is_wide = WIDE in function.attributes
    for op in operations(function.body):
        array, indices = _access(op)
        if array is not None:
            _check_indices(op, array, indices, is_wide)
        elif isinstance(op, _DIVISIONS):
            _check_divisor(op, is_wide)


def _access(op: Operation) -> tuple[SSAValue | None, Sequence[SSAValue]]:
    """Returns the array that an operation reads or writes, None for others, and its indices."""
    if isinstance(op, memref.LoadOp | LoadFieldOp):
        first = 1
    elif isinstance(op, memref.StoreOp | StoreFieldOp):
        first = 2
    elif isinstance(op, AtomicOp):
        first = op.first_index
    else:
        return None, ()
    array = op.operands[first - 1]
    rank = array.type.get_num_dims() if is_memref_type(array.type) else 0
    return array, op.operands[first : first + rank]


def _check_indices(op: Operation, array: SSAValue, indices: Sequence[SSAValue], is_wide: bool) -> None:
    assert is_memref_type(array.type)
    emitter, shape = Emitter(op), array.type.get_shape()
    name = f"'{array.name_hint}'" if array.name_hint else "the array"
    for dimension, (index, length) in enumerate(zip(indices, shape, strict=True)):
        known = constant_integer(index)
        if known is not None and 0 <= known < length:
            continue
        if length == DYNAMIC_INDEX:
            operands = [array, emitter.number(dimension, IndexType())]
            extent = emitter.emit(memref.DimOp, operands, IndexType())
        else:
            extent = emitter.number(length, IndexType())
        failed = emitter.compare("uge", index, extent)  # as an unsigned number a negative index is too large
        values, dtype = _shown(emitter, (index, extent), is_wide), "i64" if is_wide else "i32"
        text = f"index {{0}} is out of range of dimension {dimension} of {name}, whose extent is {{1}}"
        emitter.check(failed, "index", text, [dtype] * 2, values)


def _shown(emitter: Emitter, values: Sequence[SSAValue], is_wide: bool) -> list[SSAValue]:
    if is_wide:
        return [emitter.emit(arith.IndexCastOp, [value], i64) for value in values]
    return [emitter.as_i32(value) for value in values]


def _check_divisor(op: Operation, is_wide: bool) -> None:
    left, right = op.operands
    if constant_integer(right) not in (None, 0):
        return
    emitter = Emitter(op)
    if isinstance(right.type, IndexType):
        shown, dtype = _shown(emitter, [left], is_wide), "i64" if is_wide else "i32"
    elif is_integer_type(right.type):
        shown, dtype = [left], f"{'i' if isinstance(op, _SIGNED) else 'u'}{right.type.bitwidth}"
    else:
        return  # vectors were taken apart before
    if dtype in DTYPE_WIDTHS:
        failed = emitter.compare("eq", right, emitter.number(0, right.type))
        emitter.check(failed, "division", "integer division of {0} by zero", [dtype], shown)
