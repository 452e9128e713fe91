"""Upstream's dialect `index`, of sizes and indices, which xDSL lacks.

%c = index.cmp slt(%a, %b)
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from .arith import CastOp
from .reading import made


@irdl_op_definition
class CastSOp(CastOp):
    """An index as a signed integer, or the other way round."""

    name = "index.casts"


@irdl_op_definition
class CastUOp(CastOp):
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
        return made(cls, parser, [lhs, rhs], [i1], pred=CmpPredicateAttr(predicate))


@irdl_op_definition
class IndexConstantOp(IRDLOperation):
    """A number of type index."""

    name = "index.constant"

    value = prop_def(IntegerAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return made(cls, parser, [], [IndexType()], value=IntegerAttr(parser.parse_integer(), IndexType()))


@irdl_op_definition
class BoolConstantOp(IRDLOperation):
    """`true` or `false`."""

    name = "index.bool.constant"

    value = prop_def(IntegerAttr)
    result = result_def(i1)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return made(cls, parser, [], [i1], value=IntegerAttr(int(parser.parse_boolean()), i1))


@irdl_op_definition
class SizeOfOp(IRDLOperation):
    """The bits of an index."""

    name = "index.sizeof"

    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


INDEX_OPERATIONS: tuple[type[Operation], ...] = (
    *(CastSOp, CastUOp, CmpOp, IndexConstantOp, BoolConstantOp, SizeOfOp),
    *map(_index_binary, INDEX_ARITHMETIC),
)
"""The operations of this file."""
INDEX = Dialect("index", list(INDEX_OPERATIONS), [CmpPredicateAttr])
"""Upstream's dialect of sizes and indices."""
