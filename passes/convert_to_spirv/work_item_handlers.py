"""Handlers of work-item ids, the launch range and barriers (`gpu`, `kernel`)."""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.ir import Operation

from ...ir.dialects.kernel import GlobalRangeOp
from ...ir.dialects.spirv.enums import MemorySemantics
from ..errors import PassError
from .function_lowering import FunctionLowering, Handler
from .kernel_entry import KernelEntry
from .launch_place import DIMENSIONS

BARRIER_ORDERS = (
    MemorySemantics.AcquireRelease | MemorySemantics.WorkgroupMemory | MemorySemantics.UniformMemory
)
"""What a barrier of a work-group orders, images aside."""


def entry_of(fn: FunctionLowering, op: Operation) -> KernelEntry:
    """Returns the kernel around `op`; PassError in a function that no kernel inlines."""
    if fn.entry is None:
        raise PassError(f"'{op.name}' belongs into a kernel, found it in function @{fn.name}", op)
    return fn.entry


def _launch_value(kind: str) -> Handler:
    def lower(fn: FunctionLowering, op: Operation) -> None:
        dimension = op.properties["dimension"]
        assert isinstance(dimension, gpu.DimensionAttr)
        number = DIMENSIONS[dimension.data]
        fn.values[op.results[0]] = entry_of(fn, op).place.launch_value(kind, number)

    return lower


def _sub_group_value(name: str) -> Handler:
    def lower(fn: FunctionLowering, op: Operation) -> None:
        fn.values[op.results[0]] = entry_of(fn, op).place.sub_group_value(name)

    return lower


def _global_range(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, GlobalRangeOp)
    fn.values[op.results[0]] = entry_of(fn, op).place.global_range(op.dimension.value.data)


HANDLERS: dict[type[Operation], Handler] = {
    gpu.GlobalIdOp: _launch_value("global_id"),
    gpu.ThreadIdOp: _launch_value("thread_id"),
    gpu.BlockIdOp: _launch_value("block_id"),
    gpu.BlockDimOp: _launch_value("block_dim"),
    gpu.GridDimOp: _launch_value("grid_dim"),
    gpu.LaneIdOp: _sub_group_value("SubgroupLocalInvocationId"),
    gpu.SubgroupIdOp: _sub_group_value("SubgroupId"),
    gpu.NumSubgroupsOp: _sub_group_value("NumSubgroups"),
    gpu.SubgroupSizeOp: _sub_group_value("SubgroupSize"),
    GlobalRangeOp: _global_range,
}
"""Handlers of the gpu and kernel dialects."""
