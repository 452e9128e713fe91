"""Gives loops that begin in the merge block of another construct a header of their own: `headers_owned`.

    a: OpSelectionMerge %m ...                     a: OpSelectionMerge %m ...
    m: %k = OpPhi %0 %a %next %more                m: OpBranch %h
       OpLoopMerge %end %more None                 h: %k = OpPhi %0 %m %next %more
       ...                                            OpLoopMerge %end %more None
    more: OpBranch %m                              more: OpBranch %h

`vk_runtime.quirks`, lost-returns, says which driver needs it.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .binary import Instruction, Module
from .dead_blocks import dead_blocks_emptied
from .loop_blocks import successors
from .module_view import BlockView, FunctionView, ModuleView
from .remap import remapped
from .reverse_post_order import reverse_post_order
from .rewrite import Rewrite
from .tables import Op


def headers_owned(module: Module) -> Module:
    """Returns a valid module so changed; itself where every loop has a header of its own."""
    if not any(_shared(function.blocks) for function in ModuleView(module).functions):
        return module
    # Of what is not reached, the branches left behind are those of continue targets to their own header.
    rewrite = Rewrite(dead_blocks_emptied(module))
    for function in rewrite.view.functions:
        if shared := _shared(function.blocks):
            _Headers(rewrite, function, shared).write()
    return rewrite.finished()


def _shared(blocks: Iterable[BlockView]) -> list[BlockView]:
    """Returns the headers of loops that are merge blocks, too."""
    merges = [(block, merge) for block in blocks if (merge := block.merge) is not None]
    targets = {merge.operands[0] for _, merge in merges}
    return [block for block, merge in merges if merge.opcode == Op.LoopMerge and block.label in targets]


class _Headers:
    """Splits headers of a function: the old label stays with the merge block."""

    def __init__(self, rewrite: Rewrite, function: FunctionView, shared: list[BlockView]) -> None:
        self._rewrite, self._function, self._shared = rewrite, function, shared
        self._following = {block.label: successors(block, rewrite.view) for block in function.blocks}
        self._header = {block.label: rewrite.editor.new_id() for block in shared}
        """The label that the loop of a block has now, by the block's."""

    def write(self) -> None:
        """Writes the function anew."""
        inside = {block.label: self._back_edges(block.label) for block in self._shared}
        for block in self._function.blocks:
            self._phis_behind(block)
        for block in self._shared:
            self._split(block, inside[block.label])
        for block in self._function.blocks:
            self._ends_in(block, {label for label, blocks in inside.items() if block.label in blocks})

    def _back_edges(self, header: int) -> set[int]:
        """Returns the blocks that branch to a header, and that nothing leads to but the header."""
        around = {label: () if label == header else others for label, others in self._following.items()}
        outside = set(reverse_post_order(self._function.blocks[0].label, around)) - {header}
        return {
            label for label, others in self._following.items() if header in others and label not in outside
        }

    def _phis_behind(self, block: BlockView) -> None:
        """What comes from a block that was split comes from its second part."""
        for phi in _phis(block):
            now = [self._header.get(word, word) if n % 2 else word for n, word in enumerate(phi.operands)]
            if tuple(now) != phi.operands:
                self._rewrite.put(phi, phi._replace(operands=tuple(now)))

    def _split(self, block: BlockView, inside: set[int]) -> None:
        editor, header = self._rewrite.editor, self._header[block.label]
        body = self._rewrite.code.behind(self._rewrite.view.definitions[block.label].ordinal)
        own = {self._header.get(label, label) for label in inside}
        for phi in _phis(block):
            now = self._rewrite.code.now(phi)
            pairs = [*zip(now.operands[::2], now.operands[1::2], strict=True)]
            before = [pair for pair in pairs if pair[1] not in own]
            start = before[0][0]
            if len(before) > 1:
                start = editor.emit(
                    body, Op.Phi, *(word for pair in before for word in pair), type_=now.result_type
                )
            after = [(start, block.label), *(pair for pair in pairs if pair[1] in own)]
            self._rewrite.put(phi, now._replace(operands=tuple(word for pair in after for word in pair)))
        editor.emit(body, Op.Branch, header)
        editor.label(body, header)

    def _ends_in(self, block: BlockView, targets: set[int]) -> None:
        """Leads the branches of a block back to where some loops begin now."""
        end = block.body[-1]
        words = self._rewrite.view.switch_literal_words(end.operands[0]) if end.opcode == Op.Switch else 1
        if targets:
            self._rewrite.put(end, remapped(end, lambda word: self._now(word, targets), words))
        merge, header = block.merge, self._header.get(block.label)
        if merge is None or merge.opcode != Op.LoopMerge or header is None:
            return
        ends, continue_target, *rest = merge.operands
        if continue_target == block.label:  # a loop of one block
            self._rewrite.put(merge, merge._replace(operands=(ends, header, *rest)))

    def _now(self, word: int, targets: set[int]) -> int:
        return self._header[word] if word in targets else word


def _phis(block: BlockView) -> Iterator[Instruction]:
    return (item for item in block.body if item.opcode == Op.Phi)
