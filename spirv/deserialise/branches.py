"""The ends of blocks: branches within a region, out of it, and what they pass to the OpPhi that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_type
from ..binary import Instruction
from ..module_view import ModuleView
from ..tables import Op
from .constants import scalar
from .control_flow import Construct, ControlFlow, Level, contains
from .errors import unreadable
from .function_values import FunctionValues


@dataclass(slots=True, eq=False)
class Structured:
    """A construct as it is built."""

    op: spirv.SelectionOp | spirv.LoopOp
    holder: Block
    """The block that it stands in."""
    first: Block
    """Header block of a selection, entry block of a loop."""
    merge: Block
    blocks: list[Block] = field(default_factory=list[Block])
    """In between."""
    header: Block | None = None
    continue_block: Block | None = None


@dataclass(slots=True, eq=False)
class Places:
    """Where the parts of a function go."""

    own: list[Block] = field(default_factory=list[Block])
    """The blocks of the function's own region."""
    blocks: dict[int, Block] = field(default_factory=dict[int, Block])
    """The block that holds the instructions of a label."""
    structured: dict[Construct, Structured] = field(default_factory=dict[Construct, Structured])
    hosts: dict[int, Block] = field(default_factory=dict[int, Block])
    """The block that a loop stands in, by the label of its header, where it has one for itself."""

    def blocks_at(self, level: Level) -> list[Block]:
        """Returns the blocks of a construct's region, or of the function's."""
        return self.own if level is None else self.structured[level].blocks


class Branches:
    """Reads the terminators of one function."""

    def __init__(self, view: ModuleView, flow: ControlFlow, values: FunctionValues, places: Places) -> None:
        self._view = view
        self._flow = flow
        self._values = values
        self._places = places

    def terminator(self, label: int, end: Instruction) -> Operation:
        """Returns the operation that ends the block of a label."""
        words = end.operands
        if end.opcode == Op.Return:
            return spirv.ReturnOp()
        if end.opcode == Op.ReturnValue:
            return spirv.ReturnValueOp(self._values.value(words[0], end))
        if end.opcode == Op.Unreachable:
            return spirv.UnreachableOp()
        if end.opcode == Op.Branch:
            return self._jump(label, words[0], end)
        if end.opcode == Op.BranchConditional:
            return self._conditional(label, end)
        if end.opcode == Op.Switch:
            return self._switch(label, end)
        return unreadable("the dialect has no such operation", end)

    def _jump(self, label: int, target: int, end: Instruction) -> Operation:
        values = self.passed(label, target, end)
        block = self._local(label, target)
        return self._away(label, target, values, end) if block is None else spirv.BranchOp(block, values)

    def _conditional(self, label: int, end: Instruction) -> Operation:
        if end.operands[1] == end.operands[2]:
            return self._one_way(label, end.operands[1], end)
        condition = self._values.value(end.operands[0], end)
        on_true = self._edge(label, end.operands[1], end)
        on_false = self._edge(label, end.operands[2], end)
        op = spirv.BranchConditionalOp(condition, on_true[0], on_false[0], on_true[1], on_false[1])
        if len(end.operands) > 3:
            weights = [w - (1 << 32) if w >> 31 else w for w in end.operands[3:]]
            op.properties["branch_weights"] = ArrayAttr([IntegerAttr(weight, i32) for weight in weights])
        return op

    def _switch(self, label: int, end: Instruction) -> Operation:
        selector = self._values.value(end.operands[0], end)
        if not is_integer_type(selector.type):
            unreadable(f"its selector is of type {selector.type}", end)
        size = self._view.switch_literal_words(end.operands[0])
        edges: dict[int, tuple[Block, Sequence[SSAValue]]] = {}
        targets = end.operands[1:2] + end.operands[2 + size :: size + 1]
        for target in targets:
            if target not in edges:
                edges[target] = self._edge(label, target, end)
        cases: list[tuple[IntegerAttr, Block, Sequence[SSAValue]]] = []
        for index, target in enumerate(targets[1:]):
            start = 2 + index * (size + 1)
            literal = scalar(
                Instruction(Op.Constant, None, None, end.operands[start : start + size]), selector.type
            )
            assert isinstance(literal, IntegerAttr)
            cases.append((literal, *edges[target]))
        return spirv.SwitchOp(selector, edges[targets[0]], cases)

    def _edge(self, label: int, target: int, end: Instruction) -> tuple[Block, Sequence[SSAValue]]:
        """Returns a block of this region for a branch to `target`, and what to pass to it."""
        values = self.passed(label, target, end)
        block = self._local(label, target)
        if block is not None:
            return block, values
        edge = Block([self._away(label, target, values, end, is_edge=True)])
        self._places.blocks_at(self._flow.end_level[label]).append(edge)
        return edge, ()

    def _one_way(self, label: int, target: int, end: Instruction) -> Operation:
        """Reads a conditional branch whose ways are one, of which SPIR-V 1.6 has none."""
        construct = self._flow.constructs.get(label)
        if construct is None or construct.is_loop:
            return self._jump(label, target, end)
        # A selection's header must end in a choice, so this is one with a single target.
        selector = spirv.ConstantOp(IntegerAttr(0, i32))
        self._values.insert(selector)
        return spirv.SwitchOp(selector.result, self._edge(label, target, end), [])

    def passed(self, label: int, target: int, end: Instruction) -> list[SSAValue]:
        """Returns the operands of `target`'s OpPhi for the branch from `label`."""
        found: list[SSAValue] = []
        for item in self._flow.blocks[target].body:
            if item.opcode != Op.Phi:
                continue
            value = next(
                (v for v, b in zip(item.operands[::2], item.operands[1::2], strict=False) if b == label), None
            )
            if value is None:
                unreadable(f"it has no value for its predecessor %{label}", item)
            found.append(self._values.value(value, end))
        return found

    def _local(self, label: int, target: int) -> Block | None:
        """Returns the block of the terminator's own region that a branch leads to; None where it leaves the region."""
        flow, level = self._flow, self._flow.end_level[label]
        merged, loop = flow.by_merge.get(target), flow.constructs.get(target)
        if merged is not None and contains(merged, level):
            return self._places.structured[merged].merge if merged is level else None
        if loop is not None and loop.is_loop:
            if loop is level:
                return self._places.structured[loop].header
            return self._places.hosts.get(target) if loop.parent is level else None
        return self._places.blocks[target] if flow.body_level[target] is level and merged is None else None

    def _away(
        self, label: int, target: int, values: Sequence[SSAValue], end: Instruction, *, is_edge: bool = False
    ) -> Operation:
        flow, level = self._flow, self._flow.end_level[label]
        merged = flow.by_merge.get(target)
        if level is not None and merged is not None and contains(merged, level):
            return spirv.BreakOp(level.depth - merged.depth, values, is_edge=is_edge)
        loop = level
        while loop is not None and not loop.is_loop:
            loop = loop.parent
        if loop is not None and loop.continue_target == target and loop is not level and merged is None:
            return spirv.ContinueOp(values, is_edge=is_edge)
        return unreadable(f"it branches to %{target}, which is in another construct", end)
