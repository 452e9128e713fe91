"""Operations of upstream's dialects that xDSL lacks, or has in older forms, as text of MLIR holds them.

    %v, %p = gpu.shuffle xor %x, %offset, %width : f32
    %c = index.cmp slt(%a, %b)

They are read only: `passes.lower_upstream` replaces them by others before any other pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    UnitAttr,
    i1,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from .upstream_vectors import VECTOR_OPERATIONS


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    traits = traits_def(Pure())


class _Cast(IRDLOperation):
    input = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"


@irdl_op_definition
class IndexCastUIOp(_Cast):
    """An index as an unsigned integer, or the other way round."""

    name = "arith.index_castui"


@irdl_op_definition
class CastSOp(_Cast):
    """An index as a signed integer, or the other way round."""

    name = "index.casts"


@irdl_op_definition
class CastUOp(_Cast):
    """An index as an unsigned integer, or the other way round."""

    name = "index.castu"


class _IndexBinary(IRDLOperation):
    lhs = operand_def(IndexType())
    rhs = operand_def(IndexType())
    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict"


def _index_binary(word: str) -> type[Operation]:
    class BinaryOp(_IndexBinary):
        name = f"index.{word}"

    return irdl_op_definition(BinaryOp)


INDEX_ARITHMETIC = (
    *("add", "sub", "mul", "divs", "divu", "rems", "remu", "ceildivs", "ceildivu", "floordivs"),
    *("maxs", "maxu", "mins", "minu", "shl", "shrs", "shru", "and", "or", "xor"),
)


class CmpPredicate(StrEnum):
    """Comparisons of `index.cmp`, in the order of `arith.cmpi`."""

    Eq = "eq"
    Ne = "ne"
    Slt = "slt"
    Sle = "sle"
    Sgt = "sgt"
    Sge = "sge"
    Ult = "ult"
    Ule = "ule"
    Ugt = "ugt"
    Uge = "uge"


@irdl_attr_definition
class CmpPredicateAttr(EnumAttribute[CmpPredicate], SpacedOpaqueSyntaxAttribute):
    """`#index<cmp_predicate slt>`."""

    name = "index.cmp_predicate"


@irdl_op_definition
class CmpOp(IRDLOperation):
    """Compares two indices."""

    name = "index.cmp"

    pred = prop_def(CmpPredicateAttr)
    lhs = operand_def(IndexType())
    rhs = operand_def(IndexType())
    result = result_def(i1)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        predicate = parser.parse_str_enum(CmpPredicate)
        values = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        lhs, rhs = parser.resolve_operands(values, [IndexType()] * 2, parser.pos)
        return _made(cls, parser, [lhs, rhs], [i1], pred=CmpPredicateAttr(predicate))


@irdl_op_definition
class IndexConstantOp(IRDLOperation):
    """A number of type index."""

    name = "index.constant"

    value = prop_def(IntegerAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return _made(cls, parser, [], [IndexType()], value=IntegerAttr(parser.parse_integer(), IndexType()))


@irdl_op_definition
class BoolConstantOp(IRDLOperation):
    """`true` or `false`."""

    name = "index.bool.constant"

    value = prop_def(IntegerAttr)
    result = result_def(i1)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return _made(cls, parser, [], [i1], value=IntegerAttr(int(parser.parse_boolean()), i1))


@irdl_op_definition
class SizeOfOp(IRDLOperation):
    """The bits of an index."""

    name = "index.sizeof"

    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


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
        from xdsl.dialects.builtin import i32

        mode = parser.parse_str_enum(ShuffleMode)
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        start = parser.pos
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls.create(
            operands=parser.resolve_operands(values, [type_, i32, i32], start),
            result_types=[type_, i1],
            properties={"mode": ShuffleModeAttr(mode)},
        )
        op.attributes.update(attributes)
        return op


class Reduction(StrEnum):
    """How `gpu.subgroup_reduce` combines."""

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
        from xdsl.dialects.builtin import i32

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
        op = cls.create(operands=operands, result_types=type_.outputs.data, properties=properties)
        op.attributes.update(attributes)
        return op


class _Classification(IRDLOperation):
    operand = operand_def()
    fastmath = opt_prop_def(Attribute)
    result = result_def(i1)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.create(operands=[parser.resolve_operand(value, parser.parse_type())], result_types=[i1])
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class IsNaNOp(_Classification):
    """Whether a float is no number."""

    name = "math.isnan"


@irdl_op_definition
class IsInfOp(_Classification):
    """Whether a float is infinite."""

    name = "math.isinf"


@irdl_op_definition
class IsFiniteOp(_Classification):
    """Whether a float is a finite number."""

    name = "math.isfinite"


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """Combines the values of a work-group."""

    name = "gpu.all_reduce"

    op = opt_prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    value = operand_def()
    result = result_def()
    body = region_def()


@irdl_op_definition
class AssumeAlignmentOp(IRDLOperation):
    """A promise about addresses; versions up to 19 give no memory back."""

    name = "memref.assume_alignment"

    memref = operand_def()
    alignment = prop_def(IntegerAttr)
    result = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        alignment = IntegerAttr(parser.parse_integer(), 32)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls.create(
            operands=[parser.resolve_operand(value, type_)],
            result_types=[],
            properties={"alignment": alignment},
        )
        op.attributes.update(attributes)
        return op


def _made(
    kind: type[Operation],
    parser: Parser,
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    **properties: Attribute,
) -> Operation:
    op = kind.create(operands=operands, result_types=results, properties=properties)
    op.attributes.update(parser.parse_optional_attr_dict())
    return op


_CLASSES: tuple[type[Operation], ...] = (
    *(RemFOp, IndexCastUIOp, CastSOp, CastUOp, CmpOp, IndexConstantOp, BoolConstantOp, SizeOfOp),
    *map(_index_binary, INDEX_ARITHMETIC),
    *(ShuffleOp, SubgroupReduceOp, AllReduceOp, IsNaNOp, IsInfOp, IsFiniteOp, AssumeAlignmentOp),
    *VECTOR_OPERATIONS,
)
UPSTREAM_OPERATIONS: dict[str, type[Operation]] = {kind.name: kind for kind in _CLASSES}
"""Operations by name."""
INDEX = Dialect("index", [kind for kind in _CLASSES if kind.name.startswith("index.")], [CmpPredicateAttr])
"""Upstream's dialect of sizes and indices."""
