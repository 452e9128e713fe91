"""Operations of `vector` on memory, which xDSL lacks or has for vectors of one dimension.

%r = vector.transfer_read %a[%i, %j], %zero, %mask {in_bounds = [true]} : memref<?x?xf32>, vector<4xf32>
vector.maskedstore %a[%i], %mask, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    MemRefType,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.parser import Parser, UnresolvedOperand

from .reading import Reader, array_access, read_only, resolve_access, types_of, with_attributes


def _load(kind: type[Operation], parser: Parser) -> Operation:
    access = array_access(parser)
    attributes = parser.parse_optional_attr_dict()
    array, vector = _two(parser, types_of(parser))
    return with_attributes(kind, resolve_access(parser, access, array), [vector], attributes)


def _two(parser: Parser, types: list[Attribute]) -> list[Attribute]:
    if len(types) != 2:
        parser.raise_error(f"expected two types, found {len(types)}")
    return types


def _store(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    access = array_access(parser)
    attributes = parser.parse_optional_attr_dict()
    array, vector = _two(parser, types_of(parser))
    operands = [parser.resolve_operand(value, vector), *resolve_access(parser, access, array)]
    return with_attributes(kind, operands, [], attributes)


def _masked(gives_vector: bool, has_offsets: bool) -> Reader:
    """Returns what reads ``%a[%i][%offsets], %mask, %v : memref, vector, vector into vector``."""

    def read(kind: type[Operation], parser: Parser) -> Operation:
        access = array_access(parser)
        rest: list[UnresolvedOperand] = []
        if has_offsets:
            rest += parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_unresolved_operand
            )
        for _ in range(2):
            parser.parse_punctuation(",")
            rest.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        array, *types = types_of(parser)
        results: list[Attribute] = []
        if gives_vector:
            parser.parse_keyword("into")
            results.append(parser.parse_type())
        operands = [*resolve_access(parser, access, array), *parser.resolve_operands(rest, types, parser.pos)]
        return with_attributes(kind, operands, results, attributes)

    return read


def _read(kind: type[Operation], parser: Parser) -> Operation:
    access = array_access(parser)
    parser.parse_punctuation(",")
    values = [parser.parse_unresolved_operand()]
    if parser.parse_optional_punctuation(",") is not None:
        values.append(parser.parse_unresolved_operand())
    attributes = parser.parse_optional_attr_dict()
    array, vector = _two(parser, types_of(parser))
    map_ = _map(attributes, array, vector)
    types = [getattr(array, "element_type", array), _mask_type(map_, vector)]
    extra = parser.resolve_operands(values, types[: len(values)], parser.pos)
    operands = [*resolve_access(parser, access, array), *extra]
    sizes = [1, len(access[1]), 1, len(values) - 1]
    return _transfer(kind, operands, [vector], attributes, map_, sizes)


def _write(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    access = array_access(parser)
    mask = None
    if parser.parse_optional_punctuation(",") is not None:
        mask = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    vector, array = _two(parser, types_of(parser))
    map_ = _map(attributes, array, vector)
    operands = [parser.resolve_operand(value, vector), *resolve_access(parser, access, array)]
    if mask is not None:
        operands.append(parser.resolve_operand(mask, _mask_type(map_, vector)))
    return _transfer(kind, operands, [], attributes, map_, [1, 1, len(access[1]), int(mask is not None)])


def _transfer(
    kind: type[Operation],
    operands: Any,
    results: list[Attribute],
    attributes: dict[str, Attribute],
    map_: AffineMap,
    sizes: list[int],
) -> Operation:
    flags = attributes.pop("in_bounds", None) or ArrayAttr([BoolAttr.from_bool(False)] * len(map_.results))
    return with_attributes(
        kind,
        operands,
        results,
        attributes,
        in_bounds=flags,
        permutation_map=AffineMapAttr(map_),
        operandSegmentSizes=DenseArrayBase.from_list(i32, sizes),
    )


def _map(attributes: dict[str, Attribute], array: Attribute, vector: Attribute) -> AffineMap:
    """Returns the map that is given, or that along the last dimensions."""
    given = attributes.pop("permutation_map", None)
    if isinstance(given, AffineMapAttr):
        return given.data
    shaped: Any = array
    rank = shaped.get_num_dims() if isinstance(array, MemRefType) else 0
    element = shaped.element_type if isinstance(array, MemRefType) else None
    own = vector.get_num_dims() if isinstance(vector, VectorType) else 0
    own -= element.get_num_dims() if isinstance(element, VectorType) else 0
    return AffineMap(rank, 0, tuple(AffineDimExpr(rank - own + number) for number in range(own)))


def _mask_type(map_: AffineMap, vector: Attribute) -> Attribute:
    """Returns the type of a mask, whose dimensions are in the array's order."""
    assert isinstance(vector, VectorType)
    extents = zip(map_.results, vector.get_shape(), strict=False)
    used = sorted((r.position, extent) for r, extent in extents if isinstance(r, AffineDimExpr))
    return VectorType(i1, [extent for _, extent in used])


_TRANSFER = "in_bounds permutation_map operandSegmentSizes"
VECTOR_MEMORY_OPERATIONS: tuple[type[Operation], ...] = (
    read_only("vector.load", _load, operands=(1, None), properties="nontemporal"),
    read_only("vector.store", _store, operands=(2, None), results=0, properties="nontemporal"),
    read_only("vector.maskedload", _masked(True, False), operands=(3, None)),
    read_only("vector.maskedstore", _masked(False, False), operands=(3, None), results=0),
    read_only("vector.expandload", _masked(True, False), operands=(4, None)),
    read_only("vector.compressstore", _masked(False, False), operands=(4, None), results=0),
    read_only("vector.gather", _masked(True, True), operands=(5, None)),
    read_only("vector.scatter", _masked(False, True), operands=(5, None), results=0),
    read_only("vector.transfer_read", _read, operands=(2, None), properties=_TRANSFER),
    read_only("vector.transfer_write", _write, operands=(2, None), results=0, properties=_TRANSFER),
)
"""The operations of this file."""
