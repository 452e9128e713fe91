"""The pass `split-modules`: one module per device image, each with its kernels and all that these need.

    module { @k1 {aspect.used = [6]}, @k2,      =>    module { module { @k1, @f } module { @k2, @f } }
             @f called by both }

First the mode divides the entry points (kernels and exported functions): `per_kernel` one each,
`per_source` and `auto` by `aspect.unit`, `off` not at all.  Then, for correctness, two entry points stay
together only if they

* have the same non-empty `aspect.fixed_targets`, or
* have none and agree in aspects (used and declared, as sets), required work-group size (as written: (32) is
  not (32, 1, 1)) and numeric required sub-group size.

Functions are copied into every image that calls them; a copy of an exported function is no longer exported.
Functions, globals and specialization constants that no entry point of an image reaches do not enter it.
Follows DPC++'s sycl-post-link ("Changes to the device code split algorithm").  Needs `aspect.used`: run
`propagate-aspects` before.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import SymbolOpInterface

from ..ir.attribute_values import elements
from ..ir.call_graph import CallGraph, SymbolTables, entry_points, has_body
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function, is_kernel, kernel_local_size
from ..ir.errors import InvalidError
from ..ir.walk import block_operations, operations, region_blocks
from .diagnose_aspects import needs


class SplitMode(enum.Enum):
    """How finely device code is divided into images (-fsycl-device-code-split)."""

    AUTO = "auto"
    """The compiler's choice: as PER_SOURCE."""
    PER_KERNEL = "per_kernel"
    PER_SOURCE = "per_source"
    OFF = "off"


def split_mode(mode: str) -> SplitMode:
    """Returns the mode of that name; `InvalidError` lists the names where there is none."""
    try:
        return SplitMode(mode)
    except ValueError:
        names = ", ".join(m.value for m in SplitMode)
        raise InvalidError(f"unknown device code split mode '{mode}', expected one of {names}") from None


def split(
    module: ModuleOp,
    mode: str = "auto",
    *,
    separates_callees: bool = False,
    graph: CallGraph | None = None,
) -> list[ModuleOp]:
    """Returns the image modules of `module`, in the order of their first entry points.

    Args:
        module: a top-level module; it is not changed.
        mode: ``auto``, ``per_kernel``, ``per_source`` or ``off``.
        separates_callees: whether entry points are kept apart as well that call different functions of other modules,
            or different ones that require another sub-group size: what these need is found later, when modules are
            linked and by `compute-requirements`, and must not keep the other kernels from running.
        graph: the calls in `module`, where the caller knows them.

    Returns:
        New modules, or `module` itself where it is a single image that nothing has to be dropped from; none
        for a module without entry points.

    Raises:
        InvalidError: unknown mode.
    """
    division = split_mode(mode)
    groups: dict[Hashable, list[Function]] = {}
    graph = graph or CallGraph.of(module)
    for entry in entry_points(module):
        callees = (
            _needing_more(graph, entry) if separates_callees and not aspect.fixed_targets(entry) else None
        )
        key = _unit_of_division(entry, division), grouping_key(entry), callees
        groups.setdefault(key, []).append(entry)
    symbols = SymbolTables()
    plans = [_plan(module, graph, roots, symbols) for roots in groups.values()]
    if len(plans) == 1 and plans[0].keeps_all_of(module):
        return [module]
    return _extract(module, plans)


def grouping_key(entry: Function) -> Hashable:
    """Returns what two entry points must have in common to share an image, whatever the mode."""
    if targets := aspect.fixed_targets(entry):
        return targets
    work_group_size = aspect.reqd_work_group_size(entry) or kernel_local_size(entry)
    return needs(entry), work_group_size, aspect.reqd_sub_group_size(entry)


def _needing_more(graph: CallGraph, entry: Function) -> frozenset[Function]:
    """Returns the functions that `entry` calls whose needs its own attributes may not say."""
    expected = None, aspect.reqd_sub_group_size(entry)
    return frozenset(
        f
        for f in graph.reachable([entry])
        if (aspect.is_external(f) and not has_body(f)) or aspect.reqd_sub_group_size(f) not in expected
    )


