"""Checks of debug mode at single operations: the pass trap-accesses, for kernels that no front end of ours wrote.

input:    %v = memref.load %x[%i]     output:    %n = memref.dim %x, %c0    %out = arith.cmpi uge, %i, %n
                                                 kernel.check %out "index {0} is out of range of dimension 0 of 'x' …"
                                                 %v = memref.load %x[%i]

Indices of arrays, integer divisors, NaN that is stored and the steps of loops, as `frontend/checks.py` does for Python.
A loop whose step is not above 0, which MLIR does not define, runs no round then.

Invariant: functions that other modules call are not changed: only a kernel has a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, BFloat16Type, IndexType, ModuleOp, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.call_graph import CallGraph, Function, has_body
from ...ir.dialects import aspect
from ...ir.dialects.kernel import WIDE
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_reports import DTYPE_WIDTHS
from ...ir.narrowing import is_integer_type, is_memref_type
from ...ir.walk import operations
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
    """Makes kernels report indices out of range, integer divisions by zero, stored NaN and loops that do not get on."""

    name = "trap-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        trap_accesses(op)


def _trap(function: Function) -> None:
    is_wide = WIDE in function.attributes
    for op in operations(function.body):
        array, indices = _access(op)
        if array is not None:
            _check_indices(op, array, indices, is_wide)
            _check_nan(op, array, indices, is_wide)
        elif isinstance(op, scf.ForOp):
            _check_step(op, is_wide)
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
    emitter, shape, name = Emitter(op), array.type.get_shape(), _name(array)
    for dimension, (index, length) in enumerate(zip(indices, shape, strict=True)):
        known = constant_integer(index)
        if known is not None and 0 <= known < length:
            continue
        extent = _extent(emitter, array, dimension)
        failed = emitter.compare("uge", index, extent)  # as an unsigned number a negative index is too large
        values, dtype = _shown(emitter, (index, extent), is_wide), "i64" if is_wide else "i32"
        text = f"index {{0}} is out of range of dimension {dimension} of {name}, whose extent is {{1}}"
        emitter.check(failed, "index", text, [dtype] * 2, values)


def _extent(emitter: Emitter, array: SSAValue, dimension: int) -> SSAValue:
    """Returns the extent along a dimension; of an array that is seen as one of one dimension all its elements."""
    assert is_memref_type(array.type)
    length = array.type.get_shape()[dimension]
    if length != DYNAMIC_INDEX:
        return emitter.number(length, IndexType())
    if not isinstance(array.owner, memref.CollapseShapeOp):
        return emitter.emit(memref.DimOp, [array, emitter.number(dimension, IndexType())], IndexType())
    source = array.owner.operands[0]
    assert is_memref_type(source.type)
    extents = [_extent(emitter, source, number) for number in range(source.type.get_num_dims())]
    return reduce(lambda a, b: emitter.emit(arith.MuliOp, [a, b], IndexType()), extents)


def _check_nan(op: Operation, array: SSAValue, indices: Sequence[SSAValue], is_wide: bool) -> None:
    stored = op.operands[0]
    if not isinstance(op, memref.StoreOp | StoreFieldOp) or not isinstance(stored.type, AnyFloat):
        return
    emitter = Emitter(op)
    if isinstance(stored.type, BFloat16Type):  # which devices only store
        stored = emitter.emit(arith.ExtFOp, [stored], f32)
    failed = emitter.add(arith.CmpfOp(stored, stored, "une")).results[0]
    places = ", ".join(f"{{{number}}}" for number in range(len(indices)))
    dtypes = ["i64" if is_wide else "i32"] * len(indices)
    text = f"NaN is stored into {_name(array)} at [{places}]"
    emitter.check(failed, "nan", text, dtypes, _shown(emitter, indices, is_wide))


def _check_step(op: scf.ForOp, is_wide: bool) -> None:
    known = constant_integer(op.step)
    if known is not None and known > 0:
        return
    emitter, step = Emitter(op), op.step
    failed = emitter.compare("sle", step, emitter.number(0, step.type))
    if isinstance(step.type, IndexType):
        shown, dtype = _shown(emitter, [step], is_wide), "i64" if is_wide else "i32"
    else:
        assert is_integer_type(step.type)
        shown, dtype = [step], f"i{step.type.bitwidth}"
    if dtype not in DTYPE_WIDTHS:
        return
    emitter.check(failed, "step", "the step of the loop is {0}; expected one above 0", [dtype], shown)
    op.operands[1] = emitter.emit(arith.SelectOp, [failed, op.lb, op.ub], op.ub.type)


def _name(array: SSAValue) -> str:
    if isinstance(array.owner, memref.CollapseShapeOp):
        array = array.owner.operands[0]
    return f"'{array.name_hint}'" if array.name_hint else "the array"


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
