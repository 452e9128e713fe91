"""Ids (SPIR-V 1.6 §2.16.1 and §2.16.2, single static assignment).

* An id is defined once and every id that is used is defined.
* A result type is a type.
* Outside functions definitions stand before uses, except where the specification allows forward references.
* Inside a function a definition dominates its uses, and of an OpPhi the end of the parent block.
* Ids of a function body are not used outside it; branches stay in their function.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction
from ..module_view import BlockView, FunctionView
from ..tables import Op, opcode_name
from .context import Context
from .control_flow_graph import ControlFlowGraph
from .finding import Finding

RULE = "ids"

_FORWARD = frozenset(
    (
        *(Op.EntryPoint, Op.ExecutionMode, Op.ExecutionModeId, Op.Name, Op.MemberName),
        *(Op.Decorate, Op.DecorateId, Op.DecorateString, Op.MemberDecorate, Op.MemberDecorateString),
        *(Op.GroupDecorate, Op.GroupMemberDecorate, Op.TypeForwardPointer),
    )
)
"""Global instructions that may name what is defined later; types do so through OpTypeForwardPointer only."""


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    yield from _definitions(ctx)
    yield from _global_order(ctx)
    homes = _homes(ctx)
    for function in ctx.view.functions:
        yield from _function(ctx, function, homes)


def _definitions(ctx: Context) -> Iterator[Finding]:
    types = {
        number
        for number, item in ctx.view.definitions.items()
        if opcode_name(item.opcode).startswith("OpType")
    }
    for item in ctx.module.instructions:
        if item.result_id is not None:
            first = ctx.view.definitions[item.result_id]
            if first is not item:
                message = f"id {ctx.spell(item.result_id)} is already defined by instruction {first.ordinal}"
                yield Finding(message, item.ordinal, RULE)
        if item.result_type is not None and item.result_type not in types:
            message = f"the result type %{item.result_type} of {item.name} is no type"
            yield Finding(message, item.ordinal, RULE)
        for number in ctx.ids(item):
            if number not in ctx.view.definitions:
                yield Finding(f"{item.name} uses %{number}, which nothing defines", item.ordinal, RULE)


def _global_order(ctx: Context) -> Iterator[Finding]:
    forward = {item.operands[0] for item in ctx.view.of_opcode(Op.TypeForwardPointer) if item.operands}
    for item in ctx.view.globals:
        if item.opcode in _FORWARD:
            continue
        used = ctx.ids(item) if item.result_type is None else (item.result_type, *ctx.ids(item))
        for number in used:
            definition = ctx.definition(number)
            is_late = definition is not None and definition.ordinal >= item.ordinal
            if is_late and number not in forward:
                message = f"{item.name} uses {ctx.spell(number)} before its definition"
                yield Finding(message, item.ordinal, RULE)


def _homes(ctx: Context) -> dict[int, tuple[int, int]]:
    """Id defined in a function body → (function, label of its block; 0 for parameters)."""
    homes: dict[int, tuple[int, int]] = {}
    for function in ctx.view.functions:
        own = function.result_id
        homes.update((item.result_id or 0, (own, 0)) for item in function.parameters)
        for block in function.blocks:
            homes[block.label] = (own, block.label)
            homes.update((item.result_id or 0, (own, block.label)) for item in block.body)
    homes.pop(0, None)
    return homes


def _function(ctx: Context, function: FunctionView, homes: dict[int, tuple[int, int]]) -> Iterator[Finding]:
    cfg = ControlFlowGraph(ctx, function)
    for block in function.blocks:
        for item in block.body:
            for number in ctx.ids(item):
                if number in homes and homes[number][0] != function.result_id:
                    message = f"{item.name} uses {ctx.spell(number)} of another function"
                    yield Finding(message, item.ordinal, RULE)
            if cfg.is_reachable(block.label):
                yield from _dominance(ctx, cfg, block, item, homes)


def _dominance(
    ctx: Context,
    cfg: ControlFlowGraph,
    block: BlockView,
    item: Instruction,
    homes: dict[int, tuple[int, int]],
) -> Iterator[Finding]:
    if item.opcode == Op.Phi:
        uses = list(zip(item.operands[::2], item.operands[1::2], strict=False))
    else:
        uses = [(number, block.label) for number in ctx.ids(item)]
    for number, at in uses:
        definition, home = ctx.definition(number), homes.get(number, (0, 0))[1]
        if definition is None or home == 0 or definition.opcode == Op.Label:
            continue
        # The value of an OpPhi is needed at the end of the parent, so that its own block counts as before.
        is_here = home == at and item.opcode != Op.Phi
        is_defined = definition.ordinal < item.ordinal if is_here else _reaches(cfg, home, at)
        if not is_defined:
            message = f"{item.name} uses {ctx.spell(number)}, whose definition does not dominate it"
            yield Finding(message, item.ordinal, RULE)


def _reaches(cfg: ControlFlowGraph, home: int, at: int) -> bool:
    if not cfg.is_reachable(at):
        return True  # a parent that control never leaves
    return cfg.is_reachable(home) and cfg.dominates(home, at)
