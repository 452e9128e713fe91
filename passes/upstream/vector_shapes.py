"""Operations that only move components of vectors: which component of which operand each of the result is.

%s = vector.shuffle %v, %w [3, 2, 5] : …          (nothing: later operations use the components)
%e = vector.extract %v[%i] : …                    %t = arith.cmpi eq, %i, %c1   %e = arith.select %t, %v#1, %v#0
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, i1
from xdsl.ir import SSAValue

from ...ir.upstream.index import CmpPredicate
from ...ir.upstream.reading import integers_of
from .place import Number, known_number
from .vector_place import VectorLowering, VectorPlace, count_of, element_of, places_of, position_of, shape_of

Parts = Sequence[Sequence[SSAValue]]


def broadcast(place: VectorPlace) -> Parts:
    """Repeats along new dimensions in front, and along those of extent 1."""
    (source,) = place.op.operands
    parts, given, wanted = place.parts(source), shape_of(source.type), shape_of(place.op.results[0].type)
    place.expect(len(given) <= len(wanted), "the source has at most the dimensions of the result")
    inner = wanted[len(wanted) - len(given) :]
    place.expect(all(a in (1, b) for a, b in zip(given, inner, strict=True)), "extents are equal or 1")
    chosen: list[SSAValue] = []
    for where in places_of(wanted):
        own = [
            min(index, extent - 1)
            for index, extent in zip(where[len(wanted) - len(given) :], given, strict=True)
        ]
        chosen.append(parts[position_of(own, given)])
    return [chosen]


def _indices(place: VectorPlace) -> list[Number]:
    """Returns the position of `vector.extract` and `vector.insert`; versions up to 16 have only known ones."""
    values = iter(place.op.dynamic_position)
    static = integers_of(place.op.static_position)
    found: list[Number] = [next(values) if number == DYNAMIC_INDEX else number for number in static]
    return [n if (known := known_number(n)) is None else known for n in found]


def extract(place: VectorPlace) -> Parts:
    """Takes out a component, or a vector of the last dimensions."""
    op = place.op
    return [_taken(place, place.parts(op.vector), shape_of(op.vector.type), _indices(place))]


def extract_element(place: VectorPlace) -> Parts:
    """Takes out a component of a vector of one dimension or none."""
    op = place.op
    indices = [] if op.position is None else [op.position]
    return [_taken(place, place.parts(op.vector), shape_of(op.vector.type), indices)]


def _taken(
    place: VectorPlace, parts: Sequence[SSAValue], shape: Sequence[int], indices: Sequence[Number]
) -> list[SSAValue]:
    place.expect(len(indices) <= len(shape), "a position has at most one index a dimension")
    for index, extent in zip(indices, shape, strict=False):
        size = len(parts) // extent
        rows = [parts[n * size : (n + 1) * size] for n in range(extent)]
        known = known_number(index)
        if known is not None:
            # Out of range, where upstream gives a poisoned value, any will do.
            parts = rows[min(max(known, 0), extent - 1)]
            continue
        parts = rows[0]
        for number, row in enumerate(rows[1:], 1):
            is_it = _is(place, index, number)
            parts = [place.select(is_it, ours, theirs) for ours, theirs in zip(row, parts, strict=True)]
    return list(parts)


def _is(place: VectorPlace, index: Number, number: int) -> SSAValue:
    known = known_number(index)
    if known is not None or isinstance(index, int):
        return place.constant(known == number, i1)
    return place.compare(CmpPredicate.Eq, index, place.constant(number, index.type))


def insert(place: VectorPlace) -> Parts:
    """Replaces a component, or a vector of the last dimensions."""
    op = place.op
    return [_put(place, place.parts(op.source), op.dest, _indices(place))]


def insert_element(place: VectorPlace) -> Parts:
    """Replaces a component of a vector of one dimension or none."""
    op = place.op
    return [_put(place, place.parts(op.source), op.dest, [] if op.position is None else [op.position])]


def _put(
    place: VectorPlace, source: Sequence[SSAValue], target: SSAValue, indices: Sequence[Number]
) -> list[SSAValue]:
    shape, parts = shape_of(target.type), place.parts(target)
    outer = shape[: len(indices)]
    place.expect(
        len(indices) <= len(shape) and len(parts) == len(source) * count_of_shape(outer), "shapes agree"
    )
    result: list[SSAValue] = []
    for where in places_of(outer):
        start = position_of(where, outer) * len(source)
        conditions = [_is(place, index, number) for index, number in zip(indices, where, strict=True)]
        chosen = place.both(conditions)
        rows = zip(source, parts[start : start + len(source)], strict=True)
        result += [place.select(chosen, ours, theirs) for ours, theirs in rows]
    return result


def count_of_shape(shape: Sequence[int]) -> int:
    """Returns the number of places in a shape."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def shuffle(place: VectorPlace) -> Parts:
    """Takes rows of two vectors by number; -1 may be anything."""
    op = place.op
    parts = [*place.parts(op.v1), *place.parts(op.v2)]
    rows = sum((shape_of(value.type) or (1,))[0] for value in (op.v1, op.v2))
    size = len(parts) // rows
    starts = [max(position, 0) * size for position in integers_of(op.mask)]
    return [[part for start in starts for part in parts[start : start + size]]]


