"""A barrier at the end of a loop's rounds moves to their begin, where that saves one: the pass rotate-barriers.

input:    memref.store %v, %s[%t]                 output:   memref.store %v, %s[%t]
          "gpu.barrier"()                                   scf.while … do {
          scf.while … do {                                    "gpu.barrier"()
            round                                             round
            "gpu.barrier"()                                 }
          }                                                 memref.store %r, %out[%i]
          memref.store %r, %out[%i]

Moving it needs another barrier behind the loop, and the pass does so only where nobody would notice that it is missing:
behind the loop the kernel touches no shared memory before its next barrier, or its end.  Used where
`TargetEnv.rotates_barriers` says that barriers are what costs.

Invariant: between two accesses to shared memory there are the same barriers as before.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.dialects.kernel import is_kernel
from ..ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ..ir.dialects.spirv.attributes import StorageClassAttr
from ..ir.dialects.spirv.barrier import ControlBarrierOp
from ..ir.dialects.spirv.enums import StorageClass
from ..ir.walk import block_operations
from .optimise.effects import body_blocks, is_pure_class, optimised_functions
from .optimise.narrow_barriers import is_shared_only

_ACCESSES = (memref.LoadOp, memref.StoreOp, LoadFieldOp, StoreFieldOp)
_ENDS = (scf.YieldOp, scf.ConditionOp)


@dataclass(frozen=True)
class RotateBarriers(ModulePass):
    """Moves barriers at the end of rounds to their begin."""

    name = "rotate-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rotate_barriers(op)


_LOOPS = (scf.WhileOp, scf.ForOp)  # isinstance() of an operation's class is a call in Python


def rotate_barriers(module: Operation) -> None:
    """Changes the loops in the outermost block of every kernel of `module`."""
    for function in optimised_functions(module):
        blocks = body_blocks(function)
        if is_kernel(function) and len(blocks) == 1:
            ops = block_operations(blocks[0])
            for place, op in enumerate(ops):
                if type(op) in _LOOPS and _needs_none(ops[place + 1 :]):
                    _rotate(op, ops[:place])


def _rotate(loop: Operation, before: list[Operation]) -> None:
    body = loop.regions[-1].block
    first, last = _last_effect(before), _last_effect(block_operations(body))
    if not (isinstance(first, ControlBarrierOp) and isinstance(last, ControlBarrierOp)):
        return
    is_test_pure = len(loop.regions) == 1 or all(map(_is_pure, loop.regions[0].block.ops))
    if is_test_pure and is_shared_only(first) and is_shared_only(last):
        last.detach()
        start = body.first_op
        assert start is not None, "a body has a terminator"
        body.insert_op_before(last, start)
        first.detach()
        first.erase()


def _last_effect(ops: list[Operation]) -> Operation | None:
    return next((op for op in reversed(ops) if not _is_pure(op)), None)


def _is_pure(op: Operation) -> bool:
    return not op.regions and (is_pure_class(type(op)) or isinstance(op, _ENDS))


def _needs_none(behind: list[Operation]) -> bool:
    """Whether operations, to the next barrier of theirs or the kernel's end, touch no shared memory."""
    for op in behind:
        if isinstance(op, ControlBarrierOp) and is_shared_only(op):
            return True
        if not _is_elsewhere(op):
            return False
    return True


def _is_elsewhere(op: Operation) -> bool:
    if isinstance(op, _ACCESSES):
        return not any(_is_shared(operand.type) for operand in op.operands)
    if isinstance(op, scf.IfOp):
        return all(
            _is_elsewhere(inner) for region in op.regions for block in region.blocks for inner in block.ops
        )
    return _is_pure(op) or op.name == "func.return"


def _is_shared(type_: object) -> bool:
    return isinstance(type_, MemRefType) and type_.memory_space == StorageClassAttr(StorageClass.Workgroup)
