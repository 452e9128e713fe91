"""Links SPIR-V modules: `link`.  Standard library only.

Follows the rules of SPIR-V 1.6 (§2.4 layout, §2.13 linkage, §2.16.1 universal validation) as SPIRV-Tools'
spirv-link does, on binaries that may come from anywhere:

* modules get ids of their own in one id space; capabilities, extensions and instruction sets are united;
* equal types and constants become one, so that import and export can be compared;
* each import becomes the one export of its name and type; unresolved, doubly exported and unequal symbols,
  entry points of one name, conflicting memory models and SpecIds of two meanings are errors;
* nothing else is shared: functions and variables without linkage stay apart, whatever their OpName;
* linkage that is done disappears, with the capability where none is left.

Beyond spirv-link: from SPIR-V 1.4 on the interfaces of entry points get the variables that linked functions use,
recursion across modules is found, and modules of different SPIR-V versions make one of the highest.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.errors import LinkError
from .binary import Instruction, Module, Section, serialise
from .errors import SpirvError
from .link_entry_points import check_entry_points, check_recursion, complete_interfaces
from .link_globals import check_local_size, check_spec_ids, local_sizes, unify
from .link_input import Merged, merge, read_module
from .link_symbols import drop_linkage, resolve
from .remap import remapped
from .tables import Capability, Op


def link(
    binaries: Sequence[bytes],
    *,
    labels: Sequence[str] | None = None,
    allow_unresolved: bool = False,
    keep_exports: bool = False,
) -> bytes:
    """Links SPIR-V modules into one.

    Args:
        binaries: the modules, hostile bytes included.
        labels: what messages call each module; by default ``module 1`` and so on.
        allow_unresolved: imports that nothing exports stay imports.
        keep_exports: exported symbols stay exported: makes a library.

    Returns:
        Little-endian words.  Their structure is right where that of the input was; run the validator for more.

    Raises:
        LinkError: a module is malformed, symbols clash, differ or stay unresolved; names the symbol.
    """
    names = tuple(labels) if labels is not None else tuple(f"module {n}" for n in range(1, len(binaries) + 1))
    modules = [read_module(data, name) for data, name in zip(binaries, names, strict=True)]
    return link_modules(modules, names, allow_unresolved=allow_unresolved, keep_exports=keep_exports)


def link_modules(
    modules: Sequence[Module],
    labels: Sequence[str],
    *,
    allow_unresolved: bool = False,
    keep_exports: bool = False,
    is_local_size_given: bool = False,
) -> bytes:
    """Links modules that `read_module` has checked; as `link`.

    Args:
        modules: at least one.
        labels: what messages call each module.
        allow_unresolved: as `link`.
        keep_exports: as `link`.
        is_local_size_given: whether whoever launches gives every entry point its local size, so that an object
            with BuiltIn WorkgroupSize may stand beside entry points of other modules.
    """
    if not modules:
        raise LinkError("there is nothing to link; expected at least one module")
    try:
        merged = merge(modules, labels)
        sized_modules = {merged.module_of(number) for number in local_sizes(merged)}
        unify(merged)
        check_spec_ids(merged)
        check_local_size(merged, sized_modules, is_given_at_launch=is_local_size_given)
        check_entry_points(merged)
        resolve(merged, allow_unresolved=allow_unresolved)
        has_linkage = drop_linkage(merged, keep_exports=keep_exports)
        check_recursion(merged)
        complete_interfaces(merged)
        _finish_capabilities(merged, has_linkage)
        return serialise(_assembled(merged))
    except SpirvError as error:
        raise LinkError(f"cannot link: {error}") from error


def _finish_capabilities(merged: Merged, has_linkage: bool) -> None:
    if has_linkage:
        return
    if not merged.sections[Section.ENTRY_POINTS]:
        raise LinkError(
            "the linked module has no entry point, so that nothing in it could be used; keep its exports to make "
            "a library"
        )
    capabilities = merged.sections[Section.CAPABILITIES]
    kept = [item for item in capabilities if item.operands != (Capability.Linkage,)]
    # A module declares at least one; Matrix stands for no feature, and every Shader module has it.
    merged.sections[Section.CAPABILITIES] = kept or [
        Instruction(Op.Capability, None, None, (Capability.Matrix,))
    ]


def _assembled(merged: Merged) -> Module:
    """Returns the module in the order of SPIR-V 1.6 §2.4, with ids from 1 in order of appearance."""
    items = [item for section in Section for item in merged.sections[section]]
    bodies = [any(item.opcode == Op.Label for item in function) for function in merged.functions]
    for is_definition in (False, True):
        for function, has_body in zip(merged.functions, bodies, strict=True):
            if has_body == is_definition:
                items += function
    ids: dict[int, int] = {}

    def compact(number: int) -> int:
        return ids.setdefault(number, len(ids) + 1)

    wide = _wide_selectors(merged)
    renumbered = tuple(
        remapped(item, compact, 2 if item.opcode == Op.Switch and item.operands[0] in wide else 1)
        for item in items
    )
    return Module(
        version=merged.version, generator=merged.generator, bound=len(ids) + 1, instructions=renumbered
    )


def _wide_selectors(merged: Merged) -> set[int]:
    """Returns the ids of values of 64-bit integer types."""
    globals_ = merged.sections[Section.GLOBALS]
    types = {i.result_id for i in globals_ if i.opcode == Op.TypeInt and i.operands[0] == 64}
    if not types:
        return set()
    values = (item for items in (globals_, *merged.functions) for item in items)
    return {item.result_id or 0 for item in values if item.result_type in types}
