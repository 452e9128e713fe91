"""The forward walk that folds and numbers values; `canonicalize` and `cse` are one half of it each.

One visit per operation, in order, so that operands are already simplified when their user is reached.  A
value is known from where it is computed to the end of its region; loads only until memory may have changed.
"""

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
from ...ir.walk import operands_of
from ..narrowing import is_float_attribute, is_integer_attribute
from .constants import constant_integer
from .effects import (
    array_of,
    body_blocks,
    is_pure_class,
    is_write_class,
    read_only_arrays,
    structured_writes,
    writes_memory,
)
from .fold_casts import CAST_FOLDS
from .fold_control_flow import CONTROL_FLOW, replace
from .fold_floats import FLOAT_FOLDS, UNARY_FOLDS
from .fold_integers import INTEGER_FOLDS, Fold

FOLDS: dict[str, Fold] = {
    **{kind.name: fold for kind, fold in {**INTEGER_FOLDS, **FLOAT_FOLDS, **CAST_FOLDS}.items()},
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
        self._writes: dict[Operation, bool] = {}
        """Which operations with regions write memory; what folding has rebuilt since is not in it."""
        self._read_only: frozenset[SSAValue] = frozenset()
        self._number_of = AttributeNumbers().of

    def run(self, function: Operation) -> None:
        """Walks the body of `function`; a body of several blocks is walked block by block."""
        self._read_only = read_only_arrays(function)
        self._writes = structured_writes(function) if self._number else {}
        blocks = body_blocks(function)
        for block in blocks:
            self._entry = blocks[0]
            if len(blocks) > 1:  # no dominance between blocks is assumed
                self._known, self._loads = {}, {}
            self._block(block)

    def _block(self, block: Block) -> None:
        op = block.first_op
        while op is not None:
            if self._fold and (simplify := CONTROL_FLOW.get(type(op))) is not None:
                previous = op.prev_op
                if simplify(op):
                    # Go on with whatever now stands in its place.
                    op = block.first_op if previous is None else previous.next_op
                    continue
            following = op.next_op
            self._operation(op)
            op = following

    def _operation(self, op: Operation) -> None:
        if op.regions:
            self._regions(op)
        elif type(op) is arith.ConstantOp and self._fold:
            self._unify_constant(op)
        elif not (self._fold and self._folded(op)) and self._number:
            self._numbered(op)

    def _folded(self, op: Operation) -> bool:
        fold = FOLDS.get(op.name)
        folded = None if fold is None else fold(op)
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
        operands = [id(value) for value in operands_of(op)]
        if kind in _COMMUTATIVE:
            operands.sort()
        types = [number_of(result.type) for result in op.results]
        if not op.properties and not op.attributes:
            return (kind, *operands, None, *types)
        properties = [(name, number_of(value)) for name, value in op.properties.items()]
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
        writes = self._number and self._writes_memory(op)
        if writes and not isinstance(op, scf.IfOp):
            self._loads.clear()  # a later iteration sees what an earlier one stored
        for region in op.regions:
            # What a region computes is not known beside or after it.
            known, loads = self._known, self._loads
            self._known, self._loads = dict(known), dict(loads)
            for block in region.blocks:
                self._block(block)
            self._known, self._loads = known, loads
        if writes:
            self._loads.clear()
        if self._fold and op.parent is not None and (simplify := CONTROL_FLOW.get(type(op))) is not None:
            # The body may have become simpler: carried values that nothing reads any more.
            simplify(op)

    def _writes_memory(self, op: Operation) -> bool:
        known = self._writes.get(op)
        return writes_memory(op) if known is None else known


_DOUBLE = struct.Struct("<d")
