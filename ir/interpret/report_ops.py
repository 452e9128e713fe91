"""Checks and prints.  The loops of the interpreter have no cap, so nothing counts their rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..dialects.kernel_reports import CheckOp, PrintOp, dtypes_of
from ..kernel_info import Site
from ..site_text import shown, text_of, trap_of
from .dispatch import handles
from .frame import Frame
from .traps import place_of


@handles("kernel.check")
def check(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Ends the launch where a check failed for an active work-item.

    Raises:
        KernelTrap: of the first such work-item.
    """
    assert isinstance(op, CheckOp)
    failed, *values = operands
    lanes = np.flatnonzero(failed & frame.mask)
    if not len(lanes):
        return ()
    site = Site(kind=op.kind.data, text=op.text.data, dtypes=dtypes_of(op), location=place_of(op))
    lane, batch = int(lanes[0]), frame.batch
    work_item = tuple(int(ids[lane]) for ids in batch.global_ids)
    raise trap_of(batch.launch.name, site, work_item, _values(site, values, lane))


@handles("kernel.print")
def print_(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Notes a line for each active work-item."""
    assert isinstance(op, PrintOp)
    site, batch = Site(kind="print", text=op.text.data, dtypes=dtypes_of(op)), frame.batch
    stream = op.stream_name
    batch.launch.lines += [
        (int(batch.items[lane]), stream, text_of(site, _values(site, operands, lane))) for lane in frame.lanes
    ]
    return ()


def _values(site: Site, operands: Sequence[Any], lane: int) -> list[object]:
    """Returns the values of one work-item as Python numbers; integers of the IR have no sign of their own."""
    return [
        shown(value[lane].astype(f"u{value.dtype.itemsize}") if dtype.startswith("u") else value[lane], dtype)
        for value, dtype in zip(operands, site.dtypes, strict=True)
    ]


@handles("kernel.count_rounds", "kernel.agree_on_rounds", "kernel.check_rounds")
def rounds(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Does nothing: only drivers that end loops early need these."""
    return ()
