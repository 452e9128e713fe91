"""Handlers of array accesses (`memref.load store dim`)."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering, Handler
from .work_item_handlers import entry_of


def from_storage(fn: FunctionLowering, value: SSAValue, element_type: Attribute) -> SSAValue:
    """Returns what memory holds as an element: arrays of floats may be kept as their bits."""
    return (
        value
        if value.type is element_type or value.type == element_type
        else fn.emit(spirv.BitcastOp, (value,), element_type)
    )


def to_storage(fn: FunctionLowering, value: SSAValue, storage_type: Attribute) -> SSAValue:
    """Returns an element as memory holds it."""
    return (
        value
        if value.type is storage_type or value.type == storage_type
        else fn.emit(spirv.BitcastOp, (value,), storage_type)
    )


def _load(fn: FunctionLowering, op: Operation) -> None:
    source, *indices = op.operands
    array = entry_of(fn, op).array(source)
    pointer = array.element_pointer([fn.value(index) for index in indices])
    value = fn.emit(spirv.LoadOp, (pointer,), array.storage_type, array.access)
    fn.values[op.results[0]] = from_storage(fn, value, array.element_type)


def _store(fn: FunctionLowering, op: Operation) -> None:
    value, target, *indices = op.operands
    array = entry_of(fn, op).array(target)
    pointer = array.element_pointer([fn.value(index) for index in indices])
    stored = to_storage(fn, fn.value(value), array.storage_type)
    fn.add(spirv.StoreOp.create(operands=(pointer, stored), properties=array.access))


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
