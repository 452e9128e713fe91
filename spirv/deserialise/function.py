"""One function: its blocks into regions, its instructions into operations.

A merge block's instructions go behind its selection or loop, in the block that holds it; a loop stands at the
end of the block that branches to it.  OpPhi becomes a block argument.  Blocks are read in an order in which
definitions come first; terminators, which may pass values of later blocks, come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ...ir.dialects import spirv
from ...ir.dialects.spirv import enums
from ..binary import Instruction
from ..module_view import MERGES, FunctionView
from ..tables import Op
from .branches import Branches, Places, Structured
from .control_flow import Construct, ControlFlow, contains
from .errors import unreadable
from .function_values import FunctionValues
from .module_values import ModuleValues
from .operations import read_operation
from .values_leaving import LeavingValues

ControlT = TypeVar("ControlT", enums.SelectionControl, enums.LoopControl)


class FunctionReader:
    """Reads the body of one function into a region."""

    def __init__(self, values: ModuleValues, function: FunctionView) -> None:
        self._module = values
        self._function = function
        self._flow = ControlFlow(values.view, function)
        self._leaving = LeavingValues(self._flow, function)
        self._values = FunctionValues(values, self._leaving)
        self._places = Places()
        self._branches = Branches(values.view, self._flow, self._values, self._places)
        self._ends: dict[int, Block] = {}
        """The block that holds the terminator of a label."""
        self._absorbed: set[int] = set()
        """Labels whose branch needs no operation: what it leads to follows in the same block."""
        self._location: Attribute | None = None

    def read(self, inputs: Sequence[Attribute]) -> Region:
        """Returns the body."""
        entry = Block(arg_types=inputs)
        for item, argument in zip(self._function.parameters, entry.args, strict=True):
            self._values.define(item.result_id or 0, argument)
        self._places.own.append(entry)
        self._places.blocks[self._flow.entry] = entry
        for number in self._leaving.through_variables:
            self._values.add_variable(number, entry)
        for label in self._flow.order:
            self._read_block(label)
        for label in self._flow.order:
            self._read_end(label)
        for construct, structured in self._places.structured.items():
            self._close(construct, structured)
        return Region(self._places.own)

    # Blocks

    def _read_block(self, label: int) -> None:
        flow, block = self._flow, self._flow.blocks[label]
        construct = flow.constructs.get(label)
        phis = [item for item in block.body if item.opcode == Op.Phi]
        place = self._place(label, phis)
        self._places.blocks[label] = self._ends[label] = place
        self._values.level, self._values.insert = flow.body_level[label], place.add_op
        self._location = None
        for item in phis:
            self._values.keep(item.result_id or 0, place)
        for item in block.body:
            if item.opcode in (Op.Line, Op.NoLine):
                self._location = self._line(item)
            elif item.opcode not in MERGES and item.opcode != Op.Phi and item is not block.terminator:
                self._instruction(item, place)
        if construct is not None and not construct.is_loop:
            self._open_selection(construct, place)
            self._ends[label] = self._places.structured[construct].first
        elif construct is not None and construct.continue_target == label:
            # A loop of one block: its end becomes a continue block of its own.
            structured = self._places.structured[construct]
            structured.continue_block = Block()
            place.add_op(spirv.BranchOp(structured.continue_block))
            self._ends[label] = structured.continue_block

    def _place(self, label: int, phis: Sequence[Instruction]) -> Block:
        """Returns the block for a label's instructions, with its arguments where OpPhi asks for them."""
        flow = self._flow
        construct, merged = flow.constructs.get(label), flow.by_merge.get(label)
        if merged is not None and merged not in self._places.structured:
            unreadable(
                f"%{label} is the merge block of a header that does not come before it", merged.instruction
            )
        level = flow.body_level[label]
        if label == flow.entry:
            return self._places.blocks[label]
        if construct is not None and construct.is_loop:
            return self._open_loop(construct, phis)
        is_continue = level is not None and level.continue_target == label
        if merged is not None and not is_continue:
            for item in phis:
                number = item.result_id or 0
                self._values.define(number, self._values.results[(merged, number)])
            return self._places.structured[merged].holder
        before = flow.predecessors[label]
        if not phis and not is_continue and len(before) == 1 and self._follows_in_continue(before[0], label):
            self._absorbed.add(before[0])
            return self._ends[before[0]]
        place = Block()
        for item in phis:
            argument = place.insert_arg(self._values.type_of(item.result_id or 0), len(place.args))
            self._values.define(item.result_id or 0, argument)
        if is_continue:
            assert level is not None
            self._places.structured[level].continue_block = place
        else:
            self._places.blocks_at(level).append(place)
        return place

    def _follows_in_continue(self, before: int, label: int) -> bool:
        """Whether `label` goes on where `before` ends, inside of a continue construct, which is one block here."""
        level = self._flow.body_level[label]
        end = self._flow.blocks[before].terminator
        return (
            level is not None
            and level.continue_target is not None
            and end is not None
            and end.opcode == Op.Branch
            and self._flow.end_level[before] is level
            and self._flow.structurally_dominates(level.continue_target, before)
            and level.continue_target != level.header
        )

    def _open(
        self, construct: Construct, op: spirv.SelectionOp | spirv.LoopOp, structured: Structured
    ) -> None:
        merge_phis = self._merge_phis(construct)
        for item in merge_phis:
            structured.merge.insert_arg(self._values.type_of(item.result_id or 0), len(structured.merge.args))
        numbers = [item.result_id or 0 for item in merge_phis] + self._leaving.exported(construct)
        for number, result in zip(numbers, op.results, strict=True):
            self._values.results[(construct, number)] = result
        self._places.structured[construct] = structured
        structured.holder.add_op(op)
        if self._location is not None:
            op.location = self._location  # pyright: ignore[reportAttributeAccessIssue]

    def _merge_phis(self, construct: Construct) -> list[Instruction]:
        return [item for item in self._flow.blocks[construct.merge].body if item.opcode == Op.Phi]

    def _result_types(self, construct: Construct) -> list[Attribute]:
        numbers = [item.result_id or 0 for item in self._merge_phis(construct)]
        return [self._values.type_of(number) for number in (*numbers, *self._leaving.exported(construct))]

    def _open_selection(self, construct: Construct, holder: Block) -> None:
        control = _control(enums.SelectionControl, construct.instruction, 1)
        op = spirv.SelectionOp(Region(), control, self._result_types(construct))
        self._open(construct, op, Structured(op, holder, Block(), Block()))

    def _open_loop(self, construct: Construct, phis: Sequence[Instruction]) -> Block:
        item = construct.instruction
        control = _control(enums.LoopControl, item, 2)
        numbers = [n - (1 << 32) if n >> 31 else n for n in item.operands[3:]]
        op = spirv.LoopOp(Region(), control, self._result_types(construct), numbers)
        header = Block(arg_types=[self._values.type_of(phi.result_id or 0) for phi in phis])
        structured = Structured(op, self._loop_holder(construct, phis), Block(), Block(), header=header)
        self._open(construct, op, structured)
        for phi, argument in zip(phis, header.args, strict=True):
            self._values.define(phi.result_id or 0, argument)
        return header

    def _loop_holder(self, construct: Construct, phis: Sequence[Instruction]) -> Block:
        flow, label = self._flow, construct.header
        merged = flow.by_merge.get(label)
        if merged is not None:
            return self._places.structured[merged].holder
        outside = self._outside(construct)
        if len(outside) == 1:
            end = flow.blocks[outside[0]].terminator
            if end is not None and end.opcode == Op.Branch and flow.end_level[outside[0]] is construct.parent:
                self._absorbed.add(outside[0])
                return self._ends[outside[0]]
        holder = Block(arg_types=[self._values.type_of(phi.result_id or 0) for phi in phis])
        self._places.blocks_at(construct.parent).append(holder)
        self._places.hosts[label] = holder
        return holder

    def _outside(self, construct: Construct) -> list[int]:
        """Returns the predecessors of a loop's header that are not in the loop."""
        flow = self._flow
        return [p for p in flow.predecessors[construct.header] if not contains(construct, flow.end_level[p])]

    # Instructions

    def _line(self, item: Instruction) -> Attribute | None:
        if item.opcode == Op.NoLine or len(item.operands) < 3:
            return None
        file = self._module.strings.get(item.operands[0], "")
        line, column = item.operands[1:3]
        return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))

    def _instruction(self, item: Instruction, place: Block) -> None:
        if item.opcode == Op.Nop or self._module.is_debug(item):
            return
        if item.opcode == Op.Undef:
            op: Operation = spirv.UndefOp(self._module.types.type(item.result_type or 0, item))
        elif item.opcode == Op.Variable:
            op = self._variable(item)
        elif item.opcode == Op.FunctionCall and self._module.types.is_void(item.result_type or 0):
            op = read_operation(self._values, item._replace(result_type=None))
        else:
            op = read_operation(self._values, item)
        if self._location is not None:
            op.location = self._location  # pyright: ignore[reportAttributeAccessIssue]
        place.add_op(op)
        number = item.result_id
        if number is not None:
            op.attributes |= self._module.decorations(number, item)
            if op.results:
                self._values.define(number, op.results[0])
                self._values.keep(number, place)

    def _variable(self, item: Instruction) -> Operation:
        type_ = self._module.types.pointer(item.result_type or 0, item)
        initializer = [self._values.value(number, item) for number in item.operands[1:2]]
        return spirv.VariableOp(type_, *initializer)

    # Ends of blocks

    def _read_end(self, label: int) -> None:
        if label in self._absorbed:
            return
        flow = self._flow
        end = flow.blocks[label].terminator
        assert end is not None
        place = self._ends[label]
        self._values.level, self._values.insert = flow.end_level[label], place.add_op
        op = self._branches.terminator(label, end)
        location = self._line_of(label)
        if location is not None:
            op.location = location  # pyright: ignore[reportAttributeAccessIssue]
        place.add_op(op)

    def _line_of(self, label: int) -> Attribute | None:
        location: Attribute | None = None
        for item in self._flow.blocks[label].body:
            if item.opcode in (Op.Line, Op.NoLine):
                location = self._line(item)
        return location

    # Constructs as a whole

    def _close(self, construct: Construct, structured: Structured) -> None:
        flow = self._flow
        self._values.level = construct
        numbers = self._leaving.exported(construct)
        yields = [*structured.merge.args, *(self._values.value(n, construct.instruction) for n in numbers)]
        structured.merge.add_op(spirv.MergeOp(yields))
        blocks = [structured.first, *structured.blocks, structured.merge]
        if construct.is_loop:
            self._enter(construct, structured)
            assert structured.header is not None and structured.continue_block is not None
            tail = [structured.continue_block, structured.merge]
            blocks = [structured.first, structured.header, *structured.blocks, *tail]
        for block in blocks:
            structured.op.body.add_block(block)
        level = flow.body_level[construct.merge]
        if level is not None and level.continue_target == construct.merge:
            phis = self._merge_phis(construct)
            block = self._places.structured[level].continue_block
            assert block is not None
            passed = [self._values.results[(construct, phi.result_id or 0)] for phi in phis]
            structured.holder.add_op(spirv.BranchOp(block, passed))

    def _enter(self, construct: Construct, structured: Structured) -> None:
        """Passes a loop its first values."""
        header = structured.header
        assert header is not None
        phis = [item for item in self._flow.blocks[construct.header].body if item.opcode == Op.Phi]
        merged = self._flow.by_merge.get(construct.header)
        host = self._places.hosts.get(construct.header)
        if merged is not None:
            values = [self._values.results[(merged, phi.result_id or 0)] for phi in phis]
        elif host is not None:
            values = list(host.args)
        else:
            (before,) = self._outside(construct)
            self._values.level = construct.parent
            self._values.insert = lambda op: structured.holder.insert_op_before(op, structured.op)
            values = self._branches.passed(before, construct.header, construct.instruction)
        structured.first.add_op(spirv.BranchOp(header, values))


def _control(kind: type[ControlT], item: Instruction, index: int) -> ControlT:
    known = sum(int(flag) for flag in kind)
    word = item.operands[index] if len(item.operands) > index else 0
    if word & ~known:
        unreadable(f"{word & ~known:#x} is no {kind.__name__} of the dialect", item)
    return kind(word)
