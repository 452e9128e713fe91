"""Types of a module by id, with the layout that their decorations give."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntegerType,
    Signedness,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...ir.dialects.spirv.enums import (
    CooperativeMatrixUse,
    Decoration,
    Dim,
    ImageArrayedInfo,
    ImageDepthInfo,
    ImageFormat,
    ImageSamplerUseInfo,
    ImageSamplingInfo,
    Scope,
    StorageClass,
)
from ...ir.dialects.spirv.image_types import ImageShape, ImageType, SampledImageType, SamplerType
from ...ir.dialects.spirv.matrix_types import CooperativeMatrixType, MatrixType
from ...ir.dialects.spirv.recursive_structs import written_out
from ...ir.dialects.spirv.scalars import is_float, is_scalar
from ...ir.dialects.spirv.types import (
    ArrayType,
    PointerType,
    RuntimeArrayType,
    SpecArrayType,
    StructMember,
    StructShape,
    StructType,
)
from ...ir.narrowing import is_vector_type
from ..binary import Instruction
from ..module_view import ModuleView
from ..tables import Decoration as AnyDecoration
from ..tables import NewerOp, Op, enumerant_name
from .errors import DeserialisationError, unreadable
from .recursive_types import recursive_structs

MAX_NESTING: Final = 64
MAX_PARTS: Final = 1 << 13
"""Types within types are written out in text; hostile ones, made of each other, would grow without end."""

_FLOATS = {16: Float16Type, 32: Float32Type, 64: Float64Type}
_IDENTIFIER = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


class TypeReader:
    """Types by id; each is read when it is first asked for, since pointers may be declared ahead."""

    def __init__(
        self,
        view: ModuleView,
        integer: Callable[[int], int | None],
        symbol: Callable[[int], str | None],
    ) -> None:
        """`integer` gives the value of a plain constant, `symbol` the name of a specialization constant."""
        self._view = view
        self._integer = integer
        self._symbol = symbol
        self._types: dict[int, Attribute] = {}
        self._parts: dict[int, int] = {}
        self._active: list[int] = []
        self._structs: dict[str, int] = {}
        self._with_member_names: frozenset[int] | None = None
        self._recursive = recursive_structs(view)
        self._whole: dict[int, Attribute] = {}
        """Types of modules with structs that point to themselves, as they are outside of these."""
        self._bodies: dict[str, StructShape] = {}

    def type(self, number: int, user: Instruction | None = None) -> Attribute:
        """Returns the type with an id; raises DeserialisationError where the dialect has none such."""
        if not self._recursive:
            return self._part(number, user)
        known = self._whole.get(number)
        if known is None:
            part = self._part(number, user)
            try:
                known = self._whole[number] = written_out(part, self._recursive_bodies())
            except VerifyException as error:
                unreadable(str(error), self._view.definitions.get(number))
        return known

    def _recursive_bodies(self) -> dict[str, StructShape]:
        if not self._bodies:
            for number in self._recursive:
                body = self._read(number, self._view.definitions[number])
                assert isinstance(body, StructType)
                self._bodies[body.identifier] = body.data
        return self._bodies

    def _part(self, number: int, user: Instruction | None = None) -> Attribute:
        """Returns a type in which structs that point to themselves are references."""
        known = self._types.get(number)
        if known is not None:
            if self._active:
                self._parts[self._active[-1]] += self._parts[number]
            return known
        item = self._view.definitions.get(number)
        if item is None:
            unreadable(f"%{number} is no type", user)
        if number in self._recursive:
            self._parts[number] = 1
            found = self._types[number] = StructType.reference(self._identifier(number))
            return found
        found = self._types[number] = self._read(number, item)
        return found

    def _read(self, number: int, item: Instruction) -> Attribute:
        reader = _READERS.get(item.opcode)
        if reader is None:
            unreadable("the dialect has no such type", item)
        if number in self._active:
            unreadable("a type that contains itself is none", item)
        if len(self._active) >= MAX_NESTING:
            unreadable(f"types are nested more than {MAX_NESTING} deep", item)
        self._active.append(number)
        self._parts[number] = 1
        try:
            found = reader(self, item)
        except DeserialisationError:
            raise  # of a type within it
        except (VerifyException, ValueError, IndexError) as error:
            unreadable(str(error) or "its operands are malformed", item)
        finally:
            self._active.pop()
        if self._parts[number] > MAX_PARTS:
            unreadable(f"the type has more than {MAX_PARTS} parts", item)
        if self._active:
            self._parts[self._active[-1]] += self._parts[number]
        return found

    def pointer(self, number: int, user: Instruction) -> PointerType:
        """Returns a type that has to be a pointer."""
        found = self.type(number, user)
        if not isinstance(found, PointerType):
            unreadable(f"expected a pointer type, found {found}", user)
        return found

    def is_void(self, number: int) -> bool:
        """Whether an id is OpTypeVoid."""
        item = self._view.definitions.get(number)
        return item is not None and item.opcode == Op.TypeVoid

    def function(self, number: int, user: Instruction) -> FunctionType:
        """Returns a function's type."""
        item = self._view.definitions.get(number)
        if item is None or item.opcode != Op.TypeFunction or not item.operands:
            unreadable(f"%{number} is no OpTypeFunction", user)
        result, *inputs = item.operands
        outputs = [] if self.is_void(result) else [self.type(result, item)]
        return FunctionType.from_lists([self.type(n, item) for n in inputs], outputs)

    # One method a type instruction

    def _bool(self, _: Instruction) -> Attribute:
        return IntegerType(1)

    def _int(self, item: Instruction) -> Attribute:
        width, is_signed = item.operands[:2]
        if width not in (8, 16, 32, 64):
            unreadable(f"an integer has 8, 16, 32 or 64 bits, found {width}", item)
        return IntegerType(width, Signedness.SIGNED if is_signed else Signedness.SIGNLESS)

    def _float(self, item: Instruction) -> Attribute:
        if item.operands == (16, 0):  # FP encoding BFloat16KHR
            return BFloat16Type()
        kind = _FLOATS.get(item.operands[0]) if len(item.operands) == 1 else None
        if kind is None:
            unreadable(f"there is no such float: {' '.join(map(str, item.operands))}", item)
        return kind()

    def _vector(self, item: Instruction) -> Attribute:
        element, count = item.operands[:2]
        scalar = self._part(element, item)
        if not is_scalar(scalar) or count not in (2, 3, 4):
            unreadable(f"a vector has 2, 3 or 4 scalars, found {count} of {scalar}", item)
        return VectorType(scalar, [count])

    def _matrix(self, item: Instruction) -> Attribute:
        column = self._part(item.operands[0], item)
        if not is_vector_type(column) or not is_float(column.element_type):
            unreadable(f"a column of a matrix is a vector of floats, found {column}", item)
        return MatrixType.get(column, item.operands[1])

    def _array(self, item: Instruction) -> Attribute:
        element, length = self._part(item.operands[0], item), item.operands[1]
        stride = self._stride(item)
        count = self._integer(length)
        if count is not None:
            return ArrayType.get(element, count, stride)
        symbol = self._symbol(length)
        if symbol is None:
            unreadable(f"its length %{length} is no constant", item)
        if stride:
            unreadable("an array in a buffer has a length that is no specialization constant", item)
        return SpecArrayType.get(element, symbol)

    def _runtime_array(self, item: Instruction) -> Attribute:
        return RuntimeArrayType.get(self._part(item.operands[0], item), self._stride(item))

    def _stride(self, item: Instruction) -> int:
        found = self._view.decoration(item.result_id or 0, AnyDecoration.ArrayStride)
        return found[0] if found else 0

    def _struct(self, item: Instruction) -> Attribute:
        number = item.result_id or 0
        if self._view.is_decorated(number, AnyDecoration.BufferBlock):
            unreadable("BufferBlock is not supported: use storage class StorageBuffer (SPIR-V 1.3)", item)
        members = [self._member(item, index, member) for index, member in enumerate(item.operands)]
        return StructType.get(members, self._identifier(number))

    def _member(self, item: Instruction, index: int, number: int) -> StructMember:
        offset: int | None = None
        decorations: list[tuple[Decoration, int | None]] = []
        for use in self._view.member_uses(item.result_id or 0, index):
            if use.decoration == AnyDecoration.UserSemantic:
                continue
            if use.decoration not in Decoration.__members__.values() or len(use.operands) > 1:
                name = enumerant_name("Decoration", use.decoration)
                unreadable(f"member {index} has the decoration {name}, which the dialect has not", item)
            value = use.operands[0] if use.operands else None
            if use.decoration == Decoration.Offset:
                offset = value
            else:
                decorations.append((Decoration(use.decoration), value))
        return StructMember(self._part(number, item), offset, tuple(decorations))

    def _identifier(self, number: int) -> str:
        """The struct's name; of several with one name the later get a number: MLIR tells them apart by name."""
        name = self._view.names.get(number, "")
        if not _IDENTIFIER.fullmatch(name):
            if number not in self._recursive and number not in self._structs_with_member_names():
                return ""
            name = f"id_{number}"
        free = name
        suffix = 0
        while self._structs.setdefault(free, number) != number:
            free = f"{name}_{suffix}"
            suffix += 1
        return free

    def _structs_with_member_names(self) -> frozenset[int]:
        if self._with_member_names is None:
            self._with_member_names = frozenset(number for number, _ in self._view.member_names)
        return self._with_member_names

    def member_names(self) -> dict[str, list[str]]:
        """Returns, by struct, the names of the members of the types that were asked for, in so far as there are any."""
        found: dict[str, list[str]] = {}
        for identifier, number in self._structs.items():
            count = len(self._view.definitions[number].operands)
            names = [self._view.member_names.get((number, index), "") for index in range(count)]
            if any(names):
                found[identifier] = names
        return found

    def _pointer(self, item: Instruction) -> Attribute:
        storage_class, pointee = item.operands[:2]
        return PointerType.get(self._part(pointee, item), StorageClass(storage_class))

    def _image(self, item: Instruction) -> Attribute:
        element, dim, depth, arrayed, sampling, use, image_format = item.operands[:7]
        if len(item.operands) > 7:
            unreadable("an access qualifier belongs to OpenCL", item)
        shape = ImageShape(
            element=self._part(element, item),
            dim=Dim(dim),
            depth=ImageDepthInfo(depth),
            arrayed=ImageArrayedInfo(arrayed),
            sampling=ImageSamplingInfo(sampling),
            sampler_use=ImageSamplerUseInfo(use),
            format=ImageFormat(image_format),
        )
        return ImageType(shape)

    def _sampled_image(self, item: Instruction) -> Attribute:
        return SampledImageType(self._part(item.operands[0], item))

    def _sampler(self, _: Instruction) -> Attribute:
        return SamplerType()

    def _cooperative_matrix(self, item: Instruction) -> Attribute:
        element, scope, rows, columns, use = item.operands
        return CooperativeMatrixType.get(
            self._number(rows, item),
            self._number(columns, item),
            self._part(element, item),
            Scope(found) if isinstance(found := self._number(scope, item), int) else found,
            CooperativeMatrixUse(found) if isinstance(found := self._number(use, item), int) else found,
        )

    def _number(self, number: int, user: Instruction) -> int | str:
        """Returns a plain constant, or the symbol of a specialization constant."""
        found = self._integer(number)
        if found is None:
            found = self._symbol(number)
        if found is None:
            unreadable(f"%{number} is no constant", user)
        return found