def transpose(place: VectorPlace) -> Parts:
    """Changes the order of the dimensions."""
    (source,) = place.op.operands
    order = integers_of(place.op.properties["permutation"])
    parts, shape = place.parts(source), shape_of(source.type)
    place.expect(sorted(order) == list(range(len(shape))), "a permutation names each dimension once")
    chosen: list[SSAValue] = []
    for where in places_of([shape[dimension] for dimension in order]):
        own = [where[order.index(dimension)] for dimension in range(len(shape))]
        chosen.append(parts[position_of(own, shape)])
    return [chosen]


def flat_transpose(place: VectorPlace) -> Parts:
    """Transposes a matrix whose columns stand one after the other."""
    rows, columns = (place.integer(word) for word in ("rows", "columns"))
    parts = place.parts(place.op.operands[0])
    place.expect(len(parts) == rows * columns, "the vector has rows times columns components")
    return [[parts[column * rows + row] for row in range(rows) for column in range(columns)]]


def _slice(place: VectorPlace, whole: Sequence[int], part: Sequence[int]) -> list[int]:
    """Returns the positions in a vector that a slice of it is; dimensions that are not named are whole."""
    offsets = list(integers_of(place.op.offsets))
    strides = list(integers_of(place.op.strides))
    offsets = [*offsets, *[0] * (len(whole) - len(offsets))] if "sizes" in place.op.properties else offsets
    offsets = [*[0] * (len(whole) - len(offsets)), *offsets]
    strides = [*strides, *[1] * (len(whole) - len(strides))]
    padded = [*[1] * (len(whole) - len(part)), *part]
    place.expect(set(strides) <= {1}, "the strides of a slice are 1")
    fits = all(o >= 0 and o + s <= extent for o, s, extent in zip(offsets, padded, whole, strict=True))
    place.expect(fits, "the slice lies in the vector")
    return [
        position_of([o + index for o, index in zip(offsets, where, strict=True)], whole)
        for where in places_of(padded)
    ]


def extract_slice(place: VectorPlace) -> Parts:
    """Takes neighbouring components."""
    op = place.op
    parts = place.parts(op.vector)
    return [[parts[n] for n in _slice(place, shape_of(op.vector.type), shape_of(op.result.type))]]


def insert_slice(place: VectorPlace) -> Parts:
    """Replaces neighbouring components."""
    op = place.op
    parts = place.parts(op.dest)
    positions = _slice(place, shape_of(op.dest.type), shape_of(op.source.type))
    for position, part in zip(positions, place.parts(op.source), strict=True):
        parts[position] = part
    return [parts]


