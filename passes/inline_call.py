"""Puts the body of a function in the place of a call of it; what `inline` and the checks of debug mode share."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, SSAValue

from ..ir.call_graph import Function
from ..ir.dialects.kernel import LIBRARY
from ..ir.walk import operations


def inline_call(call: Operation, callee: Function) -> list[Operation]:
    """Replaces a call of a function of one block; returns the operations that stand there now."""
    body, block = callee.body.blocks[0], call.parent
    assert block is not None
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    made: list[Operation] = []
    for op in body.ops:
        if op is body.last_op:
            break
        copy = op.clone(values)
        block.insert_op_before(copy, call)
        made += operations(copy)
        if LIBRARY in callee.attributes:  # messages then name the user's line, not one of our library
            for inner in copy.walk():
                inner.location = call.location
    _end(call, body, values)
    return made


def move_body(call: Operation, callee: Function) -> None:
    """Replaces the only call of a function of one block by the body itself, of which nothing is left then."""
    body, block = callee.body.blocks[0], call.parent
    assert block is not None
    for argument, value in zip(body.args, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    for op in list(body.ops)[:-1]:
        op.detach()
        block.insert_op_before(op, call)
    _end(call, body, {})


def _end(call: Operation, body: Block, values: Mapping[SSAValue, SSAValue]) -> None:
    """Lets what a body returns take the place of a call's results."""
    last = body.last_op
    assert last is not None
    for old, new in zip(call.results, last.operands, strict=True):
        old.replace_all_uses_with(values.get(new, new))
    call.detach()
    call.erase()
