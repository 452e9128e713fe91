"""How vectors and structs lie in arrays: the element types of memrefs.

A vector of two or four numbers is a `vector` there, loaded and stored whole.  Everything else is laid out
explicitly, in structs with offsets and arrays with strides, so that C layout and Vulkan's rules for storage
buffers agree: those align a vector of three like one of four, and a struct's vectors stricter than C does.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import prod

from xdsl.dialects.builtin import VectorType, i8
from xdsl.ir import Attribute

from ..ir.dialects.spirv.types import ArrayType, StructMember
from ..ir.dialects.spirv.types import StructType as SpirvStructType
from .ir_types import ir_type, storage_type
from .struct_types import StructType, alignment_of, size_of
from .types import FixedArrayType, ScalarType, Type, bf16
from .vector_types import CompositeArrayType, VecType


def is_loaded_whole(kind: Type) -> bool:
    """Whether elements of this vector type are `vector`s in memory."""
    return (
        isinstance(kind, VecType)
        and kind.size in (2, 4)
        and kind.element.kind != "bool"
        and kind.element is not bf16
    )


def local_element_type(kind: Type) -> Attribute:
    """Returns the type of the elements of an array that a kernel makes, which has no layout."""
    if isinstance(kind, VecType):
        element = ir_type(kind.element)
        return VectorType(element, [kind.size]) if 2 <= kind.size <= 4 else ArrayType.get(element, kind.size)
    if isinstance(kind, FixedArrayType):
        return reduce(ArrayType.get, reversed(kind.shape), ir_type(kind.element))
    if isinstance(kind, CompositeArrayType):
        return reduce(ArrayType.get, reversed(kind.shape), local_element_type(kind.element))
    if isinstance(kind, StructType):
        return SpirvStructType.get([StructMember(local_element_type(field.type)) for field in kind.fields])
    assert isinstance(kind, ScalarType)
    return ir_type(kind)


@lru_cache(maxsize=256)
def element_type(kind: Type) -> Attribute:
    """Returns the type of an array's elements."""
    if isinstance(kind, VecType) and is_loaded_whole(kind):
        return VectorType(storage_type(kind.element), [kind.size])
    return member_type(kind)


def member_type(kind: Type) -> Attribute:
    """Returns the type of a struct's member, or of an element that is not loaded whole."""
    if isinstance(kind, ScalarType):
        return storage_type(kind)
    if isinstance(kind, VecType):
        return ArrayType.get(storage_type(kind.element), kind.size, kind.element.itemsize)
    if isinstance(kind, FixedArrayType | CompositeArrayType):
        result = member_type(kind.element)
        for position in reversed(range(kind.ndim)):
            stride = kind.element.itemsize * prod(kind.shape[position + 1 :])
            result = ArrayType.get(result, kind.shape[position], stride)
        return result
    assert isinstance(kind, StructType)
    members = [StructMember(member_type(f.type), f.offset_bytes) for f in kind.fields]
    end = kind.fields[-1].offset_bytes + size_of(kind.fields[-1].type)
    natural = _natural_alignment(kind)
    if -(-end // natural) * natural != kind.size_bytes:
        # Padding of an alignment that the fields do not have is spelt as a member.
        members.append(_padding(end, kind.size_bytes, natural))
    return SpirvStructType.get(members, kind.name if kind.name.isascii() else "")


def _natural_alignment(kind: Type) -> int:
    """Returns the alignment that a type has without what `Aligned` and ``align=`` ask for: its largest scalar's."""
    if isinstance(kind, StructType):
        return max(_natural_alignment(f.type) for f in kind.fields)
    if isinstance(kind, CompositeArrayType):
        return _natural_alignment(kind.element)
    return alignment_of(kind)


def _padding(start: int, stop: int, alignment: int) -> StructMember:
    """Returns a member that fills a struct up to `stop`, in words where its alignment allows."""
    from xdsl.dialects.builtin import i32

    if alignment >= 4:
        start = -(-start // 4) * 4
        return StructMember(ArrayType.get(i32, (stop - start) // 4, 4), start)
    return StructMember(ArrayType.get(i8, stop - start, 1), start)
