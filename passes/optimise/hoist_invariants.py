"""Loop-invariant code motion out of `scf.for` and `scf.while`.

input:    scf.for … { %a = arith.mulf %x, %y … }     output:   %a = arith.mulf %x, %y
                                                               scf.for … { … }

Invariant: only operations move that may run even where the loop has no trips, and checks (`hoist_checks`).  Loads do
where nobody writes the array, ``lp.In``: out of range they give any value and do no harm.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.dialects.kernel import LoadFieldOp
from ...ir.dialects.kernel_reports import CheckOp
from ...ir.walk import block_operations, operands_of
from .effects import array_of, functions_of, is_speculatable, loops_of, read_only_arrays
from .hoist_checks import hoist_checks, is_inside

_LOOPS = frozenset((scf.ForOp, scf.WhileOp))
_LOADS = frozenset((memref.LoadOp, LoadFieldOp))


@dataclass(frozen=True)
class HoistInvariants(ModulePass):
    """Moves what every round of a loop computes alike out of the loop."""

    name = "hoist-invariants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            hoist_invariants(function)


def hoist_invariants(function: Operation) -> None:
    """Moves invariant operations out of the loops of one function, innermost loops first."""
    read_only = read_only_arrays(function)
    for loop in loops_of(function, _LOOPS):
        has_checks = False
        for region in loop.regions:
            for body in region.blocks:
                has_checks |= _hoist(body, loop, read_only)
        if has_checks:
            hoist_checks(loop)


def _hoist(body: Block, loop: Operation, read_only: Container[SSAValue]) -> bool:
    """Moves what may run where the loop has no rounds; returns whether there are checks."""
    assert loop.parent is not None
    has_checks = False
    for op in block_operations(body):
        has_checks |= type(op) is CheckOp
        is_constant = type(op) in _LOADS and not has_checks and array_of(operands_of(op)[0]) in read_only
        if (is_constant or is_speculatable(op)) and not any(
            is_inside(value, body) for value in operands_of(op)
        ):
            op.detach()
            loop.parent.insert_op_before(op, loop)
    return has_checks
