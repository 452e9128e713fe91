"""Functions of a whole work-group, in the kernel language itself: `group_functions` compiles calls of them.

Each is right for every local size and every sub-group size.  The scans go by the linear id, which says nothing
about sub-groups in Vulkan; sums and the like may be taken in any order.  Every function ends with a barrier,
so that its memory can be used again at once.
"""

from __future__ import annotations

from typing import Any

from .intrinsics import PUBLIC_INTRINSICS, Intrinsic

barrier: Any = PUBLIC_INTRINSICS["barrier"]
local_linear_id: Any = PUBLIC_INTRINSICS["local_linear_id"]
sub_group: Any = PUBLIC_INTRINSICS["sub_group"]
scratch: Any = Intrinsic("group_library.scratch")
"""A shared array of one element a work-item, of the type of its argument."""
group_size: Any = Intrinsic("group_library.group_size")
"""The number of work-items of a work-group."""
combined: Any = Intrinsic("group_library.combined")
"""``combined(op, a, b)``."""
identity: Any = Intrinsic("group_library.identity")
"""``identity(op, value)``: what changes nothing, in the type of the value."""


def reduce_by_tree(value: Any, op: Any) -> Any:
    """Halves the number of values until one is left."""
    values = scratch(value)
    lane = local_linear_id()
    values[lane] = value
    barrier()
    count = group_size()
    while count > 1:
        half = (count + 1) >> 1
        if lane < count - half:
            values[lane] = combined(op, values[lane], values[lane + half])
        barrier()
        count = half
    result = values[0]
    barrier()
    return result


def reduce_by_sub_groups(value: Any, op: Any) -> Any:
    """Reduces each sub-group by instruction, and then what these gave."""
    values = scratch(value)
    part = sub_group.reduce(value, op)
    if sub_group.id() == 0:
        values[sub_group.index()] = part
    barrier()
    result = values[0]
    for index in range(1, sub_group.count()):
        result = combined(op, result, values[index])
    barrier()
    return result


def inclusive_scan(value: Any, op: Any) -> Any:
    """Adds what stands 1, 2, 4, … places before (Hillis and Steele)."""
    values = scratch(value)
    lane = local_linear_id()
    total = value
    values[lane] = total
    barrier()
    offset = 1
    while offset < group_size():
        before = total
        if lane >= offset:
            before = values[lane - offset]
        barrier()
        if lane >= offset:
            total = combined(op, before, total)
            values[lane] = total
        barrier()
        offset = offset << 1
    return total


def exclusive_scan(value: Any, op: Any) -> Any:
    """Moves the inclusive scan by one place."""
    values = scratch(value)
    lane = local_linear_id()
    values[lane] = inclusive_scan(value, op)
    barrier()
    result = identity(op, value)
    if lane > 0:
        result = values[lane - 1]
    barrier()
    return result


def broadcast(value: Any, lane: Any = 0) -> Any:
    """Passes one work-item's value through memory."""
    values = scratch(value)
    if local_linear_id() == lane:
        values[0] = value
    barrier()
    result = values[0]
    barrier()
    return result
