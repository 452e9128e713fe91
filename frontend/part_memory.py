"""Loads and stores of array elements that are vectors or structs, and of their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from ..ir.create import create
from ..ir.dialects.kernel import LoadFieldOp, StoreFieldOp
from ..ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp
from .array_elements import Element, load_element, require_readable, require_writable, store_element
from .checks import check_nan, is_debug
from .composite_arrays import element_at, gathered
from .composites import convert_composite, typed_value_of
from .conversions import CMPI
from .fixed_arrays import construct_fixed, load_fixed
from .function_builder import FunctionBuilder
from .ir_types import BOOL, INDEX_TYPE, integer_attribute, ir_type, storage_type
from .storage import element_type, is_loaded_whole, local_element_type
from .struct_types import StructType
from .types import LARGEST_UNROLLED, FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, LocalArray, Scalar, Tuple, Value, constant
from .vector_types import CompositeArrayType, VecType

Step = int | Scalar
"""One step into a composite: a member or component by number, or an index known at run time."""


@dataclass(slots=True, eq=False)
class ElementPart:
    """An array element, or a part of one."""

    element: Element
    type: Type
    path: tuple[Step, ...] = ()
    swizzle: tuple[int, ...] | None = None
    """Which components of the vector at `path` are meant, None: all."""


def load_place(fb: FunctionBuilder, place: ElementPart, node: ast.AST) -> Value:
    """Emits the read of an array element or a part of one; CompileError where the array is write-only."""
    array = place.element.array
    if isinstance(array.type.element, ScalarType):
        return load_element(fb, place.element, node)
    require_readable(fb, array, node)
    fb.accesses[array.parameter].reads = True
    value = _load(fb, place.element, place.type, place.path)
    if place.swizzle is None:
        return value
    assert isinstance(value, Composite)
    return swizzled(value, place.swizzle)


def _load(fb: FunctionBuilder, element: Element, kind: Type, path: tuple[Step, ...]) -> Value:
    if fb.is_dry:
        return typed_value_of(kind)
    if isinstance(kind, ScalarType):
        return _load_scalar(fb, element, kind, path)
    if isinstance(kind, VecType):
        if not path and _is_whole(element, kind):
            return _load_vector(fb, element, kind)
        items = [_load_scalar(fb, element, kind.element, (*path, i)) for i in range(kind.size)]
        return Composite(tuple(items), kind)
    if isinstance(kind, StructType):
        items = [_load(fb, element, f.type, (*path, i)) for i, f in enumerate(kind.fields)]
        return Composite(tuple(items), kind)
    if isinstance(kind, CompositeArrayType):
        return gathered(fb, kind, [_load(fb, element, kind.element, (*path, *i)) for i in _indices(kind)])
    assert isinstance(kind, FixedArrayType)
    leaves = [_load_scalar(fb, element, kind.element, (*path, *index)) for index in _indices(kind)]
    return construct_fixed(fb, kind, [fb.ssa(leaf) for leaf in leaves])


def _indices(kind: FixedArrayType | CompositeArrayType) -> Iterator[tuple[int, ...]]:
    yield from np.ndindex(*kind.shape)


def _is_whole(element: Element, kind: VecType) -> bool:
    """Whether such an element is one `vector`: always in the arrays that a kernel makes."""
    return isinstance(element.array, LocalArray) or is_loaded_whole(kind)


def _whole_type(element: Element, kind: VecType) -> Attribute:
    return local_element_type(kind) if isinstance(element.array, LocalArray) else element_type(kind)


def _load_vector(fb: FunctionBuilder, element: Element, kind: VecType) -> Composite:
    array = element.array
    whole = fb.emit(memref.LoadOp, [array.ssa, *element.indices], _whole_type(element, kind))
    return Composite(tuple(extract(fb, whole, kind.element, i) for i in range(kind.size)), kind)


def extract(fb: FunctionBuilder, whole: SSAValue | None, kind: ScalarType, *path: int) -> Scalar:
    """Returns a scalar of an IR value that is a composite."""
    indices = ArrayAttr([IntegerAttr(i, i32) for i in path])
    return Scalar(kind, fb.emit(CompositeExtractOp, [whole], ir_type(kind), {"indices": indices}))


def path_properties(path: Sequence[Step]) -> dict[str, Attribute]:
    """Returns the properties of an operation on a part of an element."""
    return {"path": LoadFieldOp.path_attribute([s if isinstance(s, int) else None for s in path])}


def path_operands(fb: FunctionBuilder, path: Sequence[Step]) -> list[SSAValue | None]:
    """Returns the steps of a path that are known at run time only, as its operation takes them."""
    return [_narrow(fb, step) for step in path if not isinstance(step, int)]


def _narrow(fb: FunctionBuilder, index: Scalar) -> SSAValue | None:
    if index.type.bits == 64:
        return fb.emit(arith.TruncIOp, [fb.ssa(index)], i32)
    return fb.ssa(index)


def _load_scalar(fb: FunctionBuilder, element: Element, kind: ScalarType, path: tuple[Step, ...]) -> Scalar:
    operands = [element.array.ssa, *element.indices, *path_operands(fb, path)]
    is_bytes = kind is BOOL and not isinstance(element.array, LocalArray)
    stored = storage_type(kind) if is_bytes else ir_type(kind)
    loaded = fb.emit(LoadFieldOp, operands, stored, path_properties(path))
    return bool_of_byte(fb, loaded) if is_bytes else Scalar(kind, loaded)


def bool_of_byte(fb: FunctionBuilder, stored: SSAValue | None) -> Scalar:
    """Returns the bool that a byte of memory holds."""
    byte = storage_type(BOOL)
    zero = fb.prologue_value(
        ("i8", 0), arith.ConstantOp, byte, properties={"value": integer_attribute(0, byte)}
    )
    return Scalar(BOOL, fb.emit(arith.CmpiOp, [stored, zero], ir_type(BOOL), CMPI["ne"]))


def store_place(
    fb: FunctionBuilder, place: ElementPart, value: Value, node: ast.AST, value_node: ast.AST
) -> None:
    """Emits the write of one; CompileError where the array is read-only or the value does not convert."""
    array = place.element.array
    if isinstance(array.type.element, ScalarType):
        store_element(fb, place.element, value, node, value_node)
        return
    require_writable(fb, array, node)
    fb.accesses[array.parameter].writes = True
    if place.swizzle is not None:
        _store_swizzle(fb, place, place.swizzle, value, value_node)
        return
    stored = convert_composite(fb, value, place.type, value_node, f"'{array.name}'")
    if not fb.is_dry:
        _store(fb, place.element, place.type, place.path, stored, node)


def _store_swizzle(
    fb: FunctionBuilder, place: ElementPart, positions: tuple[int, ...], value: Value, value_node: ast.AST
) -> None:
    assert isinstance(place.type, VecType)
    kind = VecType(place.type.element, len(positions))
    stored = convert_composite(fb, value, kind, value_node, f"'{place.element.array.name}'")
    if fb.is_dry:
        return
    assert isinstance(stored, Composite)
    for position, item in zip(positions, stored.items, strict=True):
        assert isinstance(item, Scalar)
        _store_scalar(fb, place.element, item, (*place.path, position))


def _store(
    fb: FunctionBuilder, element: Element, kind: Type, path: tuple[Step, ...], value: Value, node: ast.AST
) -> None:
    if isinstance(kind, ScalarType):
        assert isinstance(value, Scalar)
        _store_scalar(fb, element, value, path)
    elif isinstance(kind, VecType) and not path and _is_whole(element, kind):
        assert isinstance(value, Composite)
        items = [item for item in value.items if isinstance(item, Scalar)]
        for item in items:
            check_nan(fb, element.array, element.indices, item)
        parts = [fb.ssa(item) for item in items]
        whole = fb.emit(CompositeConstructOp, parts, _whole_type(element, kind))
        assert whole is not None and element.array.ssa is not None
        fb.append(create(memref.StoreOp, operands=[whole, element.array.ssa, *element.indices]))
    elif isinstance(kind, FixedArrayType):
        assert isinstance(value, FixedArray)
        if kind.size > LARGEST_UNROLLED and _stored_in_loops(fb, element, kind, path, value):
            return
        for index in _indices(kind):
            part = load_fixed(fb, value, [constant(i) for i in index], node)
            assert isinstance(part, Scalar)
            _store_scalar(fb, element, part, (*path, *index))
    elif isinstance(kind, CompositeArrayType):
        if kind.size > LARGEST_UNROLLED and _stored_in_loops(fb, element, kind, path, value):
            return
        for index in _indices(kind):
            part = element_at(fb, value, [constant(i) for i in index])
            _store(fb, element, kind.element, (*path, *index), part, node)
    else:
        assert isinstance(value, Tuple) and isinstance(kind, VecType | StructType)
        for position, (item, part_kind) in enumerate(zip(value.items, _part_kinds(kind), strict=True)):
            _store(fb, element, part_kind, (*path, position), item, node)


def _stored_in_loops(
    fb: FunctionBuilder, element: Element, kind: Type, path: tuple[Step, ...], value: Value
) -> bool:
    """Stores a large fixed array; False where it has to be done one by one."""
    from .fixed_copies import copied_in_loops  # which few programs need

    leaves = [*_leaf_places(kind, value, path, 0)]
    scalars = [leaf.type.element for leaf, _ in leaves]
    # For NaN, with messages that name each index.
    if BOOL in scalars or (is_debug(fb) and any(scalar.is_float for scalar in scalars)):
        return False

    def store(number: int, found: Sequence[SSAValue], ssa: SSAValue) -> None:
        leaf, steps = leaves[number]
        place = [Scalar(INDEX_TYPE, found[s.number]) if isinstance(s, _Dimension) else s for s in steps]
        _store_scalar(fb, element, Scalar(leaf.type.element, ssa), tuple(place))

    return copied_in_loops(fb, [leaf for leaf, _ in leaves], store)


@dataclass(frozen=True, slots=True)
class _Dimension:
    """The step that an index of a fixed array is."""

    number: int


_Steps = tuple[int | Scalar | _Dimension, ...]


def _leaf_places(kind: Type, value: Value, steps: _Steps, depth: int) -> Iterator[tuple[FixedArray, _Steps]]:
    """Yields the fixed arrays of numbers that a fixed array is, and the way to an element of each in memory.

    Args:
        depth: dimensions that lead to what is of type `kind`.
    """
    if isinstance(kind, FixedArrayType | CompositeArrayType):
        inner = (_Dimension(depth + d) for d in range(kind.ndim))
        yield from _leaf_places(kind.element, value, (*steps, *inner), depth + kind.ndim)
    elif isinstance(kind, ScalarType):
        assert isinstance(value, FixedArray)
        yield value, steps
    else:
        assert isinstance(kind, VecType | StructType) and isinstance(value, Composite)
        for position, (item, part) in enumerate(zip(value.items, _part_kinds(kind), strict=True)):
            yield from _leaf_places(part, item, (*steps, position), depth)


def _part_kinds(kind: VecType | StructType) -> list[Type]:
    return [kind.element] * kind.size if isinstance(kind, VecType) else [f.type for f in kind.fields]


def _store_scalar(fb: FunctionBuilder, element: Element, value: Scalar, path: tuple[Step, ...]) -> None:
    check_nan(fb, element.array, element.indices, value)
    ssa = fb.ssa(value)
    if value.type is BOOL and not isinstance(element.array, LocalArray):
        ssa = fb.emit(arith.ExtUIOp, [ssa], storage_type(BOOL))
    operands = [ssa, element.array.ssa, *element.indices, *path_operands(fb, path)]
    fb.append(
        create(
            StoreFieldOp,
            operands=[operand for operand in operands if operand is not None],
            properties=path_properties(path),
        )
    )


def swizzled(base: Composite, positions: tuple[int, ...]) -> Composite:
    """Returns the vector of some components of another."""
    assert isinstance(base.type, VecType)
    return Composite(tuple(base.items[p] for p in positions), VecType(base.type.element, len(positions)))
