"""Explicit layout of blocks (SPIR-V 1.6 §2.16.2 and Vulkan's "Offset and Stride Assignment").

For every struct that a pointer of class StorageBuffer, Uniform, PushConstant or PhysicalStorageBuffer points
to, and all that it contains:

* Each member has an Offset; offsets are aligned to the member's scalar size and members do not overlap.
* Arrays have an ArrayStride that is a multiple of the element's scalar alignment and not below its size.
* Matrices have a MatrixStride and RowMajor or ColMajor.
* No bools.

Alignment is that of scalarBlockLayout: the least that any device asks for.  What devices without that feature
ask for beyond it, SPIRV-Tools checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..binary import Instruction
from ..tables import Decoration, Op, StorageClass
from ..type_info import MAX_SIZE_BYTES, constant_value
from .context import Context
from .finding import Finding

RULE = "layout"

_EXPLICIT = frozenset(
    (
        *(StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.PushConstant),
        StorageClass.PhysicalStorageBuffer,
    )
)


class Extent(NamedTuple):
    """Size and alignment of a type in bytes; a size of None ends nowhere (run-time arrays)."""

    size: int | None
    align: int


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    wanted = _laid_out(ctx)
    extents: dict[int, Extent] = {}
    # Types refer to earlier types only, so that one pass in order has all extents at hand.
    for item in ctx.view.globals:
        number = item.result_id or 0
        extent = _extent(ctx, item, extents)
        if extent is not None:
            extents[number] = extent
        if number in wanted:
            for message in _problems(ctx, item, extents):
                yield Finding(message, item.ordinal, RULE)


def _laid_out(ctx: Context) -> set[int]:
    """Ids of the types inside blocks."""
    pending = [
        item.operands[1]
        for item in ctx.view.of_opcode(Op.TypePointer)
        if item.operands[0] in _EXPLICIT and ctx.opcode(item.operands[1]) == Op.TypeStruct
    ]
    # An array of blocks (descriptors) has no stride: only its element is a block.
    for item in ctx.view.of_opcode(Op.Variable):
        pointer = ctx.pointer(item.result_type or 0)
        kind = ctx.definition(pointer[1]) if pointer and pointer[0] in _EXPLICIT else None
        if kind is not None and kind.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
            pending.append(kind.operands[0])
    seen: set[int] = set()
    while pending:
        number = pending.pop()
        kind = ctx.definition(number)
        if kind is None or number in seen:
            continue
        seen.add(number)
        if kind.opcode == Op.TypeStruct:
            pending.extend(kind.operands)
        elif kind.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
            pending.append(kind.operands[0])
    return seen


def _extent(ctx: Context, item: Instruction, extents: dict[int, Extent]) -> Extent | None:
    code, words = item.opcode, item.operands
    if code in (Op.TypeInt, Op.TypeFloat):
        return Extent(words[0] // 8, max(words[0] // 8, 1))
    if code == Op.TypePointer:
        return Extent(8, 8)
    if code in (Op.TypeVector, Op.TypeMatrix):
        element = extents.get(words[0], Extent(4, 4))
        return Extent((element.size or 0) * words[1], element.align)
    if code in (Op.TypeArray, Op.TypeRuntimeArray):
        return _array_extent(ctx, item, extents)
    if code == Op.TypeStruct:
        return _struct_extent(ctx, item, extents)
    return None


def _array_extent(ctx: Context, item: Instruction, extents: dict[int, Extent]) -> Extent:
    element = extents.get(item.operands[0], Extent(4, 4))
    stride = ctx.view.decoration(item.result_id or 0, Decoration.ArrayStride)
    length = constant_value(ctx.view, item.operands[1]) if item.opcode == Op.TypeArray else None
    if length is None or not stride or length * stride[0] > MAX_SIZE_BYTES:
        return Extent(None, element.align)
    return Extent(length * stride[0], element.align)


def _struct_extent(ctx: Context, item: Instruction, extents: dict[int, Extent]) -> Extent:
    size: int | None = 0
    align = 1
    for index, member in enumerate(item.operands):
        extent = extents.get(member, Extent(4, 4))
        offset = ctx.view.member_decoration(item.result_id or 0, index, Decoration.Offset)
        align = max(align, extent.align)
        if size is not None:
            size = None if extent.size is None else max(size, (offset[0] if offset else 0) + extent.size)
    return Extent(size, align)


def _problems(ctx: Context, item: Instruction, extents: dict[int, Extent]) -> Iterator[str]:
    name = ctx.spell(item.result_id or 0)
    if item.opcode == Op.TypeBool:
        yield f"bool {name} lies in a block; it has no layout"
    elif item.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        yield from _array_problems(ctx, item, extents.get(item.operands[0]), name)
    elif item.opcode == Op.TypeStruct:
        yield from _struct_problems(ctx, item, extents, name)


def _array_problems(ctx: Context, item: Instruction, element: Extent | None, name: str) -> Iterator[str]:
    stride = ctx.view.decoration(item.result_id or 0, Decoration.ArrayStride)
    if not stride:
        yield f"array {name} lies in a block and has no ArrayStride"
    elif element is not None and (stride[0] % element.align or stride[0] < (element.size or 0)):
        need = f"{element.size} bytes, aligned to {element.align}"
        yield f"array {name} has stride {stride[0]}; its elements have {need}"


def _struct_problems(ctx: Context, item: Instruction, extents: dict[int, Extent], name: str) -> Iterator[str]:
    struct = item.result_id or 0
    spans: list[tuple[int, int | None, int]] = []
    for index, member in enumerate(item.operands):
        offset = ctx.view.member_decoration(struct, index, Decoration.Offset)
        extent = extents.get(member)
        if not offset:
            yield f"member {index} of struct {name} lies in a block and has no Offset"
        elif extent is not None:
            if offset[0] % extent.align:
                yield f"member {index} of struct {name} is at {offset[0]}, not aligned to {extent.align}"
            spans.append((offset[0], extent.size, index))
        if _matrix_inside(ctx, member):
            yield from _matrix_problems(ctx, struct, index, name)
    spans.sort(key=lambda span: (span[0], span[2]))
    for (start, size, index), (following, _, other) in pairwise(spans):
        if size is None or start + size > following:
            yield f"members {index} and {other} of struct {name} overlap at {following}"


def _matrix_inside(ctx: Context, type_id: int) -> bool:
    kind = ctx.definition(type_id)
    while kind is not None and kind.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        kind = ctx.definition(kind.operands[0])
    return kind is not None and kind.opcode == Op.TypeMatrix


def _matrix_problems(ctx: Context, struct: int, index: int, name: str) -> Iterator[str]:
    decorations = {use.decoration for use in ctx.view.member_uses(struct, index)}
    if Decoration.MatrixStride not in decorations:
        yield f"member {index} of struct {name} is a matrix and has no MatrixStride"
    if decorations.isdisjoint((Decoration.RowMajor, Decoration.ColMajor)):
        yield f"member {index} of struct {name} is a matrix and neither RowMajor nor ColMajor"
