"""Atomic operations: those of one location happen in the order of the work-items' numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..dialects.kernel_atomic import (
    AtomicCompareExchangeOp,
    AtomicLoadOp,
    AtomicOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from . import access
from .dispatch import handles
from .float_ops import maximum_number, minimum_number
from .frame import Frame
from .integer_ops import maximum_unsigned, minimum_unsigned
from .races import Access
from .scalars import Lanes
from .values import ArrayRef, spread

_COMBINED: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "add": np.add,
    "sub": np.subtract,
    "smin": np.minimum,
    "smax": np.maximum,
    "umin": minimum_unsigned,
    "umax": maximum_unsigned,
    "min": minimum_number,
    "max": maximum_number,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exchange": lambda old, new: new,
}


def _rounds(offsets: Lanes) -> Iterator[Lanes]:
    """Yields which accesses happen at once: each location at most once, the lowest work-item first."""
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(ordered)), 0))
    rank = np.arange(len(ordered)) - first
    for number in range(int(rank.max()) + 1):
        yield order[rank == number]


def _place(frame: Frame, op: AtomicOp, operands: list[Any], kind: Access) -> tuple[ArrayRef, Lanes]:
    """Returns the array and where its elements begin, after all checks."""
    count = next(i for i, value in enumerate(operands) if isinstance(value, ArrayRef))
    array: ArrayRef = operands[count]
    offsets = access.element_offsets(frame, op, array, operands[count + 1 :])
    if not isinstance(op, AtomicStoreOp):
        access.check_written(frame, op, array.memory, offsets)
    access.note(frame, op, kind, array.memory, offsets)
    if op.order.data != "relaxed":
        frame.batch.launch.timeline.fence(frame.lanes)
    return array, offsets


@handles("kernel.atomic_rmw")
def read_modify_write(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Combines elements with values; returns the old elements."""
    assert isinstance(op, AtomicRMWOp)
    array, offsets = _place(frame, op, operands, Access.ATOMIC_WRITE)
    values, combined = operands[0][frame.lanes], _COMBINED[op.kind.data]
    old = np.zeros(len(values), values.dtype)
    for chosen in _rounds(offsets):
        old[chosen] = array.memory.load(array.element, offsets[chosen])
        array.memory.store(array.element, offsets[chosen], combined(old[chosen], values[chosen]))
    return (spread(old, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_compare_exchange")
def compare_exchange(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Replaces elements whose bits are as expected; returns the old elements."""
    assert isinstance(op, AtomicCompareExchangeOp)
    array, offsets = _place(frame, op, operands, Access.ATOMIC_WRITE)
    expected, desired = operands[0][frame.lanes], operands[1][frame.lanes]
    bits = f"u{expected.dtype.itemsize}"
    old = np.zeros(len(expected), expected.dtype)
    for chosen in _rounds(offsets):
        old[chosen] = found = array.memory.load(array.element, offsets[chosen])
        is_same = found.view(bits) == expected[chosen].view(bits)
        hits = chosen[is_same]
        array.memory.store(array.element, offsets[hits], desired[hits])
    return (spread(old, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_load")
def atomic_load(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads elements."""
    assert isinstance(op, AtomicLoadOp)
    array, offsets = _place(frame, op, operands, Access.ATOMIC_READ)
    values = array.memory.load(array.element, offsets)
    return (spread(values, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_store")
def atomic_store(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Writes elements; of several values for one location the last stays."""
    assert isinstance(op, AtomicStoreOp)
    array, offsets = _place(frame, op, operands, Access.ATOMIC_WRITE)
    values = operands[0][frame.lanes]
    for chosen in _rounds(offsets):
        array.memory.store(array.element, offsets[chosen], values[chosen])
    return ()
