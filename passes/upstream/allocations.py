"""Gives arrays the forms that they have here: those that a kernel makes, its parameters, and constant tables.

%a = memref.alloc() : memref<8xf32, 3>                      memref<8xf32, #spirv.storage_class<Workgroup>>
%b = memref.alloc() : memref<f32>                           %b = memref.alloca() : memref<1xf32, … <Function>>
%x: memref<?x?xf32, strided<[?, 1], offset: ?>>             %x: memref<?x?xf32>
%t = memref.get_global @table : memref<4xf32>               %t = memref.alloca(), and a store for each number
"""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...ir.attribute_values import integer
from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.narrowing import is_dense, is_memref_type
from .arrays import element_bytes
from .entry_points import settle_local_size
from .place import UpstreamPlace, known_number
from .vector_place import places_of

MADE_ARRAYS = ("memref.alloc", "memref.alloca", "memref.get_global")
"""The operations that give a kernel an array, in whichever memory it is put."""
_MOST_NUMBERS = 256
"""Of a constant table: each work-item writes them down."""
_WORKGROUP_NUMBER = 3
"""The memory space of a work-group where it is a number, as for NVVM and ROCDL."""


def settle_arrays(function: Any) -> None:
    """Changes the arrays of one function; raises `PassError`."""
    if is_kernel(function):
        settle_local_size(function)
        _settle_parameters(function)
    tables: dict[str, SSAValue] = {}
    for op in list(function.walk()):
        if op.name in ("memref.alloc", "memref.alloca"):
            _settle_allocation(UpstreamPlace(op))
        elif op.name == "memref.get_global":
            _settle_global(function, UpstreamPlace(op), tables)


def _settle_parameters(function: Any) -> None:
    place = UpstreamPlace(function)
    for argument in function.body.blocks[0].args if function.body.blocks else ():
        type_ = argument.type
        if is_memref_type(type_) and (not type_.get_shape() or not isinstance(type_.layout, NoneAttr)):
            _expect_c_order(place, type_)
            shape = type_.get_shape() or (1,)
            plain = MemRefType(type_.element_type, shape, NoneAttr(), type_.memory_space)
            argument = Rewriter.replace_value_with_new_type(argument, plain)
            _keep_rank(UpstreamPlace(function, anchor=function.body.blocks[0].first_op), argument, type_)
    type_: FunctionType = function.function_type
    inputs = [argument.type for argument in function.body.blocks[0].args] if function.body.blocks else []
    if inputs and list(type_.inputs.data) != inputs:
        function.properties["function_type"] = FunctionType.from_lists(inputs, type_.outputs.data)


def _expect_c_order(place: UpstreamPlace, type_: MemRefType[Attribute]) -> None:
    """Raises PassError where a layout is not one that an array of a launch has, whose elements are in C order."""
    layout = type_.layout
    if isinstance(layout, NoneAttr):
        return
    strides: list[int | None] = []
    offset: int | None = 1
    if isinstance(layout, StridedLayoutAttr):
        strides = [getattr(stride, "data", None) for stride in layout.strides]
        offset = getattr(layout.offset, "data", None)
    shape = type_.get_shape()
    expected = [prod(shape[number + 1 :]) for number in range(len(shape))]
    known = [DYNAMIC_INDEX not in shape[number + 1 :] for number in range(len(shape))]
    fits = len(strides) == len(shape) and all(
        stride is None or not is_known or stride == wanted
        for stride, wanted, is_known in zip(strides, expected, known, strict=True)
    )
    if not fits or offset not in (None, 0):
        raise place.refused(
            f"arrays are in C order, found {type_}; take the whole array and a memref.subview or "
            "memref.reinterpret_cast of it"
        )


def _settle_allocation(place: UpstreamPlace) -> None:
    """Puts an array into memory of the work-group, where its type says so, or of the work-item."""
    op = place.op
    type_: Any = op.results[0].type
    if not is_memref_type(type_):
        return
    is_shared = op.name == "memref.alloc" and is_of_work_group(type_.memory_space)
    storage_class = StorageClass.Workgroup if is_shared else StorageClass.Function
    if op.name == "memref.alloca" and is_of_work_group(type_.memory_space):
        raise place.refused(
            "memory of a work-group is made by memref.alloc; memref.alloca is for one work-item"
        )
    _expect_c_order(place, type_)
    element, shape = type_.element_type, list(type_.get_shape() or (1,))
    if element == i8:
        element, shape = _of_views(place, shape)
    known = [known_number(value) for value in op.operands]
    sizes = [size for size in known if size is not None]
    if sizes and len(sizes) == len(known):
        rest = iter(sizes)
        shape = [next(rest) if extent == DYNAMIC_INDEX else extent for extent in shape]
    settled = MemRefType(element, shape, NoneAttr(), StorageClassAttr(storage_class))
    kind = memref.AllocOp if is_shared else memref.AllocaOp
    dynamic = list(op.operands) if DYNAMIC_INDEX in shape else []
    segments = DenseArrayBase.from_list(i32, [len(dynamic), 0])
    made = place.make(kind, dynamic, [settled], operandSegmentSizes=segments)
    made.attributes.update({name: value for name, value in op.attributes.items() if name != "alignment"})
    made.results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(made.results[0])
    _keep_rank(place, made.results[0], type_)
    op.detach()
    op.erase()