def interleave(place: VectorPlace) -> Parts:
    """Takes components of two vectors in turn, along the last dimension."""
    op = place.op
    pairs = zip(place.parts(op.lhs), place.parts(op.rhs), strict=True)
    return [[part for pair in pairs for part in pair]]


def deinterleave(place: VectorPlace) -> Parts:
    """Takes the even and the odd components."""
    parts = place.parts(place.op.source)
    return [parts[::2], parts[1::2]]


def same_components(place: VectorPlace) -> Parts:
    """Keeps all components: of `from_elements` and `shape_cast`."""
    return [[part for value in place.op.operands for part in place.parts(value)]]


def splat(place: VectorPlace) -> Parts:
    """Repeats a scalar."""
    return [[place.op.operands[0]] * count_of(place.op.results[0].type)]


def to_elements(place: VectorPlace) -> Parts:
    """Gives each component as a result of its own."""
    return [[part] for part in place.parts(place.op.source)]


def constant_mask(place: VectorPlace) -> Parts:
    """Is true in a box at the origin."""
    type_ = place.op.results[0].type
    sizes = integers_of(place.op.properties["mask_dim_sizes"])
    shape = shape_of(type_) or (1,)
    place.expect(len(sizes) == len(shape), "a mask has one size a dimension")
    yes, no = place.constant(1, i1), place.constant(0, i1)
    return [[yes if all(i < n for i, n in zip(w, sizes, strict=True)) else no for w in places_of(shape)]]


def create_mask(place: VectorPlace) -> Parts:
    """Is true in a box at the origin whose extents are known at run time."""
    sizes = list(place.op.operands)
    shape = shape_of(place.op.results[0].type) or (1,)
    place.expect(len(sizes) == len(shape), "a mask has one size a dimension")
    inside = [
        [_below(place, n, size) for n in range(extent)] for size, extent in zip(sizes, shape, strict=True)
    ]
    return [[place.both([row[i] for row, i in zip(inside, w, strict=True)]) for w in places_of(shape)]]


def _below(place: VectorPlace, number: int, size: SSAValue) -> SSAValue:
    known = known_number(size)
    if known is not None:
        return place.constant(number < known, i1)
    return place.compare(CmpPredicate.Slt, place.constant(number, IndexType()), size)


def step(place: VectorPlace) -> Parts:
    """Counts from 0."""
    type_ = place.op.results[0].type
    return [[place.constant(n, element_of(type_)) for n in range(count_of(type_))]]


def constant(place: VectorPlace) -> Parts:
    """Makes each number of a dense constant."""
    op = place.op
    count, attributes = count_of(op.result.type), list(op.value.iter_attrs())
    place.expect(len(attributes) in (1, count), "a constant has a number for each component")
    values = [
        place.emit(arith.ConstantOp, [], element_of(op.result.type), value=value) for value in attributes
    ]
    return [values * count if len(values) == 1 else values]


SHAPES: dict[str, VectorLowering] = {
    "arith.constant": constant,
    "vector.broadcast": broadcast,
    "vector.constant_mask": constant_mask,
    "vector.create_mask": create_mask,
    "vector.deinterleave": deinterleave,
    "vector.extract": extract,
    "vector.extract_strided_slice": extract_slice,
    "vector.extractelement": extract_element,
    "vector.flat_transpose": flat_transpose,
    "vector.from_elements": same_components,
    "vector.insert": insert,
    "vector.insert_strided_slice": insert_slice,
    "vector.insertelement": insert_element,
    "vector.interleave": interleave,
    "vector.shape_cast": same_components,
    "vector.shuffle": shuffle,
    "vector.splat": splat,
    "vector.step": step,
    "vector.to_elements": to_elements,
    "vector.transpose": transpose,
}
"""How each is lowered."""
