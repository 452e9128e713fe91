"""Imports and exports: which definition each imported symbol gets.  Standard library only.

SPIR-V 1.6 §2.13 (Linkage) and the validation rules of §2.16.1: an import is an OpFunction without a body or an
OpVariable; it takes the place of the one export of its name, which must be of the same kind and type.  Several
LinkOnceODR definitions of one name are taken for equal, and the first is kept (SPV_KHR_linkonce_odr).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..ir.errors import LinkError
from .binary import Instruction, Module, Section, decode_string
from .errors import SpirvError
from .link_globals import order_globals, replace_ids
from .link_input import Merged
from .module_view import ModuleView
from .tables import Decoration, LinkageType, Op, enumerant_name
from .type_info import type_table


@dataclass(frozen=True, slots=True)
class Symbol:
    """One LinkageAttributes decoration."""

    name: str
    target: int
    linkage: int
    """Enumerant of LinkageType."""
    kind: int
    """Op.Function or Op.Variable."""
    type: tuple[int, ...]
    """Function type, or pointer type and storage class."""


@dataclass(slots=True)
class Symbols:
    """The symbols of all modules, by name in order of appearance."""

    imports: dict[str, list[Symbol]] = field(default_factory=dict[str, list[Symbol]])
    exports: dict[str, list[Symbol]] = field(default_factory=dict[str, list[Symbol]])


def resolve(merged: Merged, *, allow_unresolved: bool) -> None:
    """Replaces every import by what is exported under its name, and drops the import.

    Raises:
        LinkError: no export or more than one has the name, or it is of another kind or type; names the symbol.
    """
    symbols = _collect(merged)
    same: dict[int, int] = {}
    for name, definitions in symbols.exports.items():
        _choose_definition(merged, name, definitions, same)
    if not allow_unresolved:
        _require_exports(merged, symbols)
    for name, imports in symbols.imports.items():
        definitions = symbols.exports.get(name)
        # What stays unresolved is declared once.
        chosen = definitions[0] if definitions else imports[0]
        for symbol in imports:
            _check_match(merged, symbol, chosen)
            if symbol is not chosen:
                same[symbol.target] = chosen.target
    _drop(merged, set(same))
    replace_ids(merged, same)
    order_globals(merged)


def _require_exports(merged: Merged, symbols: Symbols) -> None:
    """Raises LinkError where imports have no export, one line for each."""
    lines: list[str] = []
    for name, imports in symbols.imports.items():
        if not symbols.exports.get(name):
            origins = ", ".join(dict.fromkeys(merged.origin(symbol.target) for symbol in imports))
            lines.append(f"unresolved symbol '{name}', imported by {origins}: no module exports it")
    if lines:
        raise LinkError("\n".join(lines))


def _choose_definition(merged: Merged, name: str, definitions: list[Symbol], same: dict[int, int]) -> None:
    """Puts the definition to keep first."""
    definitions.sort(key=lambda symbol: symbol.linkage == LinkageType.LinkOnceODR)
    first = definitions[0]
    for other in definitions[1:]:
        if other.linkage != LinkageType.LinkOnceODR:
            where = " and ".join((merged.origin(first.target), merged.origin(other.target)))
            raise LinkError(
                f"symbol '{name}' is exported twice: by {where}; a program has one definition of each"
            )
        _check_match(merged, other, first)
        same[other.target] = first.target


def _check_match(merged: Merged, used: Symbol, definition: Symbol) -> None:
    if used.kind != definition.kind:
        raise LinkError(
            f"symbol '{used.name}' is a {_KINDS[used.kind]} in {merged.origin(used.target)} and a "
            f"{_KINDS[definition.kind]} in {merged.origin(definition.target)}"
        )
    if used.type != definition.type:
        spelled = _TypeSpelling(merged)
        wanted, found = spelled(used), spelled(definition)
        raise LinkError(
            f"symbol '{used.name}' has type {wanted} in {merged.origin(used.target)} and "
            f"{found} in {merged.origin(definition.target)}; expected the same type"
            + (_SIGNS if _without_signs(wanted) == _without_signs(found) else "")
        )


_SIGNS = (
    ": integers that pass between modules have no sign, OpTypeInt 32 0, as those of kernels in Python and of LLVM; "
    "OpBitcast converts inside of the function"
)


def _without_signs(spelled: str) -> str:
    return re.sub(r"\bi(?=8|16|32|64)", "u", spelled)


_KINDS = {Op.Function: "function", Op.Variable: "variable"}


def _collect(merged: Merged) -> Symbols:
    defined: dict[int, Instruction] = {
        item.result_id: item
        for item in merged.sections[Section.GLOBALS]
        if item.opcode == Op.Variable and item.result_id is not None
    }
    has_body: dict[int, bool] = {}
    for function in merged.functions:
        definition = definition_of(function)
        defined[definition.result_id or 0] = definition
        has_body[definition.result_id or 0] = any(item.opcode == Op.Label for item in function)
    entry_points = {item.operands[1] for item in merged.sections[Section.ENTRY_POINTS]}
    symbols = Symbols()
    for item in merged.sections[Section.ANNOTATIONS]:
        if item.opcode != Op.Decorate or item.operands[1] != Decoration.LinkageAttributes:
            continue
        symbol = _symbol(merged, item, defined)
        is_import = symbol.linkage == LinkageType.Import
        if symbol.kind == Op.Function and has_body[symbol.target] == is_import:
            what = "imported and has a body" if is_import else "exported and has no body"
            raise LinkError(f"symbol '{symbol.name}' of {merged.origin(symbol.target)} is {what}")
        if symbol.target in entry_points:
            raise LinkError(
                f"symbol '{symbol.name}' of {merged.origin(symbol.target)} is an entry point, which cannot be called; "
                "export the function that it calls"
            )
        table = symbols.imports if is_import else symbols.exports
        table.setdefault(symbol.name, []).append(symbol)
    return symbols


def _symbol(merged: Merged, item: Instruction, defined: dict[int, Instruction]) -> Symbol:
    target = item.operands[0]
    try:
        name, end = decode_string(item.operands, 2)
    except SpirvError as error:
        raise LinkError(f"{merged.origin(target)}: the name of a symbol: {error}") from error
    definition = defined.get(target)
    if definition is None:
        raise LinkError(
            f"symbol '{name}' of {merged.origin(target)} is neither a function nor a variable of the module"
        )
    if definition.opcode == Op.Function:
        type_ = (definition.operands[1],)
    else:
        type_ = (definition.result_type or 0, definition.operands[0])
    return Symbol(name, target, item.operands[end], definition.opcode, type_)


def definition_of(function: list[Instruction]) -> Instruction:
    """Returns the OpFunction of a function's instructions."""
    return next(item for item in function if item.opcode == Op.Function)


