"""Executing functions in lockstep.

A `Batch` is some whole work-groups whose work-items run together: each operation is executed for all of them
at once.  A `Frame` is one call of a function in a batch; where work-items take different ways, its mask says
which are active, and what is computed for the others is never used.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ..call_graph import function_name
from ..errors import InvalidError
from .memory import Memory
from .scalars import Lanes
from .traps import ENDLESS, kernel_trap

if TYPE_CHECKING:
    from .launch import Launch


class Batch:
    """Whole work-groups that run in lockstep.

    Args:
        launch: what they belong to.
        groups: linear numbers of the work-groups.
    """

    def __init__(self, launch: Launch, groups: Lanes) -> None:
        self.launch = launch
        shape = launch.shape
        self.group_size = shape.group_size
        self.group_count = len(groups)
        self.size = self.group_count * self.group_size
        self.group_of_lane = np.repeat(np.arange(self.group_count), self.group_size)
        """Position of each work-item's group in the batch."""
        local = np.tile(np.arange(self.group_size), self.group_count)
        self.local_linear_ids = local
        self.items = groups[self.group_of_lane] * self.group_size + local
        """Numbers of the work-items, group by group."""
        self.local_ids = np.unravel_index(local, shape.local)
        self.group_ids = np.unravel_index(groups[self.group_of_lane], shape.group_counts)
        self.global_ids = tuple(
            group * size + own
            for group, size, own in zip(self.group_ids, shape.local, self.local_ids, strict=True)
        )
        self._sub_group_size = min(launch.options.sub_group_size, self.group_size)
        per_group = -(-self.group_size // self._sub_group_size)
        self.sub_group_of_lane = self.group_of_lane * per_group + local // self._sub_group_size
        """Number of each work-item's sub-group in the batch."""
        self.allocations: dict[Operation, Memory] = {}
        """Memory of each array and variable that a kernel makes, by what makes it."""
        self._iterations = 0

    @cached_property
    def sub_group_rows(self) -> Lanes:
        """The positions of the work-items of each sub-group, one row each; -1 where one has fewer."""
        rows = np.full((int(self.sub_group_of_lane[-1]) + 1, self._sub_group_size), -1, np.int64)
        rows[self.sub_group_of_lane, self.local_linear_ids % self._sub_group_size] = np.arange(self.size)
        return rows

    def run(self) -> None:
        """Runs the kernel.

        Raises:
            KernelTrap: a check found something wrong.
        """
        frame = Frame(self, np.ones(self.size, np.bool_))
        frame.run_function(self.launch.kernel, [bound(self) for bound in self.launch.bound])

    def count_iteration(self, frame: Frame, loop: Operation) -> None:
        """Notes that a loop starts another iteration.

        Raises:
            KernelTrap: there were too many in this batch.
        """
        self._iterations += 1
        limit = self.launch.options.step_limit
        if self._iterations > limit:
            frame.trap(
                loop,
                ENDLESS,
                int(frame.lanes[0]),
                f"loops took more than {limit} iterations; is this one endless? "
                "Raise step_limit= where it is not",
            )


class Frame:
    """One call of a function.

    Args:
        batch: the work-items.
        mask: which of them are active.
    """

    def __init__(self, batch: Batch, mask: Lanes) -> None:
        self.batch = batch
        self._mask = mask
        self._lanes: Lanes | None = None
        self._values: dict[SSAValue, Any] = {}

    @property
    def mask(self) -> Lanes:
        """Which work-items are active."""
        return self._mask

    @property
    def lanes(self) -> Lanes:
        """Positions of the active work-items, ascending; never none."""
        if self._lanes is None:
            self._lanes = np.flatnonzero(self._mask)
        return self._lanes

    @contextmanager
    def masked(self, mask: Lanes) -> Generator[None]:
        """Executes for some of the work-items while the context lasts."""
        outer, lanes = self._mask, self._lanes
        self._mask, self._lanes = mask, None
        yield
        self._mask, self._lanes = outer, lanes

    def run_function(self, function: Operation, arguments: list[Any]) -> list[Any]:
        """Runs a function of one block and returns its results.

        Raises:
            InvalidError: it has no body, or a body that is no structured control flow.
        """
        blocks = function.regions[0].blocks
        if len(blocks) != 1:
            name = function_name(function) if isinstance(function, func.FuncOp) else function.name
            raise InvalidError(
                f"the interpreter runs functions of one block with structured control flow (scf); '{name}' has "
                f"{len(blocks)} blocks"
            )
        return self.run_block(blocks[0], arguments)

    def run_block(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """Executes a block and returns the operands of its terminator."""
        values = self._values
        code = self.batch.launch.code(block)
        values.update(zip(block.args, arguments, strict=True))
        for op, handler, operands, results in code.steps:
            found = handler(self, op, [values[operand] for operand in operands])
            for result, value in zip(results, found, strict=True):
                values[result] = value
        return [values[operand] for operand in code.yielded]

    def full(self, value: Any) -> Lanes:
        """Returns a number for all work-items."""
        return np.full(self.batch.size, value)

    def trap(self, op: Operation, code: str, lane: int, message: str) -> NoReturn:
        """Ends the launch.

        Args:
            op: what was being executed.
            code: of this kind of mistake.
            lane: position of the work-item that it happened to.
            message: what was expected and found.
        """
        batch = self.batch
        raise kernel_trap(
            batch.launch.name,
            op,
            tuple(int(ids[lane]) for ids in batch.global_ids),
            code,
            message,
            tuple(int(ids[lane]) for ids in batch.group_ids),
        )
