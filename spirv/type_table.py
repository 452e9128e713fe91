"""Types and constants of a module, each emitted once, with their layout decorations.

Ids are found by the identity of the attribute first: hashing a nested type on every operation would cost
more than all the rest of emission.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntegerType,
    NoneType,
    Signedness,
    SymbolRefAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute

from ..ir.config import config
from ..ir.dialects import spirv
from ..ir.dialects.spirv.attributes import NullAttr
from ..ir.dialects.spirv.constants import nested_array
from ..ir.dialects.spirv.enums import Decoration, StorageClass
from ..ir.dialects.spirv.matrix_types import CooperativeMatrixType, MatrixType
from ..ir.dialects.spirv.scalars import component_count
from ..ir.dialects.spirv.types import (
    ArrayType,
    PointerType,
    RuntimeArrayType,
    SpecArrayType,
    StructType,
    element_type_at,
)
from ..ir.narrowing import is_array_attribute, is_dense, is_integer_type, is_scalar_attribute, is_vector_type
from .binary import ModuleBuilder, Section
from .layout import is_laid_out, layout_fault
from .literals import UnemittableError, scalar_words
from .tables import Capability as Cap
from .tables import NewerCapability, NewerOp, Op

_FLOAT_WIDTHS: dict[type[Attribute], int] = {
    Float16Type: 16,
    BFloat16Type: 16,
    Float32Type: 32,
    Float64Type: 64,
}
_BLOCK_STORAGE_CLASSES = (StorageClass.StorageBuffer, StorageClass.PushConstant, StorageClass.Uniform)


class TypeTable:
    """Ids of types and constants; collects the capabilities that wide types need.

    8- and 16-bit types need Int8, Int16 or Float16 only where something computes with them: `small_types`
    says that there are any, and `capabilities` decides.
    """

    def __init__(
        self, builder: ModuleBuilder, capabilities: set[int], constant_id: Callable[[str], int]
    ) -> None:
        self._builder = builder
        self._constant_id = constant_id
        self.name_struct: Callable[[int, StructType], None] = lambda _number, _type: None
        """Writes the names of a struct, and of its members, whose type has this id; `EmitContext` sets it."""
        self._capabilities = capabilities
        self._by_identity: dict[int, int] = {}
        self._kept: list[Attribute] = []
        self._structs: dict[tuple[Attribute, bool], int] = {}
        self._ahead: dict[Attribute, int | None] = {}
        """Structs that are being written, each with the pointer to it that its own members have, if any."""
        self._parts: set[int] = set()
        """Ids of what structs and arrays consist of."""
        self._addressed: set[int] = set()
        """Ids of the structs that buffer addresses point to."""
        self._structural: dict[tuple[int, ...], int] = {}
        self._strides: dict[int, int] = {}
        """Of pointers, by the ids of their types."""
        self._constants: dict[tuple[int, ...], int] = {}
        self._constants_by_identity: dict[tuple[int, int], int] = {}
        self.small_types: set[Attribute] = set()
        """Scalar types of 8 and 16 bits that occur."""

    def id(self, type_: Attribute) -> int:
        """Returns the id of a type; UnemittableError where SPIR-V has no such type."""
        known = self._by_identity.get(id(type_))
        if known is None:
            known = self._by_identity[id(type_)] = self._id_of(type_, False)
            self._kept.append(type_)  # an id() is only valid while its object lives
        return known

    def void(self) -> int:
        """Returns the id of OpTypeVoid."""
        return self._unique(Op.TypeVoid)

    def function(self, type_: FunctionType) -> int:
        """Returns the id of a function's type."""
        outputs = type_.outputs.data
        result = self.id(outputs[0]) if outputs else self.void()
        return self._unique(Op.TypeFunction, result, *(self.id(t) for t in type_.inputs.data))

    def variable_pointer(self, type_: PointerType) -> int:
        """Returns the id of a global variable's type, whose struct is a Block where the host sees it."""
        storage_class = type_.storage_class.data
        if not (storage_class in _BLOCK_STORAGE_CLASSES or is_laid_out(type_)):
            return self.id(type_)
        pointer = self._pointer(storage_class, self._blocks(storage_class, type_.pointee))
        self._by_identity[id(type_)] = pointer
        self._kept.append(type_)
        return pointer

    def _blocks(self, storage_class: StorageClass, type_: Attribute) -> int:
        """Returns the id of a block, or of an array of blocks: several bindings."""
        if isinstance(type_, StructType):
            return self._block(type_)
        if isinstance(type_, ArrayType) and isinstance(type_.element_type, StructType):
            return self._unique(Op.TypeArray, self._block(type_.element_type), self.u32(type_.count.data))
        if isinstance(type_, RuntimeArrayType) and isinstance(type_.element_type, StructType):
            return self._unique(Op.TypeRuntimeArray, self._block(type_.element_type))
        raise UnemittableError(f"a variable in {storage_class.name} holds a struct, found {type_}")

    def _block(self, type_: StructType, *, is_variable: bool = True) -> int:
        fault = layout_fault(type_) if config.verify else None  # SPIRV-Tools finds it as well, in other words
        if fault is not None:
            raise UnemittableError(fault)
        return self._id_of(type_, is_variable)

    def _id_of(self, type_: Attribute, is_block: bool) -> int:
        if type(type_) is not StructType:
            encode = _TYPE_ENCODERS.get(type_.name)
            if encode is None:
                raise UnemittableError(f"SPIR-V has no type {type_}")
            return encode(self, type_)
        # All others are told by their parts' ids; a struct also by the decorations of its members.
        key = (type_, is_block)
        known = self._structs.get(key)
        if known is None:
            known = self._structs[key] = self._new_struct(type_) if is_block else self._linked_struct(type_)
            if is_block:
                self._decorate(known, Decoration.Block)
        return known

    def _physical_pointer(self, pointee: StructType) -> int:
        """Returns the id of a pointer to a struct, declared ahead where it is a part of that struct."""
        storage_class = StorageClass.PhysicalStorageBuffer
        if pointee not in self._ahead:
            struct = self._block(pointee, is_variable=False)
            self._addressed.add(struct)
            return self._pointer(storage_class, struct)
        known = self._ahead[pointee]
        if known is None:
            known = self._ahead[pointee] = self._builder.new_id()
            self._builder.add(Section.GLOBALS, Op.TypeForwardPointer, (known, storage_class))
        return known

    def decorate_addressed_structs(self) -> None:
        """Makes blocks of what buffer addresses point to, when all types are known: no part of another is a block."""
        for struct in sorted(self._addressed - self._parts):
            self._decorate(struct, Decoration.Block)

    def _unique(self, opcode: int, *operands: int) -> int:
        known = self._structural.get((opcode, *operands))
        if known is None:
            known = self._builder.add_result(Section.GLOBALS, opcode, operands)
            self._structural[opcode, *operands] = known
        return known

    def _decorate(self, target: int, decoration: Decoration, *values: int) -> None:
        self._builder.add(Section.ANNOTATIONS, Op.Decorate, (target, decoration, *values))

    def _pointer(self, storage_class: int, pointee: int) -> int:
        return self._unique(Op.TypePointer, storage_class, pointee)

    # Encoders of types

    def _integer(self, type_: Attribute) -> int:
        assert is_integer_type(type_)
        width = type_.width.data
        if width == 1:
            return self._unique(Op.TypeBool)
        if width not in (8, 16, 32, 64):
            raise UnemittableError(f"SPIR-V has no integer of {width} bits")
        if width == 64:
            self._capabilities.add(Cap.Int64)
        elif width < 32:
            self.small_types.add(type_)
        return self._unique(Op.TypeInt, width, int(type_.signedness.data is Signedness.SIGNED))

    def _float(self, type_: Attribute) -> int:
        width = _FLOAT_WIDTHS[type(type_)]
        if isinstance(type_, BFloat16Type):
            self._capabilities.add(NewerCapability.BFloat16TypeKHR)
            return self._unique(Op.TypeFloat, width, 0)  # the encoding BFloat16KHR
        if width == 64:
            self._capabilities.add(Cap.Float64)
        elif width == 16:
            self.small_types.add(type_)
        return self._unique(Op.TypeFloat, width)

    def _vector(self, type_: Attribute) -> int:
        assert is_vector_type(type_)
        shape = type_.get_shape()
        if len(shape) != 1 or shape[0] not in (2, 3, 4):
            raise UnemittableError(f"a SPIR-V vector has 2, 3 or 4 components, found {type_}")
        return self._unique(Op.TypeVector, self.id(type_.element_type), shape[0])

    def _array(self, type_: Attribute) -> int:
        assert isinstance(type_, ArrayType)
        return self._strided(
            (Op.TypeArray, self._part(type_.element_type), self.u32(type_.count.data)), type_.stride.data
        )

    def _spec_array(self, type_: Attribute) -> int:
        assert isinstance(type_, SpecArrayType)
        length = self._constant_id(type_.length.root_reference.data)
        return self._unique(Op.TypeArray, self._part(type_.element_type), length)

    def _matrix(self, type_: Attribute) -> int:
        assert isinstance(type_, MatrixType)
        return self._unique(Op.TypeMatrix, self.id(type_.column_type), type_.count.data)

    def _cooperative_matrix(self, type_: Attribute) -> int:
        assert isinstance(type_, CooperativeMatrixType)
        self._capabilities.add(NewerCapability.CooperativeMatrixKHR)
        if isinstance(type_.element_type, BFloat16Type):
            self._capabilities.add(NewerCapability.BFloat16CooperativeMatrixKHR)
        numbers = [
            self._constant_id(part.root_reference.data)
            if isinstance(part, SymbolRefAttr)
            else self.u32(part.data)
            for part in (type_.scope, type_.rows, type_.columns, type_.use)
        ]
        return self._unique(NewerOp.TypeCooperativeMatrixKHR, self.id(type_.element_type), *numbers)

    def _image(self, type_: Attribute) -> int:
        from .image_capabilities import image_capabilities

        assert isinstance(type_, spirv.ImageType)
        shape = type_.data
        self._capabilities.update(image_capabilities(type_))
        numbers = (shape.dim, shape.depth, shape.arrayed, shape.sampling, shape.sampler_use, shape.format)
        return self._unique(Op.TypeImage, self.id(shape.element), *map(int, numbers))

    def _sampled_image(self, type_: Attribute) -> int:
        assert isinstance(type_, spirv.SampledImageType)
        return self._unique(Op.TypeSampledImage, self.id(type_.image_type))

    def _sampler(self, _: Attribute) -> int:
        return self._unique(Op.TypeSampler)

    def _runtime_array(self, type_: Attribute) -> int:
        assert isinstance(type_, RuntimeArrayType)
        return self._strided((Op.TypeRuntimeArray, self._part(type_.element_type)), type_.stride.data)

    def _strided(self, words: tuple[int, ...], stride: int) -> int:
        # The stride is a decoration, so arrays that differ only in it need types of their own.
        key = (*words, -stride)
        known = self._structural.get(key)
        if known is None:
            known = self._builder.add_result(Section.GLOBALS, words[0], words[1:])
            self._structural[key] = known
            if stride:
                self._decorate(known, Decoration.ArrayStride, stride)
        return known

    def _linked_struct(self, type_: StructType) -> int:
        """Writes a struct, and behind it the pointer to it that its own members have, if any."""
        self._ahead[type_] = None
        result = self._new_struct(type_)
        pointer = self._ahead.pop(type_)
        if pointer is not None:
            words = (StorageClass.PhysicalStorageBuffer, result)
            self._structural[Op.TypePointer, *words] = pointer
            self._builder.add(Section.GLOBALS, Op.TypePointer, words, result_id=pointer)
            self._addressed.add(result)
        return result

    def _new_struct(self, type_: StructType) -> int:
        if type_.data.is_reference:
            raise UnemittableError(f"no struct {type_.identifier} stands around {type_}")
        elements = [element_type_at(type_, index) for index in range(len(type_.members))]
        members = [self._part(element) for element in elements if element is not None]
        result = self._builder.add_result(Section.GLOBALS, Op.TypeStruct, members)
        self.name_struct(result, type_)
        for index, member in enumerate(type_.members):
            if member.offset is not None:
                self._decorate_member(result, index, Decoration.Offset, member.offset)
            for decoration, value in member.decorations:
                self._decorate_member(result, index, decoration, *(() if value is None else (value,)))
        return result

    def _part(self, type_: Attribute) -> int:
        """Returns the id of a type that another consists of."""
        found = self.id(type_)
        self._parts.add(found)
        return found

    def _decorate_member(self, target: int, index: int, decoration: int, *values: int) -> None:
        self._builder.add(Section.ANNOTATIONS, Op.MemberDecorate, (target, index, decoration, *values))

    def _pointer_type(self, type_: Attribute) -> int:
        assert isinstance(type_, PointerType)
        storage_class = type_.storage_class.data
        if storage_class is StorageClass.PhysicalStorageBuffer:
            self._capabilities.add(Cap.PhysicalStorageBufferAddresses)
            if isinstance(type_.pointee, StructType):
                return self._physical_pointer(type_.pointee)
        # A pointer to a whole buffer, passed to a function, has the type of the buffer's variable.
        pointee = type_.pointee
        has_blocks = storage_class in _BLOCK_STORAGE_CLASSES or storage_class is StorageClass.Workgroup
        may_be_block = has_blocks and isinstance(pointee, StructType)
        block = self._structs.get((pointee, True)) if may_be_block else None
        return self._pointer(storage_class, block or self.id(pointee))

    def give_stride(self, type_: PointerType, stride: int) -> None:
        """Says how many bytes apart the elements lie that pointers of a type are moved over."""
        number = self.id(type_)
        known = self._strides.get(number)
        if known is None:
            self._strides[number] = stride
            self._decorate(number, Decoration.ArrayStride, stride)
        elif known != stride:
            raise UnemittableError(f"{type_} has a stride of {known} bytes elsewhere, here one of {stride}")

    # Constants

    def u32(self, value: int) -> int:
        """Returns the id of a 32-bit integer constant."""
        return self._constant((Op.Constant, self.id(i32), value & 0xFFFFFFFF))

    def constant(self, value: Attribute, type_: Attribute) -> int:
        """Returns the id of a constant; UnemittableError where `value` is none of `type_`."""
        key = (id(value), id(type_))
        known = self._constants_by_identity.get(key)
        if known is None:
            known = self._constants_by_identity[key] = self._constant_of(value, type_)
            self._kept += (value, type_)
        return known

    def _constant_of(self, value: Attribute, type_: Attribute) -> int:
        if is_scalar_attribute(value):
            return self._constant(scalar_words(value, self.id(type_)))
        if isinstance(value, NullAttr):
            return self._constant((Op.ConstantNull, self.id(type_)))
        if is_array_attribute(value) and isinstance(
            type_, ArrayType | StructType | MatrixType | CooperativeMatrixType
        ):
            elements = [element_type_at(type_, index) for index in range(len(value.data))]
            return self._composite(value.data, [e for e in elements if e is not None], type_)
        if is_dense(value) and isinstance(type_, ArrayType):
            return self._constant_of(nested_array(value), type_)
        if isinstance(value, DenseIntOrFPElementsAttr) and is_vector_type(type_):
            elements = list(value.iter_attrs())
            if len(elements) == 1:  # a splat
                elements *= component_count(type_)
            return self._composite(elements, [type_.element_type] * len(elements), type_)
        raise UnemittableError(f"{value} is no constant of type {type_}")

    def _composite(self, values: Sequence[Attribute], types: Sequence[Attribute], type_: Attribute) -> int:
        parts = [self._constant_of(value, element) for value, element in zip(values, types, strict=True)]
        return self._constant((Op.ConstantComposite, self.id(type_), *parts))

    def undef(self, type_: Attribute) -> int:
        """Returns the id of an undefined value of a type."""
        return self._constant((Op.Undef, self.id(type_)))

    def _constant(self, words: tuple[int, ...]) -> int:
        known = self._constants.get(words)
        if known is None:
            known = self._builder.add_result(Section.GLOBALS, words[0], words[2:], result_type=words[1])
            self._constants[words] = known
        return known


