"""Handlers of array accesses (`memref.load store dim collapse_shape`, `kernel.load_field store_field`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp, field_operands
from ...ir.dialects.kernel_wide import LoadWideOp, StoreWideOp
from ...ir.dialects.spirv.scalars import component_count
from ...ir.narrowing import is_memref_type
from .array_parameter import ArrayParameter
from .function_lowering import FunctionLowering, Handler, arrays_of
from .launch_place import component
from .types import scalar_of
from .words import by_component, from_word, is_narrow, to_word

if TYPE_CHECKING:
    from .joined_fields import Window


def from_storage(fn: FunctionLowering, value: SSAValue, element_type: Attribute) -> SSAValue:
    """Returns what memory holds as an element: its bits, or a word, where atomics reach the array."""
    if value.type is element_type or value.type == element_type:
        return value
    if is_narrow(scalar_of(element_type)):
        return by_component(
            fn, value, element_type, lambda word: from_word(fn, word, scalar_of(element_type))
        )
    return fn.emit(spirv.BitcastOp, (value,), element_type)


def to_storage(fn: FunctionLowering, value: SSAValue, storage_type: Attribute) -> SSAValue:
    """Returns an element as memory holds it."""
    if value.type is storage_type or value.type == storage_type:
        return value
    if is_narrow(scalar_of(value.type)):
        return by_component(fn, value, storage_type, lambda number: to_word(fn, number))
    return fn.emit(spirv.BitcastOp, (value,), storage_type)


def _load(fn: FunctionLowering, op: Operation) -> None:
    source, *indices = op.operands
    array = arrays_of(fn, op).array(source)
    if isinstance(array, ArrayParameter) and array.is_uniform:
        value = array.load_uniform(fn.array_indices(indices, array.index_type))
        fn.values[op.results[0]] = from_storage(fn, value, array.element_type)
        return
    pointer = array.element_pointer(fn.array_indices(indices, array.index_type))
    value = fn.emit(spirv.LoadOp, (pointer,), array.storage_type, array.access)
    fn.values[op.results[0]] = from_storage(fn, value, array.element_type)


def _store(fn: FunctionLowering, op: Operation) -> None:
    value, target, *indices = op.operands
    array = arrays_of(fn, op).array(target)
    pointer = array.element_pointer(fn.array_indices(indices, array.index_type))
    stored = to_storage(fn, fn.value(value), array.storage_type)
    fn.add(create(spirv.StoreOp, operands=(pointer, stored), properties=array.access))


def _load_field(fn: FunctionLowering, op: Operation) -> None:
    if op.results[0] in fn.values:
        return  # it was loaded together with its neighbours
    array = arrays_of(fn, op).array(op.operands[0])
    type_ = fn.type(op.results[0].type)
    stored = array.stored(type_)
    from .joined_fields import window_at  # seldom needed

    window = window_at(fn, op)
    # A body that is inlined again may read another array there.
    if window is not None and isinstance(array, ArrayParameter) and array.has_vector_views:
        _load_window(fn, array, window)
        return
    indices, path = _field(fn, op, 1, array.index_type)
    if isinstance(array, ArrayParameter) and array.is_uniform:
        value = array.load_uniform(indices, path, stored)
    else:
        pointer = array.element_pointer(indices, path, stored)
        value = fn.emit(spirv.LoadOp, (pointer,), stored, array.field_access(type_))
    fn.values[op.results[0]] = from_storage(fn, value, type_)


def _load_window(fn: FunctionLowering, array: ArrayParameter, window: Window) -> None:
    first, _ = window.loads[0]
    indices = fn.array_indices(field_operands(first, 1)[0], array.index_type)
    scalar = fn.type(first.results[0].type)
    vector = fn.type(VectorType(scalar, [window.width]))
    words = fn.emit(spirv.LoadOp, (array.words_pointer(indices, window.start, vector),), vector)
    for op, word in window.loads:
        part = fn.emit(
            spirv.CompositeExtractOp, (words,), scalar, {"indices": component(word - window.start)}
        )
        fn.values[op.results[0]] = from_storage(fn, part, fn.type(op.results[0].type))


def _store_field(fn: FunctionLowering, op: Operation) -> None:
    array = arrays_of(fn, op).array(op.operands[1])
    type_ = fn.type(op.operands[0].type)
    stored = array.stored(type_)
    pointer = array.element_pointer(*_field(fn, op, 2, array.index_type), stored)
    value = to_storage(fn, fn.value(op.operands[0]), stored)
    fn.add(create(spirv.StoreOp, operands=(pointer, value), properties=array.field_access(type_)))


def _load_wide(fn: FunctionLowering, op: Operation) -> None:
    source, *indices = op.operands
    pointer, vector = _wide(fn, op, source, indices)
    value = fn.emit(spirv.LoadOp, (pointer,), vector)
    fn.values[op.results[0]] = from_storage(fn, value, fn.type(op.results[0].type))


def _store_wide(fn: FunctionLowering, op: Operation) -> None:
    value, target, *indices = op.operands
    pointer, vector = _wide(fn, op, target, indices)
    fn.add(create(spirv.StoreOp, operands=(pointer, to_storage(fn, fn.value(value), vector))))


def _wide(
    fn: FunctionLowering, op: Operation, source: SSAValue, indices: Sequence[SSAValue]
) -> tuple[SSAValue, Attribute]:
    """Returns a pointer to neighbouring elements of an array parameter, and the type of what it points to."""
    array = arrays_of(fn, op).array(source)
    if not isinstance(array, ArrayParameter):
        raise TypeError("wide accesses are to arrays that are parameters of the kernel")
    moved = op.results[0].type if op.results else op.operands[0].type
    return array.wide_pointer([fn.value(index) for index in indices], component_count(moved))


def _field(
    fn: FunctionLowering, op: Operation, first: int, index_type: Attribute
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Returns the lowered indices and path of an access to a part of an element."""
    indices, path = field_operands(op, first)
    steps = [fn.index(step) if isinstance(step, int) else fn.value(step) for step in path]
    return fn.array_indices(indices, index_type), steps


