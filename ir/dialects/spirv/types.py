"""Pointers, arrays and structs of the spirv dialect, in upstream MLIR's syntax; two modules have matrices and images.

Scalars and vectors are builtin types (`i32`, `vector<4xf32>`).  Strides and offsets are in bytes; 0 and None
mean "no layout", as upstream has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import (
    IndexType,
    IntAttr,
    IntegerType,
    NoneType,
    SymbolRefAttr,
    VectorType,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...attributes import attribute, number_attribute
from ...narrowing import is_integer_type, is_vector_type
from .attributes import StorageClassAttr, parse_enumerant
from .enums import Decoration, StorageClass
from .matrix_types import CooperativeMatrixType, MatrixType
from .scalars import component_count, is_spirv_type


def _check_part(what: str, type_: Attribute) -> None:
    # Kernel-level modules have indices, and void is what nothing is known of.
    if not is_spirv_type(type_) and not isinstance(type_, IndexType | NoneType):
        raise VerifyException(f"{what} what SPIR-V has, found {type_}")


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer: `!spirv.ptr<f32, StorageBuffer>`."""

    name = "spirv.ptr"

    pointee: Attribute
    storage_class: StorageClassAttr

    def verify(self) -> None:
        _check_part("a pointer points to", self.pointee)

    @classmethod
    def get(cls, pointee: Attribute, storage_class: StorageClass) -> PointerType:
        """Returns the pointer type to `pointee` in `storage_class`."""
        return cls(pointee, StorageClassAttr(storage_class))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            parser.parse_punctuation(",")
            return pointee, StorageClassAttr(parse_enumerant(parser, StorageClass))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            printer.print_string(f", {self.storage_class.data.name}")


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """An array of known length: `!spirv.array<3 x f32>`, `!spirv.array<3 x f32, stride=4>`."""

    name = "spirv.array"

    element_type: Attribute
    count: IntAttr
    stride: IntAttr
    """Bytes from one element to the next; 0: no explicit layout."""

    @classmethod
    def get(cls, element_type: Attribute, count: int, stride_bytes: int = 0) -> ArrayType:
        """Returns the type of `count` elements."""
        return cls(element_type, IntAttr(count), IntAttr(stride_bytes))

    def verify(self) -> None:
        if self.count.data < 1:
            raise VerifyException(f"array length is at least 1, found {self.count.data}")
        _check_part("an array holds", self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            count = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            return parser.parse_type(), IntAttr(count), _parse_stride(parser)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count.data} x ")
            printer.print_attribute(self.element_type)
            _print_stride(printer, self.stride)


@irdl_attr_definition
class SpecArrayType(ParametrizedAttribute, TypeAttribute):
    """An array whose length is a specialization constant of the module: `!spirv.spec_array<@length x f32>`.

    Not in upstream MLIR, whose arrays have literal lengths; it has no layout, so it is no member of a buffer.
    """

    name = "spirv.spec_array"

    element_type: Attribute
    length: SymbolRefAttr
    """Names a `spirv.SpecConstant` or `spirv.SpecConstantExpression`."""

    @classmethod
    def get(cls, element_type: Attribute, length: str) -> SpecArrayType:
        """Returns the type of as many elements as the constant `length` says."""
        return cls(element_type, SymbolRefAttr(length))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            length = parser.parse_symbol_name()
            parser.parse_characters("x")
            return parser.parse_type(), SymbolRefAttr(length)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_symbol_name(self.length.root_reference.data)
            printer.print_string(" x ")
            printer.print_attribute(self.element_type)


@irdl_attr_definition
class RuntimeArrayType(ParametrizedAttribute, TypeAttribute):
    """An array whose length the bound buffer gives: `!spirv.rtarray<f32, stride=4>`."""

    name = "spirv.rtarray"

    element_type: Attribute
    stride: IntAttr
    """Bytes from one element to the next; 0: no explicit layout."""

    @classmethod
    def get(cls, element_type: Attribute, stride_bytes: int = 0) -> RuntimeArrayType:
        """Returns the run-time array type of `element_type`."""
        return attribute(cls, element_type, number_attribute(stride_bytes))

    def verify(self) -> None:
        _check_part("an array holds", self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return parser.parse_type(), _parse_stride(parser)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element_type)
            _print_stride(printer, self.stride)


