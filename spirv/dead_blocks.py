"""Leaves out the code that nothing reaches: `dead_blocks_emptied`.

    for (;;) x += 1;            the merge block of the loop is OpUnreachable,
    y = x; return;              what comes behind it is gone

What structured control flow wants stays: of merge blocks an OpUnreachable, of continue targets the branch to the
header.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction, Module
from .code_changes import CodeChanges
from .loop_blocks import successors
from .module_editor import ModuleEditor
from .module_view import BlockView, FunctionView
from .reverse_post_order import reverse_post_order
from .tables import Op

_OF_RESULTS = (Op.Name, Op.Decorate, Op.DecorateId, Op.DecorateString)


def dead_blocks_emptied(module: Module) -> Module:
    """Returns a valid module so changed; itself where all code is reached."""
    editor = ModuleEditor(module)
    cleaner = _Cleaner(editor)
    for function in editor.view.functions:
        if function.blocks:
            cleaner.function(function)
    return module if cleaner.code.is_empty else editor.finished(cleaner.around)


class _Cleaner:
    def __init__(self, editor: ModuleEditor) -> None:
        self._editor = editor
        self.code = CodeChanges()
        self._gone: set[int] = set()
        """Results and labels that are no more."""

    def function(self, function: FunctionView) -> None:
        """Looks at a function."""
        view = self._editor.view
        following = {block.label: successors(block, view) for block in function.blocks}
        reached = set(reverse_post_order(function.blocks[0].label, following))
        if len(reached) == len(function.blocks):
            return
        merges, headers = _structural(function, reached)
        for block in function.blocks:
            if block.label in reached:
                self._forget_origins(block, reached, headers)
            elif block.label in headers:
                self._empty(block, Instruction(Op.Branch, None, None, (headers[block.label],)))
            elif block.label in merges:
                self._empty(block, Instruction(Op.Unreachable, None, None, ()))
            else:
                self._gone.add(block.label)
                self.code.put(view.definitions[block.label])
                self._empty(block)

    def _empty(self, block: BlockView, *instead: Instruction) -> None:
        self._gone.update(item.result_id for item in block.body if item.result_id is not None)
        *body, last = block.body
        for item in body:
            self.code.put(item)
        self.code.put(last, *instead)

    def _forget_origins(self, block: BlockView, reached: set[int], headers: dict[int, int]) -> None:
        """Lets phis name the blocks alone that lead to theirs now."""
        dead = [label for label, header in headers.items() if header == block.label]
        for item in block.body:
            if item.opcode == Op.Phi:
                pairs = zip(item.operands[::2], item.operands[1::2], strict=True)
                kept = [word for value, label in pairs if label in reached for word in (value, label)]
                for label in dead:
                    kept += (self._editor.declared(Op.Undef, type_=item.result_type), label)
                if tuple(kept) != item.operands:
                    self.code.put(item, item._replace(operands=tuple(kept)))

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction."""
        if item.opcode not in _OF_RESULTS or item.operands[0] not in self._gone:
            yield from self.code.around(item)


def _structural(function: FunctionView, reached: set[int]) -> tuple[set[int], dict[int, int]]:
    """Returns the merge blocks of constructs that are reached, and the headers of continue targets that are not."""
    merges: set[int] = set()
    headers: dict[int, int] = {}
    for block in function.blocks:
        if block.label in reached and (merge := block.merge) is not None:
            merges.add(merge.operands[0])
            if merge.opcode == Op.LoopMerge and merge.operands[1] not in reached:
                headers[merge.operands[1]] = block.label
    return merges, headers
