"""From kernel-level types to types of the spirv dialect.

`index` is i32 on the device.  bf16 is kept as its 16 bits (i16): SPIR-V has no arithmetic on it without an
extension, so the frontend computes in f32 and converts at loads and stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    VectorType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ...ir.attributes import attribute
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import Decoration, StorageClass
from ...ir.dialects.spirv.scalars import component_count
from ...ir.dialects.spirv.types import (
    ArrayType,
    PointerType,
    RuntimeArrayType,
    SpecArrayType,
    StructMember,
    StructType,
)
from ...ir.kernel_info import UNIFORM_BLOCK_BYTES
from ...ir.local_memory import MAX_ARRAY_DIMENSIONS
from ...ir.narrowing import is_integer_type, is_memref_type, is_vector_type

_INTEGERS = {1: i1, 8: i8, 16: i16, 32: i32, 64: i64}
_FLOATS = (Float16Type, Float32Type, Float64Type)


@cache
def storage_class_attribute(storage_class: StorageClass) -> StorageClassAttr:
    """Returns the attribute of a storage class."""
    return StorageClassAttr(storage_class)


@lru_cache(maxsize=4096)
def integer_attribute(value: int, width: int) -> IntegerAttr:
    """Returns the attribute of a signless integer; `value` may be given signed or unsigned."""
    return IntegerAttr(value, _INTEGERS[width])


_OTHER_SCALARS = frozenset((IndexType, BFloat16Type, Float16Type, Float32Type, Float64Type))


def is_scalar(type_: Attribute) -> bool:
    """Whether `type_` is a kernel-level scalar that the device can have."""
    if is_integer_type(type_):
        return type_.width.data in _INTEGERS
    return type(type_) in _OTHER_SCALARS


def scalar_bytes(type_: Attribute) -> int:
    """Returns the size in bytes of a scalar of the spirv dialect, or of a physical address."""
    if isinstance(type_, PointerType):
        return 8
    if is_integer_type(type_):
        return type_.width.data // 8
    assert isinstance(type_, AnyFloat), f"{type_} is no scalar with a size"
    return type_.bitwidth // 8


def storage_alignment(type_: Attribute) -> int:
    """Returns the alignment in bytes that an element has in memory: its largest scalar's."""
    if isinstance(type_, StructType):
        return max(storage_alignment(member.type) for member in type_.members)
    if isinstance(type_, ArrayType):
        return storage_alignment(type_.element_type)
    return scalar_bytes(scalar_of(type_))


