"""What becomes of upstream's affine loops, branches and accesses.

%v = affine.load %x[%i * 2 + 1] : …             %k = %i * 2 + 1    %v = memref.load %x[%k] : …
affine.for %i = 0 to min #map(%n)[%m] { … }     scf.for %i = %c0 to %least step %c1 { … }
affine.if #set(%i) { … }                        scf.if %holds { … }
affine.parallel (%i) = (0) to (8) reduce …      scf.for %i … iter_args(…) { … }

As mlir-opt --lower-affine does, on signed indices: `mod` is never below 0, `floordiv` rounds down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from ...ir.upstream.index import CmpPredicate
from ...ir.upstream.memref import KINDS
from ...ir.upstream.operations import UPSTREAM_OPERATIONS
from ...ir.upstream.reading import integers_of
from .combining import combined, is_whole, neutral
from .control_flow import inlined, nested_loops
from .place import Lowering, Number, UpstreamPlace, known_number

_INDEX = IndexType()
_DEEPEST = 200
"""Operators around each other, in one expression."""
_WORDS = {
    "addf": "add",
    "addi": "add",
    "mulf": "mul",
    "muli": "mul",
    "maxs": "maxsi",
    "maxu": "maxui",
    "mins": "minsi",
    "minu": "minui",
    "ori": "or",
    "andi": "and",
    "xori": "xor",
}
"""By upstream's words for updates: those for reductions; the others are the same."""


