"""Vectors in memory: each component is loaded and stored by itself, where a mask or the array's end says so.

%w = vector.load %x[%i] : memref<?xf32>, vector<2xf32>          %a = memref.load %x[%i]   %b = memref.load %x[%i + 1]
vector.maskedstore %x[%i], %m, %w : …                           scf.if %m#0 { memref.store %w#0, %x[%i] } …

Neighbouring loads become wide ones later, where the device gains by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from ...ir.attribute_values import elements, integer
from ...ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp
from ...ir.narrowing import is_vector_type
from ...ir.upstream.arith import IndexCastUIOp
from ...ir.upstream.index import CmpPredicate
from .place import Number, UpstreamPlace
from .vector_place import VectorLowering, VectorPlace, count_of, places_of, position_of, shape_of

_INDEX = IndexType()
Parts = Sequence[Sequence[SSAValue]]


def _moved(place: VectorPlace, indices: Sequence[SSAValue], where: Sequence[int]) -> list[Number]:
    """Returns the indices moved along the last dimensions."""
    offsets = [*[0] * (len(indices) - len(where)), *where]
    return [place.plus(index, offset) for index, offset in zip(indices, offsets, strict=True)]


def extracted(place: UpstreamPlace, vector: SSAValue) -> list[SSAValue]:
    """Returns the components of a vector that SPIR-V has."""
    type_: Any = vector.type
    count = type_.get_shape()[0]
    numbers = [ArrayAttr([IntegerAttr(position, i32)]) for position in range(count)]
    return [
        place.emit(CompositeExtractOp, [vector], type_.element_type, indices=number) for number in numbers
    ]


def _load_element(place: UpstreamPlace, base: SSAValue, indices: Sequence[Number]) -> list[SSAValue]:
    """Returns the components of an element, which may be a vector."""
    value = place.load(base, indices)
    return extracted(place, value) if is_vector_type(value.type) else [value]


def _store_element(
    place: UpstreamPlace, parts: Sequence[SSAValue], base: SSAValue, at: Sequence[Number]
) -> None:
    element = _array(base).element_type
    value = place.emit(CompositeConstructOp, list(parts), element) if is_vector_type(element) else parts[0]
    place.store(value, base, at)


def _array(value: SSAValue) -> Any:
    return value.type


def _outer(place: VectorPlace, base: SSAValue, vector: Any) -> tuple[tuple[int, ...], int]:
    """Returns the shape of a vector in elements of an array, and the components of each element."""
    if not isinstance(base.type, MemRefType):
        raise place.refused(f"expected an array (memref), found {base.type}; bufferize tensors with mlir-opt")
    inner = shape_of(_array(base).element_type)
    shape = shape_of(vector)
    place.expect(shape[len(shape) - len(inner) :] == inner, "the vector is one of elements of the array")
    outer = shape[: len(shape) - len(inner)]
    place.expect(
        len(outer) <= _array(base).get_num_dims(), "the vector has at most the dimensions of the array"
    )
    return outer, count_of(_array(base).element_type)


def load(place: VectorPlace) -> Parts:
    """Lowers `vector.load`."""
    base, *indices = place.op.operands
    outer, _ = _outer(place, base, place.op.results[0].type)
    rows = [_load_element(place, base, _moved(place, indices, where)) for where in places_of(outer)]
    return [[part for row in rows for part in row]]


def store(place: VectorPlace) -> Parts:
    """Lowers `vector.store`."""
    vector, base, *indices = place.op.operands
    outer, size = _outer(place, base, vector.type)
    parts = place.parts(vector)
    for number, where in enumerate(places_of(outer)):
        _store_element(place, parts[number * size : (number + 1) * size], base, _moved(place, indices, where))
    return []


def load_array_element(place: VectorPlace) -> Parts:
    """Lowers `memref.load` of an array of vectors."""
    base, *indices = place.op.operands
    return [extracted(place, place.emit(memref.LoadOp, [base, *indices], place.op.results[0].type))]


def store_array_element(place: VectorPlace) -> Parts:
    """Lowers `memref.store` to an array of vectors."""
    vector, base, *indices = place.op.operands
    _store_element(place, place.parts(vector), base, indices)
    return []


def _load_where(
    place: UpstreamPlace, condition: SSAValue, base: SSAValue, indices: Sequence[Number], otherwise: SSAValue
) -> SSAValue:
    values = [place.value(index) for index in indices]
    return place.choose(
        condition, [otherwise.type], lambda inner: [inner.load(base, values)], lambda _inner: [otherwise]
    )[0]


def _store_where(
    place: UpstreamPlace, condition: SSAValue, value: SSAValue, base: SSAValue, indices: Sequence[Number]
) -> None:
    values = [place.value(index) for index in indices]

    def write(inner: UpstreamPlace) -> Sequence[SSAValue]:
        inner.store(value, base, values)
        return ()

    place.choose(condition, [], write)


def masked_load(place: VectorPlace) -> Parts:
    """Lowers `vector.maskedload`: components that the mask leaves out come from the last operand."""
    base, *indices, mask, otherwise = place.op.operands
    rows = zip(places_of(shape_of(mask.type)), place.parts(mask), place.parts(otherwise), strict=True)
    return [
        [_load_where(place, bit, base, _moved(place, indices, where), other) for where, bit, other in rows]
    ]


def masked_store(place: VectorPlace) -> Parts:
    """Lowers `vector.maskedstore`."""
    base, *indices, mask, vector = place.op.operands
    rows = zip(places_of(shape_of(mask.type)), place.parts(mask), place.parts(vector), strict=True)
    for where, bit, value in rows:
        _store_where(place, bit, value, base, _moved(place, indices, where))
    return []


def _counted(place: VectorPlace, first: SSAValue, mask: Sequence[SSAValue]) -> list[Number]:
    """Returns, for each bit of a mask, an index plus the number of bits before it that are set."""
    found: list[Number] = [first]
    for bit in mask[:-1]:
        found.append(place.plus(found[-1], place.emit(IndexCastUIOp, [bit], _INDEX)))
    return found


def expand_load(place: VectorPlace) -> Parts:
    """Lowers `vector.expandload`: the components of set bits stand one after the other in memory."""
    base, *indices, mask, otherwise = place.op.operands
    bits = place.parts(mask)
    rows = zip(_counted(place, indices[-1], bits), bits, place.parts(otherwise), strict=True)
    return [[_load_where(place, bit, base, [*indices[:-1], last], other) for last, bit, other in rows]]


def compress_store(place: VectorPlace) -> Parts:
    """Lowers `vector.compressstore`."""
    base, *indices, mask, vector = place.op.operands
    bits = place.parts(mask)
    rows = zip(_counted(place, indices[-1], bits), bits, place.parts(vector), strict=True)
    for last, bit, value in rows:
        _store_where(place, bit, value, base, [*indices[:-1], last])
    return []


def _gathered(place: VectorPlace, indices: Sequence[SSAValue], offsets: SSAValue) -> list[list[Number]]:
    found: list[list[Number]] = []
    for offset in place.parts(offsets):
        index = offset if offset.type == _INDEX else place.emit(arith.IndexCastOp, [offset], _INDEX)
        found.append([*indices[:-1], place.plus(indices[-1], index)])
    return found


def gather(place: VectorPlace) -> Parts:
    """Lowers `vector.gather`: an offset along the last dimension for each component."""
    base, *indices, offsets, mask, otherwise = place.op.operands
    place.expect(isinstance(base.type, MemRefType), "vectors are gathered from an array (memref)")
    rows = zip(_gathered(place, indices, offsets), place.parts(mask), place.parts(otherwise), strict=True)
    return [[_load_where(place, bit, base, where, other) for where, bit, other in rows]]


def scatter(place: VectorPlace) -> Parts:
    """Lowers `vector.scatter`: of equal offsets the last one counts."""
    base, *indices, offsets, mask, vector = place.op.operands
    rows = zip(_gathered(place, indices, offsets), place.parts(mask), place.parts(vector), strict=True)
    for where, bit, value in rows:
        _store_where(place, bit, value, base, where)
    return []


class _Transfer:
    """Where each component of a transfer lies, and whether it does."""

    def __init__(
        self,
        place: VectorPlace,
        base: SSAValue,
        indices: Sequence[SSAValue],
        vector: Any,
        mask: SSAValue | None,
    ) -> None:
        self._place = place
        self._base = base
        self._indices = indices
        self._shape = shape_of(vector)
        place.expect(
            isinstance(base.type, MemRefType), "transfers are from and to arrays (memref); bufferize tensors"
        )
        self._dimensions = self._dimensions_of(_array(base).get_num_dims())
        given = place.op.properties.get("in_bounds")
        flags = elements(given) or ()
        self._checked = [not integer(flag) for flag in flags] or [True] * len(self._shape)
        self._mask = None if mask is None else (place.parts(mask), shape_of(mask.type))
        self._known: dict[tuple[int, int], SSAValue] = {}

    def _dimensions_of(self, rank: int) -> list[int | None]:
        """Returns the dimension of the array that each of the vector goes along, None where it repeats."""
        map_ = self._place.op.properties.get("permutation_map")
        if not isinstance(map_, AffineMapAttr):
            return list(range(rank - len(self._shape), rank))
        found: list[int | None] = []
        for result in map_.data.results:
            is_zero = isinstance(result, AffineConstantExpr) and result.value == 0
            if not isinstance(result, AffineDimExpr) and not is_zero:
                raise self._place.refused("its permutation_map has results other than dimensions and 0")
            found.append(result.position if isinstance(result, AffineDimExpr) else None)
        self._place.expect(len(found) == len(self._shape), "permutation_map has a result for each dimension")
        return found

    def __iter__(self) -> Any:
        """Yields the condition and the indices of each component."""
        for where in places_of(self._shape):
            indices: list[Number] = list(self._indices)
            conditions: list[SSAValue] = []
            for number, dimension, is_checked in zip(where, self._dimensions, self._checked, strict=True):
                if dimension is None:
                    continue
                indices[dimension] = self._place.plus(self._indices[dimension], number)
                if is_checked:
                    conditions.append(self._is_inside(dimension, number, indices[dimension]))
            if self._mask is not None:
                conditions.append(self._bit(where))
            yield self._place.both(conditions), indices

    def _is_inside(self, dimension: int, number: int, index: Number) -> SSAValue:
        known = self._known.get((dimension, number))
        if known is None:
            place = self._place
            extent = place.emit(memref.DimOp, [self._base, place.constant(dimension, _INDEX)], _INDEX)
            known = place.compare(CmpPredicate.Ult, place.value(index), extent)
            self._known[dimension, number] = known
        return known

    def _bit(self, where: Sequence[int]) -> SSAValue:
        """Returns the bit of a mask, whose dimensions are in the array's order."""
        assert self._mask is not None
        bits, shape = self._mask
        used = sorted((d, n) for d, n in zip(self._dimensions, where, strict=True) if d is not None)
        own = [number for _, number in used]
        self._place.expect(
            len(own) == len(shape), "a mask has the dimensions of the array that the transfer uses"
        )
        return bits[position_of(own, shape)]


