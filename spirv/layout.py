"""Explicit memory layout of spirv dialect types: sizes, alignments, and a check of offsets and strides.

Structs that buffers and push constants hold need an Offset on every member and a stride on every array, at
multiples of the scalar alignment, without overlap (Vulkan 1.3, "Offset and Stride Assignment").  All numbers
are bytes.  Nothing here invents a layout: the lowering writes it, so that the host agrees with it.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from ..ir.dialects.spirv.enums import StorageClass
from ..ir.dialects.spirv.matrix_types import MatrixType
from ..ir.dialects.spirv.scalars import bit_width, component_count, is_bool, scalar_of
from ..ir.dialects.spirv.types import ArrayType, PointerType, RuntimeArrayType, StructType
from ..ir.narrowing import is_vector_type

_POINTER_BYTES = 8


def alignment_bytes(type_: Attribute) -> int:
    """Returns the base alignment of a type under Vulkan's rules for storage buffers ("std430")."""
    if isinstance(type_, StructType):
        return max((alignment_bytes(member) for member in type_.member_types), default=1)
    if isinstance(type_, ArrayType | RuntimeArrayType):
        return alignment_bytes(type_.element_type)
    if isinstance(type_, MatrixType):
        return alignment_bytes(type_.column_type)
    if isinstance(type_, PointerType):
        return _POINTER_BYTES
    scalar = _scalar_bytes(type_)
    if is_vector_type(type_):
        return scalar * (2 if component_count(type_) == 2 else 4)
    return scalar


def size_bytes(type_: Attribute) -> int | None:
    """Returns the bytes that a type occupies, without padding at its end; None for run-time arrays."""
    if isinstance(type_, RuntimeArrayType):
        return None
    if isinstance(type_, StructType):
        end = 0
        for member in type_.members:
            size = size_bytes(member.type)
            if size is None:
                return None
            end = max(end, (member.offset or 0) + size)
        return end
    if isinstance(type_, ArrayType):
        size = size_bytes(type_.element_type)
        stride = type_.stride.data or size
        return None if size is None or stride is None else stride * (type_.count.data - 1) + size
    if isinstance(type_, MatrixType):
        # Columns as wide as their alignment; MatrixStride may say more.
        return alignment_bytes(type_.column_type) * type_.count.data
    if isinstance(type_, PointerType):
        return _POINTER_BYTES
    return _scalar_bytes(type_) * component_count(type_)


def is_laid_out(type_: PointerType) -> bool:
    """Whether a type is that of shared memory with an explicit layout (SPV_KHR_workgroup_memory_explicit_layout)."""
    pointee = type_.pointee
    is_shared = type_.storage_class.data is StorageClass.Workgroup
    return (
        is_shared and isinstance(pointee, StructType) and any(m.offset is not None for m in pointee.members)
    )


def layout_fault(type_: Attribute) -> str | None:
    """Returns what is wrong with the explicit layout of a type in a buffer, or None where it is fine."""
    if isinstance(type_, StructType):
        return _struct_fault(type_)
    if isinstance(type_, ArrayType | RuntimeArrayType):
        return _array_fault(type_)
    if is_bool(scalar_of(type_)):
        return f"{type_} has no layout: a bool cannot lie in memory that the host sees, use i32"
    return None


def _array_fault(type_: ArrayType | RuntimeArrayType) -> str | None:
    inner = layout_fault(type_.element_type)
    if inner is not None:
        return inner
    stride, size = type_.stride.data, size_bytes(type_.element_type)
    if stride == 0:
        return f"{type_} has no stride"
    if size is not None and stride < size:
        return f"{type_} has a stride of {stride} bytes, but its elements take {size}"
    if stride % alignment_bytes(type_.element_type):
        return f"{type_} has a stride that is no multiple of {alignment_bytes(type_.element_type)}"
    return None


def _struct_fault(type_: StructType) -> str | None:
    end: int | None = 0
    for index, member in enumerate(type_.members):
        inner = layout_fault(member.type)
        if inner is not None:
            return inner
        if member.offset is None:
            return f"member {index} of {type_} has no offset"
        if end is None or member.offset < end:
            return f"member {index} of {type_} overlaps the one before"
        if member.offset % alignment_bytes(member.type):
            return f"member {index} of {type_} is not aligned to {alignment_bytes(member.type)} bytes"
        size = size_bytes(member.type)
        end = None if size is None else member.offset + size
    return None


def _scalar_bytes(type_: Attribute) -> int:
    width = bit_width(scalar_of(type_))
    # i1 has no size in memory; counted as the 32 bits of VkBool32 so that sums stay positive.
    return 4 if width == 1 else width // 8
