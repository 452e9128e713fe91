"""Structured control flow and calls: each way is taken with the work-items that take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from ..errors import InvalidError
from .dispatch import handles
from .frame import Frame
from .values import merge


@handles("scf.if")
def if_(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Runs each branch for the work-items that take it."""
    mask, condition = frame.mask, operands[0]
    found: list[list[Any] | None] = [None, None]
    for position, active in enumerate((mask & condition, mask & ~condition)):
        blocks = op.regions[position].blocks
        if blocks and active.any():
            with frame.masked(active):
                found[position] = frame.run_block(blocks[0], ())
    then, other = found
    if then is None or other is None:
        return (then or other or []) if op.results else ()
    return [merge(condition, a, b) for a, b in zip(then, other, strict=True)]


@handles("scf.for")
def for_(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Runs the body as long as any work-item is below its bound."""
    index, end, step, *carried = operands
    _check_step(frame, op, step)
    body = op.regions[0].blocks[0]
    active = frame.mask & (index < end)
    while active.any():
        frame.batch.count_iteration(frame, op)
        with frame.masked(active):
            yielded = frame.run_block(body, [index, *carried])
        carried = [merge(active, new, old) for new, old in zip(yielded, carried, strict=True)]
        following = index + step
        active = active & (following > index) & (following < end)  # beyond the largest number is the end
        index = following
    return carried


def _check_step(frame: Frame, op: Operation, step: Any) -> None:
    if (step[frame.lanes] <= 0).any():
        raise InvalidError(f"the step of an scf.for is positive; found {int(step[frame.lanes].min())}")


@handles("scf.while")
def while_(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Runs test and body until the test is false for every work-item."""
    test, body = (region.blocks[0] for region in op.regions)
    active, carried = frame.mask, operands
    results: list[Any] | None = None
    while True:
        frame.batch.count_iteration(frame, op)
        with frame.masked(active):
            condition, *passed = frame.run_block(test, carried)
        stays = active & condition
        results = (
            passed
            if results is None
            else [merge(active, new, old) for new, old in zip(passed, results, strict=True)]
        )
        if not stays.any():
            return results
        with frame.masked(stays):
            yielded = frame.run_block(body, passed)
        carried = [merge(stays, new, old) for new, old in zip(yielded, carried, strict=True)]
        active = stays


@handles("func.call")
def call(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Runs another function for the active work-items."""
    callee = op.properties["callee"]
    assert isinstance(callee, SymbolRefAttr)
    function = frame.batch.launch.callees.get(callee.string_value())
    if function is None or not function.regions[0].blocks:
        raise InvalidError(f"function '{callee.string_value()}' is called, and has no body here")
    return Frame(frame.batch, np.array(frame.mask)).run_function(function, operands)
