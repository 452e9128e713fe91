"""``lp.local.array(shape, dtype)`` and ``lp.private.array(shape, dtype)``: arrays that a kernel makes.

Their lengths are known before the kernel runs: numbers, or integer expressions of specialization constants.
Indices are clamped unless they are known to be in range, since no robustness covers this memory.
"""

from __future__ import annotations

import ast
import math

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Operation, SSAValue

from ..ir.dialects.spirv.attributes import StorageClassAttr
from ..ir.dialects.spirv.enums import StorageClass
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from ..ir.narrowing import is_any_integer
from .aspect_lowering import use_struct
from .conversions import as_index, convert, index_constant, kept_in_range, literal_position
from .dispatch import intrinsic
from .function_builder import AccessUse, FunctionBuilder
from .ir_types import INDEX_TYPE, IR_INDEX, ir_type
from .storage import local_element_type
from .struct_types import value_type_of
from .types import ArrayType, Type
from .types import i32 as lapilli_i32
from .values import Composite, LocalArray, Scalar, Static, Tuple, Value, describe
from .vector_types import MAX_SHARED_COMPONENTS, VecType

LARGEST_EXTENT = (1 << 31) - 1
"""Largest extent that signed 32-bit indices reach."""
_SPACES = {
    True: StorageClassAttr(StorageClass.Workgroup),
    False: StorageClassAttr(StorageClass.Function),
}
_ALLOCATIONS: dict[bool, type[Operation]] = {True: memref.AllocOp, False: memref.AllocaOp}


