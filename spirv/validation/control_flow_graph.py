"""The control-flow graph of a function: predecessors, reachability, dominators."""

from __future__ import annotations

from ..module_view import BlockView, FunctionView
from ..reverse_post_order import reverse_post_order
from ..tables import Op
from .context import Context


class ControlFlowGraph:
    """Blocks of a function as a graph; branches to what is no block of it are left out."""

    def __init__(self, ctx: Context, function: FunctionView) -> None:
        self.blocks: dict[int, BlockView] = {}
        """Label → block."""
        for block in function.blocks:
            self.blocks.setdefault(block.label, block)
        self.successors: dict[int, tuple[int, ...]] = {
            label: tuple(t for t in _targets(ctx, block) if t in self.blocks)
            for label, block in self.blocks.items()
        }
        self.predecessors: dict[int, list[int]] = {label: [] for label in self.blocks}
        for label, targets in self.successors.items():
            for target in dict.fromkeys(targets):
                self.predecessors[target].append(label)
        self.order = reverse_post_order(function.blocks[0].label, self.successors) if function.blocks else []
        """Reachable labels, each before what it dominates."""
        self._index = {label: index for index, label in enumerate(self.order)}
        self._idom = self._immediate_dominators()
        self._enter, self._leave = self._number_tree()

    def is_reachable(self, label: int) -> bool:
        """Whether control can come there from the entry block."""
        return label in self._index

    def dominates(self, above: int, below: int) -> bool:
        """Whether every way to `below` leads through `above`; both reachable."""
        return self._enter[above] <= self._enter[below] and self._leave[below] <= self._leave[above]

    def _immediate_dominators(self) -> list[int]:
        """Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"; by index in `order`."""
        idom = [-1] * len(self.order)
        if idom:
            idom[0] = 0
        is_changed = True
        while is_changed:
            is_changed = False
            for node in range(1, len(self.order)):
                known = [
                    index
                    for label in self.predecessors[self.order[node]]
                    if (index := self._index.get(label, -1)) >= 0 and idom[index] >= 0
                ]
                best = known[0]
                for other in known[1:]:
                    best = _intersect(idom, best, other)
                is_changed |= idom[node] != best
                idom[node] = best
        return idom

    def _number_tree(self) -> tuple[dict[int, int], dict[int, int]]:
        """Entry and exit times of a walk over the dominator tree: ancestors enclose descendants."""
        children: list[list[int]] = [[] for _ in self.order]
        for node in range(1, len(self.order)):
            children[self._idom[node]].append(node)
        enter, leave, clock = dict[int, int](), dict[int, int](), 0
        stack = [(0, False)] if self.order else []
        while stack:
            node, is_done = stack.pop()
            clock += 1
            if is_done:
                leave[self.order[node]] = clock
                continue
            enter[self.order[node]] = clock
            stack.append((node, True))
            stack.extend((child, False) for child in children[node])
        return enter, leave


def _intersect(idom: list[int], a: int, b: int) -> int:
    while a != b:
        while a > b:
            a = idom[a]
        while b > a:
            b = idom[b]
    return a


def _targets(ctx: Context, block: BlockView) -> tuple[int, ...]:
    end = block.terminator
    words = 1
    if end is not None and end.opcode == Op.Switch and end.operands:
        words = ctx.view.switch_literal_words(end.operands[0])
    return block.successors(words)
