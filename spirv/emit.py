"""Emits a `spirv.module` as a SPIR-V binary.

The shape is that of MLIR's Serializer: one list of instructions per section of the module, a type table, a
table from operation class to encoding.  Capabilities and extensions are those that the code uses, whatever
`vce_triple` says.  What goes in is taken to be verified; the result still has to pass the validators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, LocationAttr, SymbolRefAttr
from xdsl.ir import Operation

from ..ir.dialects import spirv
from ..ir.dialects.spirv.enums import ExecutionMode, StorageClass
from ..ir.errors import Location
from ..ir.location import location_of
from ..ir.target_env import TargetEnv
from .binary import Section, encode_string
from .emit_capabilities import add_module_capabilities
from .emit_context import EmissionError, EmitContext, cannot_emit
from .emit_function import FunctionEmitter
from .emit_globals import GlobalEmitter
from .tables import Op


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A binary and where its instructions come from."""

    binary: bytes
    """Little-endian words, not yet validated."""
    marks: tuple[object, ...]
    """What each instruction is of, by its ordinal, from 0: a location attribute or nothing."""

    def location(self, ordinal: int) -> Location | None:
        """Returns the place in source that an instruction comes from."""
        mark = self.marks[ordinal]
        return location_of(mark) if isinstance(mark, LocationAttr) else None


def emit(module: Operation, env: TargetEnv) -> Emitted:
    """Emits a verified `spirv.module` for `env`.

    Raises:
        EmissionError: an operation, type or constant that has no SPIR-V form; names it and its location.
    """
    if not isinstance(module, spirv.ModuleOp):
        raise EmissionError(f"expected a spirv.module, found {module.name}", module)
    context = EmitContext(module, env)
    GlobalEmitter(context).emit_all()
    for op in context.ops:
        if type(op) is spirv.FuncOp:
            FunctionEmitter(context, op).emit()
        elif type(op) not in _MODULE_OPS:
            cannot_emit("it is no operation of a module", op)
    _emit_entry_points(context)
    context.types.decorate_addressed_structs()
    add_module_capabilities(context)
    _emit_header(context)
    return Emitted(binary=context.builder.build(), marks=context.builder.marks())


_MODULE_OPS = frozenset(  # asked by type(): isinstance costs more
    (
        spirv.SpecConstantOp,
        spirv.SpecConstantCompositeOp,
        spirv.SpecConstantExpressionOp,
        spirv.GlobalVariableOp,
        spirv.EntryPointOp,
        spirv.ExecutionModeOp,
    )
)


def _emit_header(context: EmitContext) -> None:
    builder, module = context.builder, context.module
    for capability in sorted(context.capabilities):
        builder.add(Section.CAPABILITIES, Op.Capability, (capability,))
    for extension in sorted(context.extensions):
        builder.add(Section.EXTENSIONS, Op.Extension, encode_string(extension))
    models = (module.addressing_model.data, module.memory_model.data)
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, models)


def _emit_entry_points(context: EmitContext) -> None:
    places = {name: place for place, name in enumerate(context.symbols)}
    for op in context.ops:
        if type(op) is spirv.EntryPointOp:
            name = op.fn.root_reference.data
            operands = (
                op.execution_model.data,
                context.symbol_id(name),
                *encode_string(op.exported_name),
                *(context.symbol_id(variable) for variable in _interface(context, op, places)),
            )
            context.builder.add(Section.ENTRY_POINTS, Op.EntryPoint, operands, mark=op.location)
        elif type(op) is spirv.ExecutionModeOp:
            mode, words = op.execution_mode.data, op.numbers
            opcode = Op.ExecutionMode
            if mode is ExecutionMode.LocalSizeId:
                opcode = Op.ExecutionModeId
                words = [_value_id(context, value) for value in op.values]
            operands = (context.symbol_id(op.fn.root_reference.data), mode, *words)
            context.builder.add(Section.EXECUTION_MODES, opcode, operands, mark=op.location)


def _value_id(context: EmitContext, value: IntegerAttr | SymbolRefAttr) -> int:
    if isinstance(value, SymbolRefAttr):
        return context.symbol_id(value.root_reference.data)
    return context.types.u32(value.value.data)


def _interface(context: EmitContext, op: spirv.EntryPointOp, places: Mapping[str, int]) -> Iterator[str]:
    """Yields an entry point's globals: Input and Output before SPIR-V 1.4, from then on all it uses.

    In the order that `places` gives the symbols of the module.
    """
    wanted = {reference.root_reference.data for reference in op.interface}
    wanted |= _variables_used(context, op.fn.root_reference.data)
    takes_all = context.env.spirv_version >= (1, 4)
    for name in sorted((name for name in wanted if name in places), key=places.__getitem__):
        variable = context.symbols[name]
        if isinstance(variable, spirv.GlobalVariableOp):
            storage_class = variable.type.storage_class.data
            if takes_all or storage_class in (StorageClass.Input, StorageClass.Output):
                yield name


def _variables_used(context: EmitContext, function: str) -> set[str]:
    """Returns the global variables that `function` or anything it calls takes the address of."""
    found: set[str] = set()
    seen: set[str] = set()
    pending = [function]
    while pending:
        name = pending.pop()
        survey = context.surveys.get(name)
        if name not in seen and survey is not None:
            seen.add(name)
            found |= survey.globals
            pending.extend(survey.callees)
    return found
