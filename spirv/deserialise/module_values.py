"""What functions refer to: types, constants, symbols, names and decorations of the module."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv import enums
from ...ir.dialects.spirv.attributes import FPRoundingModeAttr, ScopeAttr
from ...ir.dialects.spirv.spec_constants import SPEC_OPERATIONS
from ..binary import Instruction
from ..emit_context import UNIT_DECORATIONS
from ..module_view import ModuleView
from ..tables import Decoration, Op, enumerant_name, opcode_name
from .constants import ConstantReader
from .errors import unreadable
from .operations import read_operation
from .types import TypeReader

SPEC_SCALARS = frozenset((Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse))
_UNITS = {int(decoration): name for name, decoration in UNIT_DECORATIONS.items()}
_IGNORED = frozenset((Decoration.UserSemantic, Decoration.CounterBuffer))


class ModuleValues:
    """The globals of a module, by id."""

    def __init__(self, view: ModuleView) -> None:
        self.view = view
        self.types = TypeReader(view, self.integer, self.symbol)
        self.constants = ConstantReader(view, self.types)
        self.symbols: dict[int, str] = {}
        """Symbols of functions, variables and specialization constants."""
        self.extended_sets: dict[int, str] = {}
        self.strings: dict[int, str] = {}
        self._taken: set[str] = set()
        self._depth = 0

    def integer(self, number: int) -> int | None:
        """Returns a plain integer constant as an unsigned number, None where an id is none."""
        item = self.view.definitions.get(number)
        kind = self.view.type_of(number)
        if item is None or item.opcode != Op.Constant or kind is None or kind.opcode != Op.TypeInt:
            return None
        return sum(word << 32 * index for index, word in enumerate(item.operands[:2]))

    def name(self, number: int, wanted: str | None = None) -> str:
        """Gives an id a symbol: what is wanted, else its name, else one of its number; made unique."""
        base = wanted or self.view.names.get(number) or f"id_{number}"
        free, suffix = base, 0
        while free in self._taken:
            free = f"{base}_{suffix}"
            suffix += 1
        self._taken.add(free)
        self.symbols[number] = free
        return free

    def symbol(self, number: int) -> str | None:
        """Returns the symbol of a specialization constant; None where an id is none that has one."""
        item = self.view.definitions.get(number)
        if item is None or item.opcode not in (*SPEC_SCALARS, Op.SpecConstantComposite, Op.SpecConstantOp):
            return None
        return self.symbols.get(number)

    def callee(self, number: int, user: Instruction) -> str:
        """Returns the symbol of a function."""
        item = self.view.definitions.get(number)
        if item is None or item.opcode != Op.Function:
            unreadable(f"%{number} is no function", user)
        return self.symbols[number]

    def is_debug(self, item: Instruction) -> bool:
        """Whether an instruction has no meaning but for debuggers (NonSemantic.…)."""
        return item.opcode == Op.ExtInst and self.extended_sets.get((*item.operands, 0)[0], "").startswith(
            "NonSemantic."
        )

    def value(self, number: int, user: Instruction, insert: Callable[[Operation], None]) -> SSAValue:
        """Returns a new operation's value for a constant or global variable."""
        item = self.view.definitions.get(number)
        if item is None:
            unreadable(f"%{number} is not defined", user)
        if self.constants.is_plain(number) and number not in self.symbols:
            op: Operation = spirv.ConstantOp(*self.constants.value(number, user))
        elif item.opcode == Op.Undef:
            op = spirv.UndefOp(self.types.type(item.result_type or 0, item))
        elif item.opcode == Op.Variable and number in self.symbols:
            op = spirv.AddressOfOp(self.symbols[number], self.types.pointer(item.result_type or 0, item))
        elif number in self.symbols and item.result_type is not None and item.opcode != Op.Function:
            op = spirv.ReferenceOfOp(self.symbols[number], self.types.type(item.result_type, item))
        elif item.opcode == Op.SpecConstantOp:
            op = self._spec_operation(item, insert)
        else:
            unreadable(f"%{number}, {item.name}, is no value here", user)
        insert(op)
        return op.results[0]

    def _spec_operation(self, item: Instruction, insert: Callable[[Operation], None]) -> Operation:
        if not item.operands:
            unreadable("it wraps nothing", item)
        if self._depth > 32:
            unreadable("operations of specialization constants are nested too deep", item)
        name = opcode_name(item.operands[0]).removeprefix("Op")
        if f"spirv.{name}" not in SPEC_OPERATIONS:
            unreadable(f"it wraps Op{name}, which the dialect cannot", item)
        self._depth += 1
        try:
            wrapped = item._replace(opcode=item.operands[0], operands=item.operands[1:])
            return spirv.SpecConstantOperationOp(read_operation(_SpecOperands(self, insert), wrapped))
        finally:
            self._depth -= 1

    def decorations(self, number: int, item: Instruction) -> dict[str, Attribute]:
        """Returns the attributes that a value's decorations become; those of symbols are left to their readers."""
        found: dict[str, Attribute] = {}
        for use in self.view.uses(number):
            if use.decoration in _UNITS:
                found[_UNITS[use.decoration]] = UnitAttr()
            elif use.decoration == Decoration.FPRoundingMode and use.operands:
                if use.operands[0] not in enums.FPRoundingMode.__members__.values():
                    unreadable(f"{use.operands[0]} is no rounding mode", item)
                found["fp_rounding_mode"] = FPRoundingModeAttr(enums.FPRoundingMode(use.operands[0]))
            elif use.decoration == Decoration.UniformId and use.operands:
                value = self.integer(use.operands[0])
                if value not in enums.Scope.__members__.values():
                    unreadable(f"{value} is no scope of the dialect", item)
                found["uniform_id"] = ScopeAttr(enums.Scope(value))
            elif use.decoration not in _IGNORED and use.decoration not in _OF_SYMBOLS:
                name = enumerant_name("Decoration", use.decoration)
                unreadable(f"it has the decoration {name}, which the dialect has not", item)
        return found

    def number_decoration(self, number: int, decoration: int) -> int | None:
        """Returns the number of a decoration such as Binding, None where an id has it not."""
        found = self.view.decoration(number, decoration)
        return found[0] if found else None

    def built_in(self, number: int) -> str | None:
        """Returns the name of the built-in that an id is."""
        found = self.number_decoration(number, Decoration.BuiltIn)
        return None if found is None else enumerant_name("BuiltIn", found)


_OF_SYMBOLS = frozenset(
    (
        Decoration.DescriptorSet,
        Decoration.Binding,
        Decoration.BuiltIn,
        Decoration.SpecId,
        Decoration.LinkageAttributes,
    )
)


class _SpecOperands:
    """Operands of an operation that OpSpecConstantOp wraps."""

    def __init__(self, module: ModuleValues, insert: Callable[[Operation], None]) -> None:
        self._module, self._insert = module, insert

    def value(self, number: int, user: Instruction) -> SSAValue:
        return self._module.value(number, user, self._insert)

    def type(self, number: int, user: Instruction) -> Attribute:
        return self._module.types.type(number, user)

    def integer(self, number: int, user: Instruction) -> int:
        unreadable(f"%{number} cannot be an operand here", user)

    def is_glsl(self, number: int) -> bool:
        del number
        return False

    def callee(self, number: int, user: Instruction) -> str:
        return self._module.callee(number, user)

    def stride(self, number: int) -> int | None:
        del number
        return None
