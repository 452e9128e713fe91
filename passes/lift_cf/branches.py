"""Makes one block of blocks without cycles.

    ^p: jump %c ? ^a : ^b(%y)              ^p: %r = scf.if %c -> i32 { …a; scf.yield %x } else { scf.yield %y }
    ^a: … jump ^b(%x)                          …b, with %r in the place of %z
    ^b(%z): …

Behind each way out of a block, what can be reached by that way alone becomes a region; where the ways meet goes on
behind the operation, through a multiplexer if they meet in several blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...ir.create import create
from ...ir.narrowing import is_integer_type
from ...ir.upstream.index import CmpPredicate
from ..errors import PassError
from ..upstream.place import UpstreamPlace
from .jumps import Constants, Edge, Jump, edges_of, end_with_jump, jump_of, remove, reverse_post_order
from .multiplexer import Multiplexer

MOST_NESTED = 64
"""Operations inside each other that blocks may become: what reads IR goes down into them by calling itself."""
_INDEX_BITS = 32


def fold_branches(block: Block, constants: Constants, depth: int = 0) -> None:
    """Moves into a block all that can be reached from it, so that it ends with what leaves the region.

    Raises:
        PassError: branches would be nested deeper than `MOST_NESTED`.
    """
    while (jump := jump_of(block)) is not None:
        if depth > MOST_NESTED:
            raise PassError(
                f"branches are nested more than {MOST_NESTED} deep once they are structured; each early return nests "
                "what follows: split a long chain by a test of half of its cases",
                jump,
            )
        if jump.selector is None:
            _append(block, jump)
        else:
            _fold(block, jump, constants, depth)


def _append(block: Block, jump: Jump) -> None:
    """Moves the operations of the one block that a block leads to, and that nothing else leads to, into it."""
    (edge,) = jump.edges
    for argument, value in zip(edge.target.args, edge.values, strict=True):
        value.name_hint = value.name_hint or argument.name_hint
        argument.replace_all_uses_with(value)
    remove(jump)
    for op in list(edge.target.ops):
        op.detach()
        block.add_op(op)


def _fold(block: Block, jump: Jump, constants: Constants, depth: int) -> None:
    arms: list[Block] = []
    for index, edge in enumerate(jump.edges):
        arms.append(Block())
        end_with_jump(arms[-1], [edge], location=jump.location)
        jump.turn(index, Edge(arms[-1]))
    meeting = _meet(block, arms, constants)
    types = [argument.type for argument in meeting.args]
    for arm in arms:
        fold_branches(arm, constants, depth + 1)
    values = _select(UpstreamPlace(jump), arms, types)
    location = jump.location
    remove(jump)
    end_with_jump(block, [Edge(meeting, tuple(values))], location=location)


def _meet(block: Block, arms: Sequence[Block], constants: Constants) -> Block:
    """Ends each arm with `scf.yield` where it meets others; returns the block that comes behind them."""
    owner: dict[Block, Block | None] = {block: None, **{arm: arm for arm in arms}}
    order = reverse_post_order(block)
    owners: dict[Block, set[Block | None]] = {at: set() for at in order}
    for at in order:
        if at not in owner:
            found = owners[at]
            owner[at] = next(iter(found)) if len(found) == 1 else None
        for edge in edges_of(at):
            owners[edge.target].add(owner[at])

    leaving = [
        (jump, index, arm)
        for at in order
        if (arm := owner[at]) is not None and (jump := jump_of(at)) is not None
        for index, edge in enumerate(jump.edges)
        if owner[edge.target] is not arm
    ]
    rank = {at: number for number, at in enumerate(order)}
    targets = sorted({jump.edges[index].target for jump, index, _ in leaving}, key=rank.__getitem__)
    meeting = targets[0]
    if len(targets) > 1:
        multiplexer = Multiplexer(targets, constants)
        meeting = multiplexer.block
        for jump, index, _ in leaving:
            jump.turn(index, multiplexer.edge(jump.edges[index]))
        end_with_jump(meeting, *multiplexer.onward(meeting.args))
    ends: dict[Block, Block] = {}
    for jump, index, arm in leaving:
        if arm not in ends:
            ends[arm] = Block(arg_types=[argument.type for argument in meeting.args])
            ends[arm].add_op(create(scf.YieldOp, ends[arm].args, location=jump.location))
        jump.turn(index, Edge(ends[arm], jump.edges[index].values))
    return meeting


def _select(place: UpstreamPlace, arms: Sequence[Block], types: Sequence[Attribute]) -> Sequence[SSAValue]:
    """Makes the operation that selects an arm in front of a jump; returns its results."""
    jump: Jump = place.op
    selector = jump.selector
    assert selector is not None, "there are several ways"
    regions = [Region(arm) for arm in arms]
    if jump.keys is not None:
        number, keys = _index(place, selector, jump.keys)
        cases = DenseArrayBase.from_list(i64, keys)
        return place.make(
            scf.IndexSwitchOp, [number], types, cases=cases, regions=[regions[-1], *regions[:-1]]
        ).results
    if not types and arms[0].first_op is arms[0].last_op:
        selector = place.emit(arith.XOrIOp, [selector, place.constant(-1, i1)], i1)
        regions.reverse()
    if not types and (last := regions[1].block).first_op is last.last_op:
        regions[1] = Region()
    return place.make(scf.IfOp, [selector], types, regions=regions).results


def _index(
    place: UpstreamPlace, selector: SSAValue, keys: tuple[int, ...]
) -> tuple[SSAValue, tuple[int, ...]]:
    """Returns what a switch switches by as an index, and the numbers of its cases then."""
    type_ = selector.type
    if isinstance(type_, IndexType):
        return selector, keys
    if is_integer_type(type_) and 1 < type_.width.data <= _INDEX_BITS:
        return place.emit(arith.IndexCastOp, [selector], IndexType()), keys
    position = place.constant(len(keys), IndexType())  # of any other number
    for at, key in reversed(list(enumerate(keys))):
        is_it = place.compare(CmpPredicate.Eq, selector, place.constant(key, type_))
        position = place.select(is_it, place.constant(at, IndexType()), position)
    return position, tuple(range(len(keys)))
