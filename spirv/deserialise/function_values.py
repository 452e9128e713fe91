"""The values of one function, as they are seen from where operations are being put."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv import enums
from ...ir.dialects.spirv.types import PointerType
from ..binary import Instruction
from ..tables import Decoration
from .control_flow import Construct, Level, contains
from .errors import unreadable
from .module_values import ModuleValues
from .values_leaving import LeavingValues

Insert = Callable[[Operation], None]
"""Puts an operation where a value is needed."""


class FunctionValues:
    """What ids stand for in a function; what instructions ask for, as `operations.Operands`."""

    def __init__(self, module: ModuleValues, leaving: LeavingValues) -> None:
        self._module = module
        self._leaving = leaving
        self._values: dict[int, SSAValue] = {}
        self._variables: dict[int, SSAValue] = {}
        self.results: dict[tuple[Construct, int], SSAValue] = {}
        """Values that leave a construct, as its operation gives them."""
        self.level: Level = None
        """The construct in whose region operations are being put."""
        self.insert: Insert = _nowhere

    def value(self, number: int, user: Instruction) -> SSAValue:
        """Returns the value with an id, as seen from `level`."""
        if number not in self._leaving.level:
            return self._module.value(number, user, self.insert)
        home = self._leaving.level[number]
        if not contains(home, self.level):
            variable = self._variables.get(number)
            if variable is not None:
                load = spirv.LoadOp(variable)
                self.insert(load)
                return load.value
            while home is not None and not contains(home.parent, self.level):
                home = home.parent
            known = None if home is None else self.results.get((home, number))
        else:
            known = self._values.get(number)
        if known is None:
            unreadable(f"%{number} is used where it is not defined", user)
        return known

    def type(self, number: int, user: Instruction) -> Attribute:
        """Returns the type with an id."""
        return self._module.types.type(number, user)

    def integer(self, number: int, user: Instruction) -> int:
        """Returns a plain integer constant."""
        found = self._module.integer(number)
        if found is None:
            unreadable(f"%{number} is no plain integer constant", user)
        return found

    def is_glsl(self, number: int) -> bool:
        """Whether an id is the import of GLSL.std.450."""
        return self._module.extended_sets.get(number) == "GLSL.std.450"

    def callee(self, number: int, user: Instruction) -> str:
        """Returns the symbol of a function."""
        return self._module.callee(number, user)

    def stride(self, number: int) -> int | None:
        """Returns the stride that the type of a pointer is decorated with."""
        view = self._module.view
        pointer = view.definitions.get(number)
        found = None if pointer is None else view.decoration(pointer.result_type or 0, Decoration.ArrayStride)
        return found[0] if found else None

    def define(self, number: int, value: SSAValue) -> None:
        """Says which value an id is, and names it as the binary does."""
        self._values[number] = value
        name = self._module.view.names.get(number)
        if name and SSAValue.is_valid_name(name):
            value.name_hint = name

    def type_of(self, number: int) -> Attribute:
        """Returns the type of the result with an id."""
        item = self._module.view.definitions[number]
        return self._module.types.type(item.result_type or 0, item)

    def add_variable(self, number: int, entry: Block) -> None:
        """Makes the variable through which a value leaves its construct; `entry` is the function's first block."""
        item = self._module.view.definitions[number]
        type_ = self.type_of(number)
        if isinstance(type_, PointerType):
            unreadable(
                "its result, a pointer, is used where only a branch out of several constructs leads", item
            )
        variable = spirv.VariableOp(PointerType.get(type_, enums.StorageClass.Function))
        entry.add_op(variable)
        self._variables[number] = variable.pointer

    def keep(self, number: int, block: Block) -> None:
        """Stores a value that leaves its construct through a variable."""
        variable = self._variables.get(number)
        if variable is not None:
            block.add_op(spirv.StoreOp(variable, self._values[number]))


def _nowhere(op: Operation) -> None:
    raise AssertionError(f"{op.name} has no place")
