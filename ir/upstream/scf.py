"""Loops of `scf` over several dimensions, which xDSL lacks or reads in generic syntax only.

%s = scf.parallel (%i, %j) = (%a, %b) to (%c, %d) step (%e, %f) init (%z) -> f32 { … }
scf.forall (%i, %j) in (4, %n) { … }

Read here too: `scf.while` that carries nothing, `scf.index_switch` whose regions end without scf.yield, `scf.if` and
`scf.for` with one result whose type stands without brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser, UnresolvedOperand

from .reading import ENDS_WITH_BLOCK, end_with, read_only, with_attributes

_INDEX = IndexType()


def _counters(parser: Parser) -> list[Parser.Argument]:
    names = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    return [name.resolve(_INDEX) for name in names]


def _values(parser: Parser) -> list[UnresolvedOperand]:
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def _start(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    """``%x = %a``: what is carried, and its first value."""
    name = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return name, parser.parse_unresolved_operand()


def _results(parser: Parser) -> Sequence[Attribute]:
    """Types behind ``->``, if that is there: those of several results stand in brackets, mostly."""
    if parser.parse_optional_punctuation("->") is None:
        return ()
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return (
        parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if several is None
        else several
    )


def _arm(parser: Parser, types: Sequence[Attribute]) -> Region:
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    if not types:
        end_with(region, scf.YieldOp)
    return region


def _if(parser: Parser) -> Operation:
    """``scf.if %c -> f32 { … } else { … }``."""
    condition = parser.parse_operand(i1)
    types = _results(parser)
    regions = [_arm(parser, types)]
    regions.append(_arm(parser, types) if parser.parse_optional_keyword("else") is not None else Region())
    attributes = parser.parse_optional_attr_dict()
    return scf.IfOp.create(operands=[condition], result_types=types, regions=regions, attributes=attributes)


def _for(parser: Parser) -> Operation:
    """``scf.for %i = %a to %b step %c iter_args(%x = %y) -> f32 : i32 { … }``."""
    counter = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    bounds = [parser.parse_unresolved_operand()]
    for keyword in ("to", "step"):
        parser.parse_keyword(keyword)
        bounds.append(parser.parse_unresolved_operand())

    pairs: list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]] = []
    types: Sequence[Attribute] = ()
    position = parser.pos
    if parser.parse_optional_keyword("iter_args") is not None:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _start(parser))
        types = _results(parser)
    kind = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else _INDEX
    carried = parser.resolve_operands([value for _, value in pairs], types, position)
    operands = [*(parser.resolve_operand(value, kind) for value in bounds), *carried]
    names = [name.resolve(type_) for (name, _), type_ in zip(pairs, types, strict=True)]
    body = parser.parse_region([counter.resolve(kind), *names])
    if not types:
        end_with(body, scf.YieldOp)
    attributes = parser.parse_optional_attr_dict()
    return scf.ForOp.create(operands=operands, result_types=types, regions=[body], attributes=attributes)


def _parallel(parser: Parser) -> Operation:
    counters = _counters(parser)
    parser.parse_punctuation("=")
    bounds = [_values(parser)]
    parser.parse_keyword("to")
    bounds.append(_values(parser))
    parser.parse_keyword("step")
    bounds.append(_values(parser))
    start = _values(parser) if parser.parse_optional_keyword("init") is not None else []
    types = _results(parser)
    position = parser.pos
    body = parser.parse_region(counters)
    end_with(body, scf.ReduceOp)
    attributes = parser.parse_optional_attr_dict()
    flat = [value for row in bounds for value in row]
    operands = parser.resolve_operands([*flat, *start], [*[_INDEX] * len(flat), *types], position)
    sizes = [*map(len, bounds), len(start)]
    return scf.ParallelOp.create(
        operands=operands,
        result_types=types,
        properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)},
        regions=[body],
        attributes=attributes,
    )


def _reduce(parser: Parser) -> Operation:
    """``scf.reduce(%x : f32) { … }``."""
    values: list[UnresolvedOperand] = []
    types: list[Attribute] = []
    if parser.parse_optional_punctuation("(") is not None:
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
    regions = [parser.parse_region()] if values else []
    while parser.parse_optional_punctuation(",") is not None:
        regions.append(parser.parse_region())
    operands = parser.resolve_operands(values, types, parser.pos)
    attributes = parser.parse_optional_attr_dict()
    return scf.ReduceOp.create(operands=operands, regions=regions, attributes=attributes)


def _while(parser: Parser) -> Operation:
    """``scf.while (%x = %a) : (i32) -> f32 { … } do { … }``; a loop that carries nothing has no ``(…)``."""

    pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _start(parser)) or []
    parser.parse_punctuation(":")
    position = parser.pos
    type_ = parser.parse_function_type()
    operands = parser.resolve_operands([value for _, value in pairs], type_.inputs.data, position)
    names = [name.resolve(kind) for (name, _), kind in zip(pairs, type_.inputs.data, strict=True)]
    before = parser.parse_region(names)
    parser.parse_keyword("do")
    after = parser.parse_region()
    end_with(after, scf.YieldOp)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return scf.WhileOp.create(
        operands=operands,
        result_types=type_.outputs.data,
        regions=[before, after],
        attributes={} if attributes is None else attributes.data,
    )


def _index_switch(parser: Parser) -> Operation:
    """``scf.index_switch %i -> f32 case 2 { … } default { … }``; regions without results need no scf.yield."""
    argument = parser.parse_operand(_INDEX)
    attributes = parser.parse_optional_attr_dict()
    types = _results(parser)
    cases: list[int] = []
    regions: list[Region] = []
    while parser.parse_optional_keyword("case") is not None:
        cases.append(parser.parse_integer())
        regions.append(parser.parse_region())
    parser.parse_keyword("default")
    regions.insert(0, parser.parse_region())
    for region in regions if not types else ():
        end_with(region, scf.YieldOp)
    return scf.IndexSwitchOp.create(
        operands=[argument],
        result_types=types,
        properties={"cases": DenseArrayBase.from_list(i64, cases)},
        regions=regions,
        attributes=attributes,
    )


SCF_SYNTAX: dict[str, Callable[[Parser], Operation]] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.index_switch": _index_switch,
    "scf.parallel": _parallel,
    "scf.reduce": _reduce,
    "scf.while": _while,
}
"""What reads each operation of xDSL's behind its name."""


