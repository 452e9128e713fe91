"""The entry of this folder: a whole module.

    data = kernel.spv                          spirv.module Logical GLSL450 requires #spirv.vce<v1.3, …> {
    deserialise(data)                            spirv.GlobalVariable …  spirv.func …  spirv.EntryPoint … }

Kept: everything that has a meaning, names of functions, variables, constants, structs and their members, names of
values as hints, OpLine as locations.  Left out: OpSource and its like, NonSemantic instructions, blocks that nothing
can reach.  Capabilities and extensions go into `vce_triple`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.utils.exceptions import VerifyException

from ...ir.dialects import spirv
from ...ir.dialects.spirv import enums
from ...ir.dialects.spirv.attributes import DecorationAttr, NullAttr
from ...ir.dialects.spirv.enums import ExecutionMode as Mode
from ...ir.dialects.spirv.spec_expression import OPERAND_COUNTS
from ...ir.narrowing import is_scalar_attribute
from ...ir.verify import IRError, verify_module
from ..binary import Instruction, decode_string, parse
from ..core_sub_groups import with_core_sub_groups
from ..decoration_groups import without_groups
from ..foreign_module import without_tool_instructions
from ..module_view import FunctionView, ModuleView
from ..operands import decode_operands
from ..tables import Decoration, NewerOp, Op, enumerant_name, opcode_name
from .buffer_blocks import with_storage_buffers
from .constants import PLAIN, scalar
from .errors import DeserialisationError, unreadable
from .function import FunctionReader
from .module_values import SPEC_SCALARS, ModuleValues

_NAMELESS = frozenset(
    (
        Op.Nop, Op.SourceContinued, Op.Source, Op.SourceExtension, Op.Name, Op.MemberName, Op.String, Op.Line,
        Op.NoLine, Op.Extension, Op.ExtInstImport, Op.MemoryModel, Op.EntryPoint, Op.ExecutionMode,
        Op.ExecutionModeId, Op.Capability, Op.Decorate, Op.MemberDecorate,
        Op.DecorateId, Op.DecorateString, Op.MemberDecorateString, Op.ModuleProcessed, Op.Undef, Op.TypeForwardPointer,
        Op.TypeVoid, Op.TypeFunction, Op.Variable, Op.SpecConstantComposite, Op.SpecConstantOp,
    )
) | PLAIN | SPEC_SCALARS  # fmt: skip
_ARRAYS = frozenset((Op.TypeArray, Op.TypeRuntimeArray))
_SPELT_UPSTREAM = {"UniformAndStorageBuffer16BitAccess": "StorageUniform16"}
"""Capabilities of two names, of which MLIR has the other."""
_OF_PARAMETERS = (
    enums.Decoration.AliasedPointer,
    enums.Decoration.RestrictPointer,
    enums.Decoration.Aliased,
    enums.Decoration.Restrict,
)
"""Those that are kept, one a parameter as in upstream: what addresses need before what is of the pointer to them."""


def deserialise(data: bytes | bytearray | memoryview) -> spirv.ModuleOp:
    """Reads a SPIR-V module into a verified `spirv.module`.

    Raises:
        SpirvError: bytes that are no module.
        DeserialisationError: a module that breaks a rule of structured control flow or of the dialect, or with
            something that the dialect has not; names the instruction.
    """
    module = without_tool_instructions(
        with_storage_buffers(with_core_sub_groups(without_groups(parse(data))))
    )
    try:
        found = _ModuleReader(ModuleView(module), module.version).read()
        verify_module(found)
    except IRError as error:
        raise DeserialisationError(f"it breaks a rule: {error.message}") from error
    except (VerifyException, RecursionError) as error:
        raise DeserialisationError(str(error) or "it is nested too deeply") from error
    return found


class _ModuleReader:
    def __init__(self, view: ModuleView, version: tuple[int, int]) -> None:
        self._view = view
        self._version = version
        self._values = ModuleValues(view)
        self._entry_points: set[int] = set()
        """The functions that are entry points; their symbols are the first of their names."""

    def read(self) -> spirv.ModuleOp:
        self._read_strings()
        self._name_symbols()
        ops = [op for item in self._view.globals if (op := self._global(item)) is not None]
        ops += [self._function(function) for function in self._view.functions]
        ops += [self._entry_point(item) for item in self._view.of_opcode(Op.EntryPoint)]
        ops += self._execution_modes()
        addressing, memory = self._models()
        module = spirv.ModuleOp(
            ops, addressing_model=addressing, memory_model=memory, vce_triple=self._triple()
        )
        names = self._values.types.member_names()
        if names:
            module.member_names = DictionaryAttr(
                {struct: ArrayAttr(map(StringAttr, found)) for struct, found in names.items()}
            )
        return module

    def _read_strings(self) -> None:
        for item in self._view.of_opcode(Op.String):
            self._values.strings[item.result_id or 0] = decode_string(item.operands)[0]
        for item in self._view.of_opcode(Op.ExtInstImport):
            self._values.extended_sets[item.result_id or 0] = decode_string(item.operands)[0]

    def _models(self) -> tuple[enums.AddressingModel, enums.MemoryModel]:
        item = next(self._view.of_opcode(Op.MemoryModel), None)
        if item is None or len(item.operands) < 2:
            unreadable("the module has no OpMemoryModel", item)
        try:
            return enums.AddressingModel(item.operands[0]), enums.MemoryModel(item.operands[1])
        except ValueError as error:
            unreadable(str(error), item)

    def _triple(self) -> spirv.VerCapExtAttr:
        capabilities: list[str] = []
        for item in self._view.of_opcode(Op.Capability):
            for number in item.operands[:1]:
                name = enumerant_name("Capability", number)
                if name.isdigit():
                    unreadable(f"the capability {number} is unknown", item)
                capabilities.append(_SPELT_UPSTREAM.get(name, name))
        extensions: list[str] = []
        for item in self._view.of_opcode(Op.Extension):
            name = decode_string(item.operands)[0]
            if not name.isidentifier() or not name.isascii():
                unreadable(f"{name!r} is no name of an extension", item)
            extensions.append(name)
        return spirv.VerCapExtAttr((f"v1.{self._version[1]}", tuple(capabilities), tuple(extensions)))

    # Symbols

    def _name_symbols(self) -> None:
        values = self._values
        names: set[str] = set()
        for item in self._view.of_opcode(Op.EntryPoint):
            if len(item.operands) < 3:
                unreadable("it has too few operands", item)
            function, name = item.operands[1], decode_string(item.operands, 2)[0]
            if name in names:
                unreadable("an entry point has a name of its own", item)
            names.add(name)
            self._entry_points.add(function)
            if name and function not in values.symbols:
                values.name(function, name)
        for function in self._view.functions:
            if function.result_id not in values.symbols:
                values.name(function.result_id)
        for item in self._view.globals:
            if item.opcode in (Op.Variable, Op.SpecConstantComposite, *SPEC_SCALARS):
                values.name(item.result_id or 0, self._name_of_block(item))
        for number in self._expressions():
            values.name(number)

    def _name_of_block(self, item: Instruction) -> str | None:
        """Returns the name of the block that a variable without a name holds; GLSL has such variables."""
        pointer = self._view.definitions.get(item.result_type or 0)
        if item.opcode != Op.Variable or self._view.names.get(item.result_id or 0) or pointer is None:
            return None
        number = pointer.operands[-1] if pointer.operands else 0
        seen: set[int] = set()
        while (kind := self._view.definitions.get(number)) and kind.opcode in _ARRAYS and number not in seen:
            seen.add(number)
            number = kind.operands[0] if kind.operands else 0
        return self._view.names.get(number)

    def _expressions(self) -> list[int]:
        """Returns the OpSpecConstantOp that something outside of functions refers to."""
        users = self._view.of_opcode(
            Op.TypeArray,
            NewerOp.TypeCooperativeMatrixKHR,
            Op.SpecConstantComposite,
            Op.ExecutionModeId,
            Op.Variable,
        )
        pending = [n for item in users for n in item.operands]
        found: dict[int, None] = {}
        while pending:
            number = pending.pop()
            item = self._view.definitions.get(number)
            if item is not None and item.opcode == Op.SpecConstantOp and number not in found:
                found[number] = None
                pending.extend(item.operands[1:])
        return list(found)

    # Globals

    def _global(self, item: Instruction) -> Operation | None:
        number = item.result_id or 0
        if item.opcode == Op.Variable:
            return self._variable(item)
        if item.opcode in SPEC_SCALARS:
            self._values.decorations(number, item)
            value = scalar(item, self._values.types.type(item.result_type or 0, item))
            spec_id = self._values.number_decoration(number, Decoration.SpecId)
            op = spirv.SpecConstantOp(self._values.symbols[number], value)
            if spec_id is not None:
                op.attributes["spec_id"] = _i32(spec_id)
            return op
        if item.opcode == Op.SpecConstantComposite:
            return self._composite(item)
        if item.opcode == Op.SpecConstantOp and number in self._values.symbols:
            return self._expression(item)
        if item.opcode in _NAMELESS or opcode_name(item.opcode).startswith("OpType"):
            return None  # types are read where they are used
        if self._values.is_debug(item):
            return None
        return unreadable("the dialect has no such operation", item)

    def _variable(self, item: Instruction) -> Operation:
        values, number = self._values, item.result_id or 0
        initializer: str | Attribute | None = None
        for start in item.operands[1:2]:
            initializer = values.symbols.get(start) or self._initial(start, item)
        op = spirv.GlobalVariableOp(
            values.symbols[number],
            values.types.pointer(item.result_type or 0, item),
            initializer=initializer,
            built_in=values.built_in(number),
        )
        for name, decoration in (
            ("binding", Decoration.Binding),
            ("descriptor_set", Decoration.DescriptorSet),
        ):
            value = values.number_decoration(number, decoration)
            if value is not None:
                op.properties[name] = _i32(value)
        op.attributes |= values.decorations(number, item)
        return op

    def _initial(self, number: int, item: Instruction) -> Attribute:
        """Returns a constant; a null as such, because shared memory begins with nothing else."""
        value = self._values.constants.value(number, item)[0]
        is_null = self._view.definitions[number].opcode == Op.ConstantNull
        return NullAttr() if is_null else value

    def _composite(self, item: Instruction) -> Operation:
        values, number = self._values, item.result_id or 0
        values.decorations(number, item)
        parts = [
            SymbolRefAttr(symbol)
            if (symbol := values.symbol(part))
            else values.constants.value(part, item)[0]
            for part in item.operands
        ]
        type_ = values.types.type(item.result_type or 0, item)
        return spirv.SpecConstantCompositeOp(values.symbols[number], type_, parts, values.built_in(number))

    def _expression(self, item: Instruction) -> Operation:
        values = self._values
        wrapped = opcode_name(item.operands[0]).removeprefix("Op")
        if wrapped not in OPERAND_COUNTS:
            unreadable(f"outside of functions it cannot wrap Op{wrapped}", item)
        operands: list[Attribute] = []
        for part in item.operands[1:]:
            symbol = values.symbol(part)
            operands.append(SymbolRefAttr(symbol) if symbol else values.constants.value(part, item)[0])
        type_ = values.types.type(item.result_type or 0, item)
        symbol = values.symbols[item.result_id or 0]
        return spirv.SpecConstantExpressionOp(symbol, wrapped, operands, type_)

    # Functions

    def _function(self, view: FunctionView) -> Operation:
        item = view.definition
        if len(item.operands) < 2 or item.operands[0] >> 4:
            unreadable("its function control is not supported", item)
        type_ = self._values.types.function(item.operands[1], item)
        if len(view.parameters) != len(type_.inputs.data):
            unreadable(f"it has {len(view.parameters)} parameters, its type {len(type_.inputs.data)}", item)
        linkage = self._linkage(view)
        is_import = linkage is not None and linkage.linkage_type is enums.LinkageType.Import
        if not view.blocks and not is_import:
            unreadable("it has no body", item)
        body = Region() if is_import else FunctionReader(self._values, view).read(type_.inputs.data)
        control = enums.FunctionControl(item.operands[0])
        function = spirv.FuncOp(self._values.symbols[view.result_id], type_, body, control, linkage)
        function.arg_attrs = self._decorations_of_parameters(view)
        return function

    def _decorations_of_parameters(self, view: FunctionView) -> ArrayAttr[DictionaryAttr] | None:
        """Returns what pointers to addresses must have; what else parameters are decorated with are hints."""
        rows: list[DictionaryAttr] = []
        for parameter in view.parameters:
            uses = {use.decoration for use in self._view.uses(parameter.result_id or 0)}
            found = next((DecorationAttr(each) for each in _OF_PARAMETERS if each in uses), None)
            rows.append(DictionaryAttr({} if found is None else {DecorationAttr.name: found}))
        return ArrayAttr(rows) if any(row.data for row in rows) else None

    def _linkage(self, view: FunctionView) -> spirv.LinkageAttributesAttr | None:
        words = self._view.decoration(view.result_id, Decoration.LinkageAttributes)
        if words is None:
            return None
        name, end = decode_string(words)
        if end >= len(words) or words[end] not in (0, 1):
            unreadable("its linkage type is unknown", view.definition)
        return spirv.LinkageAttributesAttr((name, enums.LinkageType(words[end])))

    def _entry_point(self, item: Instruction) -> Operation:
        model = item.operands[0]
        if model != enums.ExecutionModel.GLCompute:
            name = enumerant_name("ExecutionModel", model)
            unreadable(f"only compute shaders are supported, found {name}", item)
        interface: list[str] = []
        for operand in decode_operands(item)[3:]:
            variable = self._view.definitions.get(operand.value)
            if (
                variable is None
                or variable.opcode != Op.Variable
                or operand.value not in self._values.symbols
            ):
                unreadable(f"%{operand.value} of its interface is no global variable", item)
            interface.append(self._values.symbols[operand.value])
        if item.operands[1] not in {function.result_id for function in self._view.functions}:
            unreadable(f"%{item.operands[1]} is no function", item)
        symbol, name = self._values.symbols[item.operands[1]], decode_string(item.operands, 2)[0]
        return spirv.EntryPointOp(symbol, interface, entry_name=None if name == symbol else name)

    def _execution_modes(self) -> list[Operation]:
        """Returns the modes; the constant WorkgroupSize, which counts more than LocalSize, becomes one of these."""
        size = self._constant_local_size()
        found = [
            self._execution_mode(item)
            for item in self._view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId)
            if size is None or item.operands[1:2] not in ((Mode.LocalSize,), (Mode.LocalSizeId,))
        ]
        if size is None:
            return found
        symbols = [self._values.symbols[function] for function in sorted(self._entry_points)]
        return [spirv.ExecutionModeOp(name, Mode.LocalSize, size) for name in symbols] + found

    def _constant_local_size(self) -> list[int] | None:
        for item in self._view.of_opcode(Op.ConstantComposite):
            if self._values.built_in(item.result_id or 0) == "WorkgroupSize":
                size = [self._values.integer(number) for number in item.operands]
                if len(size) != 3 or not all(length is not None and 0 < length < 1 << 31 for length in size):
                    unreadable("a local size is three positive integers", item)
                return [length for length in size if length is not None]
        return None

    def _execution_mode(self, item: Instruction) -> Operation:
        if len(item.operands) < 2:
            unreadable("it has too few operands", item)
        function, mode, *words = item.operands
        if function not in self._entry_points:
            unreadable(f"%{function} is no entry point", item)
        if mode not in Mode.__members__.values():
            unreadable(f"the dialect has no mode {enumerant_name('ExecutionMode', mode)}", item)
        values: list[int | SymbolRefAttr] = list(words)
        if item.opcode == Op.ExecutionModeId:
            values = [self._mode_value(word, item) for word in words]
        elif any(word >> 31 for word in words):
            unreadable("its numbers are too large", item)
        return spirv.ExecutionModeOp(self._values.symbols[function], Mode(mode), values)

    def _mode_value(self, number: int, item: Instruction) -> int | SymbolRefAttr:
        symbol = self._values.symbol(number)
        if symbol is not None:
            return SymbolRefAttr(symbol)
        value, _ = self._values.constants.value(number, item)
        if not is_scalar_attribute(value) or not isinstance(value, IntegerAttr):
            unreadable(f"%{number} is no integer", item)
        return value.value.data


def _i32(value: int) -> IntegerAttr:

    return IntegerAttr(value - (1 << 32) if value >> 31 else value, i32)
