"""Makes arrays of what `gpu.dynamic_shared_memory` is divided into.

%m = gpu.dynamic_shared_memory : memref<?xi8, …>        %n = memref.alloc() : memref<64xi8, …>
%a = memref.view %m[%c0][] : … to memref<16xf32, …>     %a = memref.view %n[%c0][] : … to memref<16xf32, …>
%b = memref.view %m[%c64][] : … to memref<8xi32, …>     %o = memref.alloc() …    %b = memref.view %o[%c0][] …

Vulkan's memory of a work-group has no size at the launch and no bytes, so the views say what there is: those that
overlap are one array, others arrays of their own.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, MemRefType, NoneAttr, i8, i32
from xdsl.ir import SSAValue

from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from .arrays import element_bytes
from .place import UpstreamPlace, attempt, known_number

_NAME = "gpu.dynamic_shared_memory"
_DEEPEST = 32
"""Operations on constants that give one offset."""


class _Part(NamedTuple):
    """Bytes of a view."""

    start: int
    end: int
    op: Any


def settle_dynamic_memory(function: Any) -> None:
    """Replaces the memory in one function; raises `PassError`."""
    found = [op for op in function.walk() if op.name == _NAME]
    if not found:
        return
    parts = sorted(
        (part for op in found for part in attempt(UpstreamPlace(op), _parts)), key=lambda part: part[:2]
    )
    if not is_kernel(function):
        raise UpstreamPlace(found[0]).refused(
            "it stands in a function that kernels call; make the views in the kernel, and give them to the function"
        )
    while parts:
        together, end = [parts[0]], parts[0].end
        while len(together) < len(parts) and parts[len(together)].start < end:
            end = max(end, parts[len(together)].end)
            together.append(parts[len(together)])
        _allocate(function, together, end)
        parts = parts[len(together) :]
    for op in found:
        op.detach()
        op.erase()


def _parts(place: UpstreamPlace) -> list[_Part]:
    """Returns the views of the memory that one operation gives."""
    return [_part(UpstreamPlace(use.operation)) for use in list(place.op.results[0].uses)]


def _part(place: UpstreamPlace) -> _Part:
    op = place.op
    if op.name != "memref.view":
        raise place.refused(f"what {_NAME} gives is divided by memref.view alone; make a view of it first")
    start = _constant(op.operands[1])
    sizes = iter(op.operands[2:])
    shape = [
        _constant(next(sizes)) if extent == DYNAMIC_INDEX else extent
        for extent in op.results[0].type.get_shape()
    ]
    size = element_bytes(op.results[0].type)
    known = [extent for extent in shape if extent is not None]
    if start is None or size is None or len(known) != len(shape) or min(start, *known, 0) < 0:
        raise place.refused(
            f"a view of {_NAME} begins at a constant byte and has constant extents, of elements of whole bytes: Vulkan "
            "has no memory of a work-group whose size a launch sets; write constants, or make it with memref.alloc"
        )
    return _Part(start, start + prod(known) * size, op)


def _constant(value: SSAValue, depth: int = 0) -> int | None:
    """Returns what an index is that is computed of constants."""
    known = known_number(value)
    if known is not None or depth > _DEEPEST or not isinstance(value.owner, arith.AddiOp | arith.MuliOp):
        return known
    lhs, rhs = (_constant(operand, depth + 1) for operand in value.owner.operands)
    if lhs is None or rhs is None:
        return None
    return lhs + rhs if isinstance(value.owner, arith.AddiOp) else lhs * rhs


def _allocate(function: Any, parts: list[_Part], end: int) -> None:
    """Lets views that overlap be of one array of bytes."""
    first = parts[0]
    elements = {part.op.results[0].type.element_type for part in parts}
    size = element_bytes(first.op.results[0].type) or 1
    if len(elements) > 1 or any((part.start - first.start) % size for part in parts):
        raise UpstreamPlace(parts[-1].op).refused(
            f"it overlaps another view of {_NAME}, of other elements or between them: memory has one type in Vulkan; "
            "give each type bytes of its own"
        )
    start = UpstreamPlace(first.op, anchor=function.body.blocks[0].first_op)
    space = StorageClassAttr(StorageClass.Workgroup)
    type_ = MemRefType(i8, [end - first.start], NoneAttr(), space)
    segments = DenseArrayBase.from_list(i32, [0, 0])
    array = start.make(memref.AllocOp, [], [type_], operandSegmentSizes=segments).results[0]
    for part in parts:
        offset = UpstreamPlace(part.op).constant(part.start - first.start, IndexType())
        part.op.operands = [array, offset, *part.op.operands[2:]]
