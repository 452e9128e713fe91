"""Modules on their way into the linker: checked, with ids of their own, sorted into sections.

Standard library only.  Input is untrusted: every module passes our validation of structure before anything
relies on it, so that later steps may take for granted that ids are defined and operands fit the grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir.errors import LinkError
from .binary import Instruction, Module, Section, parse
from .decoration_groups import flattened
from .errors import SpirvError
from .module_view import ModuleView
from .remap import remapped
from .tables import MAX_ID_BOUND, Op
from .validation import validate
from .validation.module_layout import section_of


@dataclass(slots=True)
class Merged:
    """All input modules in one id space, by section."""

    version: tuple[int, int]
    generator: int
    bound: int
    sections: dict[Section, list[Instruction]] = field(default_factory=lambda: {s: [] for s in Section})
    """What stands outside functions; names of modules stay apart by id."""
    functions: list[list[Instruction]] = field(default_factory=list[list[Instruction]])
    """Each from OpFunction (or the OpLine before it) to OpFunctionEnd."""
    first_ids: list[int] = field(default_factory=list[int])
    """The ids of module n are those from ``first_ids[n]`` up to the next module's."""
    labels: tuple[str, ...] = ()
    """How messages call each module."""

    def origin(self, number: int) -> str:
        """Returns what messages call the module that an id came from."""
        return self.labels[self.module_of(number)]

    def module_of(self, number: int) -> int:
        """Returns the number of the module that an id came from."""
        return max(n for n, first in enumerate(self.first_ids) if first <= number)

    def name(self, number: int) -> str:
        """Returns an id for messages."""
        for item in self.sections[Section.DEBUG_NAMES]:
            if item.opcode == Op.Name and item.operands[0] == number:
                return _text(item.operands[1:]) or f"%{number}"
        return f"%{number}"


def _text(words: Sequence[int]) -> str:
    from .binary import decode_string

    try:
        return decode_string(words)[0]
    except SpirvError:
        return ""


def read_module(data: bytes | Module, label: str) -> Module:
    """Returns a checked module; LinkError names what is wrong with it."""
    try:
        module = data if isinstance(data, Module) else parse(data)
        findings = validate(module, environment="universal")
    except SpirvError as error:
        raise LinkError(f"{label} is no SPIR-V module: {error}") from error
    if findings:
        raise LinkError(f"{label} is no valid SPIR-V module: {findings[0]}")
    return module


def merge(modules: Sequence[Module], labels: Sequence[str]) -> Merged:
    """Puts checked modules into one id space.

    Raises:
        LinkError: more ids than a module can have, or conflicting memory models.
    """
    # Our modules have no generator: one of another compiler stays, for `driver_remedies`.
    generator = next((m.generator for m in modules if m.generator), 0)
    merged = Merged(max(m.version for m in modules), generator, 1, labels=tuple(labels))
    for module, label in zip(modules, labels, strict=True):
        offset = merged.bound - 1
        merged.first_ids.append(merged.bound)
        merged.bound += module.bound - 1
        if merged.bound > MAX_ID_BOUND:
            raise LinkError(
                f"{label}: the linked module would need {merged.bound} ids, the most is {MAX_ID_BOUND}"
            )
        _add(merged, module, offset)
    _check_memory_model(merged)
    return merged


def _add(merged: Merged, module: Module, offset: int) -> None:
    view = ModuleView(module)
    function: list[Instruction] | None = None
    lines: list[Instruction] = []
    for item in module.instructions:
        words = view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
        item = remapped(item, lambda number: number + offset, words)
        if function is not None:
            function.append(item)
            if item.opcode == Op.FunctionEnd:
                function = None
        elif item.opcode == Op.Function:
            function = [*lines, item]
            merged.functions.append(function)
            lines = []
        elif item.opcode in (Op.Line, Op.NoLine):
            # Kept for the function that follows; types and constants may become those of another module.
            lines = [item] if item.opcode == Op.Line else []
        else:
            lines = []
            section = section_of(item.opcode)
            if section is not None:
                merged.sections[section].append(item)
    try:
        merged.sections[Section.ANNOTATIONS] = flattened(merged.sections[Section.ANNOTATIONS])
    except SpirvError as error:
        raise LinkError(error.message) from error


def _check_memory_model(merged: Merged) -> None:
    models = merged.sections[Section.MEMORY_MODEL]
    for number, item in enumerate(models):
        for position, what in enumerate(("addressing", "memory")):
            if item.operands[position] != models[0].operands[position]:
                raise LinkError(
                    f"conflicting {what} models: {merged.labels[0]} has {_model(what, models[0].operands[position])}, "
                    f"{merged.labels[number]} has {_model(what, item.operands[position])}"
                )
    del models[1:]


def _model(what: str, value: int) -> str:
    from .tables import enumerant_name

    return enumerant_name("AddressingModel" if what == "addressing" else "MemoryModel", value)
