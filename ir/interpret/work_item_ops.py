"""Which work-item runs: ids and sizes of the `gpu` dialect, and the range that the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.gpu import DimensionAttr
from xdsl.ir import Operation

from ..attribute_values import integer
from .dispatch import handles
from .frame import Frame


def _dimension(frame: Frame, op: Operation) -> int | None:
    """Returns the dimension that an operation asks for, slowest first; None beyond those of the range."""
    attribute = op.properties["dimension"]
    assert isinstance(attribute, DimensionAttr)
    found = len(frame.batch.launch.shape.local) - 1 - "xyz".index(str(attribute.data.value))
    return found if found >= 0 else None


@handles("gpu.global_id", "gpu.thread_id", "gpu.block_id")
def work_item_id(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns a part of an id; 0 in dimensions that the range does not have."""
    batch, dimension = frame.batch, _dimension(frame, op)
    ids = {
        "gpu.global_id": batch.global_ids,
        "gpu.thread_id": batch.local_ids,
        "gpu.block_id": batch.group_ids,
    }
    return (frame.full(np.int64(0)) if dimension is None else ids[op.name][dimension],)


@handles("gpu.block_dim", "gpu.grid_dim")
def size(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns a size; 1 in dimensions that the range does not have."""
    shape, dimension = frame.batch.launch.shape, _dimension(frame, op)
    sizes = shape.local if op.name == "gpu.block_dim" else shape.group_counts
    return (frame.full(np.int64(1 if dimension is None else sizes[dimension])),)


@handles("kernel.global_range")
def global_range(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns an extent of the range that the user asked for."""
    dimension = integer(op.properties["dimension"])
    assert dimension is not None
    return (frame.full(np.int64(frame.batch.launch.shape.range_[dimension])),)


@handles("gpu.lane_id", "gpu.subgroup_id", "gpu.subgroup_size", "gpu.num_subgroups")
def sub_group_number(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns a number of the sub-groups: consecutive work-items of a work-group, by their linear id."""
    batch = frame.batch
    size = batch.launch.options.sub_group_size
    if op.name == "gpu.lane_id":
        return (batch.local_linear_ids % size,)
    if op.name == "gpu.subgroup_id":
        return (batch.local_linear_ids // size,)
    return (frame.full(np.int64(size if op.name == "gpu.subgroup_size" else -(-batch.group_size // size))),)
