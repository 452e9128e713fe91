"""Operations of `vector` on what a vector is made of, which xDSL lacks, has in newer forms or for fewer types.

    %e = vector.extract_strided_slice %v {offsets = [1], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %s = vector.shuffle %v, %w [3, 2, 5, 1] : vector<4xf32>, vector<4xf32>

They are read only: `passes.lower_vectors` replaces them by others before any other pass.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..narrowing import is_vector_type
from .reading import PURE, integers_of, read_only, types_of, vector_type, with_attributes


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """A component of a vector; without position of a vector without dimensions."""

    name = "vector.extractelement"

    vector = operand_def(VectorType)
    position = opt_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        vector = parser.parse_unresolved_operand()
        position = _position(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = vector_type(parser)
        operands = [parser.resolve_operand(vector, type_), *position]
        return with_attributes(cls, operands, [type_.element_type], attributes)

    def verify_(self) -> None:
        _check_element(self, self.vector.type, self.result.type)


@irdl_op_definition
class InsertElementOp(IRDLOperation):
    """A vector with a component replaced."""

    name = "vector.insertelement"

    T: ClassVar = VarConstraint("T", AnyAttr())

    source = operand_def()
    dest = operand_def(T)
    position = opt_operand_def()
    result = result_def(T)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        dest = parser.parse_unresolved_operand()
        position = _position(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = vector_type(parser)
        values = parser.resolve_operands([source, dest], [type_.element_type, type_], parser.pos)
        return with_attributes(cls, [*values, *position], [type_], attributes)

    def verify_(self) -> None:
        _check_element(self, self.dest.type, self.source.type)


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A vector of one value; `vector.broadcast` in newer versions."""

    name = "vector.splat"

    input = operand_def()
    aggregate = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        value, type_, attributes = _value_of(parser)
        operand = parser.resolve_operand(value, type_.element_type)
        return with_attributes(cls, [operand], [type_], attributes)

    def verify_(self) -> None:
        _check_element(self, self.aggregate.type, self.input.type)


@irdl_op_definition
class ShapeCastOp(IRDLOperation):
    """A vector of the same components in another shape."""

    name = "vector.shape_cast"

    source = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class ExtractStridedSliceOp(IRDLOperation):
    """Neighbouring components of a vector."""

    name = "vector.extract_strided_slice"

    vector = operand_def(VectorType)
    offsets = prop_def(ArrayAttr)
    sizes = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$vector attr-dict `:` type($vector) `to` type($result)"


@irdl_op_definition
class InsertStridedSliceOp(IRDLOperation):
    """A vector with neighbouring components replaced."""

    name = "vector.insert_strided_slice"

    T: ClassVar = VarConstraint("T", AnyAttr())

    source = operand_def(VectorType)
    dest = operand_def(T)
    offsets = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def(T)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `,` $dest attr-dict `:` type($source) `into` type($dest)"


@irdl_op_definition
class InterleaveOp(IRDLOperation):
    """The components of two vectors in turn."""

    name = "vector.interleave"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"