class _Expressions:
    """Makes values of expressions of some operands."""

    def __init__(
        self, place: UpstreamPlace, dimensions: int, symbols: int, operands: Sequence[SSAValue]
    ) -> None:
        if len(operands) != dimensions + symbols:
            raise place.refused(
                f"it has {len(operands)} operands, expected {dimensions + symbols}: one for each dimension and symbol"
            )
        self._place = place
        known = [known_number(value) for value in operands]
        numbers: list[Number] = [
            value if number is None else number for value, number in zip(operands, known, strict=True)
        ]
        self._dimensions, self._symbols = numbers[:dimensions], numbers[dimensions:]

    def number(self, expression: AffineExpr, depth: int = 0) -> Number:
        """Returns what an expression gives."""
        if depth > _DEEPEST:
            raise self._place.refused(
                f"an expression has more than {_DEEPEST} operators around each other; divide it with affine.apply"
            )
        if isinstance(expression, AffineConstantExpr):
            return expression.value
        if isinstance(expression, AffineDimExpr):
            return self._dimensions[expression.position]
        if isinstance(expression, AffineSymExpr):
            return self._symbols[expression.position]
        assert isinstance(expression, AffineBinaryOpExpr), "there are no others"
        lhs, rhs = (self.number(side, depth + 1) for side in (expression.lhs, expression.rhs))
        if expression.kind is AffineBinaryOpKind.Add:
            return self._place.plus(lhs, rhs)
        if expression.kind is AffineBinaryOpKind.Mul:
            return self._place.times(lhs, rhs)
        if isinstance(rhs, int) and rhs <= 0:
            raise self._place.refused(
                "it divides by what is no positive constant; write arith.floordivsi or arith.remsi"
            )
        return self._divided(expression.kind, lhs, rhs)

    def _divided(self, kind: AffineBinaryOpKind, lhs: Number, rhs: Number) -> Number:
        if isinstance(lhs, int) and isinstance(rhs, int):
            known = {AffineBinaryOpKind.Mod: lhs % rhs, AffineBinaryOpKind.FloorDiv: lhs // rhs}
            return known.get(kind, -(-lhs // rhs))
        value, divisor = self._place.value(lhs), self._place.value(rhs)
        if kind is not AffineBinaryOpKind.Mod:
            operation = arith.FloorDivSIOp if kind is AffineBinaryOpKind.FloorDiv else arith.CeilDivSIOp
            return self._place.emit(operation, [value, divisor], _INDEX)
        return _modulo(self._place, value, divisor)


def _mapped(place: UpstreamPlace, map_: Attribute, operands: Sequence[SSAValue]) -> list[Number]:
    """Returns what a map gives."""
    if not isinstance(map_, AffineMapAttr):
        raise place.refused(f"expected an affine_map, found {map_}")
    data: AffineMap = map_.data
    made = _Expressions(place, data.num_dims, data.num_symbols, operands)
    return [made.number(result) for result in data.results]


def _extreme(place: UpstreamPlace, numbers: Sequence[Number], predicate: CmpPredicate) -> Number:
    """Returns the one that compares so with all others."""
    if not numbers:
        raise place.refused("its map has no results, expected one or more")
    best = numbers[0]
    for number in numbers[1:]:
        if isinstance(best, int) and isinstance(number, int):
            best = min(best, number) if predicate is CmpPredicate.Slt else max(best, number)
            continue
        values = place.value(number), place.value(best)
        best = place.select(place.compare(predicate, *values), *values)
    return best


def _least(place: UpstreamPlace, numbers: Sequence[Number]) -> Number:
    return _extreme(place, numbers, CmpPredicate.Slt)


def _greatest(place: UpstreamPlace, numbers: Sequence[Number]) -> Number:
    return _extreme(place, numbers, CmpPredicate.Sgt)


def apply(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Computes an expression."""
    (number,) = _mapped(place, place.op.properties["map"], place.op.operands)
    return (place.value(number),)


def minimum(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Computes the least of some expressions."""
    return (place.value(_least(place, _mapped(place, place.op.properties["map"], place.op.operands))),)


def maximum(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Computes the greatest of some expressions."""
    return (place.value(_greatest(place, _mapped(place, place.op.properties["map"], place.op.operands))),)


def for_(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the loop one of `scf`."""
    op = place.op
    lower = _greatest(place, _mapped(place, op.lowerBoundMap, list(op.lowerBoundOperands)))
    upper = _least(place, _mapped(place, op.upperBoundMap, list(op.upperBoundOperands)))
    step = op.step.value.data
    if step <= 0:
        raise place.refused(f"its step is {step}, expected a positive one")
    (block,) = op.body.blocks
    return place.loop(
        (lower, upper, step), list(op.inits), lambda inner, i, passed: inlined(inner, block, [i, *passed])
    )


def if_(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the branch one of `scf`."""
    op = place.op
    condition = op.properties["condition"]
    if not isinstance(condition, AffineSetAttr):
        raise place.refused(f"expected an affine_set, found {condition}")
    data = condition.data
    made = _Expressions(place, data.num_dims, data.num_symbols, op.operands)
    predicates = {
        AffineConstraintKind.ge: CmpPredicate.Sge,
        AffineConstraintKind.le: CmpPredicate.Sle,
        AffineConstraintKind.eq: CmpPredicate.Eq,
    }
    holds = [
        place.compare(
            predicates[row.kind], place.value(made.number(row.lhs)), place.value(made.number(row.rhs))
        )
        for row in data.constraints
    ]
    then, otherwise = ([*region.blocks] for region in op.regions)
    return place.choose(
        place.both(holds),
        op.result_types,
        lambda inner: inlined(inner, then[0], []),
        (lambda inner: inlined(inner, otherwise[0], [])) if otherwise else None,
    )


def _subscripts(place: UpstreamPlace, first: int) -> list[SSAValue]:
    """Returns the indices of an access whose map has operands from `first` on."""
    numbers = _mapped(place, place.op.properties["map"], place.op.operands[first:])
    return [place.value(number) for number in numbers]


def load(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the access one of `memref`."""
    op = place.op
    return (place.emit(memref.LoadOp, [op.operands[0], *_subscripts(place, 1)], op.results[0].type),)


def store(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the access one of `memref`."""
    place.make(memref.StoreOp, [*place.op.operands[:2], *_subscripts(place, 2)])
    return ()


def vector_load(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the access one of `vector`."""
    op = place.op
    operands = [op.operands[0], *_subscripts(place, 1)]
    return (place.emit(UPSTREAM_OPERATIONS["vector.load"], operands, op.results[0].type),)


def vector_store(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes the access one of `vector`."""
    place.make(UPSTREAM_OPERATIONS["vector.store"], [*place.op.operands[:2], *_subscripts(place, 2)])
    return ()


def prefetch(_place: UpstreamPlace) -> Sequence[SSAValue]:
    """Leaves it out: caches are the device's."""
    return ()


def parallel(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Runs the rounds one after the other, in C order, and combines what each gives with what came before."""
    op = place.op
    properties: dict[str, Any] = op.properties
    (block,) = op.regions[0].blocks
    split = _count(properties["lowerBoundsMap"])
    lower = _grouped(place, "lower", op.operands[:split], _greatest)
    upper = _grouped(place, "upper", op.operands[split:], _least)
    steps = [number.value.data for number in properties["steps"]]
    if any(step <= 0 for step in steps):
        raise place.refused(f"its steps are {steps}, expected positive ones")
    words = [_reduction(place, number) for number in properties["reductions"]]
    start = [_start(place, word, type_) for word, type_ in zip(words, op.result_types, strict=True)]

    def body(
        inner: UpstreamPlace, counters: Sequence[SSAValue], before: Sequence[SSAValue]
    ) -> list[SSAValue]:
        new = inlined(inner, block, counters)
        return [combined(inner, *row) for row in zip(words, before, new, strict=True)]

    return nested_loops(place, list(zip(lower, upper, steps, strict=True)), start, body)


def _count(map_: Attribute) -> int:
    return map_.data.num_dims + map_.data.num_symbols if isinstance(map_, AffineMapAttr) else 0


def _grouped(place: UpstreamPlace, side: str, operands: Sequence[SSAValue], choose: Any) -> list[Number]:
    """Returns the bounds of each dimension on one side."""
    properties: dict[str, Any] = place.op.properties
    numbers = iter(_mapped(place, properties[f"{side}BoundsMap"], operands))
    sizes = properties[f"{side}BoundsGroups"].get_values()
    return [choose(place, [next(numbers) for _ in range(size)]) for size in sizes]


def _reduction(place: UpstreamPlace, number: Attribute) -> str:
    if not isinstance(number, IntegerAttr) or not 0 <= number.value.data < len(KINDS):
        raise place.refused(f"it has no reduction {number}")
    word = KINDS[number.value.data]
    if word == "assign":
        raise place.refused("'assign' combines nothing; store what the last round gives")
    return _WORDS.get(word, word)


def _start(place: UpstreamPlace, word: str, type_: Attribute) -> SSAValue:
    if word == "add" and not is_whole(type_):
        return place.constant(0.0, type_)  # as upstream has it, which makes 0.0 of -0.0
    return neutral(place, word, type_)


def delinearize(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Takes a position apart into those along each extent; the first extent may be left out."""
    op = place.op
    index, *rest = op.operands
    values = iter(rest)
    given: Attribute | None = op.properties.get("static_basis")
    sizes = [DYNAMIC_INDEX] * len(rest) if given is None else integers_of(given)
    basis: list[Number] = [next(values) if size == DYNAMIC_INDEX else size for size in sizes]
    inner = basis[len(basis) - len(op.results) + 1 :]
    if len(inner) != len(op.results) - 1:
        raise place.refused(f"it has {len(op.results)} results of {len(basis)} extents")
    found: list[SSAValue] = []
    for size in reversed(inner):
        extent = place.value(size)
        found.append(_modulo(place, index, extent))
        index = place.emit(arith.FloorDivSIOp, [index, extent], _INDEX)
    return (index, *reversed(found))


def linearize(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Joins indices along extents to a position; the first extent may be left out."""
    op = place.op
    sizes = integers_of(op.properties["static_basis"])
    count = len(op.operands) - sizes.count(DYNAMIC_INDEX)
    indices, values = op.operands[:count], iter(op.operands[count:])
    basis: list[Number] = [next(values) if size == DYNAMIC_INDEX else size for size in sizes]
    if len(basis) not in (count, count - 1):
        raise place.refused(f"it has {count} indices along {len(basis)} extents")
    position: Number = 0
    for index, size in zip(indices, [1, *basis][-count:] if count else [], strict=True):
        position = place.plus(place.times(position, size), index)
    return (place.value(position),)


def _modulo(place: UpstreamPlace, value: SSAValue, extent: SSAValue) -> SSAValue:
    rest = place.emit(arith.RemSIOp, [value, extent], _INDEX)
    is_below = place.compare(CmpPredicate.Slt, rest, place.constant(0, _INDEX))
    return place.select(is_below, place.emit(arith.AddiOp, [rest, extent], _INDEX), rest)


AFFINE: dict[str, Lowering] = {
    "affine.apply": apply,
    "affine.delinearize_index": delinearize,
    "affine.for": for_,
    "affine.if": if_,
    "affine.linearize_index": linearize,
    "affine.load": load,
    "affine.max": maximum,
    "affine.min": minimum,
    "affine.parallel": parallel,
    "affine.prefetch": prefetch,
    "affine.store": store,
    "affine.vector_load": vector_load,
    "affine.vector_store": vector_store,
}
"""How each is lowered."""
