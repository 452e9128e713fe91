"""Adds to a module: types and constants that it may have already, variables with decorations, capabilities, functions.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from .binary import Instruction, Module, decode_string, encode_string
from .module_view import ModuleView, is_behind_annotations
from .tables import Capability, Decoration, Op, StorageClass

Body = list[Instruction]
"""Instructions of a function."""


class BuiltInInput(NamedTuple):
    """An input variable with the types of its value and of that value's components."""

    variable: int
    type: int
    scalar: int


class ModuleEditor:
    """What is to be added to a valid module; `finished` gives the result."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.view = ModuleView(module)
        self._bound = module.bound
        self._added: dict[tuple[int, int | None, tuple[int, ...]], int] = {
            (item.opcode, item.result_type, item.operands): item.result_id
            for item in self.view.globals
            if item.result_id is not None and item.opcode in _REUSED
        }
        self._globals: list[Instruction] = []
        self._defined: dict[int, Instruction] = {}
        self._annotations: list[Instruction] = []
        self._capabilities: list[int] = []
        self._extensions: set[str] = set()
        self._imports: Body = []
        self._functions: Body = []
        self._inputs: dict[int, BuiltInInput] = {}

    def new_id(self) -> int:
        """Returns a fresh id."""
        self._bound += 1
        return self._bound - 1

    # Types, constants, variables

    def declared(self, opcode: int, *operands: int, type_: int | None = None) -> int:
        """Returns a type or constant, which is added where the module does not have it."""
        key = (opcode, type_, operands)
        if key not in self._added:
            self._added[key] = self._define(opcode, *operands, type_=type_)
        return self._added[key]

    @property
    def u32(self) -> int:
        """The type of integers without sign."""
        return self.declared(Op.TypeInt, 32, 0)

    @property
    def bool_(self) -> int:
        """The type of truth values."""
        return self.declared(Op.TypeBool)

    def number(self, value: int) -> int:
        """Returns a constant of 32 bits."""
        return self.declared(Op.Constant, value, type_=self.u32)

    def pointer(self, storage_class: int, pointee: int) -> int:
        """Returns a type of pointers."""
        return self.declared(Op.TypePointer, storage_class, pointee)

    def array(self, element: int, length: int) -> int:
        """Returns a type of arrays without decorations; each call makes another."""
        return self._define(Op.TypeArray, element, self.number(length))

    def variable(self, storage_class: int, pointee: int, *initializer: int) -> int:
        """Returns a new variable of the module."""
        return self._define(
            Op.Variable, storage_class, *initializer, type_=self.pointer(storage_class, pointee)
        )

    def define(self, item: Instruction) -> None:
        """Adds a type, constant or variable that has its id already."""
        self._globals.append(item)

    def built_in(self, built_in: int, components: int, interface: Collection[int]) -> BuiltInInput:
        """Returns the input of a built-in of 32-bit integers for an entry point, which may have one only.

        It is the one of the entry point's interface, another of the module where that has none, or a new one.
        """
        found = self._find_inputs(built_in)
        known = next((item for item in found if item.variable in interface), found[0] if found else None)
        if known is None:
            known = self._inputs.get(built_in)
        if known is None:
            known = self._inputs[built_in] = self._add_input(built_in, components)
        return known

    def _find_inputs(self, built_in: int) -> list[BuiltInInput]:
        found: list[BuiltInInput] = []
        for item in self.view.of_opcode(Op.Variable):
            if self.view.decoration(item.result_id or 0, Decoration.BuiltIn) == (built_in,):
                type_ = self.view.definitions[self.view.definitions[item.result_type or 0].operands[1]]
                scalar = type_.operands[0] if type_.opcode == Op.TypeVector else type_.result_id
                found.append(BuiltInInput(item.result_id or 0, type_.result_id or 0, scalar or 0))
        return found

    def _add_input(self, built_in: int, components: int) -> BuiltInInput:
        type_ = self.u32 if components == 1 else self.declared(Op.TypeVector, self.u32, components)
        made = self.variable(StorageClass.Input, type_)
        self.decorate(made, Decoration.BuiltIn, built_in)
        return BuiltInInput(made, type_, self.u32)

    def words(self) -> int:
        """Returns the type of a storage buffer of words; each call makes another."""
        array = self._define(Op.TypeRuntimeArray, self.u32)
        block = self._define(Op.TypeStruct, array)
        self.decorate(array, Decoration.ArrayStride, 4)
        self._annotations.append(Instruction(Op.MemberDecorate, None, None, (block, 0, Decoration.Offset, 0)))
        self.decorate(block, Decoration.Block)
        return block

    def decorate(self, target: int, *words: int) -> None:
        """Adds a decoration."""
        self._annotations.append(Instruction(Op.Decorate, None, None, (target, *words)))

    def require(self, capability: int) -> None:
        """Adds a capability where the module does not declare it."""
        if not self.has(capability):
            self._capabilities.append(capability)

    def has(self, capability: int) -> bool:
        """Whether the module declares a capability, or has got it."""
        declared = any(item.operands == (capability,) for item in self.view.of_opcode(Op.Capability))
        return declared or capability in self._capabilities

    def extend(self, name: str) -> None:
        """Adds an extension, which has become core in SPIR-V 1.4, where the module is older and does not name it."""
        named = {decode_string(item.operands)[0] for item in self.view.of_opcode(Op.Extension)}
        if self.module.version < (1, 4) and name not in named | self._extensions:
            self._extensions.add(name)

    def glsl(self) -> int:
        """Returns the instructions of GLSL.std.450, which are imported where the module does not."""
        for item in (*self.view.of_opcode(Op.ExtInstImport), *self._imports):
            if decode_string(item.operands)[0] == "GLSL.std.450":
                return item.result_id or 0
        result = self.new_id()
        self._imports.append(Instruction(Op.ExtInstImport, None, result, encode_string("GLSL.std.450")))
        return result

    def definition(self, number: int) -> Instruction:
        """Returns what defines an id of the module, or a type or constant that was added."""
        return self.view.definitions.get(number) or self._defined[number]

    def type_of(self, value: int) -> int:
        """Returns the type of a value of the module."""
        found = self.view.definitions[value].result_type
        assert found is not None, "the module is valid"
        return found

    def _define(self, opcode: int, *operands: int, type_: int | None = None) -> int:
        result = self.new_id()
        self._defined[result] = Instruction(opcode, type_, result, operands)
        self._globals.append(self._defined[result])
        return result

    # Code

    def emit(self, body: Body, opcode: int, *operands: int, type_: int | None = None) -> int:
        """Appends an instruction to a body; returns its result, 0 without a type."""
        result = None if type_ is None else self.new_id()
        body.append(Instruction(opcode, type_, result, operands))
        return result or 0

    def label(self, body: Body, label: int) -> None:
        """Appends a label."""
        body.append(Instruction(Op.Label, None, label, ()))

    def selection(self, body: Body, condition: int, build: Callable[[], None]) -> None:
        """Appends what `build` appends, to run where a condition holds."""
        inside, merge = self.new_id(), self.new_id()
        self.emit(body, Op.SelectionMerge, merge, 0)
        self.emit(body, Op.BranchConditional, condition, inside, merge)
        self.label(body, inside)
        build()
        self.emit(body, Op.Branch, merge)
        self.label(body, merge)

    def procedure(self, body: Body) -> int:
        """Adds a function without parameters and result, whose first block has no label yet; returns its id."""
        void = self.declared(Op.TypeVoid)
        function = self.new_id()
        self._functions += [
            Instruction(Op.Function, void, function, (0, self.declared(Op.TypeFunction, void))),
            Instruction(Op.Label, None, self.new_id(), ()),
            *body,
            Instruction(Op.Return, None, None, ()),
            Instruction(Op.FunctionEnd, None, None, ()),
        ]
        return function

    # The result

    def finished(self, change: Callable[[Instruction], Iterator[Instruction]]) -> Module:
        """Returns the module with what was added.

        Args:
            change: gives what stands in the place of each instruction of the old module.
        """
        items: list[Instruction] = []
        stage = 0
        for item in self.module.instructions:
            if stage == 0 and item.opcode != Op.Capability:
                items += [Instruction(Op.Capability, None, None, (number,)) for number in self._capabilities]
                names = sorted(self._extensions)
                items += [Instruction(Op.Extension, None, None, encode_string(name)) for name in names]
                stage = 1
            if item.opcode == Op.MemoryModel:
                items += self._imports
            if stage == 1 and is_behind_annotations(item):
                items += self._annotations
                stage = 2
            if stage == 2 and item.opcode == Op.Function:
                items += self._globals
                stage = 3
            items += change(item)
        items += self._functions
        return replace(
            self.module,
            version=max(self.module.version, (1, 3)),  # operations of sub-groups, storage buffers
            bound=self._bound,
            instructions=tuple(item._replace(ordinal=place) for place, item in enumerate(items)),
        )


_REUSED = frozenset(
    (
        Op.TypeVoid,
        Op.TypeBool,
        Op.TypeInt,
        Op.TypeFloat,
        Op.TypeVector,
        Op.TypeFunction,
        Op.TypePointer,
        Op.Constant,
    )
)

GROUP_CAPABILITIES = (Capability.GroupNonUniform, Capability.GroupNonUniformArithmetic)
"""What operations on the numbers of a sub-group need."""