def _dim(fn: FunctionLowering, op: Operation) -> None:
    source, index = op.operands
    dimension = fn.constant_number(fn.value(index))
    if dimension is None:
        raise TypeError(
            "the dimension is a constant; select among the extents for one known at run time only"
        )
    fn.values[op.results[0]] = arrays_of(fn, op).array(source).extent(int(dimension))


_ACCESSES = (memref.LoadOp, memref.StoreOp, LoadFieldOp, StoreFieldOp, LoadWideOp, StoreWideOp, AtomicOp)


def _collapse_shape(fn: FunctionLowering, op: Operation) -> None:
    # Accesses give as many indices as they have: one is a position in C order.  The extents stay those of the source.
    (array,), (flat,) = op.operands, op.results
    assert is_memref_type(array.type) and is_memref_type(flat.type)
    keeps_elements = (array.type.element_type, array.type.memory_space) == (
        flat.type.element_type,
        flat.type.memory_space,
    )
    are_accesses = all(isinstance(use.operation, _ACCESSES) for use in flat.uses)
    if flat.type.get_num_dims() != 1 or not keeps_elements or not are_accesses:
        raise TypeError(
            "memref.collapse_shape gives arrays of one dimension with the same elements, for loads, stores and atomics "
            "only; take extents of the array itself"
        )
    arrays_of(fn, op).bind_array(flat, array)


HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.DimOp: _dim,
    memref.CollapseShapeOp: _collapse_shape,
    LoadFieldOp: _load_field,
    StoreFieldOp: _store_field,
    LoadWideOp: _load_wide,
    StoreWideOp: _store_wide,
}
"""Handlers of the memref dialect, and of parts of elements."""
