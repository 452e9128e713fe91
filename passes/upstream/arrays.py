"""Replaces every view of an array by accesses to the array itself.

%a = memref.subview %x[%i] [4] [2] : …     %p = arith.muli %j, %c2   %q = arith.addi %i, %p
%v = memref.load %a[%j] : …                %v = memref.load %x[%q] : memref<?xf32>

An array of several dimensions is seen as one of one dimension for that (`memref.collapse_shape`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.narrowing import is_memref_type
from ...ir.upstream.index import CmpPredicate
from .control_flow import nested_loops
from .place import Number, UpstreamPlace, attempt, known_number
from .views import VIEWS, View, in_c_order

_INDEX = IndexType()
_ACCESSES = (memref.LoadOp, memref.StoreOp, AtomicOp, LoadFieldOp, StoreFieldOp)
_METADATA = "memref.extract_strided_metadata"
_MADE = ("memref.alloc", "memref.alloca")


def resolve_views(function: Operation) -> None:
    """Replaces the views in one function; raises `PassError`."""
    operations = list(function.walk())
    if any(op.name in VIEWS or op.name in _OTHERS for op in operations):
        _Arrays().resolve(operations)


class _Arrays:
    """The views of one function."""

    def __init__(self) -> None:
        self._views: dict[SSAValue, View] = {}
        self._flat: dict[SSAValue, SSAValue] = {}
        self._dead: list[Operation] = []

    def resolve(self, operations: Sequence[Operation]) -> None:
        """Goes through the operations, each before what uses its results."""
        for op in operations:
            attempt(UpstreamPlace(op), self._visit)
        for op in reversed(self._dead):
            op.detach()
            op.erase()

    def _visit(self, place: UpstreamPlace) -> None:
        op = place.op
        if op.name in VIEWS:
            for result in op.results:
                self._views[result] = VIEWS[op.name](place, self._view(place, op.operands[0]))
            self._dead.append(op)
        elif op.name in _OTHERS:
            _OTHERS[op.name](self, place)
        elif isinstance(op, _ACCESSES):
            self._access(place)
        elif op.name not in _MADE:
            self._expect_no_views(place)

    def _view(self, place: UpstreamPlace, array: SSAValue) -> View:
        """Returns the view that a value is; one that no view made is an array of the kernel."""
        found = self._views.get(array)
        if found is None:
            found = self._views[array] = self._of_array(place, array)
        return found

    def _of_array(self, place: UpstreamPlace, array: SSAValue) -> View:
        type_ = array.type
        if not is_memref_type(type_):
            raise place.refused(f"expected an array (memref), found {type_}; bufferize tensors with mlir-opt")
        owner = array.owner
        is_argument = isinstance(owner, Block) and owner.parent_op() is not None
        is_made = isinstance(owner, Operation) and owner.name in _MADE
        around = owner.parent_op() if isinstance(owner, Block) else None
        if not is_made and not (
            is_argument and around is not None and around.name in ("gpu.func", "func.func")
        ):
            raise place.refused(
                "which array it is of is known at run time only; choose between offsets into one array, or between "
                "the values that are loaded"
            )
        start = self._behind(place, array)
        sizes: list[Number] = []
        for dimension, extent in enumerate(type_.get_shape()):
            if extent == DYNAMIC_INDEX:
                number = start.constant(dimension, _INDEX)
                sizes.append(start.emit(memref.DimOp, [array, number], _INDEX))
            else:
                sizes.append(extent)
        return View(array, 0, tuple(sizes), in_c_order(start, sizes), is_whole=True)

    def _behind(self, place: UpstreamPlace, array: SSAValue) -> UpstreamPlace:
        """Returns the place where an array begins to exist."""
        owner = array.owner
        following = owner.first_op if isinstance(owner, Block) else owner.next_op
        return UpstreamPlace(place.op, anchor=following)

    def _address(
        self, place: UpstreamPlace, view: View, indices: Sequence[Number]
    ) -> tuple[SSAValue, list[Number]]:
        """Returns an array and the indices there of an element of a view."""
        if len(indices) != len(view.sizes):
            raise place.refused(f"it has {len(indices)} indices, expected {len(view.sizes)}")
        if view.is_whole:
            return view.root, list(indices)
        return self._one_dimension(place, view.root), [view.position(place, indices)]

    def _one_dimension(self, place: UpstreamPlace, array: SSAValue) -> SSAValue:
        type_ = array.type
        assert is_memref_type(type_)
        rank = type_.get_num_dims()
        if rank == 1:
            return array
        if array not in self._flat:
            shape = type_.get_shape()
            extent = DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)
            flat = MemRefType(type_.element_type, [extent], NoneAttr(), type_.memory_space)
            group = ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in range(rank)])])
            start = self._behind(place, array)
            self._flat[array] = start.emit(memref.CollapseShapeOp, [array], flat, reassociation=group)
        return self._flat[array]

    def _access(self, place: UpstreamPlace) -> None:
        op = place.op
        position, *others = (n for n, value in enumerate(op.operands) if is_memref_type(value.type))
        if others:
            raise place.refused(
                "arrays hold numbers, and no arrays; give the kernel each array as an argument of its own"
            )
        array = op.operands[position]
        if array not in self._views:
            return
        view = self._view(place, array)
        first, last = position + 1, position + 1 + array.type.get_num_dims()
        target, indices = self._address(place, view, list(op.operands[first:last]))
        moved = [target, *map(place.value, indices)]
        op.operands = [*op.operands[:position], *moved, *op.operands[last:]]

    def _expect_no_views(self, place: UpstreamPlace) -> None:
        op = place.op
        for number, value in enumerate(op.operands):
            view = self._views.get(value)
            if view is None:
                continue
            if not view.is_whole:
                raise place.refused(
                    "it takes a part of an array, which has no address of its own in Vulkan; give it the array and "
                    "the offset"
                )
            op.operands[number] = view.root

    def _extent(self, place: UpstreamPlace) -> None:
        """Replaces `memref.dim` of a view, also of a dimension that is known at run time only."""
        op = place.op
        view = self._view(place, op.operands[0])
        known = known_number(op.operands[1])
        if known is None:
            result = place.value(view.sizes[-1]) if view.sizes else place.constant(0, _INDEX)
            for number, size in reversed(list(enumerate(view.sizes[:-1]))):
                is_it = place.compare(CmpPredicate.Eq, op.operands[1], place.constant(number, _INDEX))
                result = place.select(is_it, place.value(size), result)
        elif 0 <= known < len(view.sizes):
            if view.is_whole:
                op.operands[0] = view.root
                return
            result = place.value(view.sizes[known])
        else:
            raise place.refused(f"the array has {len(view.sizes)} dimensions, none is number {known}")
        self._replace(op, [result])

    def _rank(self, place: UpstreamPlace) -> None:
        self._replace(place.op, [place.constant(len(self._view(place, place.op.operands[0]).sizes), _INDEX)])

    def _metadata(self, place: UpstreamPlace) -> None:
        """Replaces `memref.extract_strided_metadata`; the base is a view of no dimensions."""
        op = place.op
        view = self._view(place, op.operands[0])
        numbers = [view.offset, *view.sizes, *view.strides]
        base, *rest = op.results
        if len(rest) != len(numbers):
            raise place.refused(f"it has {len(rest)} numbers as results, expected {len(numbers)}")
        self._views[base] = View(view.root, 0, (), ())
        for result, number in zip(rest, numbers, strict=True):
            result.replace_all_uses_with(place.value(number))
        self._dead.append(op)

    def _copy(self, place: UpstreamPlace) -> None:
        """Replaces `memref.copy` by loops."""
        op = place.op
        source, target = (self._view(place, value) for value in op.operands)

        def body(
            inner: UpstreamPlace, counters: Sequence[SSAValue], _values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            value = inner.load(*self._address(inner, source, counters))
            inner.store(value, *self._address(inner, target, counters))
            return ()

        for view in (source, target):
            if not view.is_whole:
                self._one_dimension(place, view.root)
        nested_loops(place, [(0, size, 1) for size in source.sizes], [], body)
        self._dead.append(op)

    def _bytes(self, place: UpstreamPlace) -> None:
        """Makes `memref.view` one of the array of its elements that the bytes have become."""
        op = place.op
        array = op.operands[0]
        element, size = op.results[0].type.element_type, element_bytes(op.results[0].type)
        view = self._view(place, array)
        root: Any = view.root.type
        if root.element_type != element or size is None:
            raise place.refused(
                "its bytes are memory that the kernel makes (memref.alloc or memref.alloca of i8), with views "
                "of one type only; give the kernel an array of the elements, or make one for each type"
            )
        shift = known_number(op.operands[1])
        if shift is not None and shift % size:
            raise place.refused(f"it begins at byte {shift}, expected a multiple of the {size} of an element")
        bytes_ = place.constant(size, _INDEX)
        offset: Number = (
            shift // size
            if shift is not None
            else place.emit(arith.DivUIOp, [op.operands[1], bytes_], _INDEX)
        )
        values = iter(op.operands[2:])
        sizes = [next(values) if n == DYNAMIC_INDEX else n for n in op.results[0].type.get_shape()]
        self._views[op.results[0]] = View(view.root, offset, tuple(sizes), in_c_order(place, sizes))
        self._dead.append(op)

    def _replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        self._dead.append(op)


def element_bytes(type_: Any) -> int | None:
    """Returns the bytes of an array's element, None where it is no number of whole bytes."""
    element: Attribute = type_.element_type
    width = getattr(element, "bitwidth", None)
    return width // 8 if isinstance(width, int) and width % 8 == 0 else None


_OTHERS = {
    _METADATA: _Arrays._metadata,  # pyright: ignore[reportPrivateUsage]
    "memref.copy": _Arrays._copy,  # pyright: ignore[reportPrivateUsage]
    "memref.dim": _Arrays._extent,  # pyright: ignore[reportPrivateUsage]
    "memref.rank": _Arrays._rank,  # pyright: ignore[reportPrivateUsage]
    "memref.view": _Arrays._bytes,  # pyright: ignore[reportPrivateUsage]
}


def views_of_arrays() -> frozenset[str]:
    """Returns the names of the operations that make views."""
    return frozenset((*VIEWS, _METADATA, "memref.view"))
