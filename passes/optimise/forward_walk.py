"""The forward walk that folds and numbers values; `canonicalize` and `cse` are one half of it each.

One visit per operation, in order, so that operands are already simplified when their user is reached.  A
value is known from where it is computed to the end of its region; loads only until memory may have changed.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.attribute_numbers import AttributeNumbers
from ...ir.create import create
from ...ir.dialects.kernel_fields import LoadFieldOp
from ...ir.dialects.kernel_reports import CheckOp
from ...ir.narrowing import is_float_attribute, is_integer_attribute
from ...ir.walk import operands_of
from .constants import constant_integer
from .effects import (
    array_of,
    body_blocks,
    is_pure_class,
    is_write_class,
    read_only_arrays,
    writes_memory,
)
from .fold_casts import CAST_FOLDS
from .fold_control_flow import CONTROL_FLOW, replace
from .fold_floats import FLOAT_FOLDS, UNARY_FOLDS
from .fold_integers import INTEGER_FOLDS, Fold
from .fold_ranges import RANGE_FOLDS

FOLDS: dict[str, Fold] = {
    **{
        kind.name: fold
        for kind, fold in {**INTEGER_FOLDS, **FLOAT_FOLDS, **CAST_FOLDS, **RANGE_FOLDS}.items()
    },
    **UNARY_FOLDS,
}
"""How an operation with one result is folded, by its name."""

_COMMUTATIVE = frozenset(
    (
        arith.AddiOp,
        arith.MuliOp,
        arith.AndIOp,
        arith.OrIOp,
        arith.XOrIOp,
        arith.AddfOp,
        arith.MulfOp,
    )
)

Key: TypeAlias = tuple[object, ...]

Table: TypeAlias = dict[Key, tuple[Operation, Sequence[SSAValue]]]
"""Operations by what they compute, each with its operands: kept, so that no other value gets the identity of one."""


class ForwardWalk:
    """Folds (`fold`) and removes common subexpressions (`number`) in one function."""

    def __init__(self, *, fold: bool, number: bool) -> None:
        self._fold = fold
        self._number = number
        self._known: Table = {}
        """Pure operations and loads of read-only arrays that dominate the current one."""
        self._loads: Table = {}
        """Loads since memory last changed."""
        self._constants: dict[Key, Operation] = {}
        """Constants of this function; all stand at its start."""
        self._last_constant: Operation | None = None
        self._entry: Block | None = None
        self._has_written = False
        """Whether memory may have changed since the innermost operation with regions began."""
        self._read_only: frozenset[SSAValue] = frozenset()
        self._number_of = AttributeNumbers().of

    def run(self, function: Operation) -> None:
        """Walks the body of `function`; a body of several blocks is walked block by block."""
        self._read_only = read_only_arrays(function)
        blocks = body_blocks(function)
        for block in blocks:
            self._entry = blocks[0]
            if len(blocks) > 1:  # no dominance between blocks is assumed
                self._known, self._loads = {}, {}
            self._block(block)

    def _block(self, block: Block) -> None:
        op = block._first_op  # by xDSL's fields, as `ir.walk` follows them
        while op is not None:
            kind = type(op)
            if self._fold and (simplify := CONTROL_FLOW.get(kind)) is not None:
                previous = op._prev_op
                if simplify(op):
                    # Go on with whatever now stands in its place.
                    op = block._first_op if previous is None else previous._next_op
                    continue
            following = op._next_op
            if op.regions:
                self._regions(op)
            elif self._fold and kind is arith.ConstantOp:
                self._unify_constant(op)
            elif self._fold and (fold := FOLDS.get(op.name)) is not None and self._folded(op, fold):
                pass
            elif self._number:
                self._numbered(op)
            op = following

    def _folded(self, op: Operation, fold: Fold) -> bool:
        folded = fold(op)
        if folded is None:
            return False
        replace(op, (folded if isinstance(folded, SSAValue) else self._materialise(folded, op),))
        return True

    def _materialise(self, attribute: Attribute, op: Operation) -> SSAValue:
        type_ = op.results[0].type
        key = self._constant_key(attribute, type_)
        known = self._constants.get(key)
        if known is None:
            known = create(arith.ConstantOp, (), (type_,), {"value": attribute}, location=op.location)
            self._add_constant(key, known)
        return known.results[0]

    def _add_constant(self, key: Key, op: Operation) -> None:
        assert self._entry is not None
        self._constants[key] = op
        last = self._last_constant
        if last is not None:
            self._entry.insert_op_after(op, last)
        elif self._entry.first_op is None:
            self._entry.add_op(op)
        else:
            self._entry.insert_op_before(op, self._entry.first_op)
        self._last_constant = op

    def _unify_constant(self, op: Operation) -> None:
        (value,) = op.results
        key = self._constant_key(op.properties["value"], value.type)
        known = self._constants.get(key)
        if known is not None:
            replace(op, known.results)
            return
        if not (op.parent is self._entry and op.prev_op is self._last_constant):
            op.detach()
            self._add_constant(key, op)
            return
        self._constants[key] = op
        self._last_constant = op

    def _numbered(self, op: Operation) -> None:
        kind = type(op)
        if is_pure_class(kind):
            self._merge(op, self._known)
        elif kind is memref.LoadOp or kind is LoadFieldOp:
            self._merge(op, self._known if array_of(operands_of(op)[0]) in self._read_only else self._loads)
        elif kind is CheckOp:
            self._check(op)
        elif is_write_class(kind):
            self._loads.clear()
            self._has_written = True

    def _check(self, op: Operation) -> None:
        """Removes a check that cannot be a work-item's first to fail: its test is false, or has been checked before."""
        failed = op.operands[0]
        first, _ = self._known.setdefault((CheckOp, id(failed)), (op, (failed,)))
        if first is not op or constant_integer(failed) == 0:
            op.detach()
            op.erase()

    def _merge(self, op: Operation, table: Table) -> None:
        if not op.results:
            return
        known, _ = table.setdefault(self._key(op), (op, operands_of(op)))
        if known is not op:
            replace(op, known.results)

    def _key(self, op: Operation) -> Key:
        """Returns what is equal for operations that compute the same: attributes by number, values by identity."""
        kind, number_of = type(op), self._number_of
        operands = list(map(id, operands_of(op)))
        if kind in _COMMUTATIVE:
            operands.sort()
        types = [number_of(result._type) for result in op.results]
        if not op.properties and not op.attributes:
            return (kind, *operands, None, *types)
        properties = [(name, number_of(value)) for name, value in op.properties.items()]
        if not op.attributes:
            return (kind, *operands, None, *types, None, *properties, None)
        attributes = [(name, number_of(value)) for name, value in op.attributes.items()]
        return (kind, *operands, None, *types, None, *properties, None, *attributes)

    def _constant_key(self, attribute: Attribute, type_: Attribute) -> Key:
        """Returns what is equal for equal constants; scalars by their value, as hashing visits all of an attribute."""
        number = self._number_of(type_)
        if is_float_attribute(attribute):
            # By its bits: -0.0 is another constant than 0.0.
            return number, _DOUBLE.pack(attribute.value.data)
        return number, attribute.value.data if is_integer_attribute(attribute) else attribute

    def _regions(self, op: Operation) -> None:
        if self._number and self._loads and not isinstance(op, scf.IfOp) and writes_memory(op):
            self._loads.clear()  # a later iteration sees what an earlier one stored
        outer, self._has_written = self._has_written, is_write_class(type(op))
        for region in op.regions:
            # What a region computes is not known beside or after it.
            known, loads = self._known, self._loads
            self._known, self._loads = dict(known), dict(loads)
            for block in region.blocks:
                self._block(block)
            self._known, self._loads = known, loads
        if self._has_written:
            self._loads.clear()
        else:
            self._has_written = outer
        if self._fold and op.parent is not None and (simplify := CONTROL_FLOW.get(type(op))) is not None:
            # The body may have become simpler: carried values that nothing reads any more.
            simplify(op)


_DOUBLE = struct.Struct("<d")
