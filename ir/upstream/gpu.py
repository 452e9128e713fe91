"""Operations of `gpu` that xDSL lacks or has in older forms, but those with which a kernel begins.

%v, %p = gpu.shuffle xor %x, %offset, %width : f32
%s = gpu.all_reduce add %x uniform {} : (f32) -> f32
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.utils.str_enum import StrEnum

from .reading import read_only, types_of, with_attributes


class ShuffleMode(StrEnum):
    """Which work-item `gpu.shuffle` reads."""

    Xor = "xor"
    Up = "up"
    Down = "down"
    Idx = "idx"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode xor>`."""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value of another work-item of the sub-group, and whether there is one."""

    name = "gpu.shuffle"

    mode = prop_def(ShuffleModeAttr)
    value = operand_def()
    offset = operand_def()
    width = operand_def()
    shuffle_result = result_def()
    valid = result_def(i1)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        mode = parser.parse_str_enum(ShuffleMode)
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        start = parser.pos
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        operands = parser.resolve_operands(values, [type_, i32, i32], start)
        return with_attributes(cls, operands, [type_, i1], attributes, mode=ShuffleModeAttr(mode))


class Reduction(StrEnum):
    """How `gpu.subgroup_reduce` and `gpu.all_reduce` combine."""

    Add = "add"
    Mul = "mul"
    MinUI = "minui"
    MinSI = "minsi"
    MinNumF = "minnumf"
    MinimumF = "minimumf"
    MaxUI = "maxui"
    MaxSI = "maxsi"
    MaxNumF = "maxnumf"
    MaximumF = "maximumf"
    And = "and"
    Or = "or"
    Xor = "xor"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """`#gpu<all_reduce_op add>`; xDSL's has the operations of older versions."""

    name = "gpu.all_reduce_op"


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """Combines the values of a sub-group, or of each `cluster_size` neighbours in it."""

    name = "gpu.subgroup_reduce"

    op = prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr)
    cluster_stride = opt_prop_def(IntegerAttr)
    value = operand_def()
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        properties: dict[str, Attribute] = {"op": ReductionAttr(parser.parse_str_enum(Reduction))}
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        if parser.parse_optional_keyword("cluster") is not None:

            def setting() -> None:
                word = parser.parse_identifier()
                parser.parse_punctuation("=")
                properties[f"cluster_{word}"] = IntegerAttr(parser.parse_integer(), i32)

            parser.parse_comma_separated_list(parser.Delimiter.PAREN, setting)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        operands = parser.resolve_operands([value], type_.inputs.data, parser.pos)
        return with_attributes(cls, operands, type_.outputs.data, attributes, **properties)


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """Combines the values of a work-group."""

    name = "gpu.all_reduce"

    op = opt_prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    value = operand_def()
    result = result_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        properties: dict[str, Attribute] = {}
        word = parser.parse_optional_str_enum(Reduction)
        if word is not None:
            properties["op"] = ReductionAttr(word)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        operands = parser.resolve_operands([value], type_.inputs.data, parser.pos)
        return with_attributes(cls, operands, type_.outputs.data, attributes, regions=[body], **properties)


def _printf(kind: type[Operation], parser: Parser) -> Operation:
    """``gpu.printf "x is %f", %x : f32``; up to 19 without the first comma."""
    text = StringAttr(parser.parse_str_literal())
    attributes = parser.parse_optional_attr_dict()
    parser.parse_optional_punctuation(",")
    values = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    operands = parser.resolve_operands(values, types_of(parser), parser.pos) if values else ()
    return with_attributes(kind, operands, [], attributes, format=text)


def _dynamic_memory(kind: type[Operation], parser: Parser) -> Operation:
    attributes = parser.parse_optional_attr_dict()
    return with_attributes(kind, [], types_of(parser), attributes)


GPU_OPERATIONS: tuple[type[Operation], ...] = (
    *(ShuffleOp, SubgroupReduceOp, AllReduceOp),
    read_only("gpu.printf", _printf, operands=(0, None), results=0, required="format"),
    read_only("gpu.dynamic_shared_memory", _dynamic_memory, operands=(0, 0)),
)
"""The operations of this file."""
