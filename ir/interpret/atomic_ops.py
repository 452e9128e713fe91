"""Atomic operations: those of one location happen in the order of the work-items' numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

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
from .memory import Memory
from .memory_ops import field_offsets
from .races import Access
from .scalars import Lanes, is_bf16, rounded_to_bf16
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


@dataclass(slots=True, frozen=True)
class _Place:
    """What the active work-items change."""

    memory: Memory
    offsets: Lanes
    """In bytes."""
    type: Attribute

    def load(self, chosen: Lanes) -> Lanes:
        """Returns what some of them find."""
        values = self.memory.load(self.type, self.offsets[chosen])
        assert isinstance(values, np.ndarray)
        return values

    def store(self, chosen: Lanes, values: Lanes) -> None:
        """Stores values of some of them."""
        self.memory.store(self.type, self.offsets[chosen], values)


def _place(frame: Frame, op: AtomicOp, operands: list[Any], kind: Access) -> _Place:
    """Returns what is changed, after all checks."""
    count = next(i for i, value in enumerate(operands) if isinstance(value, ArrayRef))
    array: ArrayRef = operands[count]
    if op.path is None:
        offsets = access.element_offsets(frame, op, array, operands[count + 1 :])
        place = _Place(array.memory, offsets, array.element)
    else:
        place = _Place(*field_offsets(frame, op, operands[count:]))
    if not isinstance(op, AtomicStoreOp):
        access.check_written(frame, op, place.memory, place.offsets)
    access.note(frame, op, kind, place.memory, place.offsets)
    if op.order.data != "relaxed":
        frame.batch.launch.timeline.fence(frame.lanes)
    return place


@handles("kernel.atomic_rmw")
def read_modify_write(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Combines elements with values; returns the old elements."""
    assert isinstance(op, AtomicRMWOp)
    place = _place(frame, op, operands, Access.ATOMIC_WRITE)
    values, combined = operands[0][frame.lanes], _COMBINED[op.kind.data]
    old = np.zeros(len(values), values.dtype)
    for chosen in _rounds(place.offsets):
        old[chosen] = place.load(chosen)
        renewed = combined(old[chosen], values[chosen])
        place.store(chosen, rounded_to_bf16(renewed) if is_bf16(place.type) else renewed)
    return (spread(old, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_compare_exchange")
def compare_exchange(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Replaces elements whose bits are as expected; returns the old elements."""
    assert isinstance(op, AtomicCompareExchangeOp)
    place = _place(frame, op, operands, Access.ATOMIC_WRITE)
    expected, desired = operands[0][frame.lanes], operands[1][frame.lanes]
    bits = f"u{expected.dtype.itemsize}"
    old = np.zeros(len(expected), expected.dtype)
    for chosen in _rounds(place.offsets):
        old[chosen] = found = place.load(chosen)
        is_same = found.view(bits) == expected[chosen].view(bits)
        hits = chosen[is_same]
        place.store(hits, desired[hits])
    return (spread(old, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_load")
def atomic_load(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads elements."""
    assert isinstance(op, AtomicLoadOp)
    place = _place(frame, op, operands, Access.ATOMIC_READ)
    values = place.memory.load(place.type, place.offsets)
    return (spread(values, frame.lanes, frame.batch.size),)


@handles("kernel.atomic_store")
def atomic_store(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Writes elements; of several values for one location the last stays."""
    assert isinstance(op, AtomicStoreOp)
    place = _place(frame, op, operands, Access.ATOMIC_WRITE)
    values = operands[0][frame.lanes]
    for chosen in _rounds(place.offsets):
        place.store(chosen, values[chosen])
    return ()
