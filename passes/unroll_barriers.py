"""Short loops with barriers are written out: the pass unroll-barriers.

input:    %r:2 = scf.while (%w = %two, %v = %x) {       output:   %a = round(%two, %x)
            %c = arith.cmpi sgt, %w, %zero                        "gpu.barrier"()
            scf.condition(%c) %w, %v                              %b = round(%one, %a)
          } do {                                                  "gpu.barrier"()
            %u = round(%w, %v)
            "gpu.barrier"()
            %h = arith.shrsi %w, %one  scf.yield %h, %u
          }

llvmpipe makes a coroutine of a kernel with barriers, and reads and writes arrays in a loop over the work-items of a
sub-group.  Where a loop of the kernel goes around a barrier, LLVM keeps what that inner loop counts and collects in the
coroutine's frame, in memory; between two barriers that follow each other it keeps them in registers.  So trees and
scans in shared memory, whose rounds are known, gain.  Used where `TargetEnv.unrolls_barriers` says so.

Loops inside of other loops stay: the outer one goes around their barriers in any case.

Invariant: the operations run in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.dialects.spirv.barrier import ControlBarrierOp
from ..ir.walk import block_operations
from .copies import copy_block
from .loop_bounds import exact_rounds
from .optimise.dce import eliminate_dead_code
from .optimise.effects import body_blocks, optimised_functions
from .optimise.fold_control_flow import replace
from .optimise.forward_walk import ForwardWalk
from .unroll import size, unroll_if_short

MAXIMUM_ROUNDS = 16
MAXIMUM_OPERATIONS = 512
"""What all rounds together may become."""
_BARRIERS = (gpu.BarrierOp, ControlBarrierOp)
_LOOPS = (scf.ForOp, scf.WhileOp)


@dataclass(frozen=True)
class UnrollBarriers(ModulePass):
    """Writes out short loops with barriers."""

    name = "unroll-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_barriers(op)


def unroll_barriers(module: Operation, *, disabled: Collection[str] = ()) -> None:
    """Changes the outermost loops of every function of `module`; passes that are `disabled` do not clean up then."""
    for function in optimised_functions(module):
        loops = [op for block in body_blocks(function) for op in block_operations(block) if _is_wanted(op)]
        changed = [
            unroll_if_short(op)
            if isinstance(op, scf.ForOp)
            else isinstance(op, scf.WhileOp) and _unroll_while(op)
            for op in loops
        ]
        if any(changed):  # what a round computes of its number is known now
            ForwardWalk(fold="canonicalize" not in disabled, number="cse" not in disabled).run(function)
            if "dce" not in disabled:
                eliminate_dead_code(function)


def _is_wanted(op: Operation) -> bool:
    """Whether an operation is a loop around a barrier, without loops or calls inside."""
    if type(op) not in _LOOPS:  # isinstance() of an operation's class is a call in Python
        return False
    inside = [inner for region in op.regions for inner in region.block.walk()]
    has_barrier = any(isinstance(inner, _BARRIERS) for inner in inside)
    return has_barrier and not any(
        isinstance(inner, scf.ForOp | scf.WhileOp | func.CallOp) for inner in inside
    )


def _unroll_while(op: scf.WhileOp) -> bool:
    test, body = op.before_region.block, op.after_region.block
    rounds = exact_rounds(op)
    if rounds is None or rounds > MAXIMUM_ROUNDS or rounds * (size(test) + size(body)) > MAXIMUM_OPERATIONS:
        return False
    assert op.parent is not None
    _, *passed = copy_block(test, op.operands, op.parent, op)
    for _ in range(rounds):
        carried = copy_block(body, passed, op.parent, op)
        _, *passed = copy_block(test, carried, op.parent, op)
    replace(op, passed)
    return True
