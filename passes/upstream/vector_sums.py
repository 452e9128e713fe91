"""Operations that combine components of vectors: reductions, products and contractions.

%s = vector.reduction <add>, %w : vector<2xf32> into f32   %s = arith.addf %w#0, %w#1
%c = vector.contract {…} %a, %b, %acc : …                  %p = arith.mulf %a#0, %b#0   %c#0 = arith.addf %acc#0, %p …
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...ir.attribute_values import elements
from ...ir.upstream.reading import integers_of
from .combining import combined, is_whole, neutral
from .place import NO_FLAGS
from .vector_place import VectorLowering, VectorPlace, element_of, places_of, position_of, shape_of

_MOST_STEPS = 4096
"""Of one contraction: each is some operations."""
Parts = Sequence[Sequence[SSAValue]]


def _word(place: VectorPlace) -> str:
    """Returns how the operation combines."""
    kind: Any = place.op.properties.get("kind")
    return "add" if kind is None else str(kind.data.value)


def _flags(place: VectorPlace) -> Attribute | None:
    return place.op.properties.get("fastmath")


def _where(place: VectorPlace, bit: SSAValue | None, new: SSAValue, old: SSAValue) -> SSAValue:
    return new if bit is None else place.select(bit, new, old)


def fma(place: VectorPlace) -> Parts:
    """Multiplies and adds by component, with one rounding."""
    rows = zip(*map(place.parts, place.op.operands), strict=True)
    return [[place.emit(math.FmaOp, row, row[0].type, fastmath=NO_FLAGS) for row in rows]]


def reduction(place: VectorPlace) -> Parts:
    """Combines all components, after the last operand where there are two; with a mask those that it names."""
    source, *start = place.op.operands
    parts = place.parts(source)
    return [[_reduced(place, parts, place.parts(start[0]) if start else [], [None] * len(parts))]]


def masked_reduction(place: VectorPlace, bits: Sequence[SSAValue]) -> Parts:
    """Lowers a reduction inside of `vector.mask`: what the mask leaves out changes nothing."""
    source, *start = place.op.operands
    parts = place.parts(source)
    first = place.parts(start[0]) if start else [neutral(place, _word(place), parts[0].type)]
    return [[_reduced(place, parts, first, bits)]]


def _reduced(
    place: VectorPlace, parts: Sequence[SSAValue], start: Sequence[SSAValue], bits: Sequence[SSAValue | None]
) -> SSAValue:
    values = [*start, *parts]
    result = values[0]
    for value, bit in zip(values[1:], bits[len(bits) - len(values) + 1 :], strict=True):
        result = _where(place, bit, combined(place, _word(place), result, value, _flags(place)), result)
    return result


def multi_reduction(place: VectorPlace) -> Parts:
    """Combines the components along some dimensions with an accumulator."""
    source, start = place.op.operands
    return [_along(place, place.parts(source), place.parts(start), [None] * len(place.parts(source)))]


def masked_multi_reduction(place: VectorPlace, bits: Sequence[SSAValue]) -> Parts:
    """Lowers one inside of `vector.mask`."""
    source, start = place.op.operands
    return [_along(place, place.parts(source), place.parts(start), bits)]


def _along(
    place: VectorPlace, parts: Sequence[SSAValue], start: Sequence[SSAValue], bits: Sequence[SSAValue | None]
) -> list[SSAValue]:
    shape = shape_of(place.op.operands[0].type)
    gone = set(integers_of(place.op.properties["reduction_dims"]))
    kept = [dimension for dimension in range(len(shape)) if dimension not in gone]
    left = [shape[dimension] for dimension in kept]
    results = list(start)
    for where, value, bit in zip(places_of(shape), parts, bits, strict=True):
        at = position_of([where[dimension] for dimension in kept], left)
        results[at] = _where(place, bit, combined(place, _word(place), results[at], value), results[at])
    return results


def outer_product(place: VectorPlace) -> Parts:
    """Multiplies each component of one vector by each of another, or by a scalar, and adds an accumulator."""
    lhs, rhs, *start = place.op.operands
    left, right = place.parts(lhs), place.parts(rhs)
    products = [_product(place, a, b, a.type) for a in left for b in right]
    if not start:
        return [products]
    rows = zip(place.parts(start[0]), products, strict=True)
    return [[combined(place, _word(place), total, value) for total, value in rows]]


def _product(place: VectorPlace, lhs: SSAValue, rhs: SSAValue, type_: Attribute) -> SSAValue:
    lhs, rhs = _widened(place, lhs, type_), _widened(place, rhs, type_)
    if is_whole(type_):
        return place.emit(arith.MuliOp, [lhs, rhs], type_)
    return place.emit(arith.MulfOp, [lhs, rhs], type_, fastmath=NO_FLAGS)


def _widened(place: VectorPlace, value: SSAValue, type_: Attribute) -> SSAValue:
    """Returns a factor in the type of the sum, which may be wider."""
    if value.type == type_:
        return value
    return place.emit(arith.ExtSIOp if is_whole(type_) else arith.ExtFOp, [value], type_)


def contract(place: VectorPlace) -> Parts:
    """Multiplies and combines, as the maps from the iteration space to the operands say."""
    op = place.op
    lhs, rhs, start = op.operands[:3]
    maps = _maps(place, op.properties.get("indexing_maps"))
    extents: dict[int, int] = {}
    for dimensions, value in zip(maps, (lhs, rhs, start), strict=True):
        shape = shape_of(value.type)
        place.expect(len(shape) == len(dimensions), "each map has a result for each dimension of its operand")
        for dimension, extent in zip(dimensions, shape, strict=True):
            place.expect(
                extents.setdefault(dimension, extent) == extent, "dimensions of one name are as long"
            )
    steps = [extents.get(dimension, 1) for dimension in range(max(extents, default=-1) + 1)]
    total = 1
    for extent in steps:
        total *= extent
    if total > _MOST_STEPS:
        raise place.refused(
            f"it multiplies {total} times, expected at most {_MOST_STEPS}; contract smaller vectors in an scf.for"
        )
    factors, results = (place.parts(lhs), place.parts(rhs)), place.parts(start)
    element = element_of(start.type)
    for where in places_of(steps):
        a, b, at = (
            position_of([where[d] for d in dimensions], [steps[d] for d in dimensions]) for dimensions in maps
        )
        value = _product(place, factors[0][a], factors[1][b], element)
        results[at] = combined(place, _word(place), results[at], value)
    return [results]


def _maps(place: VectorPlace, given: Attribute | None) -> list[list[int]]:
    """Returns, for each operand, the iteration dimension along each of its dimensions."""
    found = elements(given) or ()
    maps = [map_.data for map_ in found if isinstance(map_, AffineMapAttr)]
    place.expect(len(maps) == 3, "it has three indexing_maps")
    if not all(isinstance(result, AffineDimExpr) for map_ in maps for result in map_.results):
        raise place.refused("its indexing_maps have results other than dimensions")
    return [[cast("AffineDimExpr", result).position for result in map_.results] for map_ in maps]


def matrix_product(place: VectorPlace) -> Parts:
    """Multiplies two matrices whose columns stand one after the other (`vector.matrix_multiply`)."""
    lhs, rhs = (place.parts(value) for value in place.op.operands)
    words = ("lhs_rows", "lhs_columns", "rhs_columns")
    rows, inner, columns = (place.integer(word) for word in words)
    place.expect(
        len(lhs) == rows * inner and len(rhs) == inner * columns, "the vectors have those rows and columns"
    )
    results: list[SSAValue] = []
    for column, row in product(range(columns), range(rows)):
        terms = [
            _product(place, lhs[k * rows + row], rhs[column * inner + k], lhs[0].type) for k in range(inner)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = combined(place, "add", total, term)
        results.append(total)
    return [results]


def scan(place: VectorPlace) -> Parts:
    """Combines each component with those before it along one dimension."""
    op = place.op
    source, start = op.operands
    shape, dimension = shape_of(source.type), place.integer("reduction_dim")
    place.expect(0 <= dimension < len(shape), "it goes along a dimension of the vector")
    is_inclusive = bool(place.integer("inclusive"))
    parts, totals = place.parts(source), place.parts(start)
    left = [extent for number, extent in enumerate(shape) if number != dimension]
    results: list[SSAValue] = list(parts)
    for where in places_of(shape):
        at = position_of([index for number, index in enumerate(where) if number != dimension], left)
        position = position_of(where, shape)
        if is_inclusive and where[dimension] == 0:
            totals[at] = parts[position]
        elif is_inclusive:
            totals[at] = combined(place, _word(place), totals[at], parts[position])
        results[position] = totals[at]
        if not is_inclusive and where[dimension] + 1 < shape[dimension]:
            totals[at] = combined(place, _word(place), totals[at], parts[position])
    return [results, totals]


SUMS: dict[str, VectorLowering] = {
    "vector.contract": contract,
    "vector.fma": fma,
    "vector.matrix_multiply": matrix_product,
    "vector.multi_reduction": multi_reduction,
    "vector.outerproduct": outer_product,
    "vector.reduction": reduction,
    "vector.scan": scan,
}
"""How each is lowered."""
