"""Work-group barriers that order shared memory only, where that is all that work-items exchange.

input:    %v = memref.load %a[%i]        (%a is an lp.In array, %tile shared memory)
          memref.store %v, %tile[%t]
          "gpu.barrier"()
          …
          memref.store %s, %out[%i]      (%out is an lp.Out array)

output:   the same with  "spirv.ControlBarrier"() <{… memory_semantics = AcquireRelease|WorkgroupMemory}>

`gpu.barrier` orders buffers too.  That costs time on GPUs (13 % of a tiled matrix product on an NVIDIA H200), and
matters only where one work-item may touch after the barrier what another wrote before it, or write what another read.

Invariant: between every two accesses of that kind there is a barrier of the same strength as before.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.spirv.barrier import ControlBarrierOp
from ...ir.dialects.spirv.enums import MemorySemantics, Scope
from ...ir.walk import has_any
from .effects import body_blocks, functions_of
from .exchanges import Exchanges, UnknownExchangeError

_SHARED_ONLY = MemorySemantics.AcquireRelease | MemorySemantics.WorkgroupMemory


@dataclass(frozen=True)
class NarrowBarriers(ModulePass):
    """Makes barriers order shared memory only, where work-items exchange nothing through buffers."""

    name = "narrow-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            narrow_barriers(function)


def narrow_barriers(function: Operation) -> None:
    """Narrows the barriers of one kernel; leaves other functions alone, whose callers are not known here."""
    if not is_kernel(function) or not has_any(function, gpu.BarrierOp, ControlBarrierOp):
        return
    if len(body_blocks(function)) != 1:
        return
    try:
        exchanges = Exchanges(function)
    except UnknownExchangeError:
        return
    for barrier in exchanges.barriers:
        if _is_narrowed(barrier) and not exchanges.is_needed(barrier):
            _replace(barrier)


def _is_narrowed(op: Operation) -> bool:
    """Whether it is a barrier of a work-group that orders buffers for the work-group, and may order less."""
    if isinstance(op, ControlBarrierOp):
        return (
            op.execution_scope.data is op.memory_scope.data is Scope.Workgroup
            and op.memory_semantics.data == _SHARED_ONLY | MemorySemantics.UniformMemory
        )
    return isinstance(op, gpu.BarrierOp)


def is_shared_only(barrier: ControlBarrierOp) -> bool:
    """Whether a barrier is one of a work-group that orders its shared memory and nothing else."""
    return (
        barrier.execution_scope.data is barrier.memory_scope.data is Scope.Workgroup
        and barrier.memory_semantics.data == _SHARED_ONLY
    )


def _replace(barrier: Operation) -> None:
    narrow = ControlBarrierOp(Scope.Workgroup, Scope.Workgroup, _SHARED_ONLY)
    narrow.location = barrier.location
    block = barrier.parent
    assert block is not None
    block.insert_op_before(narrow, barrier)
    barrier.detach()
    barrier.erase()
