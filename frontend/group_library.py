"""Functions of groups, in the kernel language itself: `group_functions` and `sub_groups` compile calls of them.

Those of a whole work-group are right for every local size and every sub-group size.  The scans go by the linear id,
which says nothing about sub-groups in Vulkan; sums and the like may be taken in any order.  Every function ends with a
barrier, so that its memory can be used again at once.

Those of a sub-group are for what has no instructions, and pass each value to all work-items that take part.
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
    """Reduces each sub-group by instruction, and then in each what these gave.

    One loop over all of them takes llvmpipe, which loads from shared memory lane by lane, 2.5 times as long in all.
    """
    values = scratch(value)
    part = sub_group.reduce(value, op)
    if sub_group.id() == 0:
        values[sub_group.index()] = part
    barrier()
    result = part
    lane, lanes, count = sub_group.exclusive_scan(1, "add"), sub_group.reduce(1, "add"), sub_group.count()
    if lane < count:  # a work-item takes every so many of them, as many as the sub-group has work-items
        result = values[lane]
        for index in range(lane + lanes, count, lanes):
            result = combined(op, result, values[index])
        result = sub_group.reduce(result, op)
    result = sub_group.broadcast(result, 0)
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


UNIFORM = frozenset((reduce_by_tree, reduce_by_sub_groups, broadcast))
"""What returns the same to every work-item of the work-group, whatever it was given: barriers may depend on it."""


def _gathered(value: Any, op: Any) -> Any:
    """Returns all values of a sub-group combined, those up to this work-item, and those before it."""
    active, lane = sub_group.ballot(True), sub_group.id()
    total = identity(op, value)
    upto = total
    before = total
    for index in range(sub_group.size()):
        passed = sub_group.shuffle(value, index)
        if (active[index >> 5] >> (index & 31)) & 1 != 0:
            total = combined(op, total, passed)
            if index <= lane:
                upto = total
            if index < lane:
                before = total
    return total, upto, before


def sub_group_reduce(value: Any, op: Any) -> Any:
    """Combines the values of a sub-group."""
    total, _, _ = _gathered(value, op)
    return total


def sub_group_inclusive_scan(value: Any, op: Any) -> Any:
    """Combines the values up to each work-item of a sub-group."""
    _, upto, _ = _gathered(value, op)
    return upto


def sub_group_exclusive_scan(value: Any, op: Any) -> Any:
    """Combines the values before each work-item of a sub-group."""
    _, _, before = _gathered(value, op)
    return before
