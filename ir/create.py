"""Creating operations in a third of the time that xDSL's `Operation.create` takes; most of IR is made here.

`create` fills the same fields as `Operation.__init__` (tests/ir/test_create.py compares them) without the properties,
generators and look-ups in between; `append` and `prepend_all` put operations that are in no block yet behind or in
front of all others of a block, without looking for cycles that a new operation cannot make; `move_all` does so with
everything in a block.
"""

# The fields are xDSL's own, whose version pyproject.toml fixes.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    IRWithUses,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.irdl import IRDLOperation

from .deferred_operations import default_values
from .identity_hashes import hash_by_identity

hash_by_identity()  # whoever makes operations looks them up

_Op = TypeVar("_Op", bound=Operation)

_NOTHING: Mapping[str, Attribute] = {}


def create(
    kind: type[_Op],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr = UNKNOWN_LOC,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> _Op:
    """Returns a new operation, in no block, as ``kind.create`` would make it; the regions are in no other operation."""
    default_properties, default_attributes = _defaults(kind)
    op = object.__new__(kind)
    # Fields that would be empty are left to the defaults of the class.
    if operands:
        op._operands = values = SSAValues(operands)
        op._operand_uses = _uses(op, values)
    if result_types:
        if len(result_types) == 1:
            op.results = SSAValues((OpResult(result_types[0], op, 0),))
        else:
            op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(result_types)])
    op.properties = made = dict(properties)
    for name, default in default_properties:
        made.setdefault(name, default)
    op.attributes = made = dict(attributes)
    for name, default in default_attributes:
        made.setdefault(name, default)
    op.location = location
    if successors:
        op._successors = blocks = tuple(successors)
        op._successor_uses = _uses(op, blocks)
    for region in regions:
        op.add_region(region)
    return op


def initialise(
    op: Operation,
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute] = _NOTHING,
    regions: Sequence[Region] = (),
) -> None:
    """Gives a new operation without operands, results and successors its fields: what its constructor ends with."""
    made = create(type(op), properties=properties, attributes=attributes)
    op.properties, op.attributes, op.location = made.properties, made.attributes, made.location
    for region in regions:
        op.add_region(region)


def _uses(op: Operation, used: Sequence[IRWithUses]) -> tuple[Use, ...]:
    """Tells values or blocks that an operation uses them."""
    uses: list[Use] = []
    for index, value in enumerate(used):
        use = Use(op, index)
        first = value.first_use
        if first is not None:
            use._next_use = first
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


def append(block: Block, op: Operation) -> None:
    """Puts a new operation, which is in no block and has none of the block's parents in it, at the end of a block."""
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        op._prev_op = last
        last._next_op = op
    block._last_op = op


def append_all(block: Block, ops: Iterable[Operation]) -> None:
    """Puts new operations, as `append` takes them, at the end of a block."""
    for op in ops:
        append(block, op)


def prepend_all(block: Block, ops: Iterable[Operation]) -> None:
    """Puts new operations, as `append` takes them, in front of all others of a block."""
    front = empty_block()
    append_all(front, ops)
    move_all(block, front)
    move_all(front, block)


def move_all(source: Block, target: Block) -> None:
    """Puts all operations of a block, which are in none of the target's parents, behind those of another block."""
    first, last = source._first_op, target._last_op
    if first is None:
        return
    op: Operation | None = first
    while op is not None:
        op.parent = target
        op = op._next_op
    if last is None:
        target._first_op = first
    else:
        first._prev_op, last._next_op = last, first
    target._last_op = source._last_op
    source._first_op = source._last_op = None


def empty_block() -> Block:
    """Returns a new block without arguments."""
    block = object.__new__(Block)
    block._args = ()
    block._first_op = block._last_op = None
    return block


def region_of(*blocks: Block) -> Region:
    """Returns a new region of new blocks, which are in no other and do not hold it."""
    region, last = object.__new__(Region), None
    for block in blocks:
        block.parent = region
        if last is None:
            region._first_block = block
        else:
            last._next_block, block._prev_block = block, last
        last = block
    region._last_block = last
    return region


def add_arguments(block: Block, types: Sequence[Attribute]) -> tuple[BlockArgument, ...]:
    """Returns new last arguments of a block, all made at once: xDSL's `insert_arg` copies those that are there."""
    first = len(block.args)
    made = tuple(BlockArgument(type_, block, index, UNKNOWN_LOC) for index, type_ in enumerate(types, first))
    block._args = (*block._args, *made)
    return made


_Defaults = tuple[tuple[str, Attribute], ...]


@cache
def _defaults(kind: type[Operation]) -> tuple[_Defaults, _Defaults]:
    """Returns the properties and attributes that operations of a class have without being told."""
    if not issubclass(kind, IRDLOperation):
        return (), ()
    properties, attributes = default_values(kind)
    return tuple(properties.items()), tuple(attributes.items())