def _keep_rank(place: UpstreamPlace, array: SSAValue, before: MemRefType[Attribute]) -> None:
    """Lets what uses an array of no dimensions, which becomes one of one element, see it as it was."""
    if before.get_shape():
        return
    uses = [(use.operation, use.index) for use in array.uses]
    group: ArrayAttr[Attribute] = ArrayAttr([])
    seen = place.emit(memref.CollapseShapeOp, [array], before, reassociation=group)
    for op, number in uses:
        op.operands[number] = seen


def is_of_work_group(space: Attribute) -> bool:
    """Whether a memory space is that of a work-group."""
    if integer(space) == _WORKGROUP_NUMBER:
        return True
    return isinstance(space, StorageClassAttr) and space.data is StorageClass.Workgroup


def _of_views(place: UpstreamPlace, shape: list[int]) -> tuple[Attribute, list[int]]:
    """Returns what bytes are made as: the elements of the views of them, where those agree."""
    uses = [use.operation for use in place.op.results[0].uses if use.operation.name != "memref.dealloc"]
    types = {op.results[0].type.element_type for op in uses if op.name == "memref.view"}  # pyright: ignore
    if len(types) != 1 or any(op.name != "memref.view" for op in uses) or DYNAMIC_INDEX in shape:
        return i8, shape
    size = element_bytes(uses[0].results[0].type)
    return (i8, shape) if size is None else (types.pop(), [-(-prod(shape) // size)])


def _settle_global(function: Any, place: UpstreamPlace, tables: dict[str, SSAValue]) -> None:
    """Makes the numbers of a constant an array of the work-item, and what is not set memory of the work-group."""
    op = place.op
    name = op.name_.root_reference.data
    if name not in tables:
        tables[name] = _table(function, place, _definition(place, name))
    op.results[0].replace_all_uses_with(tables[name])
    op.detach()
    op.erase()


def _definition(place: UpstreamPlace, name: str) -> Any:
    around = place.op.parent_op()
    while around is not None:
        for region in around.regions:
            for found in [
                op for block in region.blocks for op in block.ops if isinstance(op, memref.GlobalOp)
            ]:
                if found.sym_name.data == name:
                    return found
        around = around.parent_op()
    raise place.refused(f"there is no memref.global @{name}")


def _table(function: Any, place: UpstreamPlace, definition: Any) -> SSAValue:
    entry = function.body.blocks[0]
    start = UpstreamPlace(place.op, anchor=entry.first_op)
    type_ = definition.type
    shape = type_.get_shape() or (1,)
    value = definition.initial_value
    is_shared = is_of_work_group(type_.memory_space) and not is_dense(value)
    if not is_shared and not (is_dense(value) and definition.constant is not None):
        raise place.refused(
            f"@{definition.sym_name.data} is no constant; give the kernel an array as argument, or make memory of its "
            "work-group with memref.alloc"
        )
    storage_class = StorageClass.Workgroup if is_shared else StorageClass.Function
    kind = memref.AllocOp if is_shared else memref.AllocaOp
    if prod(shape) > _MOST_NUMBERS:
        raise place.refused(
            f"@{definition.sym_name.data} has {prod(shape)} numbers, expected at most {_MOST_NUMBERS}; give the kernel "
            "an array as argument"
        )
    settled = MemRefType(type_.element_type, shape, NoneAttr(), StorageClassAttr(storage_class))
    segments = DenseArrayBase.from_list(i32, [0, 0])
    array = start.make(kind, [], [settled], operandSegmentSizes=segments).results[0]
    if is_shared:
        return array
    numbers: list[Attribute] = list(value.iter_attrs())
    numbers = numbers * prod(shape) if len(numbers) == 1 else numbers
    for where, number in zip(places_of(shape), numbers, strict=True):
        start.store(start.emit(arith.ConstantOp, [], type_.element_type, value=number), array, list(where))
    return array


def erase_globals(module: Operation) -> None:
    """Removes the definitions, which nothing uses any more."""
    for op in list(module.walk()):
        if isinstance(op, memref.GlobalOp):
            op.detach()
            op.erase()
