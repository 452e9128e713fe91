"""What the emitters of one module share: builder, types, symbols, capabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from ..ir.dialects.spirv import (
    AddressOfOp,
    BreakOp,
    ContinueOp,
    FuncOp,
    FunctionCallOp,
    LinkageAttributesAttr,
    ModuleOp,
    SpecConstantExpressionOp,
    SpecConstantOp,
    VariableOp,
)
from ..ir.dialects.spirv.attributes import FPRoundingModeAttr, ScopeAttr
from ..ir.dialects.spirv.types import StructType
from ..ir.errors import BuildError
from ..ir.location import location_of
from ..ir.target_env import TargetEnv
from ..ir.walk import block_operations, operations
from .binary import ModuleBuilder, Section, encode_string
from .literals import UnemittableError
from .tables import Capability, Decoration, Op
from .type_table import TypeTable

GLSL_SET = "GLSL.std.450"

UNIT_DECORATIONS = {
    "aliased": Decoration.Aliased,
    "coherent": Decoration.Coherent,
    "no_contraction": Decoration.NoContraction,
    "aliased_pointer": Decoration.AliasedPointer,
    "non_uniform": Decoration.NonUniform,
    "no_signed_wrap": Decoration.NoSignedWrap,
    "no_unsigned_wrap": Decoration.NoUnsignedWrap,
    "non_readable": Decoration.NonReadable,
    "non_writable": Decoration.NonWritable,
    "relaxed_precision": Decoration.RelaxedPrecision,
    "restrict": Decoration.Restrict,
    "restrict_pointer": Decoration.RestrictPointer,
    "uniform": Decoration.Uniform,
    "volatile": Decoration.Volatile,
}
"""Unit attributes that become decorations, spelt as upstream's serialiser spells them."""


class EmissionError(BuildError):
    """IR that has no SPIR-V form: a fault of an earlier pass, never of the user's program."""

    code = "LP2160"
    _stays_behind = ("operation",)

    def __init__(self, message: str, operation: Operation | None = None):
        location = None if operation is None else location_of(operation.location)
        prefix = (
            "internal error: cannot emit SPIR-V: "
            if operation is None
            else (f"internal error: cannot emit '{operation.name}' as SPIR-V: ")
        )
        super().__init__(prefix + message, location=location)
        self.operation = operation
        """The operation without SPIR-V form."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What one walk over a function finds: emission and the entry points' interfaces need it."""

    variables: tuple[VariableOp, ...]
    """Its variables, wherever they stand."""
    globals: frozenset[str]
    """Global variables whose address it takes."""
    callees: frozenset[str]
    leavers: tuple[BreakOp | ContinueOp, ...]
    """Its branches out of several regions."""

    @staticmethod
    def of(function: FuncOp) -> Survey:
        """Walks a function."""
        variables: list[VariableOp] = []
        globals_: set[str] = set()
        callees: set[str] = set()
        leavers: list[BreakOp | ContinueOp] = []
        for op in operations(function.body):
            if type(op) not in _SURVEYED:  # asked by type(): isinstance costs more
                continue
            if type(op) is VariableOp:
                variables.append(op)
            elif type(op) is AddressOfOp:
                globals_.add(op.variable.root_reference.data)
            elif isinstance(op, FunctionCallOp):
                callees.add(op.callee.root_reference.data)
            else:
                assert isinstance(op, BreakOp | ContinueOp)
                leavers.append(op)
        return Survey(tuple(variables), frozenset(globals_), frozenset(callees), tuple(leavers))


_SURVEYED = frozenset((VariableOp, AddressOfOp, FunctionCallOp, BreakOp, ContinueOp))


