"""What becomes of upstream's control flow.

scf.execute_region { … }                              …
scf.index_switch %i case 0 { A } default { B }        %k = %i == 0 ? 0 : 1    scf.if %k < 1 { A } else { B }
scf.parallel (%i, %j) = … init (%z) { … scf.reduce }  scf.for %i … iter_args(…) { scf.for %j … { … } }

A work-item runs the rounds of a parallel loop one after the other, in C order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Block, Region, SSAValue

from ...ir.upstream.index import CmpPredicate
from ...ir.upstream.reading import integers_of
from .place import Lowering, Number, UpstreamPlace, known_number

_INDEX = IndexType()
_MOST_LOOPS = 32
"""Around each other, of one operation."""


def inlined(place: UpstreamPlace, block: Block, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Moves the operations of a block there, with values in the place of its arguments; returns what it ends with."""
    place_arguments(block, values)
    for op in list(block.ops):
        if op is block.last_op:
            break
        op.detach()
        place.add(op)
    last = block.last_op
    assert last is not None, "a block ends in a terminator"
    ends = list(last.operands)
    last.detach()
    last.erase()
    return ends


def place_arguments(block: Block, values: Sequence[SSAValue]) -> None:
    """Puts values in the place of a block's arguments."""
    for argument, value in zip(block.args, values, strict=True):
        argument.replace_all_uses_with(value)


def _only_block(place: UpstreamPlace, region: Region) -> Block:
    if len(region.blocks) != 1:
        raise place.refused(
            f"its region has {len(region.blocks)} blocks, expected one; run mlir-opt --lift-cf-to-scf before"
        )
    return region.blocks[0]


def execute_region(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Takes the operations of one block out of their region; also of `memref.alloca_scope`."""
    return inlined(place, _only_block(place, place.op.regions[0]), [])


def index_switch(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Finds out which case it is, and goes to it by halves: so are few branches inside each other."""
    op = place.op
    numbers = [int(number) for number in op.cases.get_values()]
    bodies = [_only_block(place, region) for region in (*op.case_regions, op.default_region)]
    if len(bodies) != len(numbers) + 1:
        raise place.refused(f"it has {len(numbers)} numbers for {len(bodies) - 1} cases")
    which = place.constant(len(numbers), _INDEX)
    for position, number in reversed(list(enumerate(numbers))):
        is_it = place.compare(CmpPredicate.Eq, op.operands[0], place.constant(number, _INDEX))
        which = place.select(is_it, place.constant(position, _INDEX), which)

    def among(inner: UpstreamPlace, first: int, end: int) -> Sequence[SSAValue]:
        if end - first == 1:
            return inlined(inner, bodies[first], [])
        middle = (first + end) // 2
        return inner.choose(
            inner.compare(CmpPredicate.Ult, which, inner.constant(middle, _INDEX)),
            op.result_types,
            lambda deeper: among(deeper, first, middle),
            lambda deeper: among(deeper, middle, end),
        )

    return among(place, 0, len(bodies))


_Bounds = tuple[Number, Number, Number]
_Body = Callable[[UpstreamPlace, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""Gets the counters and the values that the rounds pass on; returns the next ones."""


def nested_loops(
    place: UpstreamPlace, bounds: Sequence[_Bounds], values: Sequence[SSAValue], body: _Body
) -> Sequence[SSAValue]:
    """Returns what the innermost body of loops around each other makes of some values."""
    if len(bounds) > _MOST_LOOPS:
        raise place.refused(
            f"it has {len(bounds)} dimensions, expected at most {_MOST_LOOPS}; join some of them"
        )

    for _, _, step in bounds:
        known = known_number(step)
        if known is not None and known <= 0:
            raise place.refused(f"its step is {known}, expected a positive one")

    def nest(
        inner: UpstreamPlace, counters: Sequence[SSAValue], values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        if len(counters) == len(bounds):
            return body(inner, counters, values)
        return inner.loop(
            bounds[len(counters)], values, lambda deeper, i, passed: nest(deeper, [*counters, i], passed)
        )

    return nest(place, [], values)


def parallel(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Runs the rounds one after the other; each `scf.reduce` combines what came before with its operands."""
    op = place.op
    block: Block = _only_block(place, op.body)
    last = block.last_op
    if not isinstance(last, scf.ReduceOp) or len(last.regions) != len(op.results):
        raise place.refused(
            f"it has {len(op.results)} results, and not as many regions of scf.reduce at its end"
        )

    def body(
        inner: UpstreamPlace, counters: Sequence[SSAValue], before: Sequence[SSAValue]
    ) -> list[SSAValue]:
        rows = [_only_block(place, region) for region in last.regions]
        for region, row in zip(last.regions, rows, strict=True):
            region.detach_block(row)
        new = inlined(inner, block, counters)  # erases `last`
        return [
            inlined(inner, row, [total, value])[0]
            for row, total, value in zip(rows, before, new, strict=True)
        ]

    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    return nested_loops(place, bounds, list(op.initVals), body)


def forall(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Runs the rounds one after the other; there are no tensors to put together."""
    op = place.op
    block = _only_block(place, op.regions[0])
    last = block.last_op
    inner_ops = [] if last is None or not last.regions else [o for b in last.regions[0].blocks for o in b.ops]
    if op.results or inner_ops:
        raise place.refused(
            "it has no tensors (shared_outs) in a kernel; bufferize them with mlir-opt before"
        )
    rest = iter(op.operands)
    rows: list[list[Number]] = []
    for name in ("staticLowerBound", "staticUpperBound", "staticStep"):
        numbers = integers_of(op.properties[name])
        rows.append([next(rest) if number == DYNAMIC_INDEX else number for number in numbers])

    def body(
        inner: UpstreamPlace, counters: Sequence[SSAValue], _values: Sequence[SSAValue]
    ) -> list[SSAValue]:
        inlined(inner, block, counters)
        return []

    return nested_loops(place, list(zip(*rows, strict=True)), [], body)


CONTROL_FLOW: dict[str, Lowering] = {
    "memref.alloca_scope": execute_region,
    "scf.execute_region": execute_region,
    "scf.forall": forall,
    "scf.index_switch": index_switch,
    "scf.parallel": parallel,
}
"""How each is lowered."""