def transfer_read(place: VectorPlace) -> Parts:
    """Lowers `vector.transfer_read`: components beyond the array, or that the mask leaves out, are the padding."""
    (base,), indices, (padding,), mask = _segments(place)
    transfer = _Transfer(place, base, indices, place.op.results[0].type, mask[0] if mask else None)
    return [[_load_where(place, bit, base, where, place.one(padding)) for bit, where in transfer]]


def transfer_write(place: VectorPlace) -> Parts:
    """Lowers `vector.transfer_write`: components beyond the array, or that the mask leaves out, are not written."""
    (vector,), (base,), indices, mask = _segments(place)
    transfer = _Transfer(place, base, indices, vector.type, mask[0] if mask else None)
    for (bit, where), value in zip(transfer, place.parts(vector), strict=True):
        _store_where(place, bit, value, base, where)
    return []


def _segments(place: VectorPlace) -> list[list[SSAValue]]:
    """Returns the operands of a transfer by `operandSegmentSizes`, which has four parts."""
    given: Any = place.op.properties.get("operandSegmentSizes")
    sizes = [] if given is None else [int(size) for size in given.get_values()]
    place.expect(len(sizes) == 4 and sum(sizes) == len(place.op.operands), "its operands are in segments")
    rest = iter(place.op.operands)
    return [[next(rest) for _ in range(size)] for size in sizes]


MEMORY: dict[str, VectorLowering] = {
    "memref.load": load_array_element,
    "memref.store": store_array_element,
    "vector.compressstore": compress_store,
    "vector.expandload": expand_load,
    "vector.gather": gather,
    "vector.load": load,
    "vector.maskedload": masked_load,
    "vector.maskedstore": masked_store,
    "vector.scatter": scatter,
    "vector.store": store,
    "vector.transfer_read": transfer_read,
    "vector.transfer_write": transfer_write,
}
"""How each is lowered."""
