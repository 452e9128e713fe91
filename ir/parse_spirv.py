"""Upstream's custom syntax of `spirv.Variable`, the one operation of `spirv` that kernel-level modules have.

    %v = spirv.Variable init(%x) : !spirv.ptr<f32, Function>

The others are read, as all are printed, in generic syntax.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation
from xdsl.parser import Parser

from .dialects.spirv.memory import VariableOp
from .dialects.spirv.types import PointerType


def _variable(parser: Parser) -> Operation:
    given = None
    if parser.parse_optional_keyword("init") is not None:
        with parser.in_parens():
            given = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, PointerType):
        parser.raise_error(f"expected !spirv.ptr<…, Function>, found {type_}", start)
    op = VariableOp(type_, None if given is None else parser.resolve_operand(given, type_.pointee))
    op.attributes.update(attributes)
    return op


SPIRV_SYNTAX: dict[str, Callable[[Parser], Operation]] = {"spirv.Variable": _variable}
"""What reads each operation behind its name."""
