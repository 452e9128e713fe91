"""Operations of `memref` that xDSL lacks, and upstream's custom syntax of those that it reads in generic syntax only.

%o = memref.atomic_rmw maxs %v, %a[%i] : (i32, memref<?xi32>) -> i32
%t = memref.transpose %a (i, j) -> (j, i) : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from ..narrowing import is_memref_type
from .reading import ENDS, PURE, array_access, end_with, read_only, resolve_access, with_attributes

KINDS = (
    *("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli"),
    *("ori", "andi", "maxnumf", "minnumf", "xori"),
)
"""In the order of upstream's numbers."""


def _atomic_rmw(parser: Parser) -> Operation:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in KINDS:
        parser.raise_error(f"expected one of {', '.join(KINDS)}, found {word}", start)
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    array, indices = array_access(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = parser.parse_function_type()
    types = [*type_.inputs.data, *[IndexType()] * len(indices)]
    return memref.AtomicRMWOp.create(
        operands=parser.resolve_operands([value, array, *indices], types, parser.pos),
        result_types=type_.outputs.data,
        properties={"kind": IntegerAttr(KINDS.index(word), i64)},
        attributes=attributes,
    )


def _conversion(kind: type[Operation]) -> Callable[[Parser], Operation]:
    """``%a : memref<?xf32> to memref<64xf32>``."""

    def read(parser: Parser) -> Operation:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        target = parser.parse_type()
        operands = [parser.resolve_operand(value, source)]
        return kind.create(operands=operands, result_types=[target], attributes=attributes)

    return read


def _rank(parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operands = [parser.resolve_operand(value, parser.parse_type())]
    return memref.RankOp.create(operands=operands, result_types=[IndexType()], attributes=attributes)


def _copy(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    target = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    parser.parse_keyword("to")
    types.append(parser.parse_type())
    operands = parser.resolve_operands([source, target], types, parser.pos)
    return memref.CopyOp.create(operands=operands, attributes=attributes)


def _scope(parser: Parser) -> Operation:
    types: list[Attribute] = []
    if parser.parse_optional_punctuation("->") is not None:
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    body = parser.parse_region()
    end_with(body, memref.AllocaScopeReturnOp)
    attributes = parser.parse_optional_attr_dict()
    return memref.AllocaScopeOp.create(result_types=types, regions=[body], attributes=attributes)


def _scope_return(parser: Parser) -> Operation:
    values = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not values:
        return memref.AllocaScopeReturnOp.create()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return memref.AllocaScopeReturnOp.create(operands=parser.resolve_operands(values, types, parser.pos))


def _global(parser: Parser) -> Operation:
    """``"private" constant @table : memref<4xf32> = dense<1.0>``."""
    visibility = parser.parse_optional_str_literal()
    is_constant = parser.parse_optional_keyword("constant") is not None
    name = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    value: Attribute | None = None
    if parser.parse_optional_punctuation("=") is not None:
        if parser.parse_optional_keyword("uninitialized") is not None:
            value = UnitAttr()
        else:
            value = parser.parse_attribute() if not is_memref_type(type_) else _elements(parser, type_)
    properties: dict[str, Attribute] = {"sym_name": name, "type": type_}
    properties |= {"sym_visibility": StringAttr(visibility or "public")}
    if value is None:
        parser.raise_error(
            f"memref.global @{name.data} has no value, and no other module gives a kernel one; write "
            "= uninitialized, or = dense<...>"
        )
    properties["initial_value"] = value
    if is_constant:
        properties["constant"] = UnitAttr()
    attributes = parser.parse_optional_attr_dict()
    if "alignment" in attributes:
        properties["alignment"] = attributes.pop("alignment")
    return memref.GlobalOp.create(properties=properties, attributes=attributes)


def _elements(parser: Parser, type_: MemRefType[Attribute]) -> Attribute:
    """Reads ``dense<…>``, whose type the memref says."""
    parser.parse_keyword("dense")
    shape: Any = TensorType(type_.element_type, type_.shape)
    return parser.parse_dense_int_or_fp_elements_attr(shape)


MEMREF_SYNTAX: dict[str, Callable[[Parser], Operation]] = {
    "memref.alloca_scope": _scope,
    "memref.alloca_scope.return": _scope_return,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.cast": _conversion(memref.CastOp),
    "memref.copy": _copy,
    "memref.global": _global,
    "memref.memory_space_cast": _conversion(memref.MemorySpaceCastOp),
    "memref.rank": _rank,
}
"""What reads each operation of xDSL's behind its name."""


def _assume_alignment(kind: type[Operation], parser: Parser) -> Operation:
    """A promise about addresses; versions up to 19 give no memory back."""
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    alignment = IntegerAttr(parser.parse_integer(), 32)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operands = [parser.resolve_operand(value, parser.parse_type())]
    return with_attributes(kind, operands, [], attributes, alignment=alignment)


def _transpose(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    map_ = parser.parse_affine_map()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operands = [parser.resolve_operand(value, parser.parse_type())]
    parser.parse_keyword("to")
    return with_attributes(kind, operands, [parser.parse_type()], attributes, permutation=AffineMapAttr(map_))


def _generic_update(kind: type[Operation], parser: Parser) -> Operation:
    access = array_access(parser)
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    body = parser.parse_region()
    attributes = parser.parse_optional_attr_dict()
    element = type_.element_type if is_memref_type(type_) else type_
    return with_attributes(kind, resolve_access(parser, access, type_), [element], attributes, regions=[body])


def _yield(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return with_attributes(kind, [parser.resolve_operand(value, parser.parse_type())], [], {})


def _prefetch(kind: type[Operation], parser: Parser) -> Operation:
    access = array_access(parser)
    while parser.parse_optional_punctuation(",") is not None:  # read or write, locality<3>, data or instr
        parser.parse_identifier()
        if parser.parse_optional_punctuation("<") is not None:
            parser.parse_integer()
            parser.parse_punctuation(">")
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    return with_attributes(kind, resolve_access(parser, access, parser.parse_type()), [], attributes)


def _reshape(kind: type[Operation], parser: Parser) -> Operation:
    """``%a(%shape) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>``."""
    values = [parser.parse_unresolved_operand()]
    values += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = parser.parse_function_type()
    operands = parser.resolve_operands(values, type_.inputs.data, parser.pos)
    return with_attributes(kind, operands, type_.outputs.data, attributes)


_FLAGS = "isWrite localityHint isDataCache"
MEMREF_OPERATIONS: tuple[type[Operation], ...] = (
    read_only(
        "memref.assume_alignment", _assume_alignment, operands=(1, 1), results=-1, required="alignment"
    ),
    read_only("memref.transpose", _transpose, operands=(1, 1), required="permutation", traits=PURE),
    read_only("memref.generic_atomic_rmw", _generic_update, operands=(1, None)),
    read_only("memref.atomic_yield", _yield, operands=(1, 1), results=0, traits=ENDS),
    read_only("memref.prefetch", _prefetch, operands=(1, None), results=0, properties=_FLAGS),
    read_only("memref.reshape", _reshape, operands=(2, 2), traits=PURE),
)
"""Operations that xDSL lacks."""
