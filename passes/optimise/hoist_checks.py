"""Moves checks whose values a loop does not change in front of it; a part of hoist-invariants.

input:    scf.for %k = %a to %b … {               output:   %runs = arith.cmpi slt, %a, %b
            kernel.check %failed, %i, %n                    %both = arith.andi %failed, %runs
            …                                               kernel.check %both, %i, %n
          }                                                 scf.for %k = %a to %b … { … }

Invariant: the first failure of a work-item stays the first.  So only checks move that the first round meets for
certain, and before it meets anything else that reports.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects.kernel_reports import REPORT_NAMES, CheckOp
from ...ir.walk import block_operations, operands_of
from .constants import constant_integer


def hoist_checks(loop: Operation) -> None:
    """Moves the leading checks of a `scf.for` that do not depend on the round; others stay, and all behind them."""
    if not isinstance(loop, scf.ForOp):
        return
    start, stop = constant_integer(loop.lb), constant_integer(loop.ub)
    is_certain = start is not None and stop is not None and start < stop
    if start is not None and stop is not None and not is_certain:
        return
    body, runs = loop.body.block, None
    for op in block_operations(body):
        if not _may_report(op):
            continue
        if not isinstance(op, CheckOp) or any(is_inside(value, body) for value in operands_of(op)):
            return
        if not is_certain:
            runs = runs or _before(loop, arith.CmpiOp(loop.lb, loop.ub, "slt"), op)
            both = create(arith.AndIOp, (op.failed, runs), (i1,))
            op.operands[0] = _before(loop, both, op)
        op.detach()
        _before(loop, op, op)


def _may_report(op: Operation) -> bool:
    """Whether an operation, regions included, tells the host something; a call may."""
    return any(inner.name in REPORT_NAMES or inner.name == "func.call" for inner in op.walk())


def _before(loop: Operation, op: Operation, origin: Operation) -> SSAValue:
    assert loop.parent is not None
    op.location = origin.location
    loop.parent.insert_op_before(op, loop)
    return op.results[0] if op.results else origin.operands[0]


def is_inside(value: SSAValue, body: Block) -> bool:
    """Whether an operand of an operation in `body` is made in that block, and not outside of the loop."""
    owner = value.owner
    return owner is body if type(owner) is Block else cast("Operation", owner).parent is body
