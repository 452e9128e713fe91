"""Elements of arrays: their places, and loads and stores of those that are scalars.

Indices out of range are undefined (the device's robustness keeps them harmless) except that negative numbers that are
known when the kernel is compiled, literals and `lp.Const`, count from the end.  Vectors, structs and parts of them
are loaded and stored by `part_memory`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from ..ir.create import create
from .checks import check_index, check_nan, is_debug
from .conversions import CMPI, as_index, convert, index_constant, store_convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, IR_INDEX, integer_attribute, ir_type, storage_type
from .local_arrays import LARGEST_EXTENT, local_array_index
from .types import ScalarType
from .values import Array, LocalArray, Scalar, Value, describe, index_count


@dataclass(slots=True, eq=False)
class Element:
    """A place in an array, its indices evaluated."""

    array: Array
    indices: list[SSAValue]


def element_at(
    fb: FunctionBuilder, array: Array, values: Sequence[Scalar], node: ast.AST, hint: str | None = None
) -> Element:
    """Returns the element at indices that are evaluated; CompileError with `hint` where their number is wrong."""
    ndim = array.type.ndim
    if len(values) != ndim:
        takes = f"takes {index_count(ndim)}, found {len(values)}"
        raise fb.error(node, f"'{array.name}' is {describe(array)} and {takes}", "LP2041", hint=hint)
    if is_debug(fb):
        for dimension, value in enumerate(values):
            check_index(fb, array, dimension, value, array_extent(fb, array, dimension), node)
    indices = [_array_index(fb, array, dimension, value) for dimension, value in enumerate(values)]
    return Element(array, [index for index in indices if index is not None])


def _array_index(fb: FunctionBuilder, array: Array, dimension: int, index: Scalar) -> SSAValue | None:
    """Returns an index as IR wants it; a negative one that is known now counts from the end."""
    if isinstance(array, LocalArray):
        return local_array_index(fb, array, dimension, index)
    if fb.is_dry:
        return None
    if fb.module.index_type.bits == 64 and index.const is not None:
        return _wide_constant(fb, array, dimension, index)
    if index.const is not None:
        known = int(index.const)
        if known >= 0:
            return index_constant(fb, min(known, LARGEST_EXTENT))
        extent = _extent_index(fb, array, dimension)
        return fb.emit(arith.AddiOp, [extent, index_constant(fb, max(known, -LARGEST_EXTENT))], IR_INDEX)
    wide = fb.ssa(as_index(fb, index, fb.node or fb.source.tree, "an index"))
    assert wide is not None
    return fb.cast_to_index(wide)


def _wide_constant(fb: FunctionBuilder, array: Array, dimension: int, index: Scalar) -> SSAValue:
    """Returns a constant index in a kernel whose ids have 64 bits; a negative one counts from the end."""
    kind, value = fb.module.index_type, int(index.const or 0)
    value = max(-kind.maximum, min(value, kind.maximum))
    if -1 < value <= LARGEST_EXTENT:
        return index_constant(fb, value)
    found = fb.constant(value, kind)
    if value < 0:
        found = fb.emit(arith.AddiOp, [fb.ssa(array_extent(fb, array, dimension)), found], ir_type(kind))
    assert found is not None
    return fb.cast_to_index(found)


def _extent_index(fb: FunctionBuilder, array: Array, dimension: int) -> SSAValue:
    position = index_constant(fb, dimension)
    assert array.ssa is not None
    return fb.prologue_value(
        ("dim", array.parameter, dimension), memref.DimOp, IR_INDEX, operands=(array.ssa, position)
    )


def array_extent(fb: FunctionBuilder, array: Array, dimension: int) -> Scalar:
    """Returns ``a.shape[dimension]`` of an array that is no image."""
    kind = fb.module.index_type
    bounds = (0, kind.maximum)
    if isinstance(array, LocalArray):
        return convert(fb, array.extents[dimension], kind)
    if fb.is_dry:
        return Scalar(kind, bounds=bounds)
    index = _extent_index(fb, array, dimension)
    ssa = fb.cast_from_index(index, ("dim", array.parameter, dimension))
    return Scalar(kind, ssa, bounds=bounds)


def require_readable(fb: FunctionBuilder, array: Array, node: ast.AST) -> None:
    """Raises CompileError where an array is write-only."""
    if not array.type.is_readable:
        raise fb.error(
            node,
            f"'{array.name}' is {array.type!r}, which is write-only; it cannot be read",
            "LP2040",
            hint=_without_access(array),
        )


def require_writable(fb: FunctionBuilder, array: Array, node: ast.AST) -> None:
    """Raises CompileError where an array is read-only."""
    if not array.type.is_writable:
        raise fb.error(
            node,
            f"'{array.name}' is {array.type!r}, which is read-only; it cannot be written",
            "LP2039",
            hint=_without_access(array),
        )


def _without_access(array: Array) -> str:
    return f"declare it {replace(array.type, access='read_write')!r}"


def load_element(fb: FunctionBuilder, element: Element, node: ast.AST) -> Scalar:
    """Emits the read of an element.

    Raises:
        CompileError: the array is write-only.
    """
    array = element.array
    require_readable(fb, array, node)
    fb.accesses[array.parameter].reads = True
    scalar = array.type.element
    assert isinstance(scalar, ScalarType)
    if fb.is_dry:
        return Scalar(scalar)
    assert array.ssa is not None
    is_bytes = scalar is BOOL and not isinstance(array, LocalArray)  # in the arrays of the host only
    loaded = fb.emit(
        memref.LoadOp,
        [array.ssa, *element.indices],
        storage_type(scalar) if is_bytes else ir_type(scalar),
    )
    if is_bytes:
        zero = fb.prologue_value(
            ("i8", 0),
            arith.ConstantOp,
            storage_type(BOOL),
            properties={"value": integer_attribute(0, storage_type(BOOL))},
        )
        return Scalar(BOOL, fb.emit(arith.CmpiOp, [loaded, zero], ir_type(BOOL), CMPI["ne"]))
    return Scalar(scalar, loaded)


def store_element(
    fb: FunctionBuilder, element: Element, value: Value, node: ast.AST, value_node: ast.AST
) -> None:
    """Emits the write of an element.

    Args:
        node: the target, blamed where the array cannot be written.
        value_node: the value, blamed where it does not convert.

    Raises:
        CompileError: the array is read-only, or the value does not convert to its elements.
    """
    array = element.array
    require_writable(fb, array, node)
    fb.accesses[array.parameter].writes = True
    assert isinstance(array.type.element, ScalarType)
    stored = store_convert(fb, value, array.type.element, value_node, f"'{array.name}'")
    if fb.is_dry:
        return
    check_nan(fb, array, element.indices, stored)
    ssa = fb.ssa(stored)
    if array.type.element is BOOL and not isinstance(array, LocalArray):
        ssa = fb.emit(arith.ExtUIOp, [ssa], storage_type(BOOL))
    assert ssa is not None and array.ssa is not None
    fb.append(create(memref.StoreOp, operands=[ssa, array.ssa, *element.indices]))
