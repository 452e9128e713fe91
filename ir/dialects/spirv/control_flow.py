"""Branches, calls and returns (SPIR-V 1.6 §3.52.17); selections and loops: `structured_control_flow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttr,
    IntegerAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator

from ...attribute_values import integers
from .base import check_same, fail, inside_spirv_module, lookup_symbol
from .scalars import is_bool, is_integer
from .structure import FuncOp


def check_block_arguments(op: Operation, block: Block, values: Sequence[SSAValue]) -> None:
    """Fails unless `values` are what a block takes."""
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
        check_block_arguments(self, self.successor, self.block_arguments)


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
        check_block_arguments(self, self.true_target, self.true_target_operands)
        check_block_arguments(self, self.false_target, self.false_target_operands)
        if self.branch_weights is not None and len(self.branch_weights) != 2:
            fail(self, f"has two branch weights, found {len(self.branch_weights)}")
        if self.branch_weights is not None and not any(weight.value.data for weight in self.branch_weights):
            fail(self, "has branch weights that are not both zero")


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
class SwitchOp(IRDLOperation):
    """Goes on at the target of the literal that equals the selector, else at the default target.

    Example: `"spirv.Switch"(%x)[^default, ^one] <{literals = [1 : i32], …}> : (i32) -> ()`.  As in MLIR 22.
    """

    name = "spirv.Switch"

    selector = operand_def()
    default_operands = var_operand_def()
    target_operands = var_operand_def()
    literals = prop_def(ArrayAttr[IntegerAttr])
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_target = successor_def()
    targets = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator())

    def __init__(
        self,
        selector: SSAValue | Operation,
        default_target: tuple[Block, Sequence[SSAValue]],
        cases: Sequence[tuple[IntegerAttr, Block, Sequence[SSAValue]]],
    ):
        super().__init__(
            operands=[selector, default_target[1], [value for _, _, values in cases for value in values]],
            properties={
                "literals": ArrayAttr([literal for literal, _, _ in cases]),
                "case_operand_segments": DenseArrayBase.from_list(i32, [len(v) for _, _, v in cases]),
            },
            successors=[default_target[0], [block for _, block, _ in cases]],
        )

    def case_operands(self) -> Iterator[tuple[IntegerAttr, Block, Sequence[SSAValue]]]:
        """Yields literal, target and passed values of each case."""
        start = 0
        sizes = integers(self.case_operand_segments) or ()
        for literal, block, size in zip(self.literals, self.targets, sizes, strict=True):
            yield literal, block, self.target_operands[start : start + size]
            start += size

    def verify_(self) -> None:
        if not is_integer(self.selector.type):
            fail(self, f"expects its selector to be an integer, found {self.selector.type}")
        sizes = integers(self.case_operand_segments) or ()
        if not len(self.literals) == len(self.targets) == len(sizes):
            fail(self, f"has as many literals as targets, found {len(self.literals)} and {len(self.targets)}")
        if sum(size for size in sizes) != len(self.target_operands):
            fail(self, "has as many target operands as case_operand_segments says")
        if len({literal.value.data for literal in self.literals}) < len(self.literals):
            fail(self, "has every literal once")
        check_block_arguments(self, self.default_target, self.default_operands)
        for literal, block, values in self.case_operands():
            check_same(self, "a literal", literal.type, self.selector.type)
            check_block_arguments(self, block, values)


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
    SwitchOp,
    FunctionCallOp,
]