def _parse_stride(parser: AttrParser) -> IntAttr:
    if parser.parse_optional_punctuation(",") is None:
        return IntAttr(0)
    parser.parse_keyword("stride")
    parser.parse_punctuation("=")
    start = parser.pos
    stride = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if not stride:
        parser.raise_error("a stride is at least 1; leave it out where there is no layout", start)
    return IntAttr(stride)


def _print_stride(printer: Printer, stride: IntAttr) -> None:
    if stride.data:
        printer.print_string(f", stride={stride.data}")


@dataclass(frozen=True, slots=True)
class StructMember:
    """A member of a struct type."""

    type: Attribute
    offset: int | None = None
    """Offset in bytes, or None without a layout."""
    decorations: tuple[tuple[Decoration, int | None], ...] = ()
    """Further decorations, each with its value where it takes one (`MatrixStride=16`)."""


@dataclass(frozen=True, slots=True)
class StructShape:
    """What a struct type consists of."""

    identifier: str
    """Its name, empty for a literal struct."""
    members: tuple[StructMember, ...]
    is_reference: bool = False
    """Whether it stands inside of the struct of its name and is that struct; it has no members of its own then."""


@irdl_attr_definition
class StructType(Data[StructShape], TypeAttribute):
    """A struct: `!spirv.struct<(f32 [0], i32 [4, NonWritable])>`, named `!spirv.struct<Name, (f32)>`.

    Inside of a named struct `!spirv.struct<Name>` is that struct, behind a pointer; see `recursive_structs`.
    Follows MLIR's StructType, except that a named struct is compared with its members.
    """

    name = "spirv.struct"

    @classmethod
    def get(  # pyright: ignore[reportIncompatibleMethodOverride]  # Data.get takes the whole StructShape
        cls, members: Iterable[StructMember | Attribute], identifier: str = ""
    ) -> StructType:
        """Returns the struct of `members`; a bare type is a member without offset."""
        return cls(
            StructShape(
                identifier, tuple(m if isinstance(m, StructMember) else StructMember(m) for m in members)
            )
        )

    @classmethod
    def reference(cls, identifier: str) -> StructType:
        """Returns what stands for a struct inside of it: `!spirv.struct<Name>`."""
        return cls(StructShape(identifier, (), is_reference=True))

    @property
    def identifier(self) -> str:
        """Its name, empty for a literal struct."""
        return self.data.identifier

    @property
    def members(self) -> tuple[StructMember, ...]:
        """The members in order."""
        return self.data.members

    @property
    def member_types(self) -> tuple[Attribute, ...]:
        """The members' types in order."""
        return tuple(member.type for member in self.data.members)

    def verify(self) -> None:
        offsets = [member.offset for member in self.members]
        if any(o is None for o in offsets) and any(o is not None for o in offsets):
            raise VerifyException("either all members of a struct have an offset or none has")
        for member in self.members:
            _check_part("a struct holds", member.type)
        if self.identifier and StructShape(self.identifier, (), is_reference=True) in _held_structs(self):
            raise VerifyException(f"struct {self.identifier} holds itself; a pointer to itself it could hold")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> StructShape:
        with parser.in_angle_brackets():
            identifier = parser.parse_optional_identifier()
            if identifier is not None and parser.parse_optional_punctuation(",") is None:
                return StructShape(identifier, (), is_reference=True)
            members = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_member(parser))
        return StructShape(identifier or "", tuple(members))

    def print_parameter(self, printer: Printer) -> None:
        if self.data.is_reference:
            printer.print_string(f"<{self.identifier}>")
            return
        printer.print_string(f"<{self.identifier}, (" if self.identifier else "<(")
        printer.print_list(self.members, lambda member: _print_member(printer, member))
        printer.print_string(")>")