@intrinsic("local.array", "private.array")
def compile_array(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.local.array(shape, dtype)`` and ``lp.private.array(shape, dtype)``."""
    name = fb.callee
    if len(arguments) != 2:
        raise fb.error(
            node,
            f"lp.{name} takes a shape and a type, found {len(arguments)} argument{'' if len(arguments) == 1 else 's'}",
            "LP2045",
            hint=f"write lp.{name}(64, lp.f32), or lp.{name}((8, 8), lp.f32)",
        )
    if fb.is_nested and not fb.is_dry:
        raise fb.error(
            node,
            f"lp.{name} stands in a loop or under a condition",
            "LP2055",
            hint="make the array at the top level of the kernel or helper",
        )
    element = _element(fb, node, arguments[1], name)
    lengths = _lengths(fb, node, arguments[0], name)
    return new_array(fb, node, lengths, element, is_shared=name == "local.array")


def _element(fb: FunctionBuilder, node: ast.Call, value: Value, name: str) -> Type:
    element = value_type_of(value.obj) if isinstance(value, Static) else None
    if isinstance(element, VecType) and not 2 <= element.size <= MAX_SHARED_COMPONENTS:
        raise fb.error(
            node.args[1],
            f"lp.{name} holds numbers and vectors of 2 to {MAX_SHARED_COMPONENTS}, found {element!r}",
            "LP2033",
            hint="add a dimension instead",
        )
    if element is None:
        raise fb.error(
            node.args[1],
            f"lp.{name} needs a type such as lp.f32 or lp.f32x4, found {describe(value)}",
            "LP2033",
            hint="write the type itself, lp.f32, not its name",
        )
    return element


def _lengths(fb: FunctionBuilder, node: ast.Call, shape: Value, name: str) -> list[tuple[Scalar, str]]:
    """Returns each length and how the source spells it."""
    part = node.args[0]
    items = shape.items if isinstance(shape, Tuple) and not isinstance(shape, Composite) else (shape,)
    parts = part.elts if isinstance(part, ast.Tuple) and len(part.elts) == len(items) else [part] * len(items)
    if not 1 <= len(items) <= MAX_ARRAY_DIMENSIONS:
        raise fb.error(
            part,
            f"the shape of lp.{name} has 1 to {MAX_ARRAY_DIMENSIONS} dimensions, found {len(items)}",
            "LP2055",
        )
    lengths: list[tuple[Scalar, str]] = []
    for item, where in zip(items, parts, strict=True):
        if not isinstance(item, Scalar) or not item.type.is_integer:
            raise fb.error(
                where,
                f"the shape of lp.{name} is an integer or a tuple of them, found {describe(item)}",
                "LP2055",
                hint="use a literal, a captured integer, an lp.Const or lp.Spec parameter, or // for a quotient",
            )
        if item.const is not None and not 1 <= item.const <= LARGEST_EXTENT:
            raise fb.error(
                where, f"the length of an array is at least 1 and below 2**31, found {item.const}", "LP2055"
            )
        sources = None if fb.is_dry or item.const is not None else _computed_from(fb.ssa(item))
        if sources is not None and not all(map(_is_known, sources)):
            raise fb.error(
                where,
                f"the shape of lp.{name} is known before the kernel runs, found a value of each work-item",
                "LP2055",
                hint="use literals, captured numbers, lp.Const and lp.Spec parameters"
                + (
                    "; or a parameter lp.LocalArray[…], whose shape each launch gives"
                    * (name == "local.array")
                ),
            )
        if not all(map(_is_integer, sources or ())):
            raise fb.error(
                where,
                "the length of an array is computed from integers, found a float",
                "LP2055",
                hint="give its specialization constants an integer type: SPIR-V computes lengths in no other",
            )
        lengths.append((item, ast.unparse(where)))
    count = math.prod(int(item.const) for item, _ in lengths if item.const is not None)
    if count > LARGEST_EXTENT:
        raise fb.error(part, f"an array has fewer than 2**31 elements, found {count}", "LP2055")
    return lengths


def _computed_from(value: SSAValue | None) -> list[SSAValue | None]:
    """Returns a value and all that it is computed from, each once: in ``n = n + n`` every line has two ways to S."""
    found, pending = dict[SSAValue | None, None](), [value]
    while pending:
        source = pending.pop()
        if source not in found:
            found[source] = None
            op = _op_of(source)
            pending += reversed(op.operands) if op is not None and _is_computed(op) else ()
    return list(found)


def _op_of(value: SSAValue | None) -> Operation | None:
    op = None if value is None else value.owner
    return op if isinstance(op, Operation) else None


def _is_computed(op: Operation) -> bool:
    is_arithmetic = op.name.startswith("arith.") and not isinstance(op, arith.ConstantOp)
    return is_arithmetic or op.name == "gpu.block_dim"


def _is_known(value: SSAValue | None) -> bool:
    """Whether a value is a constant, a specialization constant or computed."""
    op = _op_of(value)
    if op is None:
        return False
    return isinstance(op, arith.ConstantOp) or op.name == "spec_constant.get" or _is_computed(op)


def _is_integer(value: SSAValue | None) -> bool:
    return value is None or is_any_integer(value.type)


def new_array(
    fb: FunctionBuilder,
    node: ast.AST,
    lengths: list[tuple[Scalar, str]],
    element: Type,
    *,
    is_shared: bool,
) -> LocalArray:
    """Emits the allocation of an array.

    Args:
        node: identifies it among the arrays of the function.
        lengths: each length, checked, and how messages spell it.
        element: type of its elements.
        is_shared: for the work-group, else for each work-item.
    """
    if is_shared:
        fb.uses_barrier = True
    number = fb.local_arrays.setdefault(id(node), -1 - len(fb.local_arrays))
    fb.accesses.setdefault(number, AccessUse())
    shape = tuple(None if length.const is None else int(length.const) for length, _ in lengths)
    extents = tuple(_extent(fb, length) for length, _ in lengths)
    array = LocalArray(
        ArrayType(element, len(shape), "read_write"),
        number,
        "lp.local.array" if is_shared else "lp.private.array",
        None,
        shape=shape,
        extents=extents,
        is_shared=is_shared,
    )
    use_struct(fb, element)
    if not fb.is_dry:
        sizes = [fb.cast_to_index(_required(fb, e)) for e in extents if e.const is None]
        op = _ALLOCATIONS[is_shared].create(
            operands=sizes,
            result_types=(local_memref_type(array),),
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [len(sizes), 0])},
            attributes={"lengths": ArrayAttr([StringAttr(text) for _, text in lengths])},
        )
        fb.append(op)
        array.ssa = op.results[0]
    return array


def _extent(fb: FunctionBuilder, length: Scalar) -> Scalar:
    """Returns a length as an index; one that no index reaches becomes one that the runtime refuses."""
    if length.const is not None:
        number = int(length.const)
        return Scalar(INDEX_TYPE, const=number, bounds=(number, number))
    if fb.is_dry:
        return Scalar(INDEX_TYPE, bounds=(1, LARGEST_EXTENT))
    if length.type.bits > lapilli_i32.bits:
        length = _within_reach(fb, length)
    wide = length if length.type.bits == lapilli_i32.bits else convert(fb, length, lapilli_i32)
    return Scalar(INDEX_TYPE, wide.ssa, bounds=(1, LARGEST_EXTENT))


def _within_reach(fb: FunctionBuilder, length: Scalar) -> Scalar:
    """Returns 64 bits whose low half is 0 where they are negative, and at most `LARGEST_EXTENT`."""
    kind = length.type
    minimum = arith.MinSIOp if kind.is_signed else arith.MinUIOp
    ssa = fb.emit(minimum, [_required(fb, length), fb.constant(LARGEST_EXTENT, kind)], ir_type(kind))
    if kind.is_signed:
        ssa = fb.emit(arith.MaxSIOp, [ssa, fb.constant(0, kind)], ir_type(kind))
    return Scalar(kind, ssa)


def _required(fb: FunctionBuilder, value: Scalar) -> SSAValue:
    ssa = fb.ssa(value)
    assert ssa is not None
    return ssa


def local_memref_type(array: LocalArray) -> MemRefType:
    """Returns the IR type: a memref in the storage class Workgroup or Function."""
    shape = [DYNAMIC_INDEX if length is None else length for length in array.shape]
    return MemRefType(local_element_type(array.type.element), shape, memory_space=_SPACES[array.is_shared])


def local_array_parameter(
    fb: FunctionBuilder, array: LocalArray, position: int, name: str, argument: SSAValue
) -> LocalArray:
    """Returns what an array of the caller is inside of a helper."""
    extents: list[Scalar] = []
    for dimension, length in enumerate(array.shape):
        if length is not None:
            extents.append(Scalar(INDEX_TYPE, const=length, bounds=(length, length)))
            continue
        number = index_constant(fb, dimension)
        key = ("dim", position, dimension)
        index = fb.prologue_value(key, memref.DimOp, IR_INDEX, operands=(argument, number))
        # Lengths have 32 bits also where ids have 64.
        ssa = (
            fb.cast_from_index(index, key)
            if fb.module.index_type is INDEX_TYPE
            else fb.prologue_value(("i32", key), arith.IndexCastOp, i32, operands=(index,))
        )
        extents.append(Scalar(INDEX_TYPE, ssa, bounds=(1, LARGEST_EXTENT)))
    return LocalArray(
        array.type,
        position,
        name,
        argument,
        shape=array.shape,
        extents=tuple(extents),
        is_shared=array.is_shared,
    )


def local_array_index(
    fb: FunctionBuilder, array: LocalArray, dimension: int, index: Scalar
) -> SSAValue | None:
    """Returns an index that is in range, as IR wants it: checked now, known from its bounds, or clamped.

    Raises:
        CompileError: a literal index of a known dimension that is out of range.
    """
    where = fb.node or fb.source.tree
    length, extent = array.shape[dimension], array.extents[dimension]
    position = None if length is None else literal_position(fb, index, length, where)
    if fb.is_dry:
        return None
    if position is not None:
        return index_constant(fb, position)
    if index.const is not None and int(index.const) < 0:
        ends = [_required(fb, extent), fb.constant(max(int(index.const), -LARGEST_EXTENT), lapilli_i32)]
        index = Scalar(INDEX_TYPE, fb.emit(arith.AddiOp, ends, i32))
    index = as_index(fb, index, where, f"an index of {array.name}")
    if index.const == 0:
        return index_constant(fb, 0)
    bounds = index.bounds
    is_safe = length is not None and bounds is not None and bounds[0] >= 0 and bounds[1] < length
    if not fb.module.is_interpreted and not is_safe:
        index = kept_in_range(fb, index, extent)
    return fb.cast_to_index(_required(fb, index))
