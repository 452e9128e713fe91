"""The constructs of a function (SPIR-V 1.6 §2.11): which block belongs into which selection or loop.

A construct is what its header structurally dominates and its merge block does not.  Structural dominance also
counts a header's merge block and continue target as its successors.  Blocks that nothing reaches even so are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..binary import Instruction
from ..module_view import BlockView, FunctionView, ModuleView
from ..reverse_post_order import reverse_post_order
from ..tables import Op
from .errors import unreadable

MAX_NESTING: Final = 64
"""Deeper constructs are refused: printing and verifying IR recurse."""


@dataclass(slots=True, eq=False)
class Construct:
    """A selection or loop."""

    header: int
    merge: int
    continue_target: int | None
    """Of a loop; None for a selection."""
    instruction: Instruction
    """Its OpSelectionMerge or OpLoopMerge."""
    parent: Construct | None = None
    depth: int = 0

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop."""
        return self.continue_target is not None


Level = Construct | None
"""Where something stands: the innermost construct, None for the function itself."""


def contains(outer: Level, inner: Level) -> bool:
    """Whether `inner` is `outer` or lies in it."""
    if outer is None:
        return True
    while inner is not None and inner.depth > outer.depth:
        inner = inner.parent
    return inner is outer


@dataclass(slots=True)
class DominatorTree:
    """Immediate dominators of what is reachable from an entry."""

    order: list[int]
    """Reverse post-order."""
    idom: dict[int, int] = field(default_factory=dict[int, int])
    _span: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    @classmethod
    def of(cls, entry: int, successors: Mapping[int, Sequence[int]]) -> DominatorTree:
        """Computes the tree (Cooper, Harvey and Kennedy)."""
        tree = cls(reverse_post_order(entry, successors))
        place = {label: index for index, label in enumerate(tree.order)}
        predecessors: dict[int, list[int]] = {label: [] for label in tree.order}
        for label in tree.order:
            for successor in successors[label]:
                predecessors[successor].append(label)
        idom = tree.idom
        idom[entry] = entry
        changed = True
        while changed:
            changed = False
            for label in tree.order[1:]:
                known = [p for p in predecessors[label] if p in idom]
                best = known[0]
                for other in known[1:]:
                    best = tree._nearest_above(best, other, place)
                if idom.get(label) != best:
                    idom[label] = best
                    changed = True
        tree._number(entry)
        return tree

    def _nearest_above(self, one: int, other: int, place: Mapping[int, int]) -> int:
        """Returns the nearest label that dominates two, by their places in `order`."""
        while one != other:
            if place[one] > place[other]:
                one = self.idom[one]
            else:
                other = self.idom[other]
        return one

    def _number(self, entry: int) -> None:
        children: dict[int, list[int]] = {label: [] for label in self.order}
        for label, parent in self.idom.items():
            if label != entry:
                children[parent].append(label)
        clock = 0
        start: dict[int, int] = {}
        stack: list[tuple[int, bool]] = [(entry, False)]
        while stack:
            label, is_done = stack.pop()
            clock += 1
            if is_done:
                self._span[label] = (start[label], clock)
            else:
                start[label] = clock
                stack.append((label, True))
                stack.extend((child, False) for child in children[label])

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path to `b` goes through `a`; False where one of them is unreachable."""
        first, second = self._span.get(a), self._span.get(b)
        return first is not None and second is not None and first[0] <= second[0] and second[1] <= first[1]


class ControlFlow:
    """The blocks and constructs of one function."""

    def __init__(self, view: ModuleView, function: FunctionView) -> None:
        """Raises DeserialisationError where the control flow is not structured."""
        self.blocks: dict[int, BlockView] = {block.label: block for block in function.blocks}
        self.entry = function.blocks[0].label
        self.successors: dict[int, tuple[int, ...]] = {}
        self.constructs: dict[int, Construct] = {}
        """By header."""
        self.by_merge: dict[int, Construct] = {}
        structural: dict[int, tuple[int, ...]] = {}
        for label, block in self.blocks.items():
            self.successors[label] = _successors(view, block, function.definition)
            structural[label] = (*self.successors[label], *self._declare(label, block))
            for target in structural[label]:
                if target not in self.blocks:
                    unreadable(f"%{target} is no block of the function", block.terminator)
                if target == self.entry:
                    unreadable("the first block of a function cannot be branched to", block.terminator)
        self._structural = DominatorTree.of(self.entry, structural)
        self.real = DominatorTree.of(self.entry, self.successors)
        """Dominance by branches alone."""
        self.order = self._structural.order
        """Blocks, each behind those that dominate it."""
        self.body_level: dict[int, Level] = {}
        """Where the instructions of a block stand."""
        self.end_level: dict[int, Level] = {}
        """Where the terminator of a block stands: a selection's header ends inside of it."""
        for label in self.order:
            self._place(label)
        self.predecessors: dict[int, list[int]] = {label: [] for label in self.order}
        for label in self.order:
            for target in dict.fromkeys(self.successors[label]):
                self.predecessors[target].append(label)

    def structurally_dominates(self, a: int, b: int) -> bool:
        """Whether `a` dominates `b` when merge blocks and continue targets count as successors."""
        return self._structural.dominates(a, b)

    def _declare(self, label: int, block: BlockView) -> tuple[int, ...]:
        item = block.merge
        if item is None:
            return ()
        is_loop = item.opcode == Op.LoopMerge
        if len(item.operands) < 2 + is_loop:
            unreadable("it has too few operands", item)
        merge = item.operands[0]
        target = item.operands[1] if is_loop else None
        if merge in (label, target) or merge in self.by_merge:
            unreadable(f"%{merge} cannot be its merge block: it is a header or merge block already", item)
        construct = Construct(label, merge, target, item)
        self.constructs[label] = self.by_merge[merge] = construct
        return (merge,) if target is None else (merge, target)

    def _place(self, label: int) -> None:
        if label == self.entry:
            outer: Level = None
        else:
            parent = self._structural.idom[label]
            outer = self.constructs.get(parent) or self.body_level[parent]
            while outer is not None and self._structural.dominates(outer.merge, label):
                outer = outer.parent
        construct = self.constructs.get(label)
        if construct is None:
            self.body_level[label] = self.end_level[label] = outer
            return
        construct.parent = outer
        construct.depth = 1 if outer is None else outer.depth + 1
        if construct.depth > MAX_NESTING:
            unreadable(f"constructs are nested more than {MAX_NESTING} deep", construct.instruction)
        if not self._structural.dominates(label, construct.merge):
            unreadable(
                f"the header does not dominate its merge block %{construct.merge}", construct.instruction
            )
        target = construct.continue_target
        if target is not None and not self._structural.dominates(label, target):
            unreadable(f"the header does not dominate its continue target %{target}", construct.instruction)
        self.body_level[label] = construct if construct.is_loop else outer
        self.end_level[label] = construct


def _successors(view: ModuleView, block: BlockView, function: Instruction) -> tuple[int, ...]:
    end = block.terminator
    if end is None:
        unreadable(f"the block %{block.label} of function %{function.result_id} has no end")
    wanted = {Op.Branch: 1, Op.BranchConditional: 3, Op.Switch: 2, Op.ReturnValue: 1}.get(end.opcode, 0)
    if len(end.operands) < wanted:
        unreadable("it has too few operands", end)
    words = view.switch_literal_words(end.operands[0]) if end.opcode == Op.Switch else 1
    if end.opcode == Op.Switch and len(end.operands) % (words + 1) != (2 % (words + 1)):
        unreadable("its literals and targets do not pair up", end)
    return block.successors(words)