@irdl_op_definition
class DeinterleaveOp(IRDLOperation):
    """The components at even and at odd places."""

    name = "vector.deinterleave"

    T: ClassVar = VarConstraint("T", AnyAttr())

    source = operand_def(VectorType)
    res1 = result_def(T)
    res2 = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($res1)"


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector of these components."""

    name = "vector.from_elements"

    elements = var_operand_def()
    dest = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        values = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = vector_type(parser)
        operands = parser.resolve_operands(values or [], [type_.element_type] * len(values or []), parser.pos)
        return with_attributes(cls, operands, [type_], attributes)

    def verify_(self) -> None:
        for value in self.elements:
            _check_element(self, self.dest.type, value.type)


@irdl_op_definition
class ToElementsOp(IRDLOperation):
    """The components of a vector, one result each."""

    name = "vector.to_elements"

    source = operand_def(VectorType)
    elements = var_result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        value, type_, attributes = _value_of(parser)
        count = type_.element_count()
        if count > _MOST_ELEMENTS:
            parser.raise_error(f"vectors have at most {_MOST_ELEMENTS} components here, found {type_}")
        operand = parser.resolve_operand(value, type_)
        return with_attributes(cls, [operand], [type_.element_type] * count, attributes)


_MOST_ELEMENTS = 1024


@irdl_op_definition
class VectorShuffleOp(IRDLOperation):
    """Components of two vectors; versions up to 19 write the mask as an array of attributes."""

    name = "vector.shuffle"

    v1 = operand_def(VectorType)
    v2 = operand_def(VectorType)
    mask = prop_def(Attribute)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        values = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        values.append(parser.parse_unresolved_operand())
        mask = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        first = vector_type(parser)
        parser.parse_punctuation(",")
        types = [first, vector_type(parser)]
        shape = [len(mask), *first.get_shape()[1:]]
        operands = parser.resolve_operands(values, types, parser.pos)
        result = VectorType(first.element_type, shape)
        return with_attributes(cls, operands, [result], attributes, mask=DenseArrayBase.from_list(i64, mask))

    def verify_(self) -> None:
        positions = integers_of(self.mask)
        types: Any = (self.v1.type, self.v2.type, self.result.type)
        lengths = [(type_.get_shape() or (1,))[0] for type_ in types]
        if len({type_.element_type for type_ in types}) != 1 or lengths[2] != len(positions):
            raise VerifyException(f"'{self.name}' of {types[0]} and {types[1]} does not give {types[2]}")
        if not all(-1 <= position < lengths[0] + lengths[1] for position in positions):
            raise VerifyException(f"'{self.name}' has a position that neither vector has, found {positions}")


def _position(parser: Parser) -> list[SSAValue]:
    """Reads ``[%i : index]`` or ``[]``."""
    with parser.in_square_brackets():
        value = parser.parse_optional_unresolved_operand()
        if value is None:
            return []
        parser.parse_punctuation(":")
        return [parser.resolve_operand(value, parser.parse_type())]


def _value_of(parser: Parser) -> tuple[UnresolvedOperand, VectorType[Attribute], dict[str, Attribute]]:
    """Reads ``%v {…} : vector<4xf32>``."""
    value = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    return value, vector_type(parser), attributes


def _check_element(op: Operation, vector: Attribute, element: Attribute) -> None:
    if not is_vector_type(vector) or vector.element_type != element:
        raise VerifyException(f"'{op.name}' of {vector} does not fit {element}")


def _step(kind: type[Operation], parser: Parser) -> Operation:
    attributes = parser.parse_optional_attr_dict()
    return with_attributes(kind, [], types_of(parser), attributes)


def _constant_mask(kind: type[Operation], parser: Parser) -> Operation:
    sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    attributes = parser.parse_optional_attr_dict()
    numbers = DenseArrayBase.from_list(i64, sizes)
    return with_attributes(kind, [], types_of(parser), attributes, mask_dim_sizes=numbers)


def _create_mask(kind: type[Operation], parser: Parser) -> Operation:
    sizes = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    attributes = parser.parse_optional_attr_dict()
    operands = parser.resolve_operands(sizes or [], [IndexType()] * len(sizes or []), parser.pos)
    return with_attributes(kind, operands, types_of(parser), attributes)


def _transpose(kind: type[Operation], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return _converted(kind, parser, value, "to", permutation=DenseArrayBase.from_list(i64, order))


def _flat_transpose(kind: type[Operation], parser: Parser) -> Operation:
    return _converted(kind, parser, parser.parse_unresolved_operand(), "->")


def _broadcast(kind: type[Operation], parser: Parser) -> Operation:
    return _converted(kind, parser, parser.parse_unresolved_operand(), "to")


def _converted(
    kind: type[Operation], parser: Parser, value: UnresolvedOperand, word: str, **properties: Attribute
) -> Operation:
    """Reads ``{…} : vector<2x4xf32> to vector<4x2xf32>`` behind the operand."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    _between(parser, word)
    return with_attributes(
        kind, [parser.resolve_operand(value, source)], [parser.parse_type()], attributes, **properties
    )


def _between(parser: Parser, word: str) -> None:
    if word == "->":
        parser.parse_punctuation("->")
    else:
        parser.parse_keyword(word)


VECTOR_OPERATIONS: tuple[type[Operation], ...] = (
    *(ExtractElementOp, InsertElementOp, SplatOp, ShapeCastOp, ExtractStridedSliceOp, InsertStridedSliceOp),
    *(InterleaveOp, DeinterleaveOp, FromElementsOp, ToElementsOp, VectorShuffleOp),
    read_only("vector.step", _step, operands=(0, 0), traits=PURE),
    read_only(
        "vector.constant_mask", _constant_mask, operands=(0, 0), required="mask_dim_sizes", traits=PURE
    ),
    read_only("vector.create_mask", _create_mask, operands=(0, None), traits=PURE),
    read_only("vector.transpose", _transpose, operands=(1, 1), required="permutation", traits=PURE),
    read_only(
        "vector.flat_transpose", _flat_transpose, operands=(1, 1), required="rows columns", traits=PURE
    ),
    read_only("vector.broadcast", _broadcast, operands=(1, 1), traits=PURE),
    read_only("vector.bitcast", _broadcast, operands=(1, 1), traits=PURE),
)
"""The operations of this file."""
