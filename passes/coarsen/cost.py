"""What a kernel's accesses to memory cost: their number, weighted by how often each runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation

from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp

LOOP_WEIGHT = 16.0
"""How much more often the body of a loop runs than what is around it."""
BORDER_WEIGHT = 0.05
"""How often the lanes disagree about a condition that compares ids with sizes."""
DATA_WEIGHT = 0.9
"""How often they disagree about one on data."""
WIDE_COST = 1.5
"""A wide access in scalar ones."""
_ACCESSES = (memref.LoadOp, memref.StoreOp, LoadFieldOp, StoreFieldOp)


def is_access(op: Operation) -> bool:
    """Whether an operation is a scalar access."""
    return isinstance(op, _ACCESSES)


def cost_of(block: Block, weight: float = 1.0) -> float:
    """Returns the cost of one work-item's run of a block."""
    total = 0.0
    for op in block.ops:
        total += weight * is_access(op)
        inner = weight * LOOP_WEIGHT if isinstance(op, scf.ForOp | scf.WhileOp) else weight
        for region in op.regions:
            for nested in region.blocks:
                total += cost_of(nested, inner)
    return total


class Cost:
    """The cost of code that is being written."""

    def __init__(self) -> None:
        self.total = 0.0
        """Of an invocation."""
        self._weight = 1.0

    def add(self, accesses: float) -> None:
        """Adds accesses where code is being written."""
        self.total += self._weight * accesses

    @contextmanager
    def times(self, factor: float) -> Generator[None]:
        """Code that is written inside runs so many times as often as what is around it."""
        around = self._weight
        self._weight *= factor
        try:
            yield
        finally:
            self._weight = around
