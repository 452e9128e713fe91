"""Types, constants and imports of instruction sets that several modules have: one of each is kept.

SPIR-V forbids two equal types that are no aggregates, and an import matches an export only if both have the
same function type, so equal definitions have to become one.  Two are equal where opcode, operands (after the
same has been done to these) and decorations agree; debug names do not count.  Variables, OpUndef and what is
declared ahead (OpTypeForwardPointer) stay apart, but for built-in inputs: Vulkan allows an entry point one variable
of each (VUID-StandaloneSpirv-OpEntryPoint-09658).  Follows spirv-opt's pass remove-duplicates.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..ir.errors import LinkError
from .binary import Instruction, Section
from .link_input import Merged
from .remap import remapped
from .tables import BuiltIn, Decoration, Op, StorageClass, opcode_name

_SPEC_SCALARS = frozenset((Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse))


def unify(merged: Merged) -> None:
    """Keeps one of several equal global definitions, and of equal capabilities and extensions."""
    _sort_capabilities(merged)
    same: dict[int, int] = {}
    for section in (Section.EXT_INST_IMPORTS, Section.DEBUG_STRINGS):
        _keep_first(merged, section, same)
    _keep_first_globals(merged, same)
    replace_ids(merged, same)


def replace_ids(merged: Merged, same: dict[int, int]) -> None:
    """Replaces ids everywhere; annotations and names that become equal, or double, are kept once."""
    if not same:
        return

    def new_id(number: int) -> int:
        return same.get(number, number)

    for section, items in merged.sections.items():
        # Literals of OpSwitch stand inside functions, which keep their selectors' width.
        merged.sections[section] = [remapped(item, new_id) for item in items]
    for function in merged.functions:
        function[:] = [_in_function(item, same) for item in function]
    merged.sections[Section.ANNOTATIONS] = list(
        {(i.opcode, i.operands): i for i in merged.sections[Section.ANNOTATIONS]}.values()
    )
    names: dict[tuple[int, ...], Instruction] = {}
    for item in merged.sections[Section.DEBUG_NAMES]:
        names.setdefault((item.opcode, *item.operands[: 1 + (item.opcode == Op.MemberName)]), item)
    merged.sections[Section.DEBUG_NAMES] = list(names.values())


def _in_function(item: Instruction, same: dict[int, int]) -> Instruction:
    if item.opcode == Op.Switch:
        # Only labels beside the selector, and labels are never replaced.
        return item._replace(operands=(same.get(item.operands[0], item.operands[0]), *item.operands[1:]))
    return remapped(item, lambda number: same.get(number, number))


def order_globals(merged: Merged) -> None:
    """Puts global definitions before their uses: an exported variable may come from a later module."""
    items = merged.sections[Section.GLOBALS]
    ahead = {item.operands[0] for item in items if item.opcode == Op.TypeForwardPointer}
    known = {item.result_id for item in items if item.result_id is not None} - ahead
    uses = [_used(item) & known - {item.result_id or 0} for item in items]
    placed: set[int] = set()
    ordered: list[Instruction] = []
    pending = list(zip(items, uses, strict=True))
    while pending:
        waiting: list[tuple[Instruction, set[int]]] = []
        for item, needs in pending:
            if needs <= placed:
                ordered.append(item)
                placed.add(item.result_id or 0)
            else:
                waiting.append((item, needs))
        if len(waiting) == len(pending):
            raise LinkError(
                f"{merged.name(waiting[0][0].result_id or 0)} is defined by itself through linked symbols"
            )
        pending = waiting
    merged.sections[Section.GLOBALS] = ordered


def _used(item: Instruction) -> set[int]:
    found: set[int] = set() if item.result_type is None else {item.result_type}

    def note(number: int) -> int:
        found.add(number)
        return number

    remapped(item._replace(result_id=None, result_type=None), note)
    return found


def _sort_capabilities(merged: Merged) -> None:
    for section in (Section.CAPABILITIES, Section.EXTENSIONS):
        merged.sections[section] = list({item.operands: item for item in merged.sections[section]}.values())


def _keep_first(merged: Merged, section: Section, same: dict[int, int]) -> None:
    first: dict[tuple[int, ...], int] = {}
    kept: list[Instruction] = []
    for item in merged.sections[section]:
        if item.opcode in (Op.ExtInstImport, Op.String) and item.result_id is not None:
            known = first.setdefault(item.operands, item.result_id)
            if known != item.result_id:
                same[item.result_id] = known
                continue
        kept.append(item)
    merged.sections[section] = kept


def _keep_first_globals(merged: Merged, same: dict[int, int]) -> None:
    decorations = decorations_by_target(merged.sections[Section.ANNOTATIONS])
    items = merged.sections[Section.GLOBALS]
    ahead = {item.operands[0] for item in items if item.opcode == Op.TypeForwardPointer}
    names = {
        i.operands[0]: i.operands[1:] for i in merged.sections[Section.DEBUG_NAMES] if i.opcode == Op.Name
    }
    first: dict[object, int] = {}
    kept: list[Instruction] = []
    for item in items:
        number = item.result_id
        decorated = decorations.get(number or 0, frozenset())
        if number is None or number in ahead or not _may_be_shared(item, decorated):
            kept.append(item)
            continue
        item = remapped(item, lambda old: same.get(old, old))
        key = (item.opcode, item.result_type, item.operands, decorated)
        known = first.setdefault(key, number)
        # Constants that are set by SpecId and have two names mean two things; see `check_spec_ids`.
        if known == number or (
            item.opcode in _SPEC_SCALARS
            and names.get(known, names.get(number)) != names.get(number, names.get(known))
        ):
            kept.append(item)
        else:
            same[number] = known
    merged.sections[Section.GLOBALS] = kept


def _may_be_shared(item: Instruction, decorated: Iterable[tuple[int, ...]]) -> bool:
    if item.opcode == Op.Variable:
        is_built_in = any(use[:2] == (Op.Decorate, Decoration.BuiltIn) for use in decorated)
        return is_built_in and item.operands == (StorageClass.Input,)
    return opcode_name(item.opcode).startswith(("OpType", "OpConstant", "OpSpecConstant"))


def decorations_by_target(annotations: Iterable[Instruction]) -> dict[int, frozenset[tuple[int, ...]]]:
    """Returns what decorates each id: opcode, member and words of each decoration."""
    found: dict[int, set[tuple[int, ...]]] = {}
    for item in annotations:
        found.setdefault(item.operands[0], set()).add((item.opcode, *item.operands[1:]))
    return {target: frozenset(uses) for target, uses in found.items()}


def check_spec_ids(merged: Merged) -> None:
    """Raises LinkError where modules mean different constants by one SpecId.

    Equal constants have become one before; what is left differs in type, default or name.  Within one module
    a SpecId may stand twice: glslang writes local sizes so.
    """
    seen: dict[int, int] = {}
    for item in merged.sections[Section.ANNOTATIONS]:
        if item.opcode != Op.Decorate or item.operands[1] != Decoration.SpecId:
            continue
        target, spec_id = item.operands[0], item.operands[2]
        other = seen.setdefault(spec_id, target)
        if merged.module_of(other) != merged.module_of(target):
            raise LinkError(
                f"SpecId {spec_id} is {merged.name(other)} in {merged.origin(other)} and {merged.name(target)} in "
                f"{merged.origin(target)}, which differ in type, default or name; give them different SpecIds"
            )


def local_sizes(merged: Merged) -> list[int]:
    """Returns the objects with BuiltIn WorkgroupSize, which give every entry point of a module its local size."""
    return [
        item.operands[0]
        for item in merged.sections[Section.ANNOTATIONS]
        if item.opcode == Op.Decorate and item.operands[1:3] == (Decoration.BuiltIn, BuiltIn.WorkgroupSize)
    ]


def check_local_size(merged: Merged, sized_modules: Container[int], *, is_given_at_launch: bool) -> None:
    """Raises LinkError where an object with BuiltIn WorkgroupSize would change another module's kernels.

    Args:
        merged: after `unify`.
        sized_modules: the modules that had such an object.
        is_given_at_launch: whether every entry point gets its local size when it is launched.
    """
    sizes = local_sizes(merged)
    if len(sizes) > 1:
        origins = f"{merged.origin(sizes[0])} and {merged.origin(sizes[1])}"
        raise LinkError(f"{origins} each define BuiltIn WorkgroupSize, with different values")
    if not sizes or is_given_at_launch:
        return
    for item in merged.sections[Section.ENTRY_POINTS]:
        if merged.module_of(item.operands[1]) not in sized_modules:
            raise LinkError(
                f"BuiltIn WorkgroupSize of {merged.origin(sizes[0])} would change the local size of entry points of "
                f"{merged.origin(item.operands[1])}"
            )
