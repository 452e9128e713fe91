"""Loops that may go on for ever, for drivers that end loops: `UnknownEnds`.

    test of each round:   %test              →   %test and %index < 2^31 + n, for the n-th loop
    or, without one:      OpBranch %header   →   OpBranchConditional of %index < 2^31 + n, %header or else %merge

Such a driver (`vk_runtime.quirks`, loop-cap) ends a loop without an end, too.  But where it knows that a loop has none,
nothing behind the loop can be reached for it, and what is there to report the loop is left out.  So each loop asks for
a truth that the driver does not know as well, but those that count up or down to an end.  Each for another one: where
the driver has branched for one, it knows it.

What `passes.convert_to_spirv.unknown_ends` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from .binary import Instruction
from .code_changes import CodeChanges
from .loop_blocks import Loop, successors
from .loop_tests import LoopTests
from .memory_places import ids_of
from .module_editor import ModuleEditor
from .module_loops import ModuleLoops
from .module_view import BlockView, FunctionView
from .remap import remapped
from .tables import Op, StorageClass

_NOT_CHOSEN = frozenset((Op.TypeImage, Op.TypeSampler, Op.TypeSampledImage))
"""Types whose values OpPhi may not have."""


class UnknownEnds:
    """Gives loops an end that drivers know nothing of.

    Args:
        editor: of the module, in which all code is reached (`dead_blocks`).
        loops: of the module.
        index: a variable with a number of 31 bits, of which no driver knows more.
    """

    def __init__(self, editor: ModuleEditor, loops: ModuleLoops, index: int) -> None:
        self._editor = editor
        self._loops = loops
        self._index = index
        self._count = 0
        self._code = CodeChanges()

    def loop(self, function: FunctionView, loop: Loop) -> None:
        """Gives a loop of a function an end, where it might be without one."""
        if not loop.inside:
            return  # one of too many, of which nothing is known
        tests = LoopTests(self._editor.view, function, loop)
        exits = tests.exits()
        if tests.most() is not None or any(map(tests.counts_to_end, exits)):
            return
        back_edge = tests.back_edge()
        if exits:
            self._add_to_test(exits[0], bool(tests.goes_on(exits[0])))
        elif back_edge is not None:
            self._leave_behind(function, loop, back_edge)

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction."""
        return self._code.around(item)

    def _truth(self, block: BlockView) -> int:
        editor, body = self._editor, self._code.at_end(block)
        index = editor.emit(body, Op.Load, self._index, type_=editor.u32)
        end = editor.number((1 << 31) + self._count)
        self._count += 1
        return editor.emit(body, Op.ULessThan, index, end, type_=editor.bool_)

    def _add_to_test(self, block: BlockView, goes_on: bool) -> None:
        editor, body = self._editor, self._code.at_end(block)
        end = self._code.now(block.body[-1])
        truth, opcode = self._truth(block), Op.LogicalAnd
        if not goes_on:
            truth, opcode = editor.emit(body, Op.LogicalNot, truth, type_=editor.bool_), Op.LogicalOr
        test = editor.emit(body, opcode, end.operands[0], truth, type_=editor.bool_)
        self._code.put(block.body[-1], end._replace(operands=(test, *end.operands[1:])))

    def _leave_behind(self, function: FunctionView, loop: Loop, block: BlockView) -> None:
        """Lets the block that leads to the next round lead behind the loop as well."""
        editor, end = self._editor, block.body[-1]
        lost = self._lost(function, loop, block)
        if end.opcode != Op.Branch or not all(map(self._may_be_chosen, lost)):
            return
        operands = (self._truth(block), loop.header, loop.merge)
        self._code.put(end, end._replace(opcode=Op.BranchConditional, operands=operands))
        merge = next(other for other in function.blocks if other.label == loop.merge)
        for item in merge.body:
            if item.opcode == Op.Phi:
                phi = self._code.now(item)
                nothing = editor.declared(Op.Undef, type_=item.result_type)
                self._code.put(item, phi._replace(operands=(*phi.operands, nothing, block.label)))
        if merge.body[-1].opcode == Op.Unreachable:
            self._code.put(merge.body[-1], self._way_on(function, loop))
        self._choose(function, loop, block, lost)

    def _way_on(self, function: FunctionView, loop: Loop) -> Instruction:
        """Returns what ends the block behind a loop that nothing led out of: the next round of the loop around it.

        That loop then says where it is, if it is ended.  A return says nothing, but may stand anywhere.
        """
        loops = self._loops.of_function(function)
        around = [other for other in loops if loop.header in other.inside and other is not loop]
        if around and self._may_be_continued(function, around[-1]):
            return Instruction(Op.Branch, None, None, (around[-1].continue_target,))
        type_ = function.definition.result_type or 0
        if self._editor.view.definitions[type_].opcode == Op.TypeVoid:
            return Instruction(Op.Return, None, None, ())
        return Instruction(Op.ReturnValue, None, None, (self._editor.declared(Op.Undef, type_=type_),))

    def _may_be_continued(self, function: FunctionView, loop: Loop) -> bool:
        """Whether a loop gets an end, and its round may go there at once: what comes then uses nothing of the round."""
        view = self._editor.view
        tests = LoopTests(view, function, loop)
        if tests.back_edge() is None and not tests.exits():
            return False
        blocks = {block.label: block for block in function.blocks}
        if any(item.opcode == Op.Phi for item in blocks[loop.continue_target].body):
            return False
        # The header comes first in the round; a way out may be added to what leads to the next one.
        reached, pending = {loop.header}, [loop.continue_target, loop.merge]
        while pending:
            label = pending.pop()
            if label not in reached:
                reached.add(label)
                pending += successors(blocks[label], view)
        passed_by = {
            item.result_id
            for label in loop.inside - reached
            for item in blocks[label].body
            if item.result_id is not None
        }
        return all(
            passed_by.isdisjoint(_used_from(reached, item, ids_of(view, item)))
            for label in reached
            for item in blocks[label].body
        )

    # What a way out that the loop had computes, and another has not

    def _lost(self, function: FunctionView, loop: Loop, last: BlockView) -> list[Instruction]:
        """Returns what is computed on ways out of a loop alone and is used behind it."""
        view = self._editor.view
        following = {block.label: successors(block, view) for block in function.blocks}
        made: dict[int, tuple[int, Instruction]] = {}
        used: set[int] = set()
        for block in function.blocks:
            for item in block.body:
                if block.label in loop.inside and item.result_id is not None:
                    made[item.result_id] = block.label, item
                used.update(self._used_outside(loop, block, item))
        return [
            item
            for number, (label, item) in made.items()
            if number in used and _is_passed_by(label, loop, last, following)
        ]

    def _used_outside(self, loop: Loop, block: BlockView, item: Instruction) -> list[int]:
        ids = ids_of(self._editor.view, item)
        if item.opcode == Op.Phi:
            pairs = zip(ids[::2], ids[1::2], strict=True)
            return [value for value, label in pairs if label not in loop.inside]
        return [] if block.label in loop.inside else list(ids)

    def _may_be_chosen(self, item: Instruction) -> bool:
        kind = self._editor.view.definitions[item.result_type or 0]
        is_logical = kind.opcode == Op.TypePointer and kind.operands[0] != StorageClass.PhysicalStorageBuffer
        return not is_logical and kind.opcode not in _NOT_CHOSEN

    def _choose(self, function: FunctionView, loop: Loop, last: BlockView, lost: list[Instruction]) -> None:
        """Lets phis behind a loop have what was lost, and what is behind it use them."""
        editor = self._editor
        if not lost:
            return
        view = editor.view
        ways = [
            (block.label, block.label in loop.inside)
            for block in function.blocks
            if loop.merge in successors(block, view)
        ]
        chosen: dict[int, int] = {}
        merge = next(block for block in function.blocks if block.label == loop.merge)
        for item in lost:
            value, nothing = item.result_id or 0, editor.declared(Op.Undef, type_=item.result_type)
            phi = chosen[value] = editor.new_id()
            # Where the block behind the loop is the header of another, that one's rounds hand on what was chosen.
            known = (word for label, is_inside in ways for word in (value if is_inside else phi, label))
            operands = (*known, nothing, last.label)
            self._code.behind(merge.ordinal).append(Instruction(Op.Phi, item.result_type, phi, operands))
        for block in function.blocks:
            for item in block.body:
                if not chosen.keys().isdisjoint(self._used_outside(loop, block, item)):
                    self._use(loop, item, chosen)

    def _use(self, loop: Loop, item: Instruction, chosen: dict[int, int]) -> None:
        now = self._code.now(item)
        if item.opcode != Op.Phi:
            words = self._editor.view.switch_literal_words(now.operands[0]) if now.opcode == Op.Switch else 1
            self._code.put(item, remapped(now, lambda number: chosen.get(number, number), words))
            return
        pairs = zip(now.operands[::2], now.operands[1::2], strict=True)
        kept = (
            (value if label in loop.inside else chosen.get(value, value), label) for value, label in pairs
        )
        self._code.put(item, now._replace(operands=tuple(word for pair in kept for word in pair)))


def _used_from(blocks: Set[int], item: Instruction, ids: Sequence[int]) -> Sequence[int]:
    """Returns the ids that an instruction uses where one of some blocks comes before it."""
    if item.opcode != Op.Phi:
        return ids
    return [value for value, label in zip(ids[::2], ids[1::2], strict=True) if label in blocks]


def _is_passed_by(label: int, loop: Loop, last: BlockView, following: dict[int, tuple[int, ...]]) -> bool:
    """Whether a round may reach its last block without a block."""
    seen, pending = {label}, [loop.header]
    while pending:
        block = pending.pop()
        if block not in seen and block in loop.inside:
            if block == last.label:
                return True
            seen.add(block)
            pending += following[block]
    return False