def _drop(merged: Merged, targets: set[int]) -> None:
    """Removes definitions with their parameters' and bodies' annotations and names."""
    gone = set(targets)
    kept: list[list[Instruction]] = []
    for function in merged.functions:
        if definition_of(function).result_id in targets:
            gone.update(item.result_id for item in function if item.result_id is not None)
        else:
            kept.append(function)
    merged.functions = kept
    globals_ = merged.sections[Section.GLOBALS]
    merged.sections[Section.GLOBALS] = [item for item in globals_ if item.result_id not in targets]
    for section in (Section.ANNOTATIONS, Section.DEBUG_NAMES):
        merged.sections[section] = [i for i in merged.sections[section] if i.operands[0] not in gone]


def drop_linkage(merged: Merged, *, keep_exports: bool) -> bool:
    """Removes the decorations of resolved symbols; returns whether any linkage is left."""
    kept: list[Instruction] = []
    is_left = False
    for item in merged.sections[Section.ANNOTATIONS]:
        is_linkage = item.opcode == Op.Decorate and item.operands[1] == Decoration.LinkageAttributes
        if is_linkage:
            _, end = decode_string(item.operands, 2)
            if item.operands[end] != LinkageType.Import and not keep_exports:
                continue
            is_left = True
        kept.append(item)
    merged.sections[Section.ANNOTATIONS] = kept
    return is_left


class _TypeSpelling:
    """Types in words, for messages only."""

    def __init__(self, merged: Merged) -> None:
        items = tuple(merged.sections[Section.GLOBALS])
        self._view = ModuleView(Module(version=merged.version, bound=merged.bound, instructions=items))
        self._names = type_table(self._view)

    def __call__(self, symbol: Symbol) -> str:
        if symbol.kind == Op.Variable:
            return f"{self._one(symbol.type[0])} of class {enumerant_name('StorageClass', symbol.type[1])}"
        kind = self._view.definitions[symbol.type[0]]
        result, *parameters = kind.operands
        return f"({', '.join(map(self._one, parameters))}) -> {self._one(result)}"

    def _one(self, number: int) -> str:
        kind = self._view.definitions[number]
        if kind.opcode == Op.TypeVoid:
            return "void"
        if kind.opcode == Op.TypePointer:
            storage_class = enumerant_name("StorageClass", kind.operands[0])
            pointee = self._names.get(kind.operands[1])
            return f"pointer<{pointee.name if pointee else '?'}, {storage_class}>"
        known = self._names.get(number)
        return (
            f"{known.name} %{number}"
            if known and known.name in ("struct", "array")
            else known.name
            if known
            else "?"
        )