_READERS: dict[int, Callable[[TypeReader, Instruction], Attribute]] = {
    Op.TypeBool: TypeReader._bool,  # pyright: ignore[reportPrivateUsage]
    Op.TypeInt: TypeReader._int,  # pyright: ignore[reportPrivateUsage]
    Op.TypeFloat: TypeReader._float,  # pyright: ignore[reportPrivateUsage]
    Op.TypeVector: TypeReader._vector,  # pyright: ignore[reportPrivateUsage]
    Op.TypeMatrix: TypeReader._matrix,  # pyright: ignore[reportPrivateUsage]
    Op.TypeArray: TypeReader._array,  # pyright: ignore[reportPrivateUsage]
    Op.TypeRuntimeArray: TypeReader._runtime_array,  # pyright: ignore[reportPrivateUsage]
    Op.TypeStruct: TypeReader._struct,  # pyright: ignore[reportPrivateUsage]
    Op.TypePointer: TypeReader._pointer,  # pyright: ignore[reportPrivateUsage]
    Op.TypeImage: TypeReader._image,  # pyright: ignore[reportPrivateUsage]
    Op.TypeSampledImage: TypeReader._sampled_image,  # pyright: ignore[reportPrivateUsage]
    Op.TypeSampler: TypeReader._sampler,  # pyright: ignore[reportPrivateUsage]
    NewerOp.TypeCooperativeMatrixKHR: TypeReader._cooperative_matrix,  # pyright: ignore[reportPrivateUsage]
}
