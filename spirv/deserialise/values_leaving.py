"""Which values leave the constructs that define them, and how.

A value that dominates the merge block of its construct is an operand of `spirv.mlir.merge` and so a result of
the selection or loop, level by level.  Any other (used where only a branch out of several constructs leads)
goes through a variable of the function.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction
from ..module_view import FunctionView
from ..operands import id_operands
from ..tables import Op
from .control_flow import Construct, ControlFlow, Level, contains


class LeavingValues:
    """Result of looking at every use of a function."""

    def __init__(self, flow: ControlFlow, function: FunctionView) -> None:
        self._flow = flow
        self.level: dict[int, Level] = {}
        """Where each value is defined."""
        self._block: dict[int, int] = {}
        self.exports: dict[Construct, dict[int, None]] = {}
        """Per construct the ids that leave it as results, in order."""
        self.through_variables: dict[int, None] = {}
        for item in function.parameters:
            self._define(item, flow.entry, None)
        for label in flow.order:
            for item in flow.blocks[label].body:
                self._define(item, label, flow.body_level[label])
        for number, label, level in self._uses():
            self._use(number, label, level)
        for number in self.through_variables:
            for exported in self.exports.values():
                exported.pop(number, None)

    def _define(self, item: Instruction, label: int, level: Level) -> None:
        if item.result_id is not None:
            self.level[item.result_id] = level
            self._block[item.result_id] = label

    def _uses(self) -> Iterator[tuple[int, int, Level]]:
        flow = self._flow
        for label in flow.order:
            block = flow.blocks[label]
            for item in block.body:
                if item.opcode == Op.Phi:
                    yield from self._phi_uses(item)
                    continue
                level = flow.end_level[label] if item is block.terminator else flow.body_level[label]
                used = item.operands[:1] if item.opcode == Op.Switch else id_operands(item)
                for number in used:
                    yield number, label, level

    def _phi_uses(self, item: Instruction) -> Iterator[tuple[int, int, Level]]:
        """Yields what an OpPhi uses, at the ends of the blocks that it comes from."""
        for value, before in zip(item.operands[::2], item.operands[1::2], strict=False):
            if before in self._flow.end_level:
                yield value, before, self._flow.end_level[before]

    def _use(self, number: int, label: int, level: Level) -> None:
        home = self.level.get(number)
        if home is None or contains(home, level) or number in self.through_variables:
            return
        chain: list[Construct] = []
        while home is not None and not contains(home, level):
            chain.append(home)
            home = home.parent
        place = self._block[number]
        dominates = self._flow.real.dominates
        for construct in chain:
            if not dominates(place, construct.merge):
                self.through_variables[number] = None
                return
            place = construct.merge
        if not dominates(place, label):
            self.through_variables[number] = None
            return
        for construct in chain:
            self.exports.setdefault(construct, {})[number] = None

    def exported(self, construct: Construct) -> list[int]:
        """Returns the ids that leave a construct as results, OpPhi of its merge block not counted."""
        return list(self.exports.get(construct, {}))