class EmitContext:
    """State of emitting one `spirv.module`; ids of symbols are handed out before their definition."""

    def __init__(self, module: ModuleOp, env: TargetEnv):
        self.module = module
        self.env = env
        self.builder = ModuleBuilder(env.spirv_version)
        self.capabilities: set[int] = {Capability.Shader}
        self.extensions: set[str] = set()
        self.types = TypeTable(self.builder, self.capabilities, self.constant_id)
        self.types.name_struct = self._name_struct
        self.surveys: dict[str, Survey] = {}
        """Of the functions emitted so far, by symbol."""
        self.symbols: dict[str, Operation] = {}
        self.ops = block_operations(module.body.block)
        """Those of the module, in order."""
        for op in self.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.symbols[name.data] = op
        self.emit_global: Callable[[str], int] = self.symbol_id
        """Writes a global of a name before what refers to it, and returns its id; `GlobalEmitter` sets it."""
        self._symbol_ids: dict[str, int] = {}
        self._glsl: int | None = None
        self._files: dict[str, int] = {}

    def symbol_id(self, name: str) -> int:
        """Returns the id of a symbol, the same at every call."""
        known = self._symbol_ids.get(name)
        if known is None:
            known = self._symbol_ids[name] = self.builder.new_id()
        return known

    def constant_id(self, name: str) -> int:
        """Returns the id of a specialization constant that a type refers to; UnemittableError where it is none."""
        if not isinstance(self.symbols.get(name), SpecConstantOp | SpecConstantExpressionOp):
            raise UnemittableError(f"the module has no specialization constant @{name}")
        return self.emit_global(name)

    def glsl_set(self) -> int:
        """Returns the id of the imported GLSL.std.450."""
        if self._glsl is None:
            self._glsl = self.builder.add_result(
                Section.EXT_INST_IMPORTS, Op.ExtInstImport, encode_string(GLSL_SET)
            )
        return self._glsl

    def file_id(self, file: str) -> int:
        """Returns the id of the OpString that names a source file, for OpLine."""
        known = self._files.get(file)
        if known is None:
            known = self.builder.add_result(Section.DEBUG_STRINGS, Op.String, encode_string(file))
            self._files[file] = known
            self.builder.add(Section.DEBUG_STRINGS, Op.Source, (0, 0, known))
        return known

    def name(self, target: int, name: str) -> None:
        """Adds an OpName."""
        self.builder.add(Section.DEBUG_NAMES, Op.Name, (target, *encode_string(name)))

    def _name_struct(self, target: int, type_: StructType) -> None:
        if not type_.identifier:
            return
        self.name(target, type_.identifier)
        names = self.module.names_of_members(type_.identifier)
        for index, name in enumerate(names[: len(type_.members)]):
            if name:
                words = (target, index, *encode_string(name))
                self.builder.add(Section.DEBUG_NAMES, Op.MemberName, words)

    def decorate(self, target: int, decoration: int, *values: int) -> None:
        """Adds an OpDecorate."""
        self.builder.add(Section.ANNOTATIONS, Op.Decorate, (target, decoration, *values))

    def decorate_parameters(self, function: FuncOp, numbers: Iterable[int]) -> None:
        """Adds the decorations of a function's parameters, whose ids are `numbers`."""
        for number, decoration in zip(numbers, function.decorations, strict=False):
            if decoration is not None:
                self.decorate(number, decoration)

    def link(self, target: int, linkage: LinkageAttributesAttr) -> None:
        """Makes an id a symbol of the linker."""
        self.capabilities.add(Capability.Linkage)
        # Both tables spell the enumerants' numbers alike (SPIR-V 1.6 §3.17).
        words = (*encode_string(linkage.linkage_name), int(linkage.linkage_type))
        self.decorate(target, Decoration.LinkageAttributes, *words)

    def decorate_from(self, target: int, attributes: dict[str, Attribute]) -> None:
        """Adds the decorations that unit attributes such as `no_contraction` stand for."""
        for name in attributes:
            decoration = UNIT_DECORATIONS.get(name)
            if decoration is not None:
                self.decorate(target, decoration)
        mode = attributes.get("fp_rounding_mode")
        if mode is not None and isinstance(mode, FPRoundingModeAttr):
            self.decorate(target, Decoration.FPRoundingMode, mode.data)
        scope = attributes.get("uniform_id")
        if scope is not None and isinstance(scope, ScopeAttr):
            words = (target, Decoration.UniformId, self.types.u32(scope.data))
            self.builder.add(Section.ANNOTATIONS, Op.DecorateId, words)


def cannot_emit(message: str, operation: Operation) -> NoReturn:
    """Raises EmissionError about `operation`."""
    raise EmissionError(message, operation)
