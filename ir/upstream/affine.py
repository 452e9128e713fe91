"""Operations of `affine` that xDSL lacks or reads in generic syntax only, and subscripts of expressions.

%v = affine.load %x[%i * 2 + symbol(%n)] : memref<?xf32>
%r = affine.if #even(%i)[%n] -> f32 { … } else { … }
%s = affine.parallel (%i) = (0) to (min(%n, 8)) step (2) reduce ("addf") -> (f32) { … }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import YieldOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr, AffineMap
from xdsl.parser import AffineParser, Parser, UnresolvedOperand
from xdsl.utils.mlir_lexer import MLIRToken

from ..narrowing import is_memref_type
from .memref import KINDS
from .reading import PURE, end_with, read_only, types_of, vector_type, with_attributes

_INDEX = IndexType()
_STRENGTH = {"+": 1, "-": 1, "*": 2, "mod": 2, "floordiv": 2, "ceildiv": 2}
_KINDS = {
    "*": AffineBinaryOpKind.Mul,
    "mod": AffineBinaryOpKind.Mod,
    "floordiv": AffineBinaryOpKind.FloorDiv,
    "ceildiv": AffineBinaryOpKind.CeilDiv,
}
_MOST_NESTED = 100
"""Parentheses around each other."""


class _Expressions:
    """Reads expressions of values; each value is a dimension of the map."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._depth = 0
        self.values: list[UnresolvedOperand] = []

    def map_of(self, results: Sequence[AffineExpr]) -> AffineMapAttr:
        """Returns the map that gives some expressions."""
        return AffineMapAttr(AffineMap(len(self.values), 0, tuple(results)))

    def expression(self, weakest: int = 1) -> AffineExpr:
        """Reads one, up to an operator that binds less than `weakest`."""
        left = self._operand()
        while (word := self._operator(weakest)) is not None:
            right = self.expression(_STRENGTH[word] + 1)
            left = _joined(word, left, right)
        return left

    def _operator(self, weakest: int) -> str | None:
        for word, strength in _STRENGTH.items():
            if strength >= weakest and self._parser.parse_optional_characters(word) is not None:
                return word
        return None

    def _operand(self) -> AffineExpr:
        parser = self._parser
        self._depth += 1
        if self._depth > _MOST_NESTED:
            parser.raise_error(f"expected at most {_MOST_NESTED} parentheses around each other")
        value = parser.parse_optional_unresolved_operand()
        if value is not None:
            made = self._dimension(value)
        elif parser.parse_optional_characters("-") is not None:
            made = self._operand() * -1
        elif (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
            made = AffineExpr.constant(number)
        elif parser.parse_optional_keyword("symbol") is not None:
            parser.parse_punctuation("(")
            made = self._dimension(parser.parse_unresolved_operand())
            parser.parse_punctuation(")")
        else:
            parser.parse_punctuation("(")
            made = self.expression()
            parser.parse_punctuation(")")
        self._depth -= 1
        return made

    def _dimension(self, value: UnresolvedOperand) -> AffineExpr:
        known = [(other.operand_name, other.index) for other in self.values]
        key = (value.operand_name, value.index)
        if key not in known:
            self.values.append(value)
            known.append(key)
        return AffineExpr.dimension(known.index(key))


def _joined(word: str, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    if word == "+":
        return left + right
    if word == "-":
        return left - right
    if not isinstance(right, AffineConstantExpr) and not (
        word == "*" and isinstance(left, AffineConstantExpr)
    ):
        return AffineBinaryOpExpr(_KINDS[word], left, right)  # xDSL's operators take constants only
    if word == "*":
        return left * right
    if word == "mod":
        return left % right
    return left // right if word == "floordiv" else left.ceil_div(right)


class SemiAffineParser(AffineParser):
    """Reads maps and sets in which symbols are multiplied and divided by, as in ``()[s0, s1] -> (s0 * s1)``."""

    def _create_binop_expr(self, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
        return _joined(binop.text, lhs, rhs)


def _access(parser: Parser) -> tuple[UnresolvedOperand, list[UnresolvedOperand], AffineMapAttr]:
    """Reads ``%x[%i + 1, %j]``."""
    array = parser.parse_unresolved_operand()
    subscripts = _Expressions(parser)
    results = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, subscripts.expression)
    return array, subscripts.values, subscripts.map_of(results)


def _load(kind: type[Operation], parser: Parser) -> Operation:
    array, indices, map_ = _access(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_, result = _memory_types(parser, kind)
    operands = parser.resolve_operands([array, *indices], [type_, *[_INDEX] * len(indices)], parser.pos)
    return with_attributes(kind, operands, [result], attributes, map=map_)


def _store(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    array, indices, map_ = _access(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_, element = _memory_types(parser, kind)
    types = [element, type_, *[_INDEX] * len(indices)]
    operands = parser.resolve_operands([value, array, *indices], types, parser.pos)
    return with_attributes(kind, operands, [], attributes, map=map_)


def _memory_types(parser: Parser, kind: type[Operation]) -> tuple[Attribute, Attribute]:
    """Reads the type of an array, and of a vector where the operation takes one; else that is its element."""
    start = parser.pos
    type_ = parser.parse_type()
    if not is_memref_type(type_):
        parser.raise_error(f"expected an array (memref), found {type_}", start)
    if not kind.name.startswith("affine.vector"):
        return type_, type_.element_type
    parser.parse_punctuation(",")
    return type_, vector_type(parser)


def _prefetch(kind: type[Operation], parser: Parser) -> Operation:
    array, indices, map_ = _access(parser)
    while parser.parse_optional_punctuation(",") is not None:  # read or write, locality<3>, data or instr
        parser.parse_identifier()
        if parser.parse_optional_punctuation("<") is not None:
            parser.parse_integer()
            parser.parse_punctuation(">")
    attributes = parser.parse_optional_attr_dict()
    types = [*types_of(parser), *[_INDEX] * len(indices)]
    return with_attributes(
        kind, parser.resolve_operands([array, *indices], types, parser.pos), [], attributes, map=map_
    )


def _applied(parser: Parser) -> list[UnresolvedOperand]:
    """Reads ``(%i, %j)[%n]``."""
    operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    symbols = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    return [*operands, *(symbols or ())]


def _extremum(kind: type[Operation], parser: Parser) -> Operation:
    map_ = parser.parse_attribute()
    values = _applied(parser)
    attributes = parser.parse_optional_attr_dict()
    operands = parser.resolve_operands(values, [_INDEX] * len(values), parser.pos)
    return with_attributes(kind, operands, [_INDEX], attributes, map=map_)


def _results(parser: Parser) -> Sequence[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return ()
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else several


def _if(kind: type[Operation], parser: Parser) -> Operation:
    start = parser.pos
    condition = parser.parse_attribute()
    if not isinstance(condition, AffineSetAttr):
        parser.raise_error(f"expected an affine_set, found {condition}", start)
    values = _applied(parser)
    operands = parser.resolve_operands(values, [_INDEX] * len(values), start)
    results = _results(parser)
    regions = [parser.parse_region()]
    regions.append(
        parser.parse_region() if parser.parse_optional_keyword("else") is not None else type(regions[0])()
    )
    for region in regions:
        if region.blocks:
            end_with(region, YieldOp)
    attributes = parser.parse_optional_attr_dict()
    return with_attributes(kind, operands, results, attributes, regions=regions, condition=condition)


def _bounds(parser: Parser, word: str) -> tuple[_Expressions, list[AffineExpr], list[int]]:
    """Reads ``(0, min(%n, 8))``: the expressions, and how many belong to each dimension."""
    read = _Expressions(parser)
    rows: list[list[AffineExpr]] = []

    def one() -> None:
        if parser.parse_optional_keyword(word) is not None:
            rows.append(parser.parse_comma_separated_list(parser.Delimiter.PAREN, read.expression))
        else:
            rows.append([read.expression()])

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    return read, [expression for row in rows for expression in row], [len(row) for row in rows]


def _parallel(kind: type[Operation], parser: Parser) -> Operation:
    names = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    parser.parse_punctuation("=")
    lower = _bounds(parser, "max")
    parser.parse_keyword("to")
    upper = _bounds(parser, "min")
    steps = [1] * len(names)
    if parser.parse_optional_keyword("step") is not None:
        steps = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
    words: list[str] = []
    if parser.parse_optional_keyword("reduce") is not None:
        words = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
    position = parser.pos
    wrong = [word for word in words if word not in KINDS]
    if wrong:
        parser.raise_error(f"expected one of {', '.join(KINDS)}, found {wrong[0]}", position)
    results = _results(parser)
    values = [*lower[0].values, *upper[0].values]
    operands = parser.resolve_operands(values, [_INDEX] * len(values), position)
    body = parser.parse_region([name.resolve(_INDEX) for name in names])
    end_with(body, YieldOp)
    properties: dict[str, Attribute] = {}
    for side, (read, expressions, sizes) in (("lower", lower), ("upper", upper)):
        properties[f"{side}BoundsMap"] = read.map_of(expressions)
        properties[f"{side}BoundsGroups"] = DenseIntElementsAttr.from_list(
            TensorType(i32, [len(sizes)]), sizes
        )
    return with_attributes(
        kind,
        operands,
        results,
        parser.parse_optional_attr_dict(),
        regions=[body],
        reductions=ArrayAttr([IntegerAttr(KINDS.index(word), i64) for word in words]),
        steps=ArrayAttr([IntegerAttr(step, i64) for step in steps]),
        **properties,
    )


def _delinearize(kind: type[Operation], parser: Parser) -> Operation:
    """``%i into (%a, 4) : index, index``; up to 19 the basis is of values only."""
    position = parser.parse_unresolved_operand()
    parser.parse_keyword("into")
    values = [position]
    basis = _basis(parser, values)
    attributes = parser.parse_optional_attr_dict()
    types = types_of(parser)
    operands = parser.resolve_operands(values, [_INDEX] * len(values), parser.pos)
    return with_attributes(
        kind, operands, types, attributes, static_basis=DenseArrayBase.from_list(i64, basis)
    )


def _linearize(kind: type[Operation], parser: Parser) -> Operation:
    """``disjoint [%i, %j] by (%a, 4) : index``."""
    is_disjoint = parser.parse_optional_keyword("disjoint") is not None
    values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    parser.parse_keyword("by")
    basis = _basis(parser, values)
    attributes = parser.parse_optional_attr_dict()
    types = types_of(parser)
    operands = parser.resolve_operands(values, [_INDEX] * len(values), parser.pos)
    made = with_attributes(
        kind, operands, types, attributes, static_basis=DenseArrayBase.from_list(i64, basis)
    )
    if is_disjoint:
        made.properties["disjoint"] = UnitAttr()
    return made


def _basis(parser: Parser, values: list[UnresolvedOperand]) -> list[int]:
    """Reads ``(%a, 4)``: adds the values, and returns the extents, those of values as dynamic."""
    basis: list[int] = []

    def one() -> None:
        value = parser.parse_optional_unresolved_operand()
        if value is not None:
            values.append(value)
        basis.append(parser.parse_integer() if value is None else DYNAMIC_INDEX)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    return basis


_BOUNDS = "lowerBoundsMap lowerBoundsGroups upperBoundsMap upperBoundsGroups steps reductions"
_FLAGS = "isWrite localityHint isDataCache"
AFFINE_OPERATIONS: tuple[type[Operation], ...] = (
    read_only(
        "affine.delinearize_index", _delinearize, operands=(1, None), results=-1, properties="static_basis"
    ),
    read_only(
        "affine.linearize_index",
        _linearize,
        operands=(0, None),
        required="static_basis",
        properties="disjoint operandSegmentSizes",
    ),
    read_only("affine.if", _if, operands=(0, None), results=-1, required="condition"),
    read_only("affine.load", _load, operands=(1, None), required="map"),
    read_only("affine.max", _extremum, operands=(0, None), required="map", traits=PURE),
    read_only("affine.min", _extremum, operands=(0, None), required="map", traits=PURE),
    read_only("affine.parallel", _parallel, operands=(0, None), results=-1, required=_BOUNDS),
    read_only("affine.prefetch", _prefetch, operands=(1, None), results=0, required="map", properties=_FLAGS),
    read_only("affine.store", _store, operands=(2, None), results=0, required="map"),
    read_only("affine.vector_load", _load, operands=(1, None), required="map"),
    read_only("affine.vector_store", _store, operands=(2, None), results=0, required="map"),
)
"""The operations of this file."""
