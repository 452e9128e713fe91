"""Barriers and fences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..dialects.spirv.attributes import ScopeAttr
from ..dialects.spirv.enums import Scope
from .dispatch import handles
from .frame import Frame
from .scalars import Lanes
from .traps import DIVERGENT


@handles("gpu.barrier", "spirv.ControlBarrier")
def barrier(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Makes the work-items of each group wait for each other: all must be here."""
    batch, scope = frame.batch, op.properties.get("execution_scope")
    is_sub_group = isinstance(scope, ScopeAttr) and scope.data is Scope.Subgroup
    numbers = batch.sub_group_of_lane if is_sub_group else batch.group_of_lane
    _check_all_arrive(frame, op, numbers, "sub-group" if is_sub_group else "work-group")
    batch.launch.timeline.barrier(frame.lanes, is_sub_group=is_sub_group)
    return ()


def _check_all_arrive(frame: Frame, op: Operation, groups: Lanes, what: str) -> None:
    """Checks that of each group either all work-items are active or none is."""
    arrived = np.zeros(int(groups.max()) + 1, np.bool_)
    arrived[groups[frame.lanes]] = True
    missing = np.flatnonzero(arrived[groups] & ~frame.mask)
    if not len(missing):
        return
    lane = int(missing[0])
    there = int(frame.lanes[np.flatnonzero(groups[frame.lanes] == groups[lane])[0]])
    launch = frame.batch.launch
    others = [launch.shape.global_id(int(frame.batch.items[position])) for position in (there, lane)]
    frame.trap(
        op,
        DIVERGENT,
        there,
        f"not every work-item of the {what} reaches this barrier: {others[0]} does, {others[1]} does not; move "
        "it out of the condition or loop",
    )


@handles("spirv.MemoryBarrier")
def fence(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Orders the accesses of each active work-item."""
    frame.batch.launch.timeline.fence(frame.lanes)
    return ()
