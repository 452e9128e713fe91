"""Attributes of the spirv dialect, spelt as upstream MLIR spells them: `#spirv.scope<Workgroup>`."""

from __future__ import annotations

import enum
from typing import ClassVar, Generic, cast

from typing_extensions import TypeVar
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .enums import (
    AddressingModel,
    CooperativeMatrixLayout,
    CooperativeMatrixOperands,
    CooperativeMatrixUse,
    Decoration,
    ExecutionMode,
    ExecutionModel,
    FPRoundingMode,
    FunctionControl,
    GroupOperation,
    ImageOperands,
    LinkageType,
    LoopControl,
    MemoryAccess,
    MemoryModel,
    MemorySemantics,
    PackedVectorFormat,
    Scope,
    SelectionControl,
    StorageClass,
)

EnumT = TypeVar("EnumT", bound=enum.IntEnum)
FlagT = TypeVar("FlagT", bound=enum.IntFlag)
_AnyEnumT = TypeVar("_AnyEnumT", bound=enum.Enum)


def parse_enumerant(parser: AttrParser, enumeration: type[_AnyEnumT]) -> _AnyEnumT:
    """Parses one enumerant of `enumeration`; ParseError lists the choices."""
    position = parser.pos
    spelling = parser.parse_identifier(f"an enumerant of {enumeration.__name__}")
    name = spelling if spelling in enumeration.__members__ else f"{spelling}_"
    if name not in enumeration.__members__:
        choices = ", ".join(member.rstrip("_") for member in enumeration.__members__)
        parser.raise_error(f"{spelling} is no {enumeration.__name__}; expected one of {choices}", position)
    return enumeration[name]


def flags_spelling(flags: enum.IntFlag) -> str:
    """Returns `A|B` for the set bits, `None` where there is none."""
    return "|".join(str(flag.name) for flag in type(flags) if flag & flags) or "None"


