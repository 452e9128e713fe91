"""Operations of `vector` that combine components, and masks around them, which xDSL lacks or restricts.

%s = vector.multi_reduction <add>, %v, %acc [1] : vector<4x2xf32> to vector<4xf32>
%p = vector.outerproduct %a, %b, %acc {kind = #vector.kind<add>} : vector<4xf32>, vector<2xf32>
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, VectorType, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from ..dialects.spirv.scalars import scalar_of
from ..narrowing import is_vector_type
from .reading import ENDS, PURE, end_with, read_only, types_of, vector_type, with_attributes


class IteratorType(StrEnum):
    """What `vector.contract` does along a dimension."""

    Parallel = "parallel"
    Reduction = "reduction"


@irdl_attr_definition
class IteratorTypeAttr(EnumAttribute[IteratorType]):
    """``#vector.iterator_type<parallel>``, which xDSL lacks; custom syntax has strings."""

    name = "vector.iterator_type"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> IteratorType:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(IteratorType)


VECTOR = Dialect("vector", list(vector.Vector.operations), [*vector.Vector.attributes, IteratorTypeAttr])
"""Upstream's dialect with the attribute that xDSL lacks."""


def _kind(parser: Parser) -> CombiningKindAttr:
    return CombiningKindAttr(CombiningKindAttr.parse_parameter(parser))


def _reduction(kind: type[Operation], parser: Parser) -> Operation:
    word = _kind(parser)
    parser.parse_punctuation(",")
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    flags = arith.FastMathFlagsAttr("none")
    if parser.parse_optional_keyword("fastmath") is not None:
        flags = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = vector_type(parser)
    parser.parse_keyword("into")
    result = parser.parse_type()
    operands = parser.resolve_operands(values, [type_, result][: len(values)], parser.pos)
    return with_attributes(kind, operands, [result], attributes, kind=word, fastmath=flags)


def _multi_reduction(kind: type[Operation], parser: Parser) -> Operation:
    word = _kind(parser)
    parser.parse_punctuation(",")
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    dimensions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = vector_type(parser)
    parser.parse_keyword("to")
    result = parser.parse_type()
    operands = parser.resolve_operands(values, [type_, result], parser.pos)
    numbers = DenseArrayBase.from_list(i64, dimensions)
    return with_attributes(kind, operands, [result], attributes, kind=word, reduction_dims=numbers)


def _scan(kind: type[Operation], parser: Parser) -> Operation:
    word = _kind(parser)
    parser.parse_punctuation(",")
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    types = types_of(parser)
    return with_attributes(
        kind, parser.resolve_operands(values, types, parser.pos), types, attributes, kind=word
    )


def _outer_product(kind: type[Operation], parser: Parser) -> Operation:
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    types = types_of(parser)
    shape = [extent for type_ in types if is_vector_type(type_) for extent in type_.get_shape()]
    result: Attribute = VectorType(scalar_of(types[0]), shape)
    types += [result] * (len(values) - len(types))
    return with_attributes(kind, parser.resolve_operands(values, types, parser.pos), [result], attributes)


def _contract(kind: type[Operation], parser: Parser) -> Operation:
    given = parser.parse_attribute()
    traits = dict(given.data) if isinstance(given, DictionaryAttr) else {}
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes: dict[str, Attribute] = {**traits, **parser.parse_optional_attr_dict()}
    types = types_of(parser)
    parser.parse_keyword("into")
    result = parser.parse_type()
    operands = parser.resolve_operands(values, [*types, result], parser.pos)
    return with_attributes(kind, operands, [result], attributes)


def _matrix_product(kind: type[Operation], parser: Parser) -> Operation:
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    parser.parse_punctuation("->")
    operands = parser.resolve_operands(values, types, parser.pos)
    return with_attributes(kind, operands, [parser.parse_type()], attributes)


def _mask(kind: type[Operation], parser: Parser) -> Operation:
    values = [parser.parse_unresolved_operand()]
    if parser.parse_optional_punctuation(",") is not None:
        values.append(parser.parse_unresolved_operand())
    body = parser.parse_region()
    attributes = parser.parse_optional_attr_dict()
    types = types_of(parser)
    results: list[Attribute] = []
    if parser.parse_optional_punctuation("->") is not None:
        several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        results = [parser.parse_type()] if several is None else list(several)
    last = body.blocks[-1].last_op
    end_with(body, YIELD)
    if last is not None and last.name != YIELD.name:
        body.blocks[-1].last_op.operands = last.results  # pyright: ignore[reportOptionalMemberAccess]
    operands = parser.resolve_operands(values, [*types, *results][: len(values)], parser.pos)
    return with_attributes(kind, operands, results, attributes, regions=[body])


def _yield(kind: type[Operation], parser: Parser) -> Operation:
    values = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    operands = parser.resolve_operands(values, types_of(parser), parser.pos) if values else ()
    return with_attributes(kind, operands, [], {})


YIELD = read_only("vector.yield", _yield, operands=(0, None), results=0, traits=ENDS)
"""The terminator of `vector.mask`."""
_SIZES = "lhs_rows lhs_columns rhs_columns"
VECTOR_SUM_OPERATIONS: tuple[type[Operation], ...] = (
    read_only(
        "vector.reduction", _reduction, operands=(1, 2), required="kind", properties="fastmath", traits=PURE
    ),
    read_only(
        "vector.multi_reduction",
        _multi_reduction,
        operands=(2, 2),
        required="kind reduction_dims",
        traits=PURE,
    ),
    read_only(
        "vector.scan",
        _scan,
        operands=(2, 2),
        results=2,
        required="kind reduction_dim inclusive",
        traits=PURE,
    ),
    read_only("vector.outerproduct", _outer_product, operands=(2, 3), properties="kind", traits=PURE),
    read_only(
        "vector.contract",
        _contract,
        operands=(3, 3),
        required="indexing_maps",
        properties="kind iterator_types",
        traits=PURE,
    ),
    read_only("vector.matrix_multiply", _matrix_product, operands=(2, 2), required=_SIZES, traits=PURE),
    read_only("vector.mask", _mask, operands=(1, 2), results=-1),
    YIELD,
)
"""The operations of this file."""
