"""A module indexed: definitions, names, decorations, functions.  What `reflect` and `validate` stand on.

Makes no sense of anything and never fails on a module that `binary.parse` read: what is malformed is left out
or found later by whoever needs it.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .binary import Instruction, Module, decode_string
from .errors import SpirvError
from .tables import Op

TERMINATORS: Final = frozenset(
    (
        Op.Branch,
        Op.BranchConditional,
        Op.Switch,
        Op.Kill,
        Op.Return,
        Op.ReturnValue,
        Op.Unreachable,
        Op.TerminateInvocation,
        Op.IgnoreIntersectionKHR,
        Op.TerminateRayKHR,
        Op.EmitMeshTasksEXT,
    )
)
"""Instructions that end a block (SPIR-V 1.6 §2.2.5)."""
MERGES: Final = frozenset((Op.SelectionMerge, Op.LoopMerge))
DEBUG_LINES: Final = frozenset((Op.Line, Op.NoLine))


class DecorationUse(NamedTuple):
    """One decoration of an id or of a struct member."""

    decoration: int
    operands: tuple[int, ...]
    """Words behind the decoration."""
    ordinal: int


@dataclass(slots=True)
class BlockView:
    """A basic block."""

    label: int
    """Id of its OpLabel."""
    ordinal: int
    body: list[Instruction] = field(default_factory=list[Instruction])
    """Everything behind the label, the terminator included."""

    @property
    def terminator(self) -> Instruction | None:
        """The instruction that ends it, or None where it does not end."""
        return self.body[-1] if self.body and self.body[-1].opcode in TERMINATORS else None

    @property
    def merge(self) -> Instruction | None:
        """Its OpSelectionMerge or OpLoopMerge."""
        for item in reversed(self.body[:-1]):
            if item.opcode in MERGES:
                return item
            if item.opcode not in DEBUG_LINES:
                return None
        return None

    def successors(self, switch_literal_words: int = 1) -> tuple[int, ...]:
        """Labels that the terminator may branch to, in its order."""
        end = self.terminator
        if end is None:
            return ()
        if end.opcode == Op.Branch:
            return end.operands[:1]
        if end.opcode == Op.BranchConditional:
            return end.operands[1:3]
        if end.opcode == Op.Switch:
            step = switch_literal_words + 1
            return (*end.operands[1:2], *end.operands[1 + step :: step])
        return ()


@dataclass(slots=True)
class FunctionView:
    """A function."""

    definition: Instruction
    """Its OpFunction."""
    parameters: list[Instruction] = field(default_factory=list[Instruction])
    blocks: list[BlockView] = field(default_factory=list[BlockView])

    @property
    def result_id(self) -> int:
        """Id of the function."""
        return self.definition.result_id or 0

    def instructions(self) -> Iterator[Instruction]:
        """Its body in order, without labels."""
        for block in self.blocks:
            yield from block.body


class ModuleView:
    """Index of a module."""

    def __init__(self, module: Module) -> None:
        """Reads the module once."""
        self.module = module
        self.definitions: dict[int, Instruction] = {}
        """Id → the first instruction that defines it."""
        self.names: dict[int, str] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.decorations: dict[int, list[DecorationUse]] = {}
        self._groups: dict[int | tuple[int, int], list[int]] = {}
        """The decoration groups of an id or of a struct's member."""
        self.member_decorations: dict[tuple[int, int], list[DecorationUse]] = {}
        self.functions: list[FunctionView] = []
        self.globals: list[Instruction] = []
        """Instructions before the first function."""
        self._is_inside = False
        for item in module.instructions:
            if item.result_id is not None:
                self.definitions.setdefault(item.result_id, item)
            if not self.functions and item.opcode != Op.Function:
                self.globals.append(item)
                self._read_annotation(item)
            else:
                self._read_function(item)

    def of_opcode(self, *opcodes: int) -> Iterator[Instruction]:
        """The instructions before the first function that have one of the opcodes."""
        return (item for item in self.globals if item.opcode in opcodes)

    def type_of(self, value: int) -> Instruction | None:
        """The type instruction of a value, or None where it has none."""
        definition = self.definitions.get(value)
        if definition is None or definition.result_type is None:
            return None
        return self.definitions.get(definition.result_type)

    def uses(self, target: int) -> Iterator[DecorationUse]:
        """The decorations of an id, its own and those of its decoration groups."""
        yield from self.decorations.get(target, ())
        for group in self._groups.get(target, ()):
            yield from self.decorations.get(group, ())

    def member_uses(self, struct: int, member: int) -> Iterator[DecorationUse]:
        """The decorations of a struct member, its own and those of its decoration groups."""
        yield from self.member_decorations.get((struct, member), ())
        for group in self._groups.get((struct, member), ()):
            yield from self.decorations.get(group, ())

    def decoration(self, target: int, decoration: int) -> tuple[int, ...] | None:
        """The operands of a decoration of an id, or None where it is not so decorated."""
        for use in self.uses(target):
            if use.decoration == decoration:
                return use.operands
        return None

    def member_decoration(self, struct: int, member: int, decoration: int) -> tuple[int, ...] | None:
        """The operands of a decoration of a struct member, or None."""
        for use in self.member_uses(struct, member):
            if use.decoration == decoration:
                return use.operands
        return None

    def is_decorated(self, target: int, decoration: int) -> bool:
        """Whether an id is so decorated."""
        return self.decoration(target, decoration) is not None

    def switch_literal_words(self, selector: int) -> int:
        """Words of a case literal of an OpSwitch over this selector."""
        kind = self.type_of(selector)
        is_wide = kind is not None and kind.opcode == Op.TypeInt and kind.operands[:1] == (64,)
        return 2 if is_wide else 1

    def _read_annotation(self, item: Instruction) -> None:
        words = item.operands
        if item.opcode in (Op.Decorate, Op.DecorateId, Op.DecorateString) and len(words) >= 2:
            use = DecorationUse(words[1], words[2:], item.ordinal)
            self.decorations.setdefault(words[0], []).append(use)
        elif item.opcode in (Op.MemberDecorate, Op.MemberDecorateString) and len(words) >= 3:
            use = DecorationUse(words[2], words[3:], item.ordinal)
            self.member_decorations.setdefault((words[0], words[1]), []).append(use)
        elif item.opcode == Op.GroupDecorate and words:
            # Deprecated, but old compilers write it.  Not copied: hostile groups of groups would explode.
            for target in words[1:]:
                self._groups.setdefault(target, []).append(words[0])
        elif item.opcode == Op.GroupMemberDecorate and words:
            for place in zip(words[1::2], words[2::2], strict=False):
                self._groups.setdefault(place, []).append(words[0])
        elif item.opcode == Op.Name and words:
            self.names.setdefault(words[0], _text(words, 1))
        elif item.opcode == Op.MemberName and len(words) >= 2:
            self.member_names.setdefault((words[0], words[1]), _text(words, 2))

    def _read_function(self, item: Instruction) -> None:
        if item.opcode == Op.Function:
            self.functions.append(FunctionView(item))
            self._is_inside = True
            return
        function = self.functions[-1]
        if item.opcode == Op.FunctionEnd:
            self._is_inside = False
        elif not self._is_inside:
            return
        elif item.opcode == Op.FunctionParameter:
            function.parameters.append(item)
        elif item.opcode == Op.Label:
            function.blocks.append(BlockView(item.result_id or 0, item.ordinal))
        elif function.blocks:
            function.blocks[-1].body.append(item)


def interface_of(entry: Instruction) -> tuple[int, ...]:
    """The variables that an OpEntryPoint names."""
    return entry.operands[decode_string(entry.operands, 2)[1] :]


def with_interface(entry: Instruction, variables: Iterable[int]) -> Instruction:
    """Returns an OpEntryPoint that names other variables."""
    end = len(entry.operands) - len(interface_of(entry))
    return entry._replace(operands=(*entry.operands[:end], *variables))


_BEFORE_TYPES = frozenset((Op.ExtInstImport, Op.String, Op.DecorationGroup))
_WITHOUT_RESULT = frozenset((Op.TypeForwardPointer, *DEBUG_LINES))


def is_behind_annotations(item: Instruction) -> bool:
    """Whether an instruction is one of those that may come first behind the annotations of a module."""
    if item.result_id is None:
        return item.opcode in _WITHOUT_RESULT
    return item.opcode not in _BEFORE_TYPES


def _text(words: tuple[int, ...], start: int) -> str:
    """A debug name; one that is malformed is as good as none."""
    try:
        return decode_string(words, start)[0]
    except SpirvError:
        return ""
