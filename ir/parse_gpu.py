"""Upstream's custom syntax of the `gpu` dialect, for which xDSL has the generic one only.

    gpu.module @m {
      gpu.func @k(%x: memref<?xf32>) workgroup(%t: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
        %i = gpu.global_id x
        gpu.return
      }
    }

Attributions, which upstream keeps as further arguments of the entry block, become `memref.alloc` (of the
work-group) and `memref.alloca` (of the work-item) there: the form in which the front end writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from .dialects.spirv.attributes import StorageClassAttr
from .dialects.spirv.enums import StorageClass
from .narrowing import is_memref_type

_ADDRESS_SPACES = {
    "global": StorageClass.StorageBuffer,
    "workgroup": StorageClass.Workgroup,
    "private": StorageClass.Function,
}


@irdl_attr_definition
class AddressSpaceAttr(ParametrizedAttribute):
    """``#gpu.address_space<workgroup>``, which xDSL has not: becomes ``#spirv.storage_class<Workgroup>`` at once."""

    name = "gpu.address_space"

    space: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            word = parser.parse_identifier()
        if word not in _ADDRESS_SPACES:
            parser.raise_error(f"expected one of {', '.join(_ADDRESS_SPACES)}, found {word}", position)
        return [StringAttr(word)]

    @classmethod
    def new(cls, params: Sequence[Attribute]) -> Attribute:  # pyright: ignore[reportIncompatibleMethodOverride]
        (space,) = params
        assert isinstance(space, StringAttr)
        return StorageClassAttr(_ADDRESS_SPACES[space.data])


class _Mapping(ParametrizedAttribute):
    """What a round of `scf.forall` is to be mapped to, of which nothing here makes use: ``#gpu.thread<x>``."""

    place: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.place.data)


def _mappings() -> list[type[Attribute]]:
    def mapping(word: str) -> type[Attribute]:
        class MappingAttr(_Mapping):
            name = f"gpu.{word}"

        return irdl_attr_definition(MappingAttr)

    return [mapping(word) for word in ("thread", "block", "warp", "warpgroup")]


def _attributes() -> list[type[Attribute]]:
    from .upstream.gpu import ReductionAttr, ShuffleModeAttr

    theirs = [kind for kind in gpu.GPU.attributes if kind is not gpu.AllReduceOpAttr]
    return [*theirs, *_mappings(), AddressSpaceAttr, ReductionAttr, ShuffleModeAttr]


GPU = Dialect("gpu", list(gpu.GPU.operations), _attributes())
"""Upstream's dialect with the attributes that xDSL lacks."""


def _module(parser: Parser) -> Operation:
    name = parser.parse_symbol_name()
    # What it was to be compiled for, of which nothing here makes use.
    parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    op = gpu.ModuleOp(name, parser.parse_region())  # pyright: ignore[reportArgumentType]
    if attributes is not None:
        op.attributes.update(attributes.data)
    return op


def _arguments(parser: Parser) -> list[tuple[Parser.Argument, dict[str, Attribute]]]:
    def argument() -> tuple[Parser.Argument, dict[str, Attribute]]:
        found = parser.parse_argument()
        attributes = parser.parse_optional_dictionary_attr_dict()
        parser.parse_optional_location()
        return found, attributes

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)


def _attributions(parser: Parser, keyword: str) -> list[Parser.Argument]:
    if parser.parse_optional_keyword(keyword) is None:
        return []
    return [argument for argument, _ in _arguments(parser)]


