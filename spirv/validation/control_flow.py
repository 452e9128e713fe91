"""Structured control flow (SPIR-V 1.6 §2.11).

* Branches go to blocks of the same function, never to its first block; conditions are bools, selectors
  integers.
* OpPhi names exactly the predecessors of its block, each once, with values of its type.
* A back edge goes to a loop header, from inside the loop; each loop header has exactly one.
* A block is the merge block of one header at most.  Merge block and header differ, merge block and continue
  target too; both are dominated by the header where they are reachable.
* OpSwitch has an OpSelectionMerge, and so has an OpBranchConditional that does not leave a construct.
* A construct is left only to merge blocks and continue targets of constructs around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction
from ..module_view import BlockView, FunctionView
from ..tables import Op
from .context import Context
from .control_flow_graph import ControlFlowGraph
from .finding import Finding

RULE = "control_flow"


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    for function in ctx.view.functions:
        if not function.blocks:
            continue
        cfg = ControlFlowGraph(ctx, function)
        for block in function.blocks:
            yield from _targets(ctx, cfg, function, block)
            yield from _phis(ctx, cfg, block)
        yield from _merges(ctx, cfg, function)
        yield from _back_edges(ctx, cfg)
        yield from _headers(cfg)
        yield from _exits(ctx, cfg)


def _targets(
    ctx: Context, cfg: ControlFlowGraph, function: FunctionView, block: BlockView
) -> Iterator[Finding]:
    end = block.terminator
    if end is None:
        return
    for target in block.successors(2 if _is_wide_switch(ctx, end) else 1):
        if target not in cfg.blocks:
            message = f"{end.name} goes to {ctx.spell(target)}, which is no block of its function"
            yield Finding(message, end.ordinal, RULE)
        elif target == function.blocks[0].label:
            yield Finding(f"{end.name} goes to the first block of its function", end.ordinal, RULE)
    if end.opcode == Op.BranchConditional and ctx.opcode(ctx.type_id(end.operands[0])) != Op.TypeBool:
        message = f"the condition {ctx.spell(end.operands[0])} of OpBranchConditional is no bool"
        yield Finding(message, end.ordinal, RULE)
    if end.opcode == Op.Switch and ctx.opcode(ctx.type_id(end.operands[0])) != Op.TypeInt:
        message = f"the selector {ctx.spell(end.operands[0])} of OpSwitch is no integer"
        yield Finding(message, end.ordinal, RULE)


def _is_wide_switch(ctx: Context, end: Instruction) -> bool:
    return end.opcode == Op.Switch and ctx.view.switch_literal_words(end.operands[0]) == 2


def _phis(ctx: Context, cfg: ControlFlowGraph, block: BlockView) -> Iterator[Finding]:
    for item in block.body:
        if item.opcode != Op.Phi:
            continue
        values, parents = item.operands[::2], item.operands[1::2]
        if sorted(parents) != sorted(cfg.predecessors[block.label]):
            message = (
                f"OpPhi {ctx.spell(item.result_id or 0)} names the parents {_spell(ctx, parents)}; "
                f"the predecessors of its block are {_spell(ctx, cfg.predecessors[block.label])}"
            )
            yield Finding(message, item.ordinal, RULE)
        for value in values:
            if ctx.type_id(value) != item.result_type:
                message = (
                    f"{ctx.spell(value)} in OpPhi is not of the type of {ctx.spell(item.result_id or 0)}"
                )
                yield Finding(message, item.ordinal, RULE)


def _spell(ctx: Context, labels: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(ctx.spell, sorted(labels))) or "none"


def _merges(ctx: Context, cfg: ControlFlowGraph, function: FunctionView) -> Iterator[Finding]:
    header_of: dict[int, int] = {}
    for block in function.blocks:
        merge = block.merge
        if merge is None:
            continue
        named = merge.operands[:2] if merge.opcode == Op.LoopMerge else merge.operands[:1]
        for role, target in zip(("merge block", "continue target"), named, strict=False):
            if target not in cfg.blocks:
                message = f"the {role} {ctx.spell(target)} is no block of its function"
                yield Finding(message, merge.ordinal, RULE)
            elif target == block.label and role == "merge block":
                yield Finding("a header cannot be its own merge block", merge.ordinal, RULE)
            elif _is_misplaced(cfg, block.label, target):
                message = f"the {role} {ctx.spell(target)} is not dominated by its header"
                yield Finding(message, merge.ordinal, RULE)
        if len(named) == 2 and named[0] == named[1]:
            yield Finding("merge block and continue target are the same block", merge.ordinal, RULE)
        if named[0] in header_of:
            other = ctx.spell(header_of[named[0]])
            message = f"{ctx.spell(named[0])} is already the merge block of {other}"
            yield Finding(message, merge.ordinal, RULE)
        header_of[named[0]] = block.label


def _is_misplaced(cfg: ControlFlowGraph, header: int, target: int) -> bool:
    both = cfg.is_reachable(header) and cfg.is_reachable(target)
    return both and not cfg.dominates(header, target)


def _back_edges(ctx: Context, cfg: ControlFlowGraph) -> Iterator[Finding]:
    position = {label: index for index, label in enumerate(cfg.order)}
    count = dict.fromkeys(cfg.order, 0)
    for source in cfg.order:
        for target in dict.fromkeys(cfg.successors[source]):
            if position[target] > position[source]:
                continue
            count[target] += 1
            merge = cfg.blocks[target].merge
            if merge is None or merge.opcode != Op.LoopMerge:
                message = f"a back edge goes to {ctx.spell(target)}, which has no OpLoopMerge"
                yield Finding(message, cfg.blocks[source].ordinal, RULE)
            elif not cfg.dominates(target, source):
                message = f"block {ctx.spell(source)} goes back into a loop it is not part of"
                yield Finding(message, cfg.blocks[source].ordinal, RULE)
    for label in cfg.order:
        merge = cfg.blocks[label].merge
        # A continue target that control never reaches still counts: its block branches back.
        if merge is not None and merge.opcode == Op.LoopMerge and _back_edge_count(cfg, label) != 1:
            message = (
                f"loop header {ctx.spell(label)} has {_back_edge_count(cfg, label)} back edges; expected 1"
            )
            yield Finding(message, merge.ordinal, RULE)


def _back_edge_count(cfg: ControlFlowGraph, header: int) -> int:
    return sum(
        not cfg.is_reachable(source) or cfg.dominates(header, source) for source in cfg.predecessors[header]
    )


def _headers(cfg: ControlFlowGraph) -> Iterator[Finding]:
    exits = _exit_targets(cfg)
    for label in cfg.order:
        block = cfg.blocks[label]
        end = block.terminator
        if end is None or block.merge is not None:
            continue
        if end.opcode == Op.Switch:
            yield Finding("OpSwitch needs an OpSelectionMerge", end.ordinal, RULE)
        elif end.opcode == Op.BranchConditional:
            targets = set(cfg.successors[label])
            if len(targets) == 2 and not targets & exits:
                message = "OpBranchConditional that leaves no construct needs an OpSelectionMerge"
                yield Finding(message, end.ordinal, RULE)


def _exit_targets(cfg: ControlFlowGraph) -> set[int]:
    """Merge blocks, continue targets and loop headers: where a branch may leave a construct to."""
    found: set[int] = set()
    for label, block in cfg.blocks.items():
        merge = block.merge
        if merge is not None and merge.opcode == Op.LoopMerge:
            found.update((*merge.operands[:2], label))
        elif merge is not None:
            found.add(merge.operands[0])
            if block.terminator is not None and block.terminator.opcode == Op.Switch:
                # A case may fall through into the next.
                found.update(cfg.successors[label])
    return found


def _exits(ctx: Context, cfg: ControlFlowGraph) -> Iterator[Finding]:
    """A branch out of a construct goes to a block that some header names."""
    named = _exit_targets(cfg)
    for header in cfg.order:
        merge = cfg.blocks[header].merge
        if merge is None or not cfg.is_reachable(merge.operands[0]):
            continue
        inside = _construct(cfg, header, merge.operands[0])
        for source in inside:
            for target in cfg.successors[source]:
                if target not in inside and target not in named:
                    message = (
                        f"block {ctx.spell(source)} leaves the construct of {ctx.spell(header)} "
                        f"to {ctx.spell(target)}, which is no merge block or continue target"
                    )
                    yield Finding(message, cfg.blocks[source].ordinal, RULE)


def _construct(cfg: ControlFlowGraph, header: int, merge_block: int) -> set[int]:
    """Blocks that the header dominates and the merge block does not."""
    return {
        label for label in cfg.order if cfg.dominates(header, label) and not cfg.dominates(merge_block, label)
    }