def _held_structs(struct: StructType) -> list[StructShape]:
    """Returns the structs that a value of a struct holds, behind no pointer."""
    found: list[StructShape] = []
    pending = list(struct.member_types)
    while pending:
        part = pending.pop()
        if isinstance(part, ArrayType | RuntimeArrayType | SpecArrayType):
            pending.append(part.element_type)
        elif isinstance(part, StructType):
            found.append(part.data)
            pending.extend(part.member_types)
    return found


def _parse_member(parser: AttrParser) -> StructMember:
    member_type = parser.parse_type()
    if parser.parse_optional_punctuation("[") is None:
        return StructMember(member_type)
    offset = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    decorations: list[tuple[Decoration, int | None]] = []
    more = offset is None or parser.parse_optional_punctuation(",") is not None
    while more:
        decoration = parse_enumerant(parser, Decoration)
        has_value = parser.parse_optional_punctuation("=") is not None
        decorations.append((decoration, parser.parse_integer() if has_value else None))
        more = parser.parse_optional_punctuation(",") is not None
    parser.parse_punctuation("]")
    return StructMember(member_type, offset, tuple(decorations))


def _print_member(printer: Printer, member: StructMember) -> None:
    printer.print_attribute(member.type)
    notes = [] if member.offset is None else [str(member.offset)]
    notes += [d.name if value is None else f"{d.name}={value}" for d, value in member.decorations]
    if notes:
        printer.print_string(f" [{', '.join(notes)}]")


def without_sign(type_: Attribute) -> Attribute:
    """Returns the type with signless integers in place of signed ones, in scalars, vectors and structs."""
    if is_integer_type(type_):
        return IntegerType(type_.width.data)
    if is_vector_type(type_):
        return VectorType(without_sign(type_.element_type), type_.shape)
    if isinstance(type_, CooperativeMatrixType):
        element = without_sign(type_.element_type)
        return CooperativeMatrixType(type_.rows, type_.columns, element, type_.scope, type_.use)
    if isinstance(type_, StructType):
        return StructType.get(replace(m, type=without_sign(m.type)) for m in type_.members)
    return type_


def element_type_at(type_: Attribute, index: int | None) -> Attribute | None:
    """Returns the type of element `index` of a composite; None where there is none.

    `index` None means "not known": fine for arrays and vectors, never for structs.
    """
    if isinstance(type_, StructType):
        if index is None or not 0 <= index < len(type_.members):
            return None
        return _member_type(type_, index)
    if isinstance(type_, RuntimeArrayType | SpecArrayType):
        return type_.element_type if index is None or index >= 0 else None
    if isinstance(type_, ArrayType):
        return type_.element_type if index is None or 0 <= index < type_.count.data else None
    if isinstance(type_, MatrixType):
        return type_.column_type if index is None or 0 <= index < type_.count.data else None
    if isinstance(type_, CooperativeMatrixType):
        return type_.element_type if index is None or index >= 0 else None
    if is_vector_type(type_):
        return type_.element_type if index is None or 0 <= index < component_count(type_) else None
    return None


def _member_type(type_: StructType, index: int) -> Attribute:
    from .recursive_structs import member_type  # which is made of the types here

    return member_type(type_, index)


def element_count(type_: Attribute) -> int | None:
    """Returns how many constituents a composite has; None for run-time arrays and non-composites."""
    if isinstance(type_, StructType):
        return len(type_.members)
    if isinstance(type_, ArrayType | MatrixType):
        return type_.count.data
    if isinstance(type_, CooperativeMatrixType):
        return 1  # one value, for all elements
    if is_vector_type(type_):
        return component_count(type_)
    return None


TYPES: list[type[Attribute]] = [
    PointerType,
    ArrayType,
    SpecArrayType,
    RuntimeArrayType,
    StructType,
]
