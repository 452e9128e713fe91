"""Makes `scf.while` of the cycles among blocks.

    ^h(%i): jump %c ? ^b : ^x(%v)     %v, %i = scf.while (%i = …) { scf.condition(%c) %v, %i } do { …b; scf.yield %n }
    ^b: … jump ^h(%n)                 … x

    ^h(%i): … jump %c ? ^h(%n) : ^x   scf.while (%i = …) { …; scf.condition(%c) %n } do { scf.yield %n }

A loop that is left in its first block alone becomes the first form.  Any other becomes the second one, where all that
goes back or out leads through one multiplexer at the end of the round.  A cycle that is entered in several blocks
(irreducible control flow) gets a multiplexer in front of them, which is the first block then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import LocationAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.create import create
from .branches import fold_branches
from .jumps import (
    Constants,
    Edge,
    Jump,
    edges_of,
    edges_to,
    end_with_jump,
    jump_of,
    remove,
    reverse_post_order,
)
from .multiplexer import Multiplexer


def fold_blocks(entry: Block, constants: Constants) -> None:
    """Moves into a block all that can be reached from it, so that it ends with what leaves the region.

    Every cycle has a way out.

    Raises:
        PassError: the operations would be nested too deeply.
    """
    for blocks in cycles(entry):
        _Loop(blocks, constants).fold()
    fold_branches(entry, constants)


def cycles(entry: Block) -> list[list[Block]]:
    """Returns the blocks that can be reached from each other, of all behind `entry` (Kosaraju's algorithm)."""
    order = reverse_post_order(entry)
    rank = {block: number for number, block in enumerate(order)}
    sources: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for edge in edges_of(block):
            sources[edge.target].append(block)
    found: list[list[Block]] = []
    seen: set[Block] = set()
    for root in order:
        members: list[Block] = []
        pending = [root]
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                members.append(block)
                pending += sources[block]
        if len(members) > 1 or (members and root in sources[root]):
            found.append(sorted(members, key=rank.__getitem__))
    return found


def ways_out(blocks: Sequence[Block]) -> list[tuple[Jump, int]]:
    """Returns the jumps that lead from some blocks to others, with the number of the edge."""
    inside = set(blocks)
    return [
        (jump, index)
        for block in blocks
        if (jump := jump_of(block)) is not None
        for index, edge in enumerate(jump.edges)
        if edge.target not in inside
    ]


class _Loop:
    """A cycle that becomes an operation."""

    def __init__(self, blocks: list[Block], constants: Constants) -> None:
        self._blocks = dict.fromkeys(blocks)
        self._constants = constants
        self._header = self._only_entry()
        self._outside = Block(arg_types=[argument.type for argument in self._header.args])
        """Where the operation will be."""
        for jump, index in edges_to(self._header):
            if jump.parent not in self._blocks:
                jump.turn(index, Edge(self._outside, jump.edges[index].values))

    def _only_entry(self) -> Block:
        """Returns the block in which the cycle is entered, made where there are several."""
        entered = [
            block
            for block in self._blocks
            if any(jump.parent not in self._blocks for jump, _ in edges_to(block))
        ]
        if len(entered) == 1:
            return entered[0]
        multiplexer = Multiplexer(entered, self._constants)
        for block in entered:
            for jump, index in edges_to(block):
                jump.turn(index, multiplexer.edge(jump.edges[index]))
        header = multiplexer.block
        end_with_jump(header, *multiplexer.onward(header.args))
        self._blocks[header] = None
        return header

    def fold(self) -> None:
        """Puts one block with the operation in the place of the blocks."""
        exits = ways_out(list(self._blocks))
        jump, index = exits[0]
        if len(exits) == 1 and len(jump.edges) == 2 and jump.keys is None:
            if jump.edges[1 - index].target is self._header and len(edges_to(self._header)) == 1:
                return self._fold_last_test(jump, index)
            if jump.parent is self._header:
                return self._fold_first_test(jump, index)
        return self._fold_rounds(exits)

    def _fold_first_test(self, jump: Jump, out: int) -> None:
        """Folds a loop that is left in its first block alone."""
        header, location = self._header, jump.location
        stays, leaves = jump.edges[1 - out], jump.edges[out]
        condition = self._test(jump, out)
        remove(jump)
        used = [
            value
            for value in _values(header)
            if any(_block_of(use.operation) is not header for use in value.uses)
        ]
        passed = list(dict.fromkeys([*used, *stays.values, *leaves.values]))
        types = [value.type for value in passed]
        body, end = Block(arg_types=types), Block(arg_types=[argument.type for argument in header.args])
        loop = create(scf.WhileOp, self._outside.args, types, location=location)
        inside, after = (
            dict(zip(passed, body.args, strict=True)),
            dict(zip(passed, loop.results, strict=True)),
        )
        for value in used:
            self._replace(value, inside[value], after[value])
        header.add_op(create(scf.ConditionOp, [condition, *passed], location=location))
        end.add_op(create(scf.YieldOp, end.args, location=location))
        for back, index in edges_to(header):
            back.turn(index, Edge(end, back.edges[index].values))
        end_with_jump(
            body, [Edge(stays.target, tuple(inside[value] for value in stays.values))], location=location
        )
        fold_blocks(body, self._constants)
        loop.add_region(Region(header))
        loop.add_region(Region(body))
        self._outside.add_op(loop)
        end_with_jump(
            self._outside,
            [Edge(leaves.target, tuple(after[value] for value in leaves.values))],
            location=location,
        )

    def _fold_last_test(self, jump: Jump, out: int) -> None:
        """Folds a loop that goes on and is left at the end of its last block alone."""
        last, location = jump.parent, jump.location
        assert last is not None, "it ends a block"
        again, leaves = jump.edges[1 - out].values, jump.edges[out]
        condition = self._test(jump, out)
        remove(jump)
        results = self._make(last, condition, again, leaves.values, location)
        end_with_jump(self._outside, [Edge(leaves.target, tuple(results))], location=location)

    def _fold_rounds(self, exits: Sequence[tuple[Jump, int]]) -> None:
        """Folds any loop: each round ends in a block that all ways back and out lead to."""
        location = exits[0][0].location
        kept = [argument.type for argument in self._header.args]
        multiplexer = Multiplexer(
            [jump.edges[index].target for jump, index in exits], self._constants, [*kept, i1]
        )
        ends, goes_on = self._constants.number(0, i1), self._constants.number(-1, i1)
        nothing = [self._constants.nothing(type_) for type_ in kept]
        for jump, index in exits:
            jump.turn(index, multiplexer.edge(jump.edges[index], [*nothing, ends]))
        for jump, index in edges_to(self._header):
            jump.turn(index, multiplexer.nowhere([*jump.edges[index].values, goes_on]))
        width = multiplexer.width
        *values, condition = multiplexer.block.args
        results = self._make(multiplexer.block, condition, values[width:], values[:width], location)
        end_with_jump(self._outside, *multiplexer.onward(results), location=location)

    def _make(
        self,
        last: Block,
        condition: SSAValue,
        again: Sequence[SSAValue],
        out: Sequence[SSAValue],
        location: LocationAttr,
    ) -> Sequence[SSAValue]:
        """Makes the operation of a loop that is tested at the end of `last`; returns what `out` is behind it."""
        escaping = {value: self._at_end(value, last) for value in self._escaping()}
        passed = [*again, *out, *escaping.values()]
        types = [value.type for value in passed]
        loop = create(scf.WhileOp, self._outside.args, types, location=location)
        behind = loop.results[len(again) + len(out) :]
        for value, result in zip(escaping, behind, strict=True):
            self._replace(value, value, result)
        last.add_op(create(scf.ConditionOp, [condition, *passed], location=location))
        fold_blocks(self._header, self._constants)
        next_round = Block(arg_types=types)
        next_round.add_op(create(scf.YieldOp, next_round.args[: len(again)], location=location))
        loop.add_region(Region(self._header))
        loop.add_region(Region(next_round))
        self._outside.add_op(loop)
        return loop.results[len(again) : len(again) + len(out)]

    def _escaping(self) -> list[SSAValue]:
        """Returns the values of the loop that are used behind it."""
        return [
            value
            for block in self._blocks
            for value in _values(block)
            if any(_block_of(use.operation) not in self._blocks for use in value.uses)
        ]

    def _at_end(self, value: SSAValue, last: Block) -> SSAValue:
        """Returns what a value is at the end of `last`, where rounds that go on may not have computed it."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        assert home is not None, "it is in a block"
        if home is self._header or home is last:
            return value
        without = set(reverse_post_order(self._header, avoiding=[home]))
        if last not in without:
            return value
        for jump, index in edges_to(last):
            is_known = jump.parent not in without
            passed = value if is_known else self._constants.nothing(value.type)
            jump.turn(index, Edge(last, (*jump.edges[index].values, passed)))
        return last.insert_arg(value.type, len(last.args))

    def _replace(self, value: SSAValue, inside: SSAValue, behind: SSAValue) -> None:
        """Replaces a value in the loop's other blocks, and behind it."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        for use in list(value.uses):
            block = _block_of(use.operation)
            if block is not home:
                use.operation.operands[use.index] = inside if block in self._blocks else behind

    def _test(self, jump: Jump, out: int) -> SSAValue:
        """Returns whether a jump with one way out stays in the loop."""
        selector = jump.selector
        assert selector is not None, "it has two ways"
        if out == 1:
            return selector
        negation = create(
            arith.XOrIOp, [selector, self._constants.number(-1, i1)], [i1], location=jump.location
        )
        block = jump.parent
        assert block is not None, "it ends a block"
        block.insert_op_before(negation, jump)
        return negation.results[0]


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _block_of(op: Operation) -> Block:
    """Returns the block of the region that is lifted in which an operation stands."""
    while (block := op.parent_block()) is not None and (parent := block.parent_op()) is not None:
        op = parent
    assert block is not None, "what uses values is in a block"
    return block
