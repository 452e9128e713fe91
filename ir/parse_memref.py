"""Upstream's custom syntax of operations of `memref` that xDSL reads in generic syntax only.

%o = memref.atomic_rmw maxs %v, %a[%i] : (i32, memref<?xi32>) -> i32
%b = memref.cast %a : memref<?xi32> to memref<64xi32>
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.parser import Parser

_KINDS = (
    *("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli"),
    *("ori", "andi", "maxnumf", "minnumf", "xori"),
)
"""In the order of upstream's numbers."""


def _atomic_rmw(parser: Parser) -> Operation:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in _KINDS:
        parser.raise_error(f"expected one of {', '.join(_KINDS)}, found {word}", start)
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    array = parser.parse_unresolved_operand()
    indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = parser.parse_function_type()
    types = [*type_.inputs.data, *[IndexType()] * len(indices)]
    return memref.AtomicRMWOp.create(
        operands=parser.resolve_operands([value, array, *indices], types, parser.pos),
        result_types=type_.outputs.data,
        properties={"kind": IntegerAttr(_KINDS.index(word), i64)},
        attributes=attributes,
    )


def _cast(parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    target = parser.parse_type()
    return memref.CastOp.create(
        operands=[parser.resolve_operand(value, source)], result_types=[target], attributes=attributes
    )


MEMREF_SYNTAX: dict[str, Callable[[Parser], Operation]] = {
    "memref.atomic_rmw": _atomic_rmw,
    "memref.cast": _cast,
}
"""What reads each operation behind its name."""
