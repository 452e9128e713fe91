"""Reading fixed arrays: by literal indices, and by run-time indices that are clamped unless known to be in range."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from ..ir.dialects.spirv.attributes import StorageClassAttr
from ..ir.dialects.spirv.composite import CompositeExtractOp
from ..ir.dialects.spirv.enums import StorageClass
from ..ir.dialects.spirv.memory import AccessChainOp, LoadOp, VariableOp
from ..ir.dialects.spirv.types import ArrayType as SpirvArrayType
from ..ir.dialects.spirv.types import PointerType
from .conversions import as_index
from .function_builder import FunctionBuilder
from .ir_types import ir_type
from .types import FixedArrayType, i64
from .types import i32 as lapilli_i32
from .values import FixedArray, Scalar, Value


@lru_cache(maxsize=256)
def fixed_array_type(fixed: FixedArrayType) -> Attribute:
    """Returns the IR type: nested arrays, the outermost dimension first."""
    result = ir_type(fixed.element)
    for length in reversed(fixed.shape):
        result = SpirvArrayType.get(result, length)
    return result


def load_fixed(fb: FunctionBuilder, base: FixedArray, indices: Sequence[Scalar], node: ast.AST) -> Value:
    """Applies indices to a fixed array; fewer than it has dimensions give a row.

    Raises:
        CompileError: too many indices, or a literal one out of range.
    """
    if len(indices) > len(base.remaining_shape):
        raise fb.error(
            node,
            f"{base.type!r} takes {base.type.ndim} indices, found {len(base.prefix) + len(indices)}",
            "LP2041",
        )
    checked = [
        _checked(fb, index, length, node)
        for index, length in zip(indices, base.remaining_shape, strict=False)
    ]
    prefix = (*base.prefix, *checked)
    if len(prefix) < base.type.ndim:
        return FixedArray(base.type, base.ssa, prefix)
    scalar = base.type.element
    if fb.is_dry:
        return Scalar(scalar)
    assert base.ssa is not None
    if all(index.const is not None for index in prefix):
        path = ArrayAttr([IntegerAttr(int(index.const or 0), i32) for index in prefix])
        return Scalar(scalar, fb.emit(CompositeExtractOp, [base.ssa], ir_type(scalar), {"indices": path}))
    return Scalar(scalar, _load_from_variable(fb, base.ssa, base.type, prefix))


def _checked(fb: FunctionBuilder, index: Scalar, length: int, node: ast.AST) -> Scalar:
    """Returns an index that is in range: checked now, known from its bounds, or clamped."""
    if index.const is not None:
        position = int(index.const)
        if not -length <= position < length:
            raise fb.error(
                node,
                f"index {position} is out of range of a dimension of length {length}",
                "LP2042",
                hint=f"indices go from 0 to {length - 1}",
            )
        return Scalar(index.type, const=position % length)
    if fb.is_dry:
        return index
    index = as_index(fb, index, node, "an index of a fixed array")
    if index.bounds is not None and index.bounds[0] >= 0 and index.bounds[1] < length:
        return index
    # As unsigned numbers, negative indices are the largest: one minimum clamps both ends.
    last = fb.constant(length - 1, index.type)
    return Scalar(index.type, fb.emit(arith.MinUIOp, [fb.ssa(index), last], ir_type(index.type)))


def _load_from_variable(
    fb: FunctionBuilder, array: SSAValue, fixed: FixedArrayType, indices: Sequence[Scalar]
) -> SSAValue | None:
    """Emits a load from a variable that holds the array: SPIR-V extracts by literal indices only."""
    pointer = PointerType.get(fixed_array_type(fixed), StorageClass.Function)
    storage = {"storage_class": StorageClassAttr(StorageClass.Function)}
    variable = fb.prologue_value(
        ("variable", array), VariableOp, pointer, operands=(array,), properties=storage
    )
    path = [_narrow(fb, index) for index in indices]
    element = PointerType.get(ir_type(fixed.element), StorageClass.Function)
    place = fb.emit(AccessChainOp, [variable, *path], element)
    return fb.emit(LoadOp, [place], ir_type(fixed.element))


def _narrow(fb: FunctionBuilder, index: Scalar) -> SSAValue | None:
    """Returns an index in range as i32: 64-bit indices would need another capability."""
    if index.const is not None:
        return fb.constant(int(index.const), lapilli_i32)
    if index.type.bits == i64.bits:
        return fb.emit(arith.TruncIOp, [fb.ssa(index)], i32)
    return fb.ssa(index)