def storage_bytes(type_: Attribute) -> int:
    """Returns the bytes from one element of an array to the next."""
    if isinstance(type_, StructType):
        last = type_.members[-1]
        end = (last.offset or 0) + storage_bytes(last.type)
        alignment = storage_alignment(type_)
        return -(-end // alignment) * alignment
    if isinstance(type_, ArrayType):
        return type_.count.data * type_.stride.data
    return scalar_bytes(scalar_of(type_)) * component_count(type_)


def part_offset_bytes(type_: Attribute, step: int) -> int:
    """Returns where a member of a struct or an element of an array or vector begins in it."""
    if isinstance(type_, StructType):
        return type_.members[step].offset or 0
    if isinstance(type_, ArrayType):
        return step * type_.stride.data
    return step * scalar_bytes(scalar_of(type_))


def _has_layout(type_: Attribute) -> bool:
    """Whether a type of several scalars says where each lies in memory, or needs not to."""
    if isinstance(type_, StructType):
        return bool(type_.members) and all(
            m.offset is not None and _has_layout(m.type) for m in type_.members
        )
    if isinstance(type_, ArrayType):
        return bool(type_.stride.data) and _has_layout(type_.element_type)
    # A vector of three would be aligned like one of four; i1 has no size.
    return not is_bool(type_) and component_count(type_) != 3


@dataclass(slots=True)
class TypeConverter:
    """Converts types, remembering each answer: comparing attributes is dear in xDSL.

    Equal types become the same object, and i1 becomes `xdsl.dialects.builtin.i1`: handlers compare with `is`.
    """

    _types: dict[Attribute, Attribute] = field(default_factory=dict[Attribute, Attribute])
    _by_identity: dict[int, tuple[Attribute, Attribute]] = field(
        default_factory=dict[int, tuple[Attribute, Attribute]]
    )
    """The same by the identity of the type, which is kept with it: hashing visits all of an attribute."""
    _pointers: dict[tuple[int, StorageClass], PointerType] = field(
        default_factory=dict[tuple[int, StorageClass], PointerType]
    )
    """By the pointee's identity (hashing visits all of an attribute); the pointer keeps it alive."""
    _arrays: dict[tuple[int, int | str], ArrayType | SpecArrayType] = field(
        default_factory=dict[tuple[int, int | str], ArrayType | SpecArrayType]
    )
    """By the element's identity and the length."""
    _blocks: dict[tuple[Attribute, Decoration | None], StructType] = field(
        default_factory=dict[tuple[Attribute, Decoration | None], StructType]
    )

    def __call__(self, type_: Attribute) -> Attribute:
        """Returns the device's type; TypeError says why there is none."""
        found = self._by_identity.get(id(type_))
        if found is None:
            known = self._types.get(type_)
            if known is None:
                known = self._types[type_] = self._convert(type_)
            found = self._by_identity[id(type_)] = type_, known
        return found[1]

    def _convert(self, type_: Attribute) -> Attribute:
        if isinstance(type_, IndexType):
            return i32
        if isinstance(type_, BFloat16Type):
            return i16
        if is_integer_type(type_):
            known = _INTEGERS.get(type_.width.data)
            if known is None:
                raise TypeError(f"integers have 1, 8, 16, 32 or 64 bits on a device, found {type_}")
            return known
        if is_vector_type(type_):
            return self._vector(type_)
        if isinstance(type_, ArrayType):
            return ArrayType(self(type_.element_type), type_.count, type_.stride)
        if isinstance(type_, StructType):
            members = [StructMember(self(m.type), m.offset, m.decorations) for m in type_.members]
            return StructType.get(members, type_.identifier)
        if isinstance(type_, PointerType):
            return PointerType(self(type_.pointee), type_.storage_class)
        if isinstance(type_, _FLOATS):
            return type_
        if is_memref_type(type_):
            raise unknown_array(type_)
        raise TypeError(f"type {type_} has no counterpart in SPIR-V")

    def _vector(self, type_: VectorType[Attribute]) -> Attribute:
        shape = type_.get_shape()
        if len(shape) != 1 or not 2 <= shape[0] <= 4 or type_.get_num_scalable_dims():
            raise TypeError(f"vectors have 2 to 4 components on a device, found {type_}")
        element = self(type_.element_type)
        return type_ if element is type_.element_type else VectorType(element, shape)

    def converted(self) -> Iterable[Attribute]:
        """Returns every type that was asked for."""
        return self._types.values()

    def element_of(self, type_: MemRefType[Attribute]) -> Attribute:
        """Returns the device's element type of an array parameter; TypeError where it cannot be one."""
        rank = type_.get_num_dims()
        if not 1 <= rank <= MAX_ARRAY_DIMENSIONS:
            raise TypeError(f"array parameters have 1 to {MAX_ARRAY_DIMENSIONS} dimensions, found {type_}")
        if any(extent >= 1 << 31 for extent in type_.get_shape()):
            raise TypeError(f"an extent has 31 bits, found {type_}")
        if not isinstance(type_.layout, NoneAttr):
            raise TypeError(f"array parameters have C order without a layout map, found {type_}")
        if type_.element_type == i1:
            raise TypeError("arrays of bool are arrays of i8 that hold 0 or 1, found i1 elements")
        element = self(type_.element_type)
        if not (is_scalar(type_.element_type) or _has_layout(element)):
            raise TypeError(
                f"elements of array parameters are scalars, vectors or structs with a layout, found {type_}"
            )
        return element

    def pointer(self, pointee: Attribute, storage_class: StorageClass) -> PointerType:
        """Returns the pointer type to `pointee`."""
        key = (id(pointee), storage_class)
        known = self._pointers.get(key)
        if known is None:
            class_ = storage_class_attribute(storage_class)
            known = self._pointers[key] = attribute(PointerType, pointee, class_)
        return known

    def bool_like(self, type_: Attribute) -> Attribute:
        """Returns i1, or the vector of i1 with as many components as `type_`."""
        return self(with_scalar(type_, i1)) if is_vector_type(type_) else i1

    def bits_like(self, type_: Attribute) -> Attribute:
        """Returns the integers that have as many bits as the floats of `type_`."""
        scalar = scalar_of(type_)
        assert isinstance(scalar, AnyFloat)
        return self(with_scalar(type_, _INTEGERS[scalar.bitwidth]))

    def array(self, element: Attribute, length: int | str) -> ArrayType | SpecArrayType:
        """Returns the array without layout of a literal length, or of as many elements as a symbol says."""
        key = (id(element), length)
        known = self._arrays.get(key)
        if known is None:
            known = self._arrays[key] = (
                ArrayType.get(element, length)
                if isinstance(length, int)
                else SpecArrayType.get(element, length)
            )
        return known

    def buffer_block(self, element: Attribute, access: Decoration | None = None) -> StructType:
        """Returns `struct { element data[]; }`, the layout of a storage buffer that holds an array.

        Args:
            element: what the array holds.
            access: `NonWritable` or `NonReadable`, which the member gets.  A type of its own for each: NVIDIA's
                driver takes a variable that is NonWritable for a property of its type, and then reads other
                variables of the type as if nobody wrote them.
        """
        known = self._blocks.get((element, access))
        if known is None:
            array = RuntimeArrayType.get(element, storage_bytes(element))
            decorations = () if access is None else ((access, None),)
            member = StructMember(array, 0, decorations)
            known = self._blocks[element, access] = StructType.get([member])
        return known

    def uniform_block(self, vector: Attribute) -> StructType:
        """Returns `struct { vector data[n]; }` of `UNIFORM_BLOCK_BYTES`, the layout of a uniform buffer."""
        size = storage_bytes(vector)
        array = ArrayType.get(vector, UNIFORM_BLOCK_BYTES // size, size)
        return StructType.get([StructMember(array, 0, ())])


def is_float(type_: Attribute) -> bool:
    """Whether a type is a float."""
    return _is_float_class(type(type_))


@cache
def _is_float_class(kind: type[Attribute]) -> bool:
    return issubclass(kind, AnyFloat)  # six classes, each a call in Python


def is_bool(type_: Attribute) -> bool:
    """Whether a converted type is i1 or a vector of it."""
    return type_ is i1 or (is_vector_type(type_) and type_.element_type == i1)


def scalar_of(type_: Attribute) -> Attribute:
    """Returns the element type of a vector, any other type itself."""
    return type_.element_type if is_vector_type(type_) else type_


def with_scalar(type_: Attribute, scalar: Attribute) -> Attribute:
    """Returns `scalar`, or the vector of it with as many components as `type_`."""
    return VectorType(scalar, type_.get_shape()) if is_vector_type(type_) else scalar


def unknown_array(type_: Attribute) -> TypeError:
    """Returns the error that an array is the result of a branch, a loop or a selection."""
    return TypeError(
        f"a branch, a loop or a selection gives a {type_}, and which array that is, is known at run time only; choose "
        "between offsets into one array, or between the values that are loaded"
    )


def float_type(type_: Attribute) -> Attribute:
    """Returns a kernel-level float type; TypeError for bf16, which the device cannot compute with."""
    if type(scalar_of(type_)) is BFloat16Type:
        raise TypeError("there is no arithmetic on bf16; convert with arith.extf to f32 first")
    return type_