def _results(parser: Parser) -> Sequence[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return ()
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else several


def _func(parser: Parser) -> Operation:
    name = parser.parse_symbol_name().data
    arguments = _arguments(parser)
    results = _results(parser)
    shared, private = _attributions(parser, "workgroup"), _attributions(parser, "private")
    is_kernel = parser.parse_optional_keyword("kernel") is not None
    attributes: dict[str, Attribute] = {}
    for keyword in ("known_block_size", "known_grid_size"):
        if parser.parse_optional_keyword(keyword) is not None:
            sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            attributes[f"gpu.{keyword}"] = DenseArrayBase.from_list(i32, sizes)
    given = parser.parse_optional_attr_dict_with_keyword()
    if given is not None:
        attributes.update(given.data)
    entry = [argument for argument, _ in arguments]
    start = parser.pos
    body = parser.parse_region([*entry, *shared, *private])
    if not body.blocks:
        parser.raise_error("gpu.func has a body", start)
    kinds = [memref.AllocOp] * len(shared) + [memref.AllocaOp] * len(private)
    problem = _allocate(body, len(entry), kinds)
    if problem:
        parser.raise_error(problem, start)
    op = gpu.FuncOp(name, FunctionType.from_lists([a.type for a in entry], results), body, is_kernel)
    op.attributes.update(attributes)
    if any(given for _, given in arguments):
        op.attributes["arg_attrs"] = _dictionaries([given for _, given in arguments])
    return op


def _dictionaries(rows: Sequence[dict[str, Attribute]]) -> Attribute:
    return ArrayAttr([DictionaryAttr(row) for row in rows])


def allocate_attributions(op: gpu.FuncOp) -> str:
    """Does for a function that was read in generic syntax what `_func` does: its attributions are block arguments.

    Returns:
        What is wrong with them, empty where nothing is.
    """
    type_ = op.properties.get("function_type")
    if not op.body.blocks or not isinstance(type_, FunctionType):  # the verifier says what is missing
        return ""
    first = len(type_.inputs.data)
    count = max(len(op.body.blocks[0].args) - first, 0)
    given = op.properties.pop("workgroup_attributions", None) or op.attributes.pop(
        "workgroup_attributions", None
    )
    shared = min(given.value.data, count) if isinstance(given, IntegerAttr) else 0
    return _allocate(op.body, first, [memref.AllocOp] * shared + [memref.AllocaOp] * (count - shared))


def _allocate(body: Region, first: int, kinds: Sequence[type[memref.AllocOp | memref.AllocaOp]]) -> str:
    """Replaces the entry block's arguments from `first` on by allocations; returns what is wrong with them."""
    entry = body.blocks[0]
    for argument, kind in reversed(tuple(zip(entry.args[first:], kinds, strict=True))):
        type_ = argument.type
        if not is_memref_type(type_) or DYNAMIC_INDEX in type_.get_shape():
            return f"an attribution is a memref of static shape, found {type_}"
        alloca = kind.create(
            result_types=[storage_of(type_, kind)],
            properties={
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0]),
            },
        )
        alloca.results[0].name_hint = argument.name_hint
        argument.replace_all_uses_with(alloca.results[0])
        entry.erase_arg(argument)
        if entry.first_op is None:
            entry.add_op(alloca)
        else:
            entry.insert_op_before(alloca, entry.first_op)
    return ""


def storage_of(type_: MemRefType[Attribute], kind: type[Operation]) -> MemRefType[Attribute]:
    """Returns the type in the memory space that an allocation of this kind has here."""
    storage_class = StorageClass.Workgroup if kind is memref.AllocOp else StorageClass.Function
    return MemRefType(type_.element_type, type_.shape, type_.layout, StorageClassAttr(storage_class))


def _ending(kind: Callable[..., Operation]) -> Callable[[Parser], Operation]:
    """Returns what reads ``%v, %w : f32, i32``, or nothing."""
    return lambda parser: kind(_values(parser))


def _values(parser: Parser) -> Sequence[SSAValue]:
    values = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not values:
        return ()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return parser.resolve_operands(values, types, parser.pos)


def _barrier(parser: Parser) -> Operation:
    op = gpu.BarrierOp()
    op.attributes.update(parser.parse_optional_attr_dict())
    return op


def _of_dimension(op_class: Callable[[gpu.DimensionAttr], Operation]) -> Callable[[Parser], Operation]:
    def parse(parser: Parser) -> Operation:
        dimension = parser.parse_str_enum(gpu.DimensionEnum)
        _skip_upper_bound(parser)
        return op_class(gpu.DimensionAttr(dimension))

    return parse


def _skip_upper_bound(parser: Parser) -> None:
    # A promise about the value's range, of which nothing here makes use.
    if parser.parse_optional_keyword("upper_bound") is not None:
        parser.parse_integer()
    parser.parse_optional_attr_dict()


def _plain(op_class: Callable[[], Operation]) -> Callable[[Parser], Operation]:
    def parse(parser: Parser) -> Operation:
        _skip_upper_bound(parser)
        if parser.parse_optional_punctuation(":") is not None:
            parser.parse_type()
        return op_class()

    return parse


GPU_SYNTAX: dict[str, Callable[[Parser], Operation]] = {
    "gpu.module": _module,
    "gpu.func": _func,
    "gpu.return": _ending(gpu.ReturnOp),
    "gpu.yield": _ending(gpu.YieldOp),
    "gpu.barrier": _barrier,
    "gpu.global_id": _of_dimension(gpu.GlobalIdOp),
    "gpu.thread_id": _of_dimension(gpu.ThreadIdOp),
    "gpu.block_id": _of_dimension(gpu.BlockIdOp),
    "gpu.block_dim": _of_dimension(gpu.BlockDimOp),
    "gpu.grid_dim": _of_dimension(gpu.GridDimOp),
    "gpu.lane_id": _plain(gpu.LaneIdOp),
    "gpu.subgroup_id": _plain(gpu.SubgroupIdOp),
    "gpu.num_subgroups": _plain(gpu.NumSubgroupsOp),
    "gpu.subgroup_size": _plain(gpu.SubgroupSizeOp),
}
"""What reads each operation behind its name."""
