"""Branches, structured control flow, calls and returns (SPIR-V 1.6 §2.11 and §3.52.17).

`spirv.mlir.selection` and `spirv.mlir.loop` hold their blocks in a region, as upstream has it.  No value
leaves such a region: results go through a `spirv.Variable` of the function.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator

from .attributes import LoopControlAttr, SelectionControlAttr
from .base import check_same, fail, inside_spirv_module, lookup_symbol
from .enums import LoopControl, SelectionControl
from .structure import FuncOp
from .types import is_bool


def _check_block_arguments(op: Operation, block: Block, values: Sequence[SSAValue]) -> None:
    if len(block.args) != len(values):
        fail(op, f"passes {len(values)} values to a block that takes {len(block.args)}")
    for value, argument in zip(values, block.args, strict=True):
        check_same(op, f"block argument {argument.index}", value.type, argument.type)


@irdl_op_definition
class BranchOp(IRDLOperation):
    """Goes on at `successor`, whose arguments get the operands."""

    name = "spirv.Branch"

    block_arguments = var_operand_def()
    successor = successor_def()

    traits = traits_def(IsTerminator())

    def __init__(self, successor: Block, block_arguments: Sequence[SSAValue | Operation] = ()):
        super().__init__(operands=[block_arguments], successors=[successor])

    def verify_(self) -> None:
        _check_block_arguments(self, self.successor, self.block_arguments)


@irdl_op_definition
class BranchConditionalOp(IRDLOperation):
    """Goes on at `true_target` where the condition holds, else at `false_target`."""

    name = "spirv.BranchConditional"

    condition = operand_def()
    true_target_operands = var_operand_def()
    false_target_operands = var_operand_def()
    branch_weights = opt_prop_def(ArrayAttr[IntegerAttr])
    true_target = successor_def()
    false_target = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator())

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_target: Block,
        false_target: Block,
        true_target_operands: Sequence[SSAValue | Operation] = (),
        false_target_operands: Sequence[SSAValue | Operation] = (),
    ):
        super().__init__(
            operands=[condition, true_target_operands, false_target_operands],
            successors=[true_target, false_target],
        )

    def verify_(self) -> None:
        if not is_bool(self.condition.type):
            fail(self, f"expects its condition to be i1, found {self.condition.type}")
        _check_block_arguments(self, self.true_target, self.true_target_operands)
        _check_block_arguments(self, self.false_target, self.false_target_operands)
        if self.branch_weights is not None and len(self.branch_weights) != 2:
            fail(self, f"has two branch weights, found {len(self.branch_weights)}")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Returns from a function without result."""

    name = "spirv.Return"

    traits = traits_def(IsTerminator())

    def __init__(self) -> None:
        super().__init__()

    def verify_(self) -> None:
        function = _enclosing_function(self)
        if function is not None and function.function_type.outputs.data:
            fail(self, f"returns nothing from @{function.sym_name.data} of type {function.function_type}")


@irdl_op_definition
class ReturnValueOp(IRDLOperation):
    """Returns a value from a function."""

    name = "spirv.ReturnValue"

    value = operand_def()

    traits = traits_def(IsTerminator())

    def __init__(self, value: SSAValue | Operation):
        super().__init__(operands=[value])

    def verify_(self) -> None:
        function = _enclosing_function(self)
        if function is not None and function.function_type.outputs.data != (self.value.type,):
            fail(
                self,
                f"returns {self.value.type} from @{function.sym_name.data} of type {function.function_type}",
            )


def _enclosing_function(op: Operation) -> FuncOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent


@irdl_op_definition
class UnreachableOp(IRDLOperation):
    """Ends a block that no execution reaches."""

    name = "spirv.Unreachable"

    traits = traits_def(IsTerminator())

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class MergeOp(IRDLOperation):
    """The only operation of the last block of a selection or loop: goes on after it."""

    name = "spirv.mlir.merge"

    traits = traits_def(IsTerminator())

    def __init__(self) -> None:
        super().__init__()

    def verify_(self) -> None:
        block, parent = self.parent_block(), self.parent_op()
        if not isinstance(parent, SelectionOp | LoopOp):
            fail(
                self,
                f"belongs into spirv.mlir.selection or spirv.mlir.loop, found in {parent and parent.name}",
            )
        if block is not parent.body.blocks.last:
            fail(self, "belongs into the last block of its region")


@irdl_op_definition
class SelectionOp(IRDLOperation):
    """A selection: the first block is its header, the last its merge block (`spirv.mlir.merge`)."""

    name = "spirv.mlir.selection"

    selection_control = prop_def(SelectionControlAttr)
    body = region_def()

    def __init__(self, body: Region, control: SelectionControl = SelectionControl.None_):
        super().__init__(properties={"selection_control": SelectionControlAttr(control)}, regions=[body])

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
    one block is the continue block, the only one that branches back.
    """

    name = "spirv.mlir.loop"

    loop_control = prop_def(LoopControlAttr)
    body = region_def()

    def __init__(self, body: Region, control: LoopControl = LoopControl.None_):
        super().__init__(properties={"loop_control": LoopControlAttr(control)}, regions=[body])

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
        if not blocks:
            return
        _check_merge_block(self, blocks)
        if len(blocks) < 4:
            fail(self, f"has at least an entry, header, continue and merge block, found {len(blocks)} blocks")
        entry, header, continue_block = blocks[0], blocks[1], blocks[-2]
        if not _only_branches_to(entry.last_op, header) or entry.first_op is not entry.last_op:
            fail(self, "has an entry block that consists of one spirv.Branch to the header, its second block")
        if not _only_branches_to(continue_block.last_op, header):
            fail(self, "has a continue block, the last but one, that ends in spirv.Branch to the header")
        for block in blocks[1:-2]:
            if block.last_op is not None and header in block.last_op.successors:
                fail(self, "is branched back to from a block that is not its continue block")


def _only_branches_to(op: Operation | None, block: Block) -> bool:
    return isinstance(op, BranchOp) and op.successor is block


def _check_merge_block(op: Operation, blocks: Sequence[Block]) -> None:
    last = blocks[-1]
    if not isinstance(last.first_op, MergeOp):
        fail(op, "has a last block that consists of spirv.mlir.merge")
    if last.args:
        fail(op, "has a merge block without arguments: no value leaves the region")


@irdl_op_definition
class FunctionCallOp(IRDLOperation):
    """Calls function `callee`."""

    name = "spirv.FunctionCall"

    callee = prop_def(FlatSymbolRefAttr)
    arguments = var_operand_def()
    return_value = opt_result_def()

    def __init__(
        self, callee: str, arguments: Sequence[SSAValue | Operation], result_type: Attribute | None = None
    ):
        super().__init__(
            properties={"callee": SymbolRefAttr(callee)}, operands=[arguments], result_types=[result_type]
        )

    def verify_(self) -> None:
        if not inside_spirv_module(self):
            return
        function = lookup_symbol(self, self.callee)
        if not isinstance(function, FuncOp):
            fail(self, f"@{self.callee.root_reference.data} is no spirv.func but {function.name}")
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        found = tuple(value.type for value in self.arguments)
        if found != inputs or tuple(self.result_types) != outputs:
            types = ", ".join(map(str, found))
            fail(
                self,
                f"of @{function.sym_name.data} has type {function.function_type}, found arguments ({types})",
            )


OPS: list[type[Operation]] = [
    BranchOp,
    BranchConditionalOp,
    ReturnOp,
    ReturnValueOp,
    UnreachableOp,
    MergeOp,
    SelectionOp,
    LoopOp,
    FunctionCallOp,
]
