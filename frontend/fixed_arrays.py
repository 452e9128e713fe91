"""Reading fixed arrays: by literal indices, and by run-time indices that are clamped unless known to be in range."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.create import create
from ..ir.dialects.spirv.attributes import StorageClassAttr
from ..ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp, CompositeInsertOp
from ..ir.dialects.spirv.enums import StorageClass
from ..ir.dialects.spirv.memory import AccessChainOp, LoadOp, StoreOp, VariableOp
from ..ir.dialects.spirv.types import ArrayType as SpirvArrayType
from ..ir.dialects.spirv.types import PointerType
from .conversions import as_index, kept_in_range, literal_position
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .types import FixedArrayType, Type, i64
from .types import i32 as lapilli_i32
from .values import FixedArray, Scalar, Value, index_count


@lru_cache(maxsize=256)
def fixed_array_type(fixed: FixedArrayType) -> Attribute:
    """Returns the IR type: nested arrays, the outermost dimension first."""
    result = ir_type(fixed.element)
    for length in reversed(fixed.shape):
        result = SpirvArrayType.get(result, length)
    return result


def fixed_ssa(fb: FunctionBuilder, value: FixedArray) -> SSAValue | None:
    """Returns the IR value of a fixed array, zeros where it has none; None while types are inferred."""
    if fb.is_dry or value.ssa is not None:
        return value.ssa
    if value.cell is not None:
        return whole_of(fb, value).ssa
    zero = fb.constant(False if value.type.element is BOOL else 0, value.type.element)
    assert zero is not None
    return _filled(fb, fixed_array_type(value.type), value.type.shape, zero)


def _filled(fb: FunctionBuilder, ir: Attribute, shape: Sequence[int], part: SSAValue) -> SSAValue:
    if not shape:
        return part
    assert isinstance(ir, SpirvArrayType)
    inner = _filled(fb, ir.element_type, shape[1:], part)
    return fb.prologue_value(("filled", ir, part), CompositeConstructOp, ir, operands=(inner,) * shape[0])


def construct_fixed(
    fb: FunctionBuilder, kind: FixedArrayType, leaves: Sequence[SSAValue | None]
) -> FixedArray:
    """Makes a fixed array of its elements in C order."""
    return _nested(fb, kind, leaves, kind.ndim)


def stacked(fb: FunctionBuilder, kind: FixedArrayType, parts: Sequence[Value]) -> FixedArray:
    """Makes a fixed array of all its elements, or of fixed arrays of one shape that are its rows, in C order."""
    inner = parts[0]
    depth = kind.ndim - (len(inner.remaining_shape) if isinstance(inner, FixedArray) else 0)
    return _nested(fb, kind, [_part_ssa(fb, part) for part in parts], depth)


def _part_ssa(fb: FunctionBuilder, part: Value) -> SSAValue | None:
    """Returns the IR value of an element or row."""
    if isinstance(part, FixedArray):
        return fixed_ssa(fb, whole_of(fb, part))
    assert isinstance(part, Scalar)
    return fb.ssa(part)


def _nested(
    fb: FunctionBuilder, kind: FixedArrayType, parts: Sequence[SSAValue | None], depth: int
) -> FixedArray:
    """Makes a fixed array of what `depth` indices leave of it."""
    if fb.is_dry:
        return FixedArray(kind, None)
    parts = list(parts)
    for level in reversed(range(depth)):
        length, ir = kind.shape[level], _part_type(kind, level)
        parts = [
            fb.emit(CompositeConstructOp, parts[i : i + length], ir) for i in range(0, len(parts), length)
        ]
    return FixedArray(kind, parts[0])


def insert_at(
    fb: FunctionBuilder,
    base: FixedArray,
    checked: Sequence[Scalar],
    value: Scalar | FixedArray,
    node: ast.AST,
) -> FixedArray:
    """Returns a fixed array with one element or row replaced, at indices that are in range."""
    if fb.is_dry:
        return FixedArray(base.type, None)
    if base.cell is not None:
        _store_into(fb, base.cell, checked, value, node)
        return base
    ir, ssa = fixed_array_type(base.type), fixed_ssa(fb, base)
    new = fixed_ssa(fb, value) if isinstance(value, FixedArray) else fb.ssa(value)
    if all(index.const is not None for index in checked):
        path = ArrayAttr([IntegerAttr(int(index.const or 0), i32) for index in checked])
        return FixedArray(base.type, fb.emit(CompositeInsertOp, [new, ssa], ir, {"indices": path}))
    variable = fb.prologue_value(
        ("scratch", ir, object()),
        VariableOp,
        PointerType.get(ir, StorageClass.Function),
        operands=(),
        properties={"storage_class": StorageClassAttr(StorageClass.Function)},
    )
    fb.append(create(StoreOp, operands=[variable, _needed(ssa)]))
    part = PointerType.get(_part_type(base.type, len(checked)), StorageClass.Function)
    place = fb.emit(AccessChainOp, [variable, *(_narrow(fb, index) for index in checked)], part)
    fb.append(create(StoreOp, operands=[_needed(place), _needed(new)]))
    return FixedArray(base.type, fb.emit(LoadOp, [variable], ir))


def _needed(ssa: SSAValue | None) -> SSAValue:
    assert ssa is not None
    return ssa


def load_fixed(fb: FunctionBuilder, base: FixedArray, indices: Sequence[Scalar], node: ast.AST) -> Value:
    """Applies indices to a fixed array; fewer than it has dimensions give a row.

    Raises:
        CompileError: too many indices, or a literal one out of range.
    """
    shape, applied = base.remaining_shape, len(base.prefix)
    return load_at(fb, base, in_range(fb, indices, shape, base.type, node, applied=applied))


def in_range(
    fb: FunctionBuilder,
    indices: Sequence[Scalar],
    shape: Sequence[int],
    kind: Type,
    node: ast.AST,
    *,
    applied: int = 0,
) -> list[Scalar]:
    """Returns indices that are in range: checked now, known from their bounds, or clamped.

    Args:
        shape: lengths of the dimensions that they are of, and of more.
        kind: the array, for messages.
        applied: how many of its indices came before.

    Raises:
        CompileError: too many indices, or a literal one out of range.
    """
    if len(indices) > len(shape):
        takes, found = index_count(applied + len(shape)), applied + len(indices)
        raise fb.error(node, f"{kind!r} takes {takes}, found {found}", "LP2041")
    return [_checked(fb, index, length, node) for index, length in zip(indices, shape, strict=False)]


def load_at(fb: FunctionBuilder, base: FixedArray, checked: Sequence[Scalar]) -> Value:
    """Applies indices that are in range to a fixed array; fewer than it has dimensions give a row."""
    prefix = (*base.prefix, *checked)
    if len(prefix) < base.type.ndim:
        return FixedArray(base.type, base.ssa, prefix, base.cell)
    scalar = base.type.element
    if fb.is_dry:
        return Scalar(scalar)
    if base.cell is not None:
        return Scalar(scalar, fb.emit(memref.LoadOp, [base.cell, *_path(fb, prefix)], ir_type(scalar)))
    ssa = fixed_ssa(fb, base)
    assert ssa is not None
    return Scalar(scalar, _extracted(fb, ssa, base.type, prefix))


def whole_of(fb: FunctionBuilder, value: FixedArray) -> FixedArray:
    """Returns a row, ``m[i]``, and a copy of a variable that has memory, as values; any other is one already."""
    if not value.prefix and value.cell is None:
        return value
    kind = FixedArrayType(value.type.element, value.remaining_shape)
    if value.cell is not None:
        node = fb.node or fb.source.tree
        return construct_fixed(fb, kind, [fb.ssa(scalar) for scalar in scalars_of(fb, value, node)])
    ssa = None if fb.is_dry else value.ssa
    return FixedArray(kind, None if ssa is None else _extracted(fb, ssa, value.type, value.prefix))


def elements_of(fb: FunctionBuilder, value: FixedArray, node: ast.AST) -> list[Value]:
    """Returns the elements along the first dimension: numbers, or rows."""
    return [
        load_fixed(fb, value, [Scalar(lapilli_i32, const=position)], node)
        for position in range(value.remaining_shape[0])
    ]


def scalars_of(fb: FunctionBuilder, value: FixedArray, node: ast.AST) -> list[Scalar]:
    """Returns all elements in C order."""
    elements = elements_of(fb, value, node)
    return [
        scalar
        for item in elements
        for scalar in (scalars_of(fb, item, node) if isinstance(item, FixedArray) else [item])
        if isinstance(scalar, Scalar)
    ]


def store_element(fb: FunctionBuilder, cell: SSAValue, path: Sequence[Scalar], value: Scalar) -> None:
    """Stores an element into the memory of a variable, at indices that are in range."""
    fb.append(create(memref.StoreOp, operands=[_needed(fb.ssa(value)), cell, *_path(fb, path)]))


def _store_into(
    fb: FunctionBuilder, cell: SSAValue, path: Sequence[Scalar], value: Scalar | FixedArray, node: ast.AST
) -> None:
    if isinstance(value, Scalar):
        store_element(fb, cell, path, value)
        return
    for position, item in enumerate(elements_of(fb, value, node)):
        assert isinstance(item, Scalar | FixedArray)
        _store_into(fb, cell, (*path, Scalar(lapilli_i32, const=position)), item, node)


def _path(fb: FunctionBuilder, indices: Sequence[Scalar]) -> list[SSAValue]:
    """Returns indices that are in range as memory takes them."""
    from .array_elements import index_constant  # which checks indices by the rules of this file

    return [
        fb.cast_to_index(_needed(_narrow(fb, index)))
        if index.const is None
        else index_constant(fb, int(index.const))
        for index in indices
    ]


def _extracted(
    fb: FunctionBuilder, ssa: SSAValue, fixed: FixedArrayType, prefix: Sequence[Scalar]
) -> SSAValue | None:
    """Emits the read of an element or row."""
    if any(index.const is None for index in prefix):
        return _load_from_variable(fb, ssa, fixed, prefix)
    path = ArrayAttr([IntegerAttr(int(index.const or 0), i32) for index in prefix])
    return fb.emit(CompositeExtractOp, [ssa], _part_type(fixed, len(prefix)), {"indices": path})


def _part_type(fixed: FixedArrayType, depth: int) -> Attribute:
    """Returns the IR type of what `depth` indices leave of a fixed array."""
    rest = fixed.shape[depth:]
    return fixed_array_type(FixedArrayType(fixed.element, rest)) if rest else ir_type(fixed.element)


def _checked(fb: FunctionBuilder, index: Scalar, length: int, node: ast.AST) -> Scalar:
    """Returns an index that is in range: checked now, known from its bounds, or clamped."""
    position = literal_position(fb, index, length, node)
    if position is not None:
        return Scalar(index.type, const=position)
    return index_in_range(fb, index, length, "a fixed array", node)


def index_in_range(fb: FunctionBuilder, index: Scalar, length: int, of: str, node: ast.AST) -> Scalar:
    """Returns an index known at run time only that is in range of a value: clamped, unless its bounds say that it is.

    Args:
        index: an integer.
        length: of the dimension.
        of: what messages of debug mode call the value.
        node: where it is used.
    """
    from .checks import check_range  # whose messages show fixed arrays

    if fb.is_dry:
        return index
    index = as_index(fb, index, node, f"an index of {of}")
    if index.bounds is not None and index.bounds[0] >= 0 and index.bounds[1] < length:
        return index
    check_range(fb, index, Scalar(index.type, const=length), of, node)
    if fb.module.is_interpreted:
        return index
    return kept_in_range(fb, index, Scalar(index.type, const=length))


def _load_from_variable(
    fb: FunctionBuilder, array: SSAValue, fixed: FixedArrayType, indices: Sequence[Scalar]
) -> SSAValue | None:
    """Emits a load from a variable that holds the array: SPIR-V extracts by literal indices only."""
    variable, path = fb.rows.get(array, (None, ()))
    if variable is None:
        variable = _holder(fb, array, PointerType.get(fixed_array_type(fixed), StorageClass.Function))
    path = (*path, *(_narrow(fb, index) for index in indices))
    part = _part_type(fixed, len(indices))
    place = fb.emit(AccessChainOp, [variable, *path], PointerType.get(part, StorageClass.Function))
    loaded = fb.emit(LoadOp, [place], part)
    if loaded is not None and len(indices) < fixed.ndim:
        fb.rows[loaded] = variable, path
    return loaded


def _holder(fb: FunctionBuilder, array: SSAValue, pointer: PointerType) -> SSAValue:
    """Returns a variable that holds an array, and nothing else for as long as the array is there."""
    storage = {"storage_class": StorageClassAttr(StorageClass.Function)}
    if array.owner is fb.prologue or (
        isinstance(array.owner, Operation) and array.owner.parent is fb.prologue
    ):
        return fb.prologue_value(
            ("variable", array), VariableOp, pointer, operands=(array,), properties=storage
        )
    # The array is made in the body, so it is stored into the variable here.
    variable = fb.prologue_value(("scratch", array), VariableOp, pointer, operands=(), properties=storage)
    fb.append(create(StoreOp, operands=[variable, array]))
    return variable


def _narrow(fb: FunctionBuilder, index: Scalar) -> SSAValue | None:
    """Returns an index in range as i32: 64-bit indices would need another capability."""
    if index.const is not None:
        return fb.constant(int(index.const), lapilli_i32)
    if index.type.bits == i64.bits:
        return fb.emit(arith.TruncIOp, [fb.ssa(index)], i32)
    return fb.ssa(index)