def _forall(kind: type[Operation], parser: Parser) -> Operation:
    counters = _counters(parser)
    if parser.parse_optional_keyword("in") is not None:
        upper = _mixed(parser)
        lower, step = _of_numbers([0] * len(upper[1])), _of_numbers([1] * len(upper[1]))
    else:
        parser.parse_punctuation("=")
        lower = _mixed(parser)
        parser.parse_keyword("to")
        upper = _mixed(parser)
        parser.parse_keyword("step")
        step = _mixed(parser)
    position = parser.pos
    if parser.parse_optional_keyword("shared_outs") is not None:
        parser.raise_error(
            "scf.forall has no tensors (shared_outs) in a kernel; bufferize them with mlir-opt", position
        )
    body = parser.parse_region(counters)
    end_with(body, FORALL_END)
    attributes = parser.parse_optional_attr_dict()
    values = [*lower[0], *upper[0], *step[0]]
    sizes = [len(lower[0]), len(upper[0]), len(step[0]), 0]
    return with_attributes(
        kind,
        parser.resolve_operands(values, [_INDEX] * len(values), position),
        [],
        attributes,
        regions=[body],
        staticLowerBound=DenseArrayBase.from_list(i64, lower[1]),
        staticUpperBound=DenseArrayBase.from_list(i64, upper[1]),
        staticStep=DenseArrayBase.from_list(i64, step[1]),
        operandSegmentSizes=DenseArrayBase.from_list(i32, sizes),
    )


def _of_numbers(numbers: list[int]) -> tuple[list[UnresolvedOperand], list[int]]:
    return [], numbers


def _mixed(parser: Parser) -> tuple[list[UnresolvedOperand], list[int]]:
    """Reads ``(%n, 4)``: the values, and the numbers with a mark for each value."""
    values: list[UnresolvedOperand] = []
    numbers: list[int] = []

    def one() -> None:
        value = parser.parse_optional_unresolved_operand()
        if value is not None:
            values.append(value)
        numbers.append(parser.parse_integer() if value is None else DYNAMIC_INDEX)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    return values, numbers


def _forall_end(kind: type[Operation], parser: Parser) -> Operation:
    return with_attributes(kind, [], [], {}, regions=[parser.parse_region()])


FORALL_END = read_only(
    "scf.forall.in_parallel", _forall_end, operands=(0, 0), results=0, traits=ENDS_WITH_BLOCK
)
"""The terminator of `scf.forall`."""
_STATIC = "staticLowerBound staticUpperBound staticStep operandSegmentSizes"
SCF_OPERATIONS: tuple[type[Operation], ...] = (
    read_only("scf.forall", _forall, operands=(0, None), results=-1, required=_STATIC, properties="mapping"),
    FORALL_END,
)
"""Operations that xDSL lacks."""
