"""What all rule families ask of a module: decoded operands and questions about types."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..binary import MAX_INSTRUCTION_WORDS, Instruction, Module
from ..errors import SpirvError
from ..module_view import ModuleView
from ..operands import ID_KINDS, DecodedOperand, decode_operands, enumerant_values, id_counts
from ..tables import (
    Enumerant,
    InstructionInfo,
    NewerOp,
    Op,
    capability_closure,
    enumerant,
    instruction,
    is_enum,
)

SCALAR_TYPES = frozenset((Op.TypeBool, Op.TypeInt, Op.TypeFloat))


class Context:
    """A module under validation.

    `malformed` holds the instructions whose operands do not fit the grammar; they have no operands here.
    """

    def __init__(self, module: Module, *, is_vulkan: bool) -> None:
        self.module = module
        self.is_vulkan = is_vulkan
        self.view = ModuleView(module)
        self.malformed: list[tuple[int, str]] = []
        self.enumerants: list[tuple[Instruction, Enumerant]] = []
        """Every use of an enumerant, in order."""
        self._ids = [self._decode(item) for item in module.instructions]
        declared = [item.operands[0] for item in self.view.of_opcode(Op.Capability) if item.operands]
        self.capabilities = capability_closure(declared)
        """Declared capabilities and all that they imply."""

    def _decode(self, item: Instruction) -> tuple[int, ...]:
        counts = id_counts(item.opcode)
        if counts is not None and counts[0] <= len(item.operands) <= (counts[1] or MAX_INSTRUCTION_WORDS):
            return item.operands
        words = 1
        if item.opcode == Op.Switch and item.operands:
            words = self.view.switch_literal_words(item.operands[0])
        try:
            decoded = decode_operands(item, switch_literal_words=words)
        except SpirvError as error:
            self.malformed.append((item.ordinal, error.message))
            return ()
        for operand in decoded:
            if is_enum(operand.kind):
                self._read_enumerants(item, operand)
        return tuple(operand.value for operand in decoded if operand.kind in ID_KINDS)

    def _read_enumerants(self, item: Instruction, operand: DecodedOperand) -> None:
        for value in enumerant_values(operand.kind, operand.value):
            row = enumerant(operand.kind, value)
            if row is not None:
                self.enumerants.append((item, row))

    def ids(self, item: Instruction) -> tuple[int, ...]:
        """Ids among the operands, without the result type."""
        return self._ids[item.ordinal]

    def uses_of_opcodes(self, is_wanted: Callable[[InstructionInfo], bool]) -> Iterator[Instruction]:
        """The instructions whose opcode is wanted; asks once an opcode."""
        infos = (instruction(code) for code in {item.opcode for item in self.module.instructions})
        wanted = {info.opcode for info in infos if info is not None and is_wanted(info)}
        if wanted:
            yield from (item for item in self.module.instructions if item.opcode in wanted)

    def definition(self, number: int) -> Instruction | None:
        """What defines an id."""
        return self.view.definitions.get(number)

    def opcode(self, number: int) -> int | None:
        """Opcode of what defines an id."""
        item = self.view.definitions.get(number)
        return None if item is None else item.opcode

    def type_id(self, value: int) -> int:
        """Id of a value's type; 0 where it has none."""
        item = self.view.definitions.get(value)
        return (item.result_type or 0) if item is not None else 0

    def scalar(self, type_id: int) -> Instruction | None:
        """The scalar type of a scalar, vector or cooperative matrix type; None of any other."""
        item = self.view.definitions.get(type_id)
        if item is not None and item.opcode in (Op.TypeVector, NewerOp.TypeCooperativeMatrixKHR):
            item = self.view.definitions.get(item.operands[0])
        return item if item is not None and item.opcode in SCALAR_TYPES else None

    def components(self, type_id: int) -> int:
        """1, or the components of a vector type."""
        item = self.view.definitions.get(type_id)
        return item.operands[1] if item is not None and item.opcode == Op.TypeVector else 1

    def width(self, type_id: int) -> int:
        """Bits of a numeric scalar, or of a component; 0 of other types."""
        item = self.scalar(type_id)
        return item.operands[0] if item is not None and item.operands else 0

    def is_int(self, type_id: int) -> bool:
        """Whether it is an integer or a vector of them."""
        item = self.scalar(type_id)
        return item is not None and item.opcode == Op.TypeInt

    def is_unsigned(self, type_id: int) -> bool:
        """Whether it is an integer without sign, or a vector of them."""
        item = self.scalar(type_id)
        return item is not None and item.opcode == Op.TypeInt and item.operands[1] == 0

    def is_float(self, type_id: int) -> bool:
        """Whether it is a float or a vector of them."""
        item = self.scalar(type_id)
        return item is not None and item.opcode == Op.TypeFloat

    def is_bool(self, type_id: int) -> bool:
        """Whether it is a bool or a vector of them."""
        item = self.scalar(type_id)
        return item is not None and item.opcode == Op.TypeBool

    def pointer(self, type_id: int) -> tuple[int, int] | None:
        """(storage class, pointee type) of a pointer type."""
        item = self.view.definitions.get(type_id)
        if item is None or item.opcode != Op.TypePointer:
            return None
        return item.operands[0], item.operands[1]

    def spell(self, number: int) -> str:
        """An id for a message, with its debug name."""
        name = self.view.names.get(number)
        return f"%{number} ({name})" if name else f"%{number}"
