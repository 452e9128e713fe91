"""Dead code elimination.

input:    %a = arith.addi %x, %y : i32          output:   (nothing, unless %a is used)
          scf.if %c { %b = arith.muli … }                 (nothing)
          memref.store %a, %p[%i]                         (nothing, if %p is private and nothing loads from it)
          %d, %e = scf.if %c -> (f32, f32) { … }          %d = scf.if %c -> (f32) { … }, if nothing uses %e

Invariant: stores to what anybody may read, barriers, calls and `scf.while` (which need not end) stay.
"""

# Operations are followed by xDSL's own fields, as in `ir.walk`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...ir.walk import operations
from .effects import body_blocks, functions_of, is_removable_class
from .fold_control_flow import narrow_if


@dataclass(frozen=True)
class DeadCodeElimination(ModulePass):
    """Removes operations without effect whose results nothing uses."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            eliminate_dead_code(function)


def eliminate_dead_code(function: Operation) -> None:
    """Removes dead operations from one function, in a backward walk; in one more for each that frees private memory."""
    while True:
        for block in reversed(body_blocks(function)):
            _block(block)
        written = [user for op in operations(function.regions[0]) for user in _only_writes(op)]
        if not written:
            return
        for user in written:
            user.detach()
            user.erase()


_PRIVATE = frozenset(("spirv.Variable", "memref.alloca"))
_STORES = {"spirv.Store": 0, "memref.store": 1}
"""The operand that says where to; the value may be a pointer, too."""
_PLACES = frozenset(("spirv.AccessChain", "spirv.InBoundsAccessChain"))


def _only_writes(memory: Operation) -> list[Operation]:
    """Returns the stores to private memory that nothing reads, and what computes their places, users first."""
    # A length that is computed is an error of the lowering, which must see it.
    if memory.name not in _PRIVATE or memory.operands:
        return []
    found: list[Operation] = []
    pending = [memory]
    while pending:
        for use in pending.pop().results[0].uses:
            user = use.operation
            if user.name in _PLACES and use.index == 0:
                pending.append(user)
            elif _STORES.get(user.name) != use.index:
                return []
            found.append(user)
    return found[::-1]


def _block(block: Block) -> bool:
    """Removes dead operations from a block; returns whether nothing with an effect remains before its terminator."""
    terminator = op = block._last_op
    is_free = True
    while op is not None:
        previous = op._prev_op
        if isinstance(op, scf.IfOp) and op.results and narrow_if(op):
            op = block._first_op if previous is None else previous._next_op
            assert op is not None
        may_go = _is_free(op) if op.regions else is_removable_class(type(op))
        if may_go and not any(result.first_use is not None for result in op.results):
            op.detach()
            op.erase()
        elif op is not terminator:
            is_free &= may_go
        op = previous
    return is_free


def _is_free(op: Operation) -> bool:
    """Whether an operation with regions may go where nothing uses its results, once what is dead inside has gone."""
    # All blocks are gone through, also behind one with an effect.
    inner = [_block(block) for region in op.regions for block in reversed(region.blocks)]
    return all(inner) if isinstance(op, scf.IfOp | scf.ForOp) else is_removable_class(type(op))
