"""Makes classes of operations that are only read, and reads the pieces that their custom syntaxes have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

PURE = (Pure(),)
"""Traits of what has no effect."""
ENDS = (IsTerminator(),)
"""Traits of what ends a block."""
ENDS_WITH_BLOCK = (IsTerminator(), NoTerminator())
"""Traits of what ends a block, and has one without an end."""
Reader = Callable[[type[Operation], Parser], Operation]
"""Reads an operation behind its name."""


def read_only(
    name: str,
    read: Reader | None,
    *,
    operands: tuple[int, int | None],
    results: int = 1,
    properties: str = "",
    **rest: Any,
) -> type[Operation]:
    """Returns the class of an operation that lowerings look at closely, so that it takes operands of any type.

    Args:
        name: with its dialect.
        read: its custom syntax; None where there is only the generic one.
        operands: the fewest and the most, None of no most.
        results: how many, -1 of any number.
        properties: their names; all may be absent.
        rest: `traits`, and `required`, the names of properties that may not be absent.
    """
    required = rest.get("required", "").split()

    def verify_(self: Any) -> None:
        least, most = operands
        count = len(self.operands)
        if count < least or (most is not None and count > most):
            words = (
                str(least) if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            )
            raise VerifyException(f"'{name}' takes {words} operands, found {count}")
        if results >= 0 and len(self.results) != results:
            raise VerifyException(f"'{name}' has {results} results, found {len(self.results)}")
        missing = [word for word in required if word not in self.properties]
        if missing:
            raise VerifyException(f"'{name}' lacks {', '.join(missing)}")

    body: dict[str, Any] = {
        "name": name,
        "__module__": __name__,
        "values": var_operand_def(),
        "made": var_result_def(),
        "bodies": var_region_def(),
        "verify_": verify_,
    }
    for word in (*required, *properties.split()):
        body[f"property_{word}"] = opt_prop_def(Attribute, prop_name=word)
    body["traits"] = traits_def(*rest.get("traits", ()))
    if read is not None:

        def parse(cls: type[Operation], parser: Parser) -> Operation:
            assert read is not None
            return read(cls, parser)

        body["parse"] = classmethod(parse)
    return irdl_op_definition(type(name, (IRDLOperation,), body))


def made(
    kind: type[Operation],
    parser: Parser,
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    **properties: Attribute,
) -> Operation:
    """Returns an operation behind whose operands an attribute dictionary may stand."""
    return with_attributes(kind, operands, results, parser.parse_optional_attr_dict(), **properties)


def with_attributes(
    kind: type[Operation],
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    attributes: dict[str, Attribute],
    /,
    **properties: Any,
) -> Operation:
    """Returns an operation; attributes that its class has as properties become these."""
    known = {
        definition.removeprefix("property_")
        for definition in vars(kind)
        if definition.startswith("property_")
    }
    regions = properties.pop("regions", ())
    properties |= {name: value for name, value in attributes.items() if name in known}
    op = kind.create(operands=operands, result_types=results, properties=properties, regions=regions)
    op.attributes.update({name: value for name, value in attributes.items() if name not in known})
    return op


def array_access(parser: Parser) -> tuple[UnresolvedOperand, list[UnresolvedOperand]]:
    """Reads ``%a[%i, %j]``."""
    array = parser.parse_unresolved_operand()
    return array, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)


def resolve_access(
    parser: Parser, access: tuple[UnresolvedOperand, list[UnresolvedOperand]], type_: Attribute
) -> list[SSAValue]:
    """Returns the array of this type, and the indices."""
    array, indices = access
    types = [type_, *[IndexType()] * len(indices)]
    return list(parser.resolve_operands([array, *indices], types, parser.pos))


def end_with(body: Region, kind: type[Operation]) -> None:
    """Adds the terminator that custom syntax leaves out, and the block of ``{ }``."""
    if not body.blocks:
        body.add_block(Block())
    last = body.blocks[-1].last_op
    if last is None or last.name != kind.name:
        body.blocks[-1].add_op(kind.create())


def types_of(parser: Parser) -> list[Attribute]:
    """Reads ``: f32, vector<4xf32>``."""
    parser.parse_punctuation(":")
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)


def vector_type(parser: Parser) -> VectorType[Attribute]:
    """Reads the type of a vector."""
    start = parser.pos
    type_ = parser.parse_type()
    if type(type_) is not VectorType:
        parser.raise_error(f"expected a vector, found {type_}", start)
    return type_  # pyright: ignore[reportReturnType]


def integers_of(value: Attribute) -> tuple[int, ...]:
    """Returns the numbers of `array<i64: 1, 2>` or of `[1, 2]`."""
    if isinstance(value, DenseArrayBase):
        return tuple(int(number) for number in value.get_values())
    items: Any = value
    if isinstance(value, ArrayAttr) and all(isinstance(item, IntegerAttr) for item in items):
        return tuple(item.value.data for item in items)
    raise VerifyException(f"expected numbers, found {value}")