def _unit_of_division(entry: Function, mode: SplitMode) -> Hashable:
    match mode:
        case SplitMode.PER_KERNEL:
            return entry
        case SplitMode.PER_SOURCE | SplitMode.AUTO:
            return aspect.unit(entry)
        case SplitMode.OFF:
            return None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What goes into one image."""

    roots: frozenset[Function]
    kept: frozenset[Operation]
    """Functions and other symbols of the source module."""

    def keeps_all_of(self, module: ModuleOp) -> bool:
        return all(op in self.kept for op in _symbols(module)) and not any(
            self.loses_export(op) for op in self.kept
        )

    def loses_export(self, op: Operation) -> bool:
        """Whether the copy of an exported function is only a callee here."""
        if not isinstance(op, Function) or is_kernel(op) or op in self.roots:
            return False
        # A declaration stays what it is: an import.
        return aspect.is_external(op) and has_body(op)


def _plan(module: ModuleOp, graph: CallGraph, roots: Sequence[Function], symbols: SymbolTables) -> _Plan:
    reached: set[Operation] = set(graph.reachable(roots))
    # Most modules are a kernel and the helpers that it calls: then nothing else can be referred to.
    pending = list(reached) if any(op not in reached for op in _symbols(module)) else []
    while pending:
        for op, reference in _references(pending.pop()):
            target = symbols.resolve(op, reference)
            if target is not None and target not in reached:
                reached.add(target)
                pending.append(target)
    return _Plan(frozenset(roots), frozenset(reached))


def _references(root: Operation) -> Iterator[tuple[Operation, SymbolRefAttr]]:
    """Yields the references to symbols in an operation and inside of it, each with the operation that has it."""
    for op in operations(root):
        for attributes in (op.properties, op.attributes):
            for attribute in attributes.values():
                if _may_refer(type(attribute)):
                    for reference in _references_in(attribute):
                        yield op, reference


@cache
def _may_refer(kind: type[Attribute]) -> bool:
    return issubclass(kind, (SymbolRefAttr, DictionaryAttr, ArrayAttr))


def _references_in(attribute: Attribute) -> Iterator[SymbolRefAttr]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute
    elif isinstance(attribute, DictionaryAttr):
        for value in attribute.data.values():
            yield from _references_in(value)
    else:
        for element in elements(attribute) or ():
            yield from _references_in(element)


def _symbols(scope: Operation) -> Iterator[Operation]:
    """Yields the functions and globals in a module and in the modules inside it, not those modules."""
    for block in region_blocks(scope.regions[0]):
        for op in block_operations(block):
            if type(op) in _MODULES:
                yield from _symbols(op)
            elif _is_symbol_class(type(op)):
                yield op


_MODULES = frozenset((ModuleOp, gpu.ModuleOp))


@cache
def _is_symbol_class(kind: type[Operation]) -> bool:
    return kind.has_trait(SymbolOpInterface, value_if_unregistered=False)


def _extract(module: ModuleOp, plans: Sequence[_Plan]) -> list[ModuleOp]:
    """Returns the images, made in one walk of the module: it may have as many images as functions."""
    keepers: dict[Operation, list[int]] = {}
    for number, plan in enumerate(plans):
        for op in plan.kept:
            keepers.setdefault(op, []).append(number)
    copies = _copy_scope(module, plans, keepers)
    return [cast(ModuleOp, copies[number]) for number in range(len(plans))]  # a module is copied as a module


def _copy_scope(
    scope: Operation, plans: Sequence[_Plan], keepers: Mapping[Operation, Sequence[int]]
) -> dict[int, Operation]:
    """Returns for each image, by number, its copy of a module; none where nothing of it enters the image."""
    parts: dict[int, list[Operation]] = {}
    for op in block_operations(scope.regions[0].block):
        if type(op) in _MODULES:
            copies = _copy_scope(op, plans, keepers)
        elif _is_symbol_class(type(op)):
            copies = {number: _copy_symbol(op, plans[number]) for number in keepers.get(op, ())}
        else:
            copies = {number: op.clone() for number in range(len(plans))}
        for number, copy in copies.items():
            parts.setdefault(number, []).append(copy)
    return {
        number: type(scope).create(
            properties=dict(scope.properties),
            attributes=dict(scope.attributes),
            regions=[Region(Block(ops))],
            location=scope.location,
        )
        for number, ops in parts.items()
    }


def _copy_symbol(op: Operation, plan: _Plan) -> Operation:
    copy = op.clone()
    if plan.loses_export(op):
        del copy.attributes[aspect.EXTERNAL]
        if isinstance(copy, func.FuncOp):
            copy.sym_visibility = StringAttr("private")
    return copy


_PROGRAM_TABLES = (aspect.TYPES_THAT_USE_ASPECTS, aspect.ASPECT_VALUES)


def nest(module: ModuleOp, images: Iterable[ModuleOp]) -> None:
    """Replaces what is in `module` by the images; tables of the whole program stay on `module` alone."""
    inner: list[Operation] = []
    for image in images:
        copy = image.clone() if image is module else image
        for table in _PROGRAM_TABLES:
            copy.attributes.pop(table, None)
        inner.append(copy)
    module.detach_region(module.body)
    module.add_region(Region(Block(inner)))


@dataclass(frozen=True)
class SplitModulesPass(ModulePass):
    """Turns a module into one `builtin.module` per device image (see the head of this file)."""

    name = "split-modules"

    mode: str = "auto"
    """``auto``, ``per_kernel``, ``per_source`` or ``off``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nest(op, split(op, self.mode))
