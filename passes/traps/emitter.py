"""Puts operations before another one, at its place in the source."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.dialects.kernel_atomic import AtomicLoadOp, AtomicRMWOp
from ...ir.dialects.kernel_reports import CheckOp
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.narrowing import is_memref_type


class Emitter:
    """Emits before one operation."""

    def __init__(self, anchor: Operation) -> None:
        self._anchor = anchor
        self._numbers: dict[tuple[int, Attribute], SSAValue] = {}

    def add(self, op: Operation) -> Operation:
        """Inserts an operation; returns it."""
        for made in op.walk():
            made.location = self._anchor.location
        block = self._anchor.parent
        assert block is not None
        block.insert_op_before(op, self._anchor)
        return op

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute = i32,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Inserts an operation with one result; returns that."""
        op = kind.create(operands=operands, result_types=[result], properties=properties or {})
        return self.add(op).results[0]

    def number(self, value: int, type_: Attribute = i32) -> SSAValue:
        """Returns a constant."""
        known = self._numbers.get((value, type_))
        if known is None:
            attribute = IntegerAttr(value, type_)  # pyright: ignore[reportCallIssue, reportArgumentType]
            known = self.emit(arith.ConstantOp, (), type_, {"value": attribute})
            self._numbers[value, type_] = known
        return known

    def as_i32(self, value: SSAValue) -> SSAValue:
        """Returns an index as 32 bits."""
        return self.emit(arith.IndexCastOp, [value]) if isinstance(value.type, IndexType) else value

    def as_index(self, value: SSAValue) -> SSAValue:
        """Returns 32 bits as an index."""
        return self.emit(arith.IndexCastOp, [value], IndexType())

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Returns whether two integers are as `predicate`, of arith.cmpi, says."""
        return self.add(arith.CmpiOp(left, right, predicate)).results[0]

    def only_if(self, condition: SSAValue, ops: Sequence[Operation]) -> None:
        """Inserts operations that run where `condition` holds."""
        body = Block([*ops, scf.YieldOp.create()])
        self.add(scf.IfOp.create(operands=[condition], regions=[Region(body), Region()]))

    def extent(self, array: SSAValue, dimension: int) -> SSAValue:
        """Returns an extent of an array as 32 bits."""
        assert is_memref_type(array.type)
        length = array.type.get_shape()[dimension]
        if length != DYNAMIC_INDEX:
            return self.number(length)
        return self.as_i32(self.emit(memref.DimOp, [array, self.number(dimension, IndexType())], IndexType()))

    def new_array(
        self, element: Attribute, length: SSAValue | int, spelled: str, *, is_shared: bool
    ) -> SSAValue:
        """Returns a new array of one dimension.

        Args:
            element: type of its elements.
            length: an i32 where constants of the launch decide.
            spelled: what messages call the length.
            is_shared: for the work-group, else for the work-item.
        """
        space = StorageClassAttr(StorageClass.Workgroup if is_shared else StorageClass.Function)
        shape, sizes = (
            ([length], []) if isinstance(length, int) else ([DYNAMIC_INDEX], [self.as_index(length)])
        )
        op = (memref.AllocOp if is_shared else memref.AllocaOp).create(
            operands=sizes,
            result_types=[MemRefType(element, shape, memory_space=space)],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [len(sizes), 0])},
            attributes={"lengths": ArrayAttr([StringAttr(spelled)])},
        )
        return self.add(op).results[0]

    def load(self, array: SSAValue, index: SSAValue) -> SSAValue:
        """Returns an element of an array of one dimension."""
        assert is_memref_type(array.type)
        return self.emit(memref.LoadOp, [array, index], array.type.element_type)

    def store(self, value: SSAValue, array: SSAValue, index: SSAValue) -> None:
        """Stores into an array of one dimension."""
        self.add(memref.StoreOp.create(operands=[value, array, index]))

    def loop_of_zeros(self, array: SSAValue, count: SSAValue) -> Operation:
        """Returns a loop, not inserted yet, that stores 0 into the first `count` words of an array."""
        zero, body = self.number(0), Block(arg_types=[i32])
        index = arith.IndexCastOp.create(operands=[body.args[0]], result_types=[IndexType()])
        store = memref.StoreOp.create(operands=[zero, array, index.results[0]])
        body.add_ops([index, store, scf.YieldOp.create()])
        return scf.ForOp.create(operands=[zero, count, self.number(1)], regions=[Region(body)])

    def atomic_load(self, array: SSAValue, index: SSAValue) -> SSAValue:
        """Returns a word that work-items of the group may be changing."""
        return self.emit(AtomicLoadOp, [array, index], i32, _atomic())

    def atomic_or(self, bits: SSAValue, array: SSAValue, index: SSAValue) -> None:
        """Sets bits of a word that others of the group may be changing."""
        self.emit(AtomicRMWOp, [bits, array, index], i32, {**_atomic(), "kind": StringAttr("or")})

    def check(
        self,
        failed: SSAValue,
        kind: str,
        text: str,
        dtypes: Sequence[str],
        values: Sequence[SSAValue],
        *,
        at: Operation | None = None,
    ) -> None:
        """Reports the work-item where `failed` holds, see `kernel_reports.CheckOp`; in the line of `at`, if given."""
        properties = CheckOp.properties_of(kind, text, dtypes)
        made = self.add(CheckOp.create(operands=[failed, *values], properties=properties))
        if at is not None:
            made.location = at.location


def _atomic() -> dict[str, Attribute]:
    return {"order": StringAttr("relaxed"), "scope": StringAttr("work_group")}