_TYPE_ENCODERS: dict[str, Callable[[TypeTable, Attribute], int]] = {
    IntegerType.name: TypeTable._integer,  # pyright: ignore[reportPrivateUsage]
    Float16Type.name: TypeTable._float,  # pyright: ignore[reportPrivateUsage]
    BFloat16Type.name: TypeTable._float,  # pyright: ignore[reportPrivateUsage]
    Float32Type.name: TypeTable._float,  # pyright: ignore[reportPrivateUsage]
    Float64Type.name: TypeTable._float,  # pyright: ignore[reportPrivateUsage]
    VectorType.name: TypeTable._vector,  # pyright: ignore[reportPrivateUsage]
    ArrayType.name: TypeTable._array,  # pyright: ignore[reportPrivateUsage]
    MatrixType.name: TypeTable._matrix,  # pyright: ignore[reportPrivateUsage]
    CooperativeMatrixType.name: TypeTable._cooperative_matrix,  # pyright: ignore[reportPrivateUsage]
    SpecArrayType.name: TypeTable._spec_array,  # pyright: ignore[reportPrivateUsage]
    RuntimeArrayType.name: TypeTable._runtime_array,  # pyright: ignore[reportPrivateUsage]
    PointerType.name: TypeTable._pointer_type,  # pyright: ignore[reportPrivateUsage]
    "spirv.image": TypeTable._image,  # pyright: ignore[reportPrivateUsage]
    "spirv.sampled_image": TypeTable._sampled_image,  # pyright: ignore[reportPrivateUsage]
    "spirv.sampler": TypeTable._sampler,  # pyright: ignore[reportPrivateUsage]
    NoneType.name: lambda table, _: table.void(),
}
"""By the name of the type: those of images are imported where a kernel has any."""
