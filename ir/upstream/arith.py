"""Operations of `arith` and `math` that xDSL lacks.

%r = arith.remf %a, %b : f32
%n = math.isnan %a : f32
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.traits import Pure

from ..narrowing import is_vector_type
from .reading import with_attributes


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    traits = traits_def(Pure())


class CastOp(IRDLOperation):
    """Base: a value in another type."""

    input = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"


@irdl_op_definition
class IndexCastUIOp(CastOp):
    """An index as an unsigned integer, or the other way round."""

    name = "arith.index_castui"


class _Classification(IRDLOperation):
    operand = operand_def()
    fastmath = opt_prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        value = parser.parse_unresolved_operand()
        flags = arith.FastMathFlagsAttr("none")
        if parser.parse_optional_keyword("fastmath") is not None:
            flags = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        result = VectorType(i1, type_.shape, type_.scalable_dims) if is_vector_type(type_) else i1
        return with_attributes(
            cls, [parser.resolve_operand(value, type_)], [result], attributes, fastmath=flags
        )


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
class IsNormalOp(_Classification):
    """Whether a float is neither zero nor subnormal, infinite or no number."""

    name = "math.isnormal"


ARITHMETIC: tuple[type[Operation], ...] = (RemFOp, IndexCastUIOp, IsNaNOp, IsInfOp, IsFiniteOp, IsNormalOp)
"""The operations of this file."""