class EnumAttr(Data[EnumT], Generic[EnumT]):
    """An attribute that holds one enumerant."""

    enumeration: ClassVar[type[enum.IntEnum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EnumT:
        with parser.in_angle_brackets():
            return cast(EnumT, parse_enumerant(parser, cls.enumeration))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.name}>")


class FlagsAttr(Data[FlagT], Generic[FlagT]):
    """An attribute that holds a set of bits."""

    enumeration: ClassVar[type[enum.IntFlag]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> FlagT:
        with parser.in_angle_brackets():
            flags = parse_enumerant(parser, cls.enumeration)
            while parser.parse_optional_punctuation("|") is not None:
                flags |= parse_enumerant(parser, cls.enumeration)
            return cast(FlagT, flags)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{flags_spelling(self.data)}>")


@irdl_attr_definition
class DecorationAttr(EnumAttr[Decoration]):
    """`#spirv.decoration<AliasedPointer>`."""

    name = "spirv.decoration"
    enumeration = Decoration


@irdl_attr_definition
class StorageClassAttr(EnumAttr[StorageClass]):
    """`#spirv.storage_class<Function>`."""

    name = "spirv.storage_class"
    enumeration = StorageClass


@irdl_attr_definition
class AddressingModelAttr(EnumAttr[AddressingModel]):
    """`#spirv.addressing_model<Logical>`."""

    name = "spirv.addressing_model"
    enumeration = AddressingModel


@irdl_attr_definition
class MemoryModelAttr(EnumAttr[MemoryModel]):
    """`#spirv.memory_model<GLSL450>`."""

    name = "spirv.memory_model"
    enumeration = MemoryModel


@irdl_attr_definition
class ExecutionModelAttr(EnumAttr[ExecutionModel]):
    """`#spirv.execution_model<GLCompute>`."""

    name = "spirv.execution_model"
    enumeration = ExecutionModel


@irdl_attr_definition
class ExecutionModeAttr(EnumAttr[ExecutionMode]):
    """`#spirv.execution_mode<LocalSize>`."""

    name = "spirv.execution_mode"
    enumeration = ExecutionMode


@irdl_attr_definition
class ScopeAttr(EnumAttr[Scope]):
    """`#spirv.scope<Workgroup>`."""

    name = "spirv.scope"
    enumeration = Scope


@irdl_attr_definition
class GroupOperationAttr(EnumAttr[GroupOperation]):
    """`#spirv.group_operation<Reduce>`."""

    name = "spirv.group_operation"
    enumeration = GroupOperation


@irdl_attr_definition
class MemorySemanticsAttr(FlagsAttr[MemorySemantics]):
    """`#spirv.memory_semantics<AcquireRelease|WorkgroupMemory>`."""

    name = "spirv.memory_semantics"
    enumeration = MemorySemantics


@irdl_attr_definition
class MemoryAccessAttr(FlagsAttr[MemoryAccess]):
    """`#spirv.memory_access<Aligned>`."""

    name = "spirv.memory_access"
    enumeration = MemoryAccess


@irdl_attr_definition
class FunctionControlAttr(FlagsAttr[FunctionControl]):
    """`#spirv.function_control<None>`."""

    name = "spirv.function_control"
    enumeration = FunctionControl


@irdl_attr_definition
class SelectionControlAttr(FlagsAttr[SelectionControl]):
    """`#spirv.selection_control<None>`."""

    name = "spirv.selection_control"
    enumeration = SelectionControl


@irdl_attr_definition
class LoopControlAttr(FlagsAttr[LoopControl]):
    """`#spirv.loop_control<None>`."""

    name = "spirv.loop_control"
    enumeration = LoopControl


@irdl_attr_definition
class FPRoundingModeAttr(EnumAttr[FPRoundingMode]):
    """`#spirv.fp_rounding_mode<RTE>`."""

    name = "spirv.fp_rounding_mode"
    enumeration = FPRoundingMode


@irdl_attr_definition
class PackedVectorFormatAttr(EnumAttr[PackedVectorFormat]):
    """`#spirv.packed_vector_format<PackedVectorFormat4x8Bit>`."""

    name = "spirv.packed_vector_format"
    enumeration = PackedVectorFormat


@irdl_attr_definition
class ImageOperandsAttr(FlagsAttr[ImageOperands]):
    """`#spirv.image_operands<Lod>`."""

    name = "spirv.image_operands"
    enumeration = ImageOperands


@irdl_attr_definition
class CooperativeMatrixLayoutAttr(EnumAttr[CooperativeMatrixLayout]):
    """`#spirv.coop_matrix_layout_khr<RowMajor>`."""

    name = "spirv.coop_matrix_layout_khr"
    enumeration = CooperativeMatrixLayout


@irdl_attr_definition
class CooperativeMatrixUseAttr(EnumAttr[CooperativeMatrixUse]):
    """`#spirv.coop_matrix_use_khr<MatrixA>`."""

    name = "spirv.coop_matrix_use_khr"
    enumeration = CooperativeMatrixUse


@irdl_attr_definition
class CooperativeMatrixOperandsAttr(FlagsAttr[CooperativeMatrixOperands]):
    """`#spirv.cooperative_matrix_operands_khr<ASigned|AccSat>`."""

    name = "spirv.cooperative_matrix_operands_khr"
    enumeration = CooperativeMatrixOperands


@irdl_attr_definition
class NullAttr(ParametrizedAttribute):
    """`#spirv.null`: a composite constant of zeros (OpConstantNull); not in upstream MLIR."""

    name = "spirv.null"


@irdl_attr_definition
class LinkageAttributesAttr(Data[tuple[str, LinkageType]]):
    """`#spirv.linkage_attributes<linkage_name = "f", linkage_type = <Export>>`: a symbol of the linker."""

    name = "spirv.linkage_attributes"

    @property
    def linkage_name(self) -> str:
        """The symbol, as other modules know it."""
        return self.data[0]

    @property
    def linkage_type(self) -> LinkageType:
        """Whether the module defines it or asks for it."""
        return self.data[1]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, LinkageType]:
        with parser.in_angle_brackets():
            parser.parse_keyword("linkage_name")
            parser.parse_punctuation("=")
            name = parser.parse_str_literal()
            parser.parse_punctuation(",")
            parser.parse_keyword("linkage_type")
            parser.parse_punctuation("=")
            with parser.in_angle_brackets():
                return name, parse_enumerant(parser, LinkageType)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("linkage_name = ")
            printer.print_string_literal(self.linkage_name)
            printer.print_string(f", linkage_type = <{self.linkage_type.name}>")


@irdl_attr_definition
class VerCapExtAttr(Data[tuple[str, tuple[str, ...], tuple[str, ...]]]):
    """`#spirv.vce<v1.3, [Shader], [SPV_KHR_…]>`: version, capabilities and extensions that a module may use.

    Emission computes what a module does use; this records what the text asked for.
    """

    name = "spirv.vce"

    @property
    def version(self) -> str:
        """`v1.3`."""
        return self.data[0]

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Capability names."""
        return self.data[1]

    @property
    def extensions(self) -> tuple[str, ...]:
        """Extension names."""
        return self.data[2]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        with parser.in_angle_brackets():
            version = parser.parse_identifier()
            parser.parse_punctuation(",")
            capabilities = _parse_names(parser)
            parser.parse_punctuation(",")
            return version, capabilities, _parse_names(parser)

    def print_parameter(self, printer: Printer) -> None:
        version, capabilities, extensions = self.data
        printer.print_string(f"<{version}, [{', '.join(capabilities)}], [{', '.join(extensions)}]>")


def _parse_names(parser: AttrParser) -> tuple[str, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier))


ATTRIBUTES: list[type[Attribute]] = [
    DecorationAttr,
    StorageClassAttr,
    AddressingModelAttr,
    MemoryModelAttr,
    ExecutionModelAttr,
    ExecutionModeAttr,
    ScopeAttr,
    GroupOperationAttr,
    MemorySemanticsAttr,
    MemoryAccessAttr,
    FunctionControlAttr,
    SelectionControlAttr,
    LoopControlAttr,
    FPRoundingModeAttr,
    PackedVectorFormatAttr,
    ImageOperandsAttr,
    CooperativeMatrixLayoutAttr,
    CooperativeMatrixUseAttr,
    CooperativeMatrixOperandsAttr,
    NullAttr,
    LinkageAttributesAttr,
    VerCapExtAttr,
]
