"""Operations of `arith` on vectors where xDSL has them for scalars only: comparisons, conversions, selections.

    %c = arith.cmpi slt, %a, %b : vector<4xi32>
    %f = arith.sitofp %a : vector<4xi32> to vector<4xf32>

They get classes of their own, which `passes.lower_vectors` writes out by component; on scalars they stay xDSL's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, VectorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


class VectorFormOp(IRDLOperation):
    """Base: the operation for each component."""

    SCALAR: ClassVar[type[Operation]]
    """The operation of one component."""

    arguments = var_operand_def()
    predicate = opt_prop_def(IntegerAttr)
    fastmath = opt_prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        count = _COUNTS.get(self.SCALAR, 1)
        if len(self.arguments) != count:
            raise VerifyException(f"'{self.name}' takes {count} operands, found {len(self.arguments)}")
        types = [*(value.type for value in self.arguments), self.result.type]
        shapes = {type_.get_shape() if isinstance(type_, VectorType) else None for type_ in types}
        if len(shapes) != 1:
            raise VerifyException(
                f"'{self.name}' has vectors of one shape, found {', '.join(map(str, types))}"
            )
        is_comparison = self.SCALAR in (arith.CmpiOp, arith.CmpfOp)
        if is_comparison != (self.predicate is not None):
            raise VerifyException(f"'{self.name}' has a predicate if and only if it compares")


_CASTS = (
    *(arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp),
    *(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp, arith.TruncFOp),
)
ROUNDING = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""In the order of upstream's numbers."""
_COUNTS: dict[type[Operation], int] = {arith.CmpiOp: 2, arith.CmpfOp: 2, arith.SelectOp: 3}
_FORMS: dict[str, type[Operation]] = {kind.name: kind for kind in (*_CASTS, *_COUNTS)}


@cache
def _vector_form(scalar: type[Operation]) -> type[VectorFormOp]:
    class FormOp(VectorFormOp):
        name = scalar.name
        SCALAR: ClassVar[type[Operation]] = scalar

    return irdl_op_definition(FormOp)


def _class_for(scalar: type[Operation], operands: Sequence[SSAValue]) -> type[Operation]:
    """Returns the class of an operation; xDSL's selections take vectors, but not of conditions."""
    deciding = operands[:1] if scalar is arith.SelectOp else operands
    is_vector = any(isinstance(value.type, VectorType) for value in deciding)
    return _vector_form(scalar) if is_vector else scalar


@cache
def on_scalars_or_vectors(name: str) -> type[Operation] | None:
    """Returns what reads an operation that xDSL has for scalars only, None for any other."""
    scalar = _FORMS.get(name)
    return None if scalar is None else _chooser(scalar)


def _chooser(scalar: type[Operation]) -> type[Operation]:
    read = _READERS.get(scalar, _read_comparison)

    class Chooser(scalar):
        @classmethod
        def create(cls, *, operands: Sequence[SSAValue] = (), **rest: Any) -> Operation:
            mode = rest.get("properties", {}).pop("roundingmode", None)
            if mode is not None:
                rest["attributes"] = {**rest.get("attributes", {}), "roundingmode": mode}
            return _class_for(scalar, operands).create(operands=operands, **rest)

        @classmethod
        def parse(cls, parser: Parser) -> Operation:
            return read(scalar, parser)

    return Chooser


def _read_comparison(kind: type[Operation], parser: Parser) -> Operation:
    op: Any = kind.parse(parser)  # pyright: ignore[reportAttributeAccessIssue]
    type_ = op.operands[0].type
    if not isinstance(type_, VectorType):
        return op
    result = VectorType(i1, type_.shape, type_.scalable_dims)
    form = _vector_form(kind).create(
        operands=op.operands, result_types=[result], properties=op.properties, attributes=op.attributes
    )
    op.drop_all_references()
    return form


def _read_cast(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    mode = _modifiers(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    target = parser.parse_type()
    attributes |= {} if mode is None else {"roundingmode": mode}
    return _made(kind, [parser.resolve_operand(value, source)], target, attributes)


def _modifiers(parser: Parser) -> Attribute | None:
    """Skips promises, of which nothing here makes use (`nneg`, `overflow<nsw>`); returns how `arith.truncf` rounds."""
    if parser.parse_optional_keyword("nneg") is not None:
        return None
    if parser.parse_optional_keyword("overflow") is not None:
        arith.IntegerOverflowAttr.parse_parameter(parser)
        return None
    for number, word in enumerate(ROUNDING):
        if parser.parse_optional_keyword(word) is not None:
            return IntegerAttr(number, i32)
    return None


def _read_selection(kind: type[Operation], parser: Parser) -> Operation:
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    start = parser.pos
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    condition, type_ = i1, parser.parse_type()
    if parser.parse_optional_punctuation(",") is not None:
        condition, type_ = type_, parser.parse_type()
    return _made(kind, parser.resolve_operands(values, [condition, type_, type_], start), type_, attributes)


def _made(
    kind: type[Operation], operands: Sequence[SSAValue], result: Attribute, attributes: dict[str, Attribute]
) -> Operation:
    return _class_for(kind, operands).create(operands=operands, result_types=[result], attributes=attributes)


_READERS: dict[type[Operation], Callable[[type[Operation], Parser], Operation]] = {
    **dict.fromkeys(_CASTS, _read_cast),
    arith.SelectOp: _read_selection,
}
