"""Emits functions: straight code by table, structured regions as labels and merge instructions.

The regions of `spirv.mlir.selection` and `spirv.mlir.loop` are laid into the enclosing block: the header of a
selection continues the current block, and code after the region continues in its merge block.  Block
arguments become OpPhi.  Values may be used before their definition is emitted (the operand of a loop's
OpPhi), so ids are handed out at first mention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ..ir.dialects import spirv
from ..ir.narrowing import is_scalar_attribute
from ..ir.walk import block_operations, operands_of
from .binary import Section, encode_instruction
from .block_graph import STRUCTURED, edge_target, emission_order, incoming_edges
from .emit_context import EmitContext, Survey, cannot_emit
from .emit_operands import CODES, OperandEncoder
from .literals import UnemittableError, scalar_words
from .tables import Op


class FunctionEmitter:
    """Emits one `spirv.func`."""

    def __init__(self, context: EmitContext, function: spirv.FuncOp):
        self._context = context
        self._function = function
        self._builder = context.builder
        self._words, self._marks = context.builder.section(Section.FUNCTIONS)
        self._ids: dict[int, int] = {}
        # Blocks and operations are keys by identity: their own hash is a Python call.
        self._labels: dict[int, int] = {}
        self._survey = Survey.of(function)
        self._has_lines = context.env.debug_info
        self._line: object = None
        self._mark: object = function.location
        # OpLoopMerge or OpSelectionMerge that stands before a header's terminator: opcode, operands.
        self._merges: dict[int, tuple[int, tuple[int, ...]]] = {}
        # A loop header whose content was moved into a block of its own: the label of that block.
        self._body_labels: dict[int, int] = {}

    def emit(self) -> None:
        """Emits OpFunction to OpFunctionEnd."""
        function, context = self._function, self._context
        context.surveys[function.sym_name.data] = self._survey
        function_type, outputs = function.function_type, function.function_type.outputs.data
        result_type = context.types.id(outputs[0]) if outputs else context.types.void()
        result = context.symbol_id(function.sym_name.data)
        context.name(result, function.sym_name.data)
        operands = (int(function.function_control.data), context.types.function(function_type))
        if function.linkage_attributes is not None:
            context.link(result, function.linkage_attributes)
        if function.is_import:
            self._declaration(operands, result_type, result)
            return
        self._add(Op.Function, operands, result_type, result)
        blocks = emission_order(function.body)
        for argument in blocks[0].args:
            self._add(Op.FunctionParameter, (), context.types.id(argument.type), self._id(argument))
        context.decorate_parameters(function, map(self._id, blocks[0].args))
        self._start_block(blocks[0])
        self._hoist_variables(self._survey.variables)
        self._block(blocks[0])
        for block in blocks[1:]:
            self._labelled_block(block)
        self._line = None
        self._add(Op.FunctionEnd, ())

    def _declaration(self, operands: Sequence[int], result_type: int, result: int) -> None:
        """Emits a function without a body among the declarations, which stand before all definitions."""
        add, types = self._builder.add, self._context.types
        section, mark = Section.FUNCTION_DECLARATIONS, self._mark
        add(section, Op.Function, operands, result_type=result_type, result_id=result, mark=mark)
        parameters = [
            self._builder.add_result(section, Op.FunctionParameter, result_type=types.id(type_), mark=mark)
            for type_ in self._function.function_type.inputs
        ]
        self._context.decorate_parameters(self._function, parameters)
        add(section, Op.FunctionEnd, mark=mark)

    # Instructions

    def _add(
        self, opcode: int, operands: Sequence[int], result_type: int | None = None, result: int | None = None
    ) -> None:
        self._words += encode_instruction(opcode, operands, result_type, result)
        self._marks.append(self._mark)

    def _id(self, value: SSAValue) -> int:
        known = self._ids.get(id(value))
        if known is None:
            known = self._ids[id(value)] = self._new_id(value)
        return known

    def _new_id(self, value: SSAValue) -> int:
        """Returns a fresh id, or for the result of a region that of the value inside which it is."""
        while type(value) is OpResult and type(value.op) in STRUCTURED:
            merge = value.op.regions[0].blocks[-1].last_op
            assert merge is not None
            value = merge.operands[value.index]
        known = self._ids.get(id(value))
        if known is None:
            known = self._ids[id(value)] = self._builder.new_id()
        return known

    def _label(self, block: Block) -> int:
        known = self._labels.get(id(block))
        if known is None:
            known = self._labels[id(block)] = self._builder.new_id()
        return known

    def _operation(self, op: Operation) -> None:
        self._mark = op.location
        special = _SPECIAL.get(type(op))
        try:
            if special is not None:
                special(self, op)
            else:
                self._instruction(op)
        except UnemittableError as error:
            cannot_emit(str(error), op)

    def _instruction(self, op: Operation) -> None:
        opcode, encode = CODES[type(op)]
        if opcode is None:
            cannot_emit("there is no such instruction", op)
        if self._has_lines:
            self._emit_line()
        if op.results:
            (value,) = op.results
            result_type, result = self._context.types.id(value.type), self._ids.get(id(value))
            if result is None:
                result = self._ids[id(value)] = self._builder.new_id()
        elif opcode == Op.FunctionCall:
            result_type, result = self._context.types.void(), self._builder.new_id()
        else:
            result_type = result = None
        operands = self._operands(op, encode)
        self._words += encode_instruction(opcode, operands, result_type, result)
        self._marks.append(self._mark)
        if result is not None and op.attributes:
            self._context.decorate_from(result, op.attributes)

    def _operands(self, op: Operation, encode: OperandEncoder | None) -> list[int]:
        if encode is not None:
            return encode(self._context, op, self._id)
        ids = self._ids
        return [ids.get(id(value)) or self._id(value) for value in operands_of(op)]

    def _emit_line(self) -> None:
        location = self._mark
        if location is self._line or not isinstance(location, FileLineColLoc):
            return
        self._line = location
        file = self._context.file_id(location.filename.data)
        self._add(Op.Line, (file, location.line.data, location.column.data))

    # Values without an instruction in the function

    def _constant(self, op: Operation) -> None:
        assert isinstance(op, spirv.ConstantOp)
        (result,) = op.results
        self._ids[id(result)] = self._context.types.constant(op.properties["value"], result.type)

    def _undef(self, op: Operation) -> None:
        result = op.results[0]
        self._ids[id(result)] = self._context.types.undef(result.type)

    def _address_of(self, op: Operation) -> None:
        assert isinstance(op, spirv.AddressOfOp)
        (pointer,) = op.results
        self._ids[id(pointer)] = self._context.symbol_id(op.variable.root_reference.data)

    def _reference_of(self, op: Operation) -> None:
        assert isinstance(op, spirv.ReferenceOfOp)
        (reference,) = op.results
        self._ids[id(reference)] = self._context.symbol_id(op.spec_const.root_reference.data)

    def _spec_operation(self, op: Operation) -> None:
        assert isinstance(op, spirv.SpecConstantOperationOp)
        inner = op.operation
        opcode, encode = CODES[type(inner)]
        if opcode is None:
            cannot_emit("there is no such instruction", inner)
        result_type = self._context.types.id(op.result.type)
        self._ids[id(op.result)] = self._builder.add_result(
            Section.GLOBALS,
            Op.SpecConstantOp,
            (opcode, *self._operands(inner, encode)),
            result_type=result_type,
            mark=op.location,
        )

    def _hoist_variables(self, variables: Sequence[spirv.VariableOp]) -> None:
        """Emits OpVariables first in the first block, where SPIR-V wants them."""
        entry = self._function.body.blocks[0]
        for op in variables:
            self._mark = op.location
            operands, initializers, (pointer,) = [int(op.storage_class.data)], operands_of(op), op.results
            # In a loop an initialiser counts at every iteration: `_variable` stores it there.
            if initializers and op.parent is entry:
                (initializer,) = initializers
                owner = initializer.owner
                if isinstance(owner, Operation) and id(initializer) not in self._ids:
                    self._operation(owner)
                operands.append(self._id(initializer))
            self._add(Op.Variable, operands, self._context.types.id(pointer.type), self._id(pointer))
            if op.attributes:
                self._context.decorate_from(self._id(pointer), op.attributes)

    def _variable(self, op: Operation) -> None:
        initializers, (pointer,) = operands_of(op), op.results
        if initializers and op.parent is not self._function.body.blocks[0]:
            self._add(Op.Store, (self._id(pointer), self._id(initializers[0])))

    # Blocks and structured control flow

    def _start_block(self, block: Block) -> None:
        self._add(Op.Label, (), result=self._label(block))
        self._line = None  # OpLine ends with its block

    def _labelled_block(self, block: Block) -> None:
        self._start_block(block)
        self._phis(block)
        self._block(block)

    def _block(self, block: Block) -> None:
        for op in block_operations(block):
            self._operation(op)

    def _phis(self, block: Block) -> None:
        if not block.args:
            return
        incoming = incoming_edges(block, self._survey.leavers)
        for index, argument in enumerate(block.args):
            operands: list[int] = []
            for predecessor, values in incoming:
                operands += (self._id_ahead(values[index]), self._exit_label(predecessor))
            self._add(Op.Phi, operands, self._context.types.id(argument.type), self._id(argument))

    def _id_ahead(self, value: SSAValue) -> int:
        """Returns the id of a value that a branch back brings: a constant may stand further down in the loop."""
        owner = value.owner
        if id(value) not in self._ids and isinstance(owner, Operation) and type(owner) in _OUTSIDE:
            if isinstance(owner, spirv.SpecConstantOperationOp):
                for operand in owner.operation.operands:
                    self._id_ahead(operand)
            self._operation(owner)
        return self._id(value)

    def _exit_label(self, block: Block) -> int:
        """Returns the label of the block that `block`'s terminator ends up in."""
        return self._label_before(block, block.last_op)

    def _label_before(self, block: Block, op: Operation | None) -> int:
        """Returns the label that emission is under at `op` of `block`: of the last merge block, if any."""
        while op is not None:
            if type(op) in STRUCTURED and (merge := op.regions[0].blocks.last) is not None:
                return self._label(merge)
            op = op.prev_op
        return self._body_labels.get(id(block)) or self._label(block)

    def _current_label(self, op: Operation) -> int:
        block = op.parent_block()
        assert block is not None
        return self._label_before(block, op.prev_op)

    def _selection(self, op: Operation) -> None:
        assert isinstance(op, spirv.SelectionOp)
        blocks = emission_order(op.body)
        if not blocks:
            return
        header, merge = blocks[0], blocks[-1]
        self._labels[id(header)] = self._current_label(op)
        # Code before the terminator may hold regions of its own, so the merge belongs to the terminator.
        if isinstance(header.last_op, spirv.BranchConditionalOp | spirv.SwitchOp):
            self._merges[id(header.last_op)] = (
                Op.SelectionMerge,
                (self._label(merge), int(op.selection_control.data)),
            )
        self._block(header)
        self._rest_of_region(blocks[1:])

    def _loop(self, op: Operation) -> None:
        assert isinstance(op, spirv.LoopOp)
        blocks = emission_order(op.body, is_loop=True)
        if not blocks:
            return
        entry, header, continue_block, merge = blocks[0], blocks[1], blocks[-2], blocks[-1]
        self._labels[id(entry)] = self._current_label(op)
        self._block(entry)
        self._start_block(header)
        self._phis(header)
        numbers = () if op.control_operands is None else (n.value.data for n in op.control_operands)
        control = int(op.loop_control.data)
        merge_operands = (self._label(merge), self._label(continue_block), control, *numbers)
        terminator = header.last_op
        assert terminator is not None
        if any(type(inner) in STRUCTURED for inner in header.ops):
            # OpLoopMerge ends the header itself; what the header contains goes into a block of its own.
            body = self._builder.new_id()
            self._add(Op.LoopMerge, merge_operands)
            self._add(Op.Branch, (body,))
            self._add(Op.Label, (), result=body)
            self._body_labels[id(header)] = body
        else:
            self._merges[id(terminator)] = (Op.LoopMerge, merge_operands)
        self._block(header)
        self._rest_of_region(blocks[2:])

    def _rest_of_region(self, blocks: Sequence[Block]) -> None:
        for block in blocks[:-1]:
            if edge_target(block) is None:
                self._labelled_block(block)
        merge = blocks[-1]
        self._start_block(merge)  # the enclosing block goes on in it
        self._phis(merge)

    def _nothing(self, op: Operation) -> None:
        del op

    # Terminators

    def _emit_merge(self, op: Operation) -> None:
        merge = self._merges.pop(id(op), None)
        if merge is not None:
            self._add(*merge)

    def _branch(self, op: Operation) -> None:
        assert isinstance(op, spirv.BranchOp)
        self._emit_merge(op)
        self._add(Op.Branch, (self._target_label(op.successors[0]),))

    def _target_label(self, block: Block) -> int:
        """Returns the label of a block, or of where it goes if it is but an edge out of the region."""
        target = edge_target(block)
        return self._label(block if target is None else target)

    def _leave(self, op: Operation) -> None:
        assert isinstance(op, spirv.BreakOp | spirv.ContinueOp)
        if op.target is None:
            cannot_emit("it leads nowhere", op)
        self._add(Op.Branch, (self._label(op.target),))

    def _switch(self, op: Operation) -> None:
        assert isinstance(op, spirv.SwitchOp)
        if self._has_lines:
            self._emit_line()
        self._emit_merge(op)
        words = [self._id(op.selector), self._target_label(op.default_target)]
        for literal, block, _ in op.case_operands():
            assert is_scalar_attribute(literal)
            words += [*scalar_words(literal, 0)[2:], self._target_label(block)]
        self._add(Op.Switch, words)

    def _branch_conditional(self, op: Operation) -> None:
        assert isinstance(op, spirv.BranchConditionalOp)
        if self._has_lines:
            self._emit_line()
        self._emit_merge(op)
        weights = op.branch_weights
        words = [] if weights is None else [weight.value.data & 0xFFFFFFFF for weight in weights]
        targets = [self._target_label(block) for block in op.successors]
        self._add(Op.BranchConditional, (self._id(op.condition), *targets, *words))


