"""Handlers of array accesses (`memref.load store dim`)."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Operation

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering, Handler
from .work_item_handlers import entry_of


def _load(fn: FunctionLowering, op: Operation) -> None:
    source, *indices = op.operands
    array = entry_of(fn, op).array(source)
    pointer = array.element_pointer([fn.value(index) for index in indices])
    fn.values[op.results[0]] = fn.emit(spirv.LoadOp, (pointer,), array.element_type, array.access)


def _store(fn: FunctionLowering, op: Operation) -> None:
    value, target, *indices = op.operands
    array = entry_of(fn, op).array(target)
    pointer = array.element_pointer([fn.value(index) for index in indices])
    fn.add(spirv.StoreOp.create(operands=(pointer, fn.value(value)), properties=array.access))


def _dim(fn: FunctionLowering, op: Operation) -> None:
    source, index = op.operands
    dimension = fn.constant_number(fn.value(index))
    if dimension is None:
        raise TypeError(
            "the dimension is a constant; select among the extents for one known at run time only"
        )
    fn.values[op.results[0]] = entry_of(fn, op).array(source).extent(int(dimension))


MEMORY_HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.DimOp: _dim,
}
"""Handlers of the memref dialect."""
