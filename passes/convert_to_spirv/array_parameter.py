"""How a kernel reaches an array parameter: storage buffer or address, extents, element pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, UnitAttr, VectorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.aspects import Aspect
from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.kernel import KernelParameter
from ...ir.dialects.spirv.attributes import MemoryAccessAttr
from ...ir.dialects.spirv.enums import Decoration, MemoryAccess, StorageClass
from ...ir.dialects.spirv.types import element_type_at
from ...ir.narrowing import is_vector_type
from ...ir.target_env import BindingModel
from .argument_block import ArgumentBlock, FieldKey, FieldKind
from .function_lowering import FunctionLowering
from .types import is_scalar, part_offset_bytes, scalar_bytes, storage_alignment, storage_bytes

_DECORATIONS: dict[str, Mapping[str, UnitAttr]] = {
    "read": {"non_writable": UnitAttr()},
    "write": {"non_readable": UnitAttr()},
    "constant": {"non_writable": UnitAttr()},
}
"""Of arrays that overlap with nothing that is written."""
_MEMBER_DECORATIONS = {
    "read": Decoration.NonWritable,
    "write": Decoration.NonReadable,
    "constant": Decoration.NonWritable,
}
"""The same for the member of their block, which makes it a type of its own."""
_ALIASED: Mapping[str, UnitAttr] = {"aliased": UnitAttr()}
"""Without it a driver may take for granted that no other buffer is the same memory (SPIR-V 1.6, 2.18.2).  It
stands alone: spirv-opt, and with it SwiftShader, merges loads of a NonWritable variable whether aliased or not."""
_PLAIN: Mapping[str, Attribute] = {}


def _aligned(size_bytes: int, *, is_ordered: bool) -> Mapping[str, Attribute]:
    """Returns what an access through an address says: its alignment, and that it must take place where barriers order
    what others see: a pointer cannot be coherent in the GLSL450 model."""
    access = MemoryAccess.Aligned | (MemoryAccess.Volatile if is_ordered else MemoryAccess.None_)
    return {
        "memory_access": MemoryAccessAttr(access),
        "alignment": IntegerAttr(size_bytes, i32),
    }


class ArrayParameter:
    """One array parameter of the kernel that is being lowered."""

    def __init__(
        self,
        fn: FunctionLowering,
        block: ArgumentBlock,
        parameter: KernelParameter,
        type_: MemRefType[Attribute],
        number: int,
        binding: int,
        *,
        index_type: Attribute = i32,
        is_ordered: bool = False,
        may_be_uniform: bool = True,
    ) -> None:
        """Describes parameter `number` of the signature, buffer number `binding`; makes nothing yet.

        `is_ordered` says that work-items may tell each other something through it.
        """
        self.index_type = index_type
        """Of extents and positions."""
        self.element_type = fn.module.types.element_of(type_)
        self.storage_type = fn.module.storage_type(
            self.element_type, is_atomic=parameter.access == "read_write"
        )
        """What the buffer holds: an integer type where floats are kept as their bits."""
        self.access: Mapping[str, Attribute] = _PLAIN
        """Properties of loads and stores of its elements."""
        self._fn = fn
        self._block = block
        self._parameter = parameter
        self._shape = type_.get_shape()
        self.number = number
        """Of the parameter, in the signature."""
        self._binding = binding
        self._base: SSAValue | None = None
        self._views: dict[int, tuple[spirv.GlobalVariableOp, SSAValue]] = {}
        """The variables of its buffer, and pointers to them, by the identity of what each holds (converted types are
        unique): elements, or vectors of them."""
        self._may_alias = parameter.may_alias or parameter.access == "read_write"
        self._is_address = fn.module.env.binding_model is BindingModel.ADDRESS
        self._counts_in_64_bits = index_type is not i32 or Aspect.VK_INT64 in fn.module.env.optional_aspects
        self._storage_class = (
            StorageClass.PhysicalStorageBuffer if self._is_address else StorageClass.StorageBuffer
        )
        self._uniform_view = (
            _uniform_view(self.storage_type)
            if parameter.access == "constant" and may_be_uniform and not self._is_address
            else None
        )
        self.is_uniform = self._uniform_view is not None
        """Whether it is a uniform buffer: constant buffers of 4 bytes an element and of 16."""
        self._last: SSAValue | None = None
        self._is_ordered = is_ordered
        if self._is_address:
            alignment = storage_alignment(self.element_type)
            self.access = _aligned(alignment, is_ordered=self._is_ordered)

    def extent(self, dimension: int) -> SSAValue:
        """Returns the extent along a dimension, slowest first."""
        if not 0 <= dimension < len(self._shape):
            raise TypeError(
                f"'{self._parameter.name}' has {len(self._shape)} dimensions, none is number {dimension}"
            )
        known = self._shape[dimension]
        if known != DYNAMIC_INDEX:
            return self._number(known)
        return self._block.field(FieldKey(self.number, FieldKind.EXTENT, dimension), self.index_type)

    def _number(self, value: int) -> SSAValue:
        return self._fn.constant(self.index_type, value)

    def stored(self, type_: Attribute) -> Attribute:
        """Returns what the buffer holds for a scalar inside of an element: itself."""
        return type_

    def field_access(self, type_: Attribute) -> Mapping[str, Attribute]:
        """Returns the properties of loads and stores of a scalar inside of an element."""
        if not self._is_address:
            return _PLAIN
        return _aligned(scalar_bytes(type_), is_ordered=self._is_ordered)

    def element_pointer(
        self,
        indices: Sequence[SSAValue],
        path: Sequence[SSAValue] = (),
        type_: Attribute | None = None,
        *,
        is_atomic: bool = False,
    ) -> SSAValue:
        """Returns a pointer to one element, or to its part of type `type_` at `path`.

        C order: the last index is the fastest.
        """
        fn = self._fn
        pointer = fn.module.types.pointer(type_ or self.storage_type, self._storage_class)
        linear = self._position(indices, is_atomic=is_atomic)
        return self._chain(self.storage_type, linear, pointer, path)

    def _chain(
        self, held: Attribute, number: SSAValue, pointer: Attribute, path: Sequence[SSAValue] = ()
    ) -> SSAValue:
        """Returns a pointer into the buffer as an array of `held`: to element `number`, or its part at `path`."""
        fn = self._fn
        base = self._view(held)
        if self._is_address and self._counts_in_64_bits:
            # NVIDIA's driver takes positions in a runtime array for bytes in 32 bits, and wraps at 4 GiB.
            base, number = self._moved(base, number, storage_bytes(held)), fn.index(0)
        return fn.emit(spirv.AccessChainOp, (base, fn.index(0), number, *path), pointer)

    def _moved(self, base: SSAValue, number: SSAValue, stride_bytes: int) -> SSAValue:
        """Returns the address that lies `number` elements behind another."""
        fn = self._fn
        address = fn.emit(spirv.ConvertPtrToUOp, (base,), i64)
        if number.type is not i64:  # it is in range, thus not negative
            number = fn.emit(spirv.UConvertOp, (number,), i64)
        distance = fn.emit(spirv.IMulOp, (number, fn.constant(i64, stride_bytes)), i64)
        moved = fn.emit(spirv.IAddOp, (address, distance), i64)
        return fn.emit(spirv.ConvertUToPtrOp, (moved,), base.type)

    def load_uniform(
        self, indices: Sequence[SSAValue], path: Sequence[SSAValue] = (), type_: Attribute | None = None
    ) -> SSAValue:
        """Returns an element of a uniform buffer, which is an array of vectors of 16 bytes, or its part of type `type_`
        at `path`."""
        fn, vector = self._fn, self._uniform_view
        assert vector is not None, "it is no uniform buffer"
        linear = fn.resized(fn.linear(indices, self.extent), i32)
        is_whole = vector is self.storage_type
        number = linear if is_whole else fn.emit(spirv.ShiftRightLogicalOp, (linear, fn.index(2)), i32)
        held = type_ or vector
        pointer = fn.module.types.pointer(held, StorageClass.Uniform)
        chain = fn.emit(
            spirv.AccessChainOp, (self._uniform_base(vector), fn.index(0), number, *path), pointer
        )
        loaded = fn.emit(spirv.LoadOp, (chain,), held)
        if is_whole:
            return loaded
        place = fn.emit(spirv.BitwiseAndOp, (linear, fn.index(3)), i32)
        return fn.emit(spirv.VectorExtractDynamicOp, (loaded, place), self.storage_type)

    def _uniform_base(self, vector: Attribute) -> SSAValue:
        known = self._views.get(id(vector))
        if known is None:
            types = self._fn.module.types
            made = self._buffer(types.pointer(types.uniform_block(vector), StorageClass.Uniform))
            known = self._views[id(vector)] = made
        return known[1]

    def wide_pointer(self, indices: Sequence[SSAValue], width: int) -> tuple[SSAValue, Attribute]:
        """Returns a pointer to a vector of neighbouring elements, and the vector's type.

        The position of the first element in C order is a multiple of `width`, a power of two.
        """
        if self._is_address:
            raise TypeError("wide accesses need the binding model of descriptors")
        fn = self._fn
        vector = fn.type(VectorType(self.storage_type, [width]))
        pointer = fn.module.types.pointer(vector, self._storage_class)
        shift = fn.index(width.bit_length() - 1)
        number = fn.emit(spirv.ShiftRightLogicalOp, (self._fn.linear(indices, self.extent), shift), i32)
        chain = fn.emit(spirv.AccessChainOp, (self._view(vector), fn.index(0), number), pointer)
        return chain, vector

    @cached_property
    def stride_bytes(self) -> int:
        """Bytes from one element to the next."""
        return storage_bytes(self.element_type)

    @property
    def has_vector_views(self) -> bool:
        """Whether `words_pointer` can be asked for."""
        return not (self._is_address or self.is_uniform)

    def words_pointer(self, indices: Sequence[SSAValue], start: int, vector: Attribute) -> SSAValue:
        """Returns a pointer to words of an element as a vector: those from word `start` on.

        Elements are whole vectors long, and `start` is a multiple of the vector's width.
        """
        fn, size = self._fn, storage_bytes(vector)
        number = self._position(indices, is_atomic=False)
        if (count := self.stride_bytes // size) != 1:
            number = fn.emit(spirv.IMulOp, (number, self._number(count)), self.index_type)
        if start:
            first = self._number(start * 4 // size)
            number = fn.emit(spirv.IAddOp, (number, first), self.index_type)
        pointer = fn.module.types.pointer(vector, self._storage_class)
        return self._chain(vector, number, pointer)

    def bits_pointer(
        self, indices: Sequence[SSAValue], path: Sequence[SSAValue | int], field: Attribute, bits: Attribute
    ) -> SSAValue:
        """Returns a pointer to a field of an element as an integer of its width.

        A pointer has one type, and compare-exchange takes integers only: the buffer is seen as an array of them.

        Args:
            indices: of the element.
            path: to the field; numbers, or values known at run time only.
            field: its type.
            bits: the integer type.
        """
        fn = self._fn
        number = self._field_number(indices, path, field)
        pointer = fn.module.types.pointer(bits, self._storage_class)
        return self._chain(bits, number, pointer)

    def word_pointer(
        self, indices: Sequence[SSAValue], path: Sequence[SSAValue | int], field: Attribute
    ) -> tuple[SSAValue, SSAValue]:
        """Returns a pointer to the 32-bit word around a field of 8 or 16 bits, and by how many bits that is shifted.

        The buffer is seen as an array of words: it begins at one, and descriptors show whole ones.
        """
        fn, size, type_ = self._fn, scalar_bytes(field), self.index_type
        number = self._field_number(indices, path, field)
        per_word = 4 // size
        shift = self._number(per_word.bit_length() - 1)
        word = fn.emit(spirv.ShiftRightLogicalOp, (number, shift), type_)
        place = fn.resized(fn.emit(spirv.BitwiseAndOp, (number, self._number(per_word - 1)), type_), i32)
        distance = fn.emit(spirv.IMulOp, (place, fn.index(8 * size)), i32)
        pointer = fn.module.types.pointer(i32, self._storage_class)
        return self._chain(i32, word, pointer), distance

    def _field_number(
        self, indices: Sequence[SSAValue], path: Sequence[SSAValue | int], field: Attribute
    ) -> SSAValue:
        """Returns the position of a field of an element, counted in fields of its size from the buffer's begin."""
        fn, size, type_ = self._fn, scalar_bytes(field), self.index_type
        number = self._position(indices, is_atomic=True)
        if (stride := storage_bytes(self.element_type) // size) != 1:
            number = fn.emit(spirv.IMulOp, (number, self._number(stride)), type_)
        held, start = self.element_type, 0
        for step in path:
            if isinstance(step, int):
                start += part_offset_bytes(held, step)
            else:
                distance = self._number(part_offset_bytes(held, 1) // size)
                part = fn.emit(spirv.IMulOp, (fn.resized(step, type_), distance), type_)
                number = fn.emit(spirv.IAddOp, (number, part), type_)
            inner = element_type_at(held, step if isinstance(step, int) else None)
            assert inner is not None
            held = inner
        if start:
            number = fn.emit(spirv.IAddOp, (number, self._number(start // size)), type_)
        return number

    @property
    def global_symbols(self) -> tuple[str, ...]:
        """Its variables; none where the kernel does not touch its elements, and for addresses."""
        return tuple(variable.sym_name.data for variable, _ in self._views.values())

    def _position(self, indices: Sequence[SSAValue], *, is_atomic: bool) -> SSAValue:
        """Returns the position of an element in C order, inside of the array where no robustness covers it: in
        addresses, and in what changes memory atomically on some drivers."""
        linear = self._fn.linear(indices, self.extent)
        if not (self._is_address or (is_atomic and self._fn.module.env.clamps_atomics)):
            return linear
        # As unsigned numbers, negative positions are the largest: one minimum clamps both ends.
        return self._fn.emit(spirv.GLUMinOp, (linear, self._last_position()), self.index_type)

    def _last_position(self) -> SSAValue:
        """Returns the position of the last element, 0 of an empty array: its memory has room for one."""
        if self._last is None:
            fn = self._fn

            def first(kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
                return fn.first(create(kind, operands=(left, right), result_types=(self.index_type,)))

            count = self.extent(0)
            for dimension in range(1, len(self._shape)):
                count = first(spirv.IMulOp, count, self.extent(dimension))
            one = self._number(1)
            self._last = first(spirv.ISubOp, first(spirv.GLUMaxOp, count, one), one)
        return self._last

    def _view(self, held: Attribute) -> SSAValue:
        """Returns a pointer to the buffer as an array of `held`."""
        assert not self.is_uniform, "the launch binds a uniform buffer, which has one view"
        if self._is_address:
            return self._addressed(held)
        known = self._views.get(id(held))
        if known is not None:
            return known[1]
        types = self._fn.module.types
        access = None if self._may_alias else _MEMBER_DECORATIONS[self._parameter.access]
        made = self._buffer(types.pointer(types.buffer_block(held, access), self._storage_class))
        self._views[id(held)] = made
        if len(self._views) > 1 and self._parameter.access != "read":
            for variable, _ in self._views.values():  # they are the same memory
                variable.attributes.pop("non_readable", None)
                variable.attributes.update(_ALIASED)
        return made[1]

    def _addressed(self, held: Attribute) -> SSAValue:
        """Returns the buffer's address as one of an array of `held`; the argument block has it for what came first."""
        types = self._fn.module.types
        pointer = types.pointer(types.buffer_block(held), self._storage_class)
        if self._base is None:
            self._base = self._block.field(FieldKey(self.number, FieldKind.ADDRESS), pointer)
        if self._base.type == pointer:
            return self._base
        return self._fn.emit(spirv.BitcastOp, (self._base,), pointer)

    def _buffer(self, pointer: spirv.PointerType) -> tuple[spirv.GlobalVariableOp, SSAValue]:
        fn = self._fn
        symbol = fn.module.reserve(f"{fn.name}.{self._parameter.name}")
        variable = spirv.GlobalVariableOp(symbol, pointer, binding=self._binding, descriptor_set=0)
        variable.attributes.update(_ALIASED if self._may_alias else _DECORATIONS[self._parameter.access])
        if self._is_ordered:
            # In the GLSL450 model barriers and fences order what others see of coherent memory only.
            variable.attributes["coherent"] = UnitAttr()
        variable.location = fn.location
        fn.module.add_global(variable)
        base = fn.first(
            create(
                spirv.AddressOfOp, properties={"variable": fn.module.symbol(symbol)}, result_types=(pointer,)
            )
        )
        return variable, base


def _uniform_view(storage_type: Attribute) -> Attribute | None:
    """Returns the vector of 16 bytes that a uniform buffer of such elements is made of; None where there is none.

    Vulkan wants elements of arrays in uniform buffers 16 bytes apart, unless a device has uniformBufferStandardLayout.
    """
    if is_vector_type(storage_type):
        return storage_type if storage_bytes(storage_type) == 16 else None
    return (
        VectorType(storage_type, [4]) if is_scalar(storage_type) and scalar_bytes(storage_type) == 4 else None
    )
