"""Loads and stores with their checks, of the active work-items of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from xdsl.ir import Attribute, Operation

from .frame import Frame
from .layout import part
from .memory import Memory
from .races import Access, AccessLog
from .scalars import Lanes, is_scalar
from .traps import DATA_RACE, OUT_OF_RANGE, UNINITIALISED, place_of, spelled
from .values import ArrayRef, Value, constituents, construct


class Logged(Protocol):
    """What several work-items may use: memory, or the pixels of an image."""

    @property
    def log(self) -> AccessLog | None:
        """Who used what; None: each work-item has its own."""
        ...

    @property
    def granule(self) -> int:
        """Distance of two locations of the log."""
        ...

    def spell(self, offset: int) -> str:
        """Returns what messages call a location."""
        ...


_HERE = {
    Access.READ: "read",
    Access.WRITE: "written",
    Access.ATOMIC_READ: "read atomically",
    Access.ATOMIC_WRITE: "changed atomically",
}


def element_offsets(frame: Frame, op: Operation, array: ArrayRef, indices: Sequence[Lanes]) -> Lanes:
    """Returns where the elements of the active work-items begin, in bytes.

    Raises:
        KernelTrap: an index is out of range.
    """
    lanes = frame.lanes
    position: Lanes = np.zeros(len(lanes), np.int64)
    for dimension, (index, length) in enumerate(zip(indices, array.shape, strict=True)):
        chosen = index[lanes]
        name = f"dimension {dimension} of {array.memory.name}" if len(array.shape) > 1 else array.memory.name
        check_range(frame, op, chosen, length, str(name))
        position = position * length + chosen
    offsets = position * array.memory.element_bytes
    return offsets if array.base is None else offsets + array.base[lanes]


def check_range(frame: Frame, op: Operation, chosen: Lanes, length: int, what: str) -> None:
    """Checks the indices of the active work-items.

    Raises:
        KernelTrap: one is negative, or not below the length.
    """
    bad = np.flatnonzero((chosen < 0) | (chosen >= length))
    if len(bad):
        expected = f"expected 0 to {length - 1}" if length else "it is empty"
        lane = int(frame.lanes[bad[0]])
        message = f"index {int(chosen[bad[0]])} is out of range of {what}, of length {length}; {expected}"
        frame.trap(op, OUT_OF_RANGE, lane, message)


def load(frame: Frame, op: Operation, memory: Memory, type_: Attribute, offsets: Lanes) -> Value:
    """Returns the values at offsets in bytes, of the active work-items only.

    Raises:
        KernelTrap: one was never written, or is written by a work-item that nothing orders.
    """
    if not is_scalar(type_):
        parts = (part(type_, i) for i in range(len(constituents(type_))))
        return construct(type_, [load(frame, op, memory, inner, offsets + start) for start, inner in parts])
    check_written(frame, op, memory, offsets)
    note(frame, op, Access.READ, memory, offsets)
    return memory.load(type_, offsets)


def store(
    frame: Frame, op: Operation, memory: Memory, type_: Attribute, offsets: Lanes, value: Value
) -> None:
    """Stores the values of the active work-items at offsets in bytes.

    Raises:
        KernelTrap: one is used by another work-item, and nothing orders the two.
    """
    if is_scalar(type_):
        note(frame, op, Access.WRITE, memory, offsets)
        memory.store(type_, offsets, value)
        return
    for position in range(len(constituents(type_))):
        start, inner = part(type_, position)
        member = (
            cast("tuple[Value, ...]", value)[position] if isinstance(value, tuple) else value[:, position]
        )
        store(frame, op, memory, inner, offsets + start, member)


def check_written(frame: Frame, op: Operation, memory: Memory, offsets: Lanes) -> None:
    """Checks that what the active work-items read was written.

    Raises:
        KernelTrap: it was not.
    """
    if memory.written is None:
        return
    bad = np.flatnonzero(~memory.written[offsets])
    if len(bad):
        frame.trap(
            op,
            UNINITIALISED,
            int(frame.lanes[bad[0]]),
            f"{memory.spell(int(offsets[bad[0]]))} is read before anything was written to it",
        )


def note(frame: Frame, op: Operation, access: Access, memory: Logged, offsets: Lanes) -> None:
    """Notes who uses what.

    Raises:
        KernelTrap: another work-item uses it, one of the two changes it, and nothing orders them.
    """
    if memory.log is None:
        return
    batch, launch = frame.batch, frame.batch.launch
    items = batch.items[frame.lanes]
    race = memory.log.note(access, offsets // memory.granule, items, launch.site(op), launch.timeline)
    if race is None:
        return
    other = launch.shape.global_id(race.other_item)
    there = launch.sites[race.other_site]
    where = "here too" if there is op else f"at {spelled(place_of(there))}"
    is_near = race.item // batch.group_size == race.other_item // batch.group_size
    orders = "no barrier orders the two" if is_near else "nothing orders work-items of different work-groups"
    if race.other_access is access is Access.WRITE:
        orders += "; where all write one value, lp.atomic.store says so"
    frame.trap(
        op,
        DATA_RACE,
        int(frame.lanes[race.position]),
        f"data race: {memory.spell(int(offsets[race.position]))} is {_HERE[access]} here, and "
        f"{race.other_access.value} by work-item {other} {where}; {orders}",
    )