_SPECIAL: dict[type[Operation], Callable[[FunctionEmitter, Operation], None]] = {
    spirv.ConstantOp: FunctionEmitter._constant,  # pyright: ignore[reportPrivateUsage]
    spirv.UndefOp: FunctionEmitter._undef,  # pyright: ignore[reportPrivateUsage]
    spirv.AddressOfOp: FunctionEmitter._address_of,  # pyright: ignore[reportPrivateUsage]
    spirv.ReferenceOfOp: FunctionEmitter._reference_of,  # pyright: ignore[reportPrivateUsage]
    spirv.SpecConstantOperationOp: FunctionEmitter._spec_operation,  # pyright: ignore[reportPrivateUsage]
    spirv.VariableOp: FunctionEmitter._variable,  # pyright: ignore[reportPrivateUsage]
    spirv.SelectionOp: FunctionEmitter._selection,  # pyright: ignore[reportPrivateUsage]
    spirv.LoopOp: FunctionEmitter._loop,  # pyright: ignore[reportPrivateUsage]
    spirv.MergeOp: FunctionEmitter._nothing,  # pyright: ignore[reportPrivateUsage]
    spirv.BreakOp: FunctionEmitter._leave,  # pyright: ignore[reportPrivateUsage]
    spirv.ContinueOp: FunctionEmitter._leave,  # pyright: ignore[reportPrivateUsage]
    spirv.SwitchOp: FunctionEmitter._switch,  # pyright: ignore[reportPrivateUsage]
    spirv.BranchOp: FunctionEmitter._branch,  # pyright: ignore[reportPrivateUsage]
    spirv.BranchConditionalOp: FunctionEmitter._branch_conditional,  # pyright: ignore[reportPrivateUsage]
}
"""Operations that are more or less than one instruction in the function."""
_OUTSIDE = frozenset(
    (
        spirv.ConstantOp,
        spirv.UndefOp,
        spirv.AddressOfOp,
        spirv.ReferenceOfOp,
        spirv.SpecConstantOperationOp,
    )
)
"""Operations whose values stand outside of functions in SPIR-V."""
