"""Selections, loops and what leaves them (SPIR-V 1.6 §2.11).

`spirv.mlir.selection` and `spirv.mlir.loop` hold their blocks in a region, as upstream has it.  A value leaves
such a region as an operand of its `spirv.mlir.merge`, which becomes a result of the selection or loop (as in
MLIR 21; MLIR 19 has no results there).  Not in upstream: `spirv.mlir.break` and `spirv.mlir.continue`, for
branches out of several regions, and loops that end in a condition (`do … while`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator

from .attributes import LoopControlAttr, SelectionControlAttr
from .base import fail
from .control_flow import BranchConditionalOp, BranchOp, check_block_arguments
from .enums import LoopControl, SelectionControl


@irdl_op_definition
class MergeOp(IRDLOperation):
    """The only operation of the last block of a selection or loop: goes on after it with its values."""

    name = "spirv.mlir.merge"

    values = var_operand_def()

    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue | Operation] = ()) -> None:
        super().__init__(operands=[values])

    def verify_(self) -> None:
        block, parent = self.parent_block(), self.parent_op()
        if not isinstance(parent, SelectionOp | LoopOp):
            fail(
                self,
                f"belongs into spirv.mlir.selection or spirv.mlir.loop, found in {parent and parent.name}",
            )
        if block is not parent.body.blocks.last:
            fail(self, "belongs into the last block of its region")
        found, expected = self.values.types, parent.result_types
        if tuple(found) != tuple(expected):
            fail(self, f"yields the results of its {parent.name}, {_types(expected)}, found {_types(found)}")


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def _structured_ancestors(op: Operation) -> Iterator[SelectionOp | LoopOp]:
    parent = op.parent_op()
    while isinstance(parent, SelectionOp | LoopOp):
        yield parent
        parent = parent.parent_op()


@irdl_op_definition
class BreakOp(IRDLOperation):
    """Leaves `levels` regions more than its own: goes on at the merge block of what is around them.

    `%values` are that block's arguments.  Where `is_edge` stands and the block has nothing else, its own
    branch goes there, without a block between.  Not in upstream MLIR.
    """

    name = "spirv.mlir.break"

    values = var_operand_def()
    levels = prop_def(IntegerAttr)
    is_edge = opt_prop_def(UnitAttr)

    traits = traits_def(IsTerminator())

    def __init__(
        self, levels: int, values: Sequence[SSAValue | Operation] = (), *, is_edge: bool = False
    ) -> None:
        super().__init__(
            operands=[values],
            properties={
                "levels": IntegerAttr(levels, i32),
                "is_edge": UnitAttr() if is_edge else None,
            },
        )

    @property
    def target(self) -> Block | None:
        """The merge block that it goes to."""
        around = list(_structured_ancestors(self))
        levels = self.levels.value.data
        return around[levels].body.blocks.last if 0 < levels < len(around) else None

    def verify_(self) -> None:
        target = self.target
        if target is None:
            fail(self, f"cannot leave {self.levels.value.data} regions and find another around them")
        check_block_arguments(self, target, self.values)


@irdl_op_definition
class ContinueOp(IRDLOperation):
    """Goes on at the continue block of the nearest loop around its selection; else as `spirv.mlir.break`."""

    name = "spirv.mlir.continue"

    values = var_operand_def()
    is_edge = opt_prop_def(UnitAttr)

    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue | Operation] = (), *, is_edge: bool = False) -> None:
        super().__init__(operands=[values], properties={"is_edge": UnitAttr() if is_edge else None})

    @property
    def target(self) -> Block | None:
        """The continue block that it goes to."""
        loop = next((op for op in _structured_ancestors(self) if isinstance(op, LoopOp)), None)
        return None if loop is None or len(loop.body.blocks) < 4 else loop.continue_block

    def verify_(self) -> None:
        target = self.target
        if not isinstance(self.parent_op(), SelectionOp) or target is None:
            fail(self, "belongs into a spirv.mlir.selection inside of a spirv.mlir.loop")
        check_block_arguments(self, target, self.values)


@irdl_op_definition
class SelectionOp(IRDLOperation):
    """A selection: the first block is its header, the last its merge block (`spirv.mlir.merge`)."""

    name = "spirv.mlir.selection"

    selection_control = prop_def(SelectionControlAttr)
    body = region_def()
    results_ = var_result_def()

    def __init__(
        self,
        body: Region,
        control: SelectionControl = SelectionControl.None_,
        result_types: Sequence[Attribute] = (),
    ):
        super().__init__(
            properties={"selection_control": SelectionControlAttr(control)},
            regions=[body],
            result_types=[result_types],
        )

    def verify_(self) -> None:
        blocks = list(self.body.blocks)
        if not blocks:
            return
        _check_merge_block(self, blocks)
        if len(blocks) < 2:
            fail(self, "has at least a header and a merge block, found 1 block")
        if blocks[0].args:
            fail(self, "has a header block without arguments")


@irdl_op_definition
class LoopOp(IRDLOperation):
    """A loop: entry, header, body blocks, continue block, merge block, in this order.

    The entry block only branches to the header, whose block arguments are the carried values; the last but
    one block is the continue block, the only one that branches back.  `control_operands` are the numbers of
    hints such as MinIterations, lowest bit first.
    """

    name = "spirv.mlir.loop"

    loop_control = prop_def(LoopControlAttr)
    control_operands = opt_prop_def(ArrayAttr[IntegerAttr])
    body = region_def()
    results_ = var_result_def()

    def __init__(
        self,
        body: Region,
        control: LoopControl = LoopControl.None_,
        result_types: Sequence[Attribute] = (),
        control_operands: Sequence[int] = (),
    ):
        numbers = ArrayAttr([IntegerAttr(n, i32) for n in control_operands]) if control_operands else None
        super().__init__(
            properties={"loop_control": LoopControlAttr(control), "control_operands": numbers},
            regions=[body],
            result_types=[result_types],
        )

    @property
    def header(self) -> Block:
        """The loop header."""
        return self.body.blocks[1]

    @property
    def continue_block(self) -> Block:
        """The block that branches back to the header."""
        return self.body.blocks[-2]

    def verify_(self) -> None:
        blocks = list(self.body.blocks)
        numbers = () if self.control_operands is None else self.control_operands.data
        if len(numbers) != (int(self.loop_control.data) >> 3).bit_count():
            fail(self, f"has a number for each hint that takes one, found {len(numbers)}")
        if not blocks:
            return
        _check_merge_block(self, blocks)
        if len(blocks) < 4:
            fail(self, f"has at least an entry, header, continue and merge block, found {len(blocks)} blocks")
        entry, header, continue_block = blocks[0], blocks[1], blocks[-2]
        if not _only_branches_to(entry.last_op, header) or entry.first_op is not entry.last_op:
            fail(self, "has an entry block that consists of one spirv.Branch to the header, its second block")
        if not _branches_back(continue_block.last_op, header, blocks[-1]):
            fail(
                self,
                "has a continue block, the last but one, that ends in spirv.Branch to the header, or in "
                "spirv.BranchConditional to the header and the merge block",
            )
        for block in blocks[1:-2]:
            if block.last_op is not None and header in block.last_op.successors:
                fail(self, "is branched back to from a block that is not its continue block")


def _only_branches_to(op: Operation | None, block: Block) -> bool:
    return isinstance(op, BranchOp) and op.successor is block


def _branches_back(op: Operation | None, header: Block, merge: Block) -> bool:
    if isinstance(op, BranchConditionalOp):
        return {op.true_target, op.false_target} == {header, merge}
    return _only_branches_to(op, header)


def _check_merge_block(op: Operation, blocks: Sequence[Block]) -> None:
    last = blocks[-1]
    if not isinstance(last.first_op, MergeOp):
        fail(op, "has a last block that consists of spirv.mlir.merge")


OPS: list[type[Operation]] = [
    MergeOp,
    BreakOp,
    ContinueOp,
    SelectionOp,
    LoopOp,
]
