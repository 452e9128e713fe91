"""Arrays and variables: `memref`, parts of array elements, and `spirv`'s variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation

from ..attribute_values import integers
from ..dialects.kernel_fields import RUN_TIME_STEP
from ..dialects.spirv.types import ArrayType, PointerType, element_type_at
from ..errors import InvalidError
from . import access
from .dispatch import handles
from .frame import Frame
from .layout import part
from .memory import ArrayName, Memory
from .scalars import Lanes
from .traps import place_of
from .values import ArrayRef, Pointer, constituents, spread, take


@handles("memref.load")
def load(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads whole elements."""
    array: ArrayRef = operands[0]
    offsets = access.element_offsets(frame, op, array, operands[1:])
    values = access.load(frame, op, array.memory, array.element, offsets)
    return (spread(values, frame.lanes, frame.batch.size),)


@handles("memref.store")
def store(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Writes whole elements."""
    array: ArrayRef = operands[1]
    offsets = access.element_offsets(frame, op, array, operands[2:])
    access.store(frame, op, array.memory, array.element, offsets, take(operands[0], frame.lanes))
    return ()


@handles("memref.dim")
def dim(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns an extent of an array."""
    array: ArrayRef = operands[0]
    return (frame.full(np.int64(array.shape[int(operands[1][frame.lanes[0]])])),)


@handles("memref.collapse_shape")
def collapse_shape(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Sees an array as one of one dimension, the only one that this makes in kernel-level IR."""
    array: ArrayRef = operands[0]
    return (replace(array, shape=(prod(array.shape),)),)


@handles("kernel.load_field")
def load_field(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads a scalar inside of elements."""
    memory, offsets, type_ = field_offsets(frame, op, operands)
    values = access.load(frame, op, memory, type_, offsets)
    return (spread(values, frame.lanes, frame.batch.size),)


@handles("kernel.store_field")
def store_field(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Writes a scalar inside of elements."""
    memory, offsets, type_ = field_offsets(frame, op, operands[1:])
    access.store(frame, op, memory, type_, offsets, take(operands[0], frame.lanes))
    return ()


def field_offsets(frame: Frame, op: Operation, operands: list[Any]) -> tuple[Memory, Lanes, Attribute]:
    """Returns where the scalars of the active work-items lie, and their type.

    Args:
        op: has a `path`.
        operands: the array, its indices, the steps that are known at run time only.
    """
    array: ArrayRef = operands[0]
    rank = len(array.shape)
    offsets = access.element_offsets(frame, op, array, operands[1 : 1 + rank])
    steps = iter(operands[1 + rank :])
    path = integers(op.properties["path"]) or ()
    return (
        array.memory,
        *_walk(
            frame,
            op,
            array.element,
            offsets,
            (None if s == RUN_TIME_STEP else s for s in path),
            steps,
            str(array.memory.name),
        ),
    )


def _walk(
    frame: Frame,
    op: Operation,
    type_: Attribute,
    offsets: Lanes,
    path: Iterator[int | None],
    steps: Iterator[Lanes],
    name: str,
) -> tuple[Lanes, Attribute]:
    """Follows a path into values at offsets; a step of None takes the next of `steps`."""
    for step in path:
        if step is not None:
            start, type_ = part(type_, step)
            offsets = offsets + start
            continue
        chosen = next(steps)[frame.lanes]
        what = "a fixed array" if isinstance(type_, ArrayType) else "a vector"
        access.check_range(frame, op, chosen, len(constituents(type_)), f"{what} in {name}")
        # The distance of two elements; an array of one has no second.
        stride, inner = part(type_, 1) if element_type_at(type_, 1) is not None else part(type_, 0)
        offsets = offsets + chosen.astype(np.int64) * stride
        type_ = inner
    return offsets, type_


@handles("memref.alloc", "memref.alloca")
def allocate(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Makes an array of each work-group (alloc) or of each work-item (alloca)."""
    batch, is_shared = frame.batch, op.name == "memref.alloc"
    type_ = cast("MemRefType[Attribute]", op.results[0].type)
    lengths = iter(operands)
    shape = tuple(int(next(lengths)[frame.lanes[0]]) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
    if min(shape, default=1) < 1:
        raise InvalidError(
            f"the array made at {place_of(op)} has shape {shape}; expected at least 1 in each dimension"
        )
    name = ArrayName(op.results[0].name_hint or "", "shared array" if is_shared else "private array")
    owners = batch.group_of_lane if is_shared else np.arange(batch.size)
    memory = batch.allocations.get(op)
    if memory is None:
        copies = batch.group_count if is_shared else batch.size
        memory = Memory(name, type_.element_type, shape, copies=copies, is_logged=is_shared)
        batch.allocations[op] = memory
    else:
        _forget(frame, memory, owners)
    return (ArrayRef(memory, owners * memory.copy_bytes, shape, type_.element_type),)


def _forget(frame: Frame, memory: Memory, owners: Lanes) -> None:
    """Makes the copies of the active work-items undefined: they are made anew."""
    for copy in np.unique(owners[frame.lanes]):
        memory.forget(int(copy))


@handles("spirv.Variable")
def variable(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Makes a variable of each work-item."""
    batch, pointer = frame.batch, op.results[0].type
    assert isinstance(pointer, PointerType)
    memory = batch.allocations.get(op)
    if memory is None:
        memory = Memory(ArrayName("", "fixed array"), pointer.pointee, (), copies=batch.size, is_logged=False)
        batch.allocations[op] = memory
    else:
        _forget(frame, memory, np.arange(batch.size))
    place = Pointer(memory, np.arange(batch.size) * memory.copy_bytes, pointer.pointee)
    if operands:
        _store(frame, op, place, operands[0])
    return (place,)


@handles("spirv.AccessChain")
def access_chain(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns the place of a part of a variable."""
    base: Pointer = operands[0]
    path = iter([None] * len(operands[1:]))
    offsets, type_ = _walk(
        frame, op, base.type, base.offsets[frame.lanes], path, iter(operands[1:]), "a value"
    )
    return (Pointer(base.memory, spread(offsets, frame.lanes, frame.batch.size), type_),)


@handles("spirv.Load")
def load_variable(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads a variable or a part of one."""
    place: Pointer = operands[0]
    values = access.load(frame, op, place.memory, place.type, place.offsets[frame.lanes])
    return (spread(values, frame.lanes, frame.batch.size),)


@handles("spirv.Store")
def store_variable(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Writes a variable or a part of one."""
    _store(frame, op, operands[0], operands[1])
    return ()


def _store(frame: Frame, op: Operation, place: Pointer, value: Any) -> None:
    offsets = place.offsets[frame.lanes]
    access.store(frame, op, place.memory, place.type, offsets, take(value, frame.lanes))
