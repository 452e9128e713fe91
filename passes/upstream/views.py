"""Where the elements of an array lie that is a part, or another shape, of another one.

A view is an offset into an array of the kernel, and an extent and a stride for each dimension; the position of an
element is the offset plus the sum of its indices times the strides.  Views of views refer to the same array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...ir.narrowing import is_memref_type
from ...ir.upstream.reading import integers_of
from .place import Number, UpstreamPlace, known_number

_INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class View:
    """Elements of an array of the kernel."""

    root: SSAValue
    """The array."""
    offset: Number
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    is_whole: bool = False
    """Whether it is the array itself, so that its own indices serve."""

    def position(self, place: UpstreamPlace, indices: Sequence[Number]) -> Number:
        """Returns which element of the array an element of the view is, in C order."""
        position = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            known = known_number(index)
            position = place.plus(position, place.times(index if known is None else known, stride))
        return position


def in_c_order(place: UpstreamPlace, sizes: Sequence[Number]) -> tuple[Number, ...]:
    """Returns the strides of elements that stand one after the other."""
    strides: list[Number] = []
    stride: Number = 1
    for size in reversed(sizes):
        strides.append(stride)
        stride = place.times(stride, size)
    return tuple(reversed(strides))


def _mixed(place: UpstreamPlace, values: Iterator[SSAValue], name: str) -> list[Number]:
    """Returns the numbers of a property, with values where it has marks for them."""
    numbers = integers_of(place.op.properties[name])
    found: list[Number] = []
    for number in numbers:
        value: Number = next(values) if number == DYNAMIC_INDEX else number
        known = known_number(value)
        found.append(value if known is None else known)
    return found


def _subview(place: UpstreamPlace, source: View) -> View:
    op = place.op
    values = iter(op.operands[1:])
    offsets, sizes, strides = (
        _mixed(place, values, f"static_{word}") for word in ("offsets", "sizes", "strides")
    )
    if len(offsets) != len(source.sizes):
        raise place.refused(
            f"it has {len(offsets)} offsets, expected one for each dimension of {op.source.type}"
        )
    offset = source.offset
    for own, stride in zip(offsets, source.strides, strict=True):
        offset = place.plus(offset, place.times(own, stride))
    moved = [place.times(stride, step) for stride, step in zip(source.strides, strides, strict=True)]
    kept = _kept(place)
    return View(source.root, offset, tuple(sizes[d] for d in kept), tuple(moved[d] for d in kept))


def _kept(place: UpstreamPlace) -> list[int]:
    """Returns the dimensions that the result keeps: any others have one element."""
    wanted = place.op.result.type.get_shape()
    sizes = integers_of(place.op.properties["static_sizes"])
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        if len(kept) < len(wanted) and size == wanted[len(kept)]:
            kept.append(dimension)
        elif size != 1:
            raise place.refused(f"its sizes do not give {place.op.result.type}")
    return kept


def _reinterpreted(place: UpstreamPlace, source: View) -> View:
    values = iter(place.op.operands[1:])
    (offset,), sizes, strides = (
        _mixed(place, values, f"static_{word}") for word in ("offsets", "sizes", "strides")
    )
    return View(source.root, offset, tuple(sizes), tuple(strides))


def _groups(place: UpstreamPlace) -> list[tuple[int, ...]]:
    return [integers_of(group) for group in place.op.properties["reassociation"]]


def _collapsed(place: UpstreamPlace, source: View) -> View:
    sizes: list[Number] = []
    strides: list[Number] = []
    for group in _groups(place):
        sizes.append(place.product([source.sizes[d] for d in group]))
        longer = [d for d in group if source.sizes[d] != 1]
        strides.append(source.strides[longer[-1] if longer else group[-1]])
    return View(source.root, source.offset, tuple(sizes), tuple(strides))


def _expanded(place: UpstreamPlace, source: View) -> View:
    op = place.op
    sizes = _mixed(place, iter(op.operands[1:]), "static_output_shape")
    strides: list[Number] = [1] * len(sizes)
    for group, stride in zip(_groups(place), source.strides, strict=True):
        for dimension in reversed(group):
            strides[dimension] = stride
            stride = place.times(stride, sizes[dimension])
    return View(source.root, source.offset, tuple(sizes), tuple(strides))


def _transposed(place: UpstreamPlace, source: View) -> View:
    map_ = place.op.properties["permutation"]
    results = map_.data.results if isinstance(map_, AffineMapAttr) else ()
    order = [result.position for result in results if isinstance(result, AffineDimExpr)]
    if sorted(order) != list(range(len(source.sizes))):
        raise place.refused("its permutation names each dimension once")
    return View(
        source.root,
        source.offset,
        tuple(source.sizes[d] for d in order),
        tuple(source.strides[d] for d in order),
    )


def _reshaped(place: UpstreamPlace, source: View) -> View:
    """Takes the extents from an array, where the type does not say them."""
    op = place.op
    sizes: list[Number] = []
    for number, extent in enumerate(op.results[0].type.get_shape()):
        if extent != DYNAMIC_INDEX:
            sizes.append(extent)
            continue
        size = place.load(op.operands[1], [number])
        if size.type != _INDEX:
            size = place.emit(arith.IndexCastOp, [size], _INDEX)
        sizes.append(size)
    return View(source.root, source.offset, tuple(sizes), in_c_order(place, sizes))


def _same(place: UpstreamPlace, source: View) -> View:
    """Goes on with the array: of casts, which say more or less of the same extents."""
    result: Any = place.op.results[0].type
    given: Any = place.op.operands[0].type
    if not is_memref_type(result) or not is_memref_type(given):
        raise place.refused("arrays have a rank here; write it in the type, as memref<?x?xf32>")
    if result.element_type != given.element_type or len(result.get_shape()) != len(given.get_shape()):
        raise place.refused(f"{given} and {result} are different arrays")
    return source


VIEWS: dict[str, Callable[[UpstreamPlace, View], View]] = {
    "memref.assume_alignment": _same,
    "memref.cast": _same,
    "memref.collapse_shape": _collapsed,
    "memref.expand_shape": _expanded,
    "memref.memory_space_cast": _same,
    "memref.reinterpret_cast": _reinterpreted,
    "memref.reshape": _reshaped,
    "memref.subview": _subview,
    "memref.transpose": _transposed,
}
"""What each makes of the view that is its first operand."""
