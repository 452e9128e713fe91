"""Emits what stands before the functions: specialization constants, variables, the local size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import SymbolRefAttr, VectorType, i32
from xdsl.ir import Attribute, Operation

from ..ir.attribute_values import integers
from ..ir.dialects.spirv import (
    ExecutionMode,
    ExecutionModeOp,
    GlobalVariableOp,
    SpecConstantCompositeOp,
    SpecConstantExpressionOp,
    SpecConstantOp,
)
from ..ir.dialects.spirv.types import element_type_at
from ..ir.narrowing import is_scalar_attribute
from .binary import Section
from .emit_context import EmitContext, cannot_emit
from .literals import UnemittableError, scalar_words
from .tables import BuiltIn, Decoration, Op, enumerant, enumerant_value, opcode

LOCAL_SIZE_IDS = "spec_constant.local_size_ids"
"""Attribute of LocalSize: SpecIds, as (x, y, z), of a local size that the launch gives."""

_LOCAL_SIZE = VectorType(i32, [3])


class GlobalEmitter:
    """Emits the global operations of a module in any order of definition."""

    def __init__(self, context: EmitContext):
        self._context = context
        self._done: set[str] = set()
        self._by_spec_id: dict[int, int] = {}
        context.emit_global = self.emit

    def emit_all(self) -> None:
        """Emits every specialization constant and global variable, then the local size constants."""
        for name in list(self._context.symbols):
            self.emit(name)
        self._emit_local_size()

    def emit(self, name: str) -> int:
        """Emits the constant or variable called `name` and what it refers to, once; returns its id."""
        context = self._context
        result, op = context.symbol_id(name), context.symbols.get(name)
        if name in self._done or op is None:
            return result
        emitter = _EMITTERS.get(type(op))
        if emitter is None:
            return result
        self._done.add(name)
        try:
            emitter(self, op, result)
        except UnemittableError as error:
            cannot_emit(str(error), op)
        context.name(result, name)
        return result

    def spec_constant(self, op: Operation, result: int) -> None:
        """Emits an OpSpecConstant with its SpecId."""
        assert isinstance(op, SpecConstantOp)
        value = op.default_value
        assert is_scalar_attribute(value)
        context = self._context
        opcode, type_id, *words = scalar_words(value, context.types.id(op.type), is_spec=True)
        context.builder.add(
            Section.GLOBALS, opcode, words, result_type=type_id, result_id=result, mark=op.location
        )
        if op.spec_id is not None:
            self._by_spec_id[op.spec_id.value.data] = result
            context.decorate(result, Decoration.SpecId, op.spec_id.value.data)

    def spec_constant_composite(self, op: Operation, result: int) -> None:
        """Emits an OpSpecConstantComposite after its constituents."""
        assert isinstance(op, SpecConstantCompositeOp)
        context = self._context
        parts = [
            self._constituent(part, element_type_at(op.type, index))
            for index, part in enumerate(op.constituents)
        ]
        type_id = context.types.id(op.type)
        is_spec = any(isinstance(part, SymbolRefAttr) for part in op.constituents)
        if op.built_in is not None:
            context.decorate(result, Decoration.BuiltIn, _built_in(op, op.built_in.data))
        context.builder.add(
            Section.GLOBALS,
            Op.SpecConstantComposite if is_spec else Op.ConstantComposite,
            parts,
            result_type=type_id,
            result_id=result,
            mark=op.location,
        )

    def _constituent(self, part: Attribute, type_: Attribute | None) -> int:
        if isinstance(part, SymbolRefAttr):
            return self.emit(part.root_reference.data)
        assert type_ is not None
        return self._context.types.constant(part, type_)

    def spec_constant_expression(self, op: Operation, result: int) -> None:
        """Emits an OpSpecConstantOp after its operands."""
        assert isinstance(op, SpecConstantExpressionOp)
        context = self._context
        words = [opcode(f"Op{op.opcode.data}")]
        for part in op.operands_:
            if isinstance(part, SymbolRefAttr):
                words.append(self.emit(part.root_reference.data))
            else:
                assert is_scalar_attribute(part)
                words.append(context.types.constant(part, part.type))
        context.builder.add(
            Section.GLOBALS,
            Op.SpecConstantOp,
            words,
            result_type=context.types.id(op.type),
            result_id=result,
            mark=op.location,
        )

    def global_variable(self, op: Operation, result: int) -> None:
        """Emits an OpVariable with its binding, built-in and access decorations."""
        assert isinstance(op, GlobalVariableOp)
        context, storage_class = self._context, op.type.storage_class.data
        type_id = context.types.variable_pointer(op.type)
        operands: list[int] = [storage_class]
        if op.initializer is not None:
            operands.append(self._constituent(op.initializer, op.type.pointee))
        context.builder.add(
            Section.GLOBALS, Op.Variable, operands, result_type=type_id, result_id=result, mark=op.location
        )
        if op.descriptor_set is not None and op.binding is not None:
            context.decorate(result, Decoration.DescriptorSet, op.descriptor_set.value.data)
            context.decorate(result, Decoration.Binding, op.binding.value.data)
        if op.built_in is not None:
            built_in = _built_in(op, op.built_in.data)
            context.decorate(result, Decoration.BuiltIn, built_in)
            context.capabilities.update(_of_sub_groups(built_in))
        context.decorate_from(result, op.attributes)

    def _emit_local_size(self) -> None:
        modes = [op for op in self._context.ops if type(op) is ExecutionModeOp]
        sizes = [op for op in modes if op.execution_mode.data is ExecutionMode.LocalSize]
        chosen = {(_spec_ids(op), _values(op)) for op in sizes if LOCAL_SIZE_IDS in op.attributes}
        if not chosen:
            return
        # A module has one object with the built-in WorkgroupSize; it overrides every LocalSize.
        if len(chosen) > 1 or any(LOCAL_SIZE_IDS not in op.attributes for op in sizes):
            cannot_emit("entry points of one module have the same specialisable local size or none", sizes[0])
        ((spec_ids, values),) = chosen
        context = self._context
        parts = [self._local_size_constant(*pair) for pair in zip(spec_ids, values, strict=True)]
        type_id = context.types.id(_LOCAL_SIZE)
        size = context.builder.add_result(
            Section.GLOBALS, Op.SpecConstantComposite, parts, result_type=type_id
        )
        context.name(size, "local_size")
        context.decorate(size, Decoration.BuiltIn, BuiltIn.WorkgroupSize)

    def _local_size_constant(self, spec_id: int, value: int) -> int:
        # Kernels that read the local size declare these constants; a SpecId stands once in a module.
        known = self._by_spec_id.get(spec_id)
        if known is not None:
            return known
        context = self._context
        result = context.builder.add_result(
            Section.GLOBALS, Op.SpecConstant, (value,), result_type=context.types.id(i32)
        )
        context.decorate(result, Decoration.SpecId, spec_id)
        return result


_EMITTERS: dict[type[Operation], Callable[[GlobalEmitter, Operation, int], None]] = {
    SpecConstantOp: GlobalEmitter.spec_constant,
    SpecConstantCompositeOp: GlobalEmitter.spec_constant_composite,
    SpecConstantExpressionOp: GlobalEmitter.spec_constant_expression,
    GlobalVariableOp: GlobalEmitter.global_variable,
}


def _spec_ids(op: ExecutionModeOp) -> tuple[int, ...]:
    ids = op.attributes[LOCAL_SIZE_IDS]
    values = integers(ids)
    if values is None or len(values) != 3:
        cannot_emit(f"{LOCAL_SIZE_IDS} is array<i32: x, y, z>, found {ids}", op)
    return values


def _values(op: ExecutionModeOp) -> Sequence[int]:
    return op.numbers


def _of_sub_groups(built_in: int) -> Iterator[int]:
    """Yields the capability that a built-in of sub-groups needs."""
    row = enumerant("BuiltIn", built_in)
    for name in () if row is None else row.capabilities:
        if name.startswith("GroupNonUniform"):
            yield enumerant_value("Capability", name)


def _built_in(op: Operation, name: str) -> int:
    try:
        return enumerant_value("BuiltIn", name)
    except KeyError:
        cannot_emit(f"SPIR-V has no built-in {name}", op)
