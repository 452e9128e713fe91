"""Handlers of the atomics of the kernel dialect.

What SPIR-V has for integers only is done on the bits of floats: exchange, load and store directly, the
others by a compare-exchange loop:

    old = load(p);  do { wanted = op(old, v); found = compare_exchange(p, old → wanted) } while (found != old)
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel_atomic import (
    NATIVE,
    AtomicCompareExchangeOp,
    AtomicLoadOp,
    AtomicOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from ...ir.dialects.kernel_fields import field_operands
from ...ir.dialects.spirv.attributes import LoopControlAttr, MemorySemanticsAttr, ScopeAttr
from ...ir.dialects.spirv.enums import LoopControl, MemorySemantics, Scope
from .array_parameter import ArrayParameter
from .function_lowering import FunctionLowering, Handler
from .local_array import LocalArray
from .memory_handlers import from_storage, to_storage
from .report_handlers import count_rounds
from .work_item_handlers import entry_of

_SCOPES = {
    "work_item": Scope.Invocation,
    "sub_group": Scope.Subgroup,
    "work_group": Scope.Workgroup,
    "device": Scope.Device,
}
_MEMORY = MemorySemantics.WorkgroupMemory | MemorySemantics.UniformMemory
_ORDERS = {
    "relaxed": MemorySemantics.None_,
    "acquire": MemorySemantics.Acquire | _MEMORY,
    "release": MemorySemantics.Release | _MEMORY,
    "acq_rel": MemorySemantics.AcquireRelease | _MEMORY,
}
_INTEGER: dict[str, type[Operation]] = {
    "add": spirv.AtomicIAddOp,
    "sub": spirv.AtomicISubOp,
    "smin": spirv.AtomicSMinOp,
    "umin": spirv.AtomicUMinOp,
    "smax": spirv.AtomicSMaxOp,
    "umax": spirv.AtomicUMaxOp,
    "and": spirv.AtomicAndOp,
    "or": spirv.AtomicOrOp,
    "xor": spirv.AtomicXorOp,
    "exchange": spirv.AtomicExchangeOp,
}
_NATIVE: dict[str, type[Operation]] = {
    "add": spirv.EXTAtomicFAddOp,
    "sub": spirv.EXTAtomicFAddOp,
    "min": spirv.EXTAtomicFMinOp,
    "max": spirv.EXTAtomicFMaxOp,
    "exchange": spirv.AtomicExchangeOp,
}
_LOOP = {"loop_control": LoopControlAttr(LoopControl.None_)}
_NO_BLOCK_ARGUMENTS = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 0])}


class _Place:
    """The element, or part of one, that an atomic works on."""

    def __init__(self, fn: FunctionLowering, op: AtomicOp) -> None:
        first = op.first_index
        array = entry_of(fn, op).array(op.array)
        self.fn = fn
        self.element_type = array.element_type
        self.storage_type = array.storage_type
        if op.path is None:
            self.pointer = array.element_pointer(fn.array_indices(op.operands[first:], array.index_type))
        else:
            self.pointer = self._field_pointer(op, array, first)
        self.values = [fn.value(value) for value in op.operands[: first - 1]]
        self.scope = ScopeAttr(_SCOPES[op.scope.data])
        self.order = _ORDERS[op.order.data]

    def _field_pointer(self, op: AtomicOp, array: ArrayParameter | LocalArray, first: int) -> SSAValue:
        """Returns a pointer to a scalar inside of an element: of its bits where it is a float without instruction."""
        fn = self.fn
        operands, path = field_operands(op, first)
        indices = fn.array_indices(operands, array.index_type)
        self.element_type = self.storage_type = fn.type(op.element_type)
        if not op.is_float or NATIVE in op.attributes:
            steps = [fn.index(step) if isinstance(step, int) else fn.value(step) for step in path]
            return array.element_pointer(indices, steps, self.element_type)
        if isinstance(array, LocalArray):
            raise TypeError(
                "atomics on floats inside of elements are of arrays that are parameters of the kernel"
            )
        self.storage_type = fn.module.types.bits_like(self.element_type)
        steps = [step if isinstance(step, int) else fn.value(step) for step in path]
        return array.bits_pointer(indices, steps, self.element_type, self.storage_type)

    def stored(self, value: SSAValue) -> SSAValue:
        """Returns an element as memory holds it."""
        return to_storage(self.fn, value, self.storage_type)

    def element(self, value: SSAValue) -> SSAValue:
        """Returns what memory holds as an element."""
        return from_storage(self.fn, value, self.element_type)

    def properties(self, order: MemorySemantics | None = None) -> dict[str, Attribute]:
        """Returns scope and semantics of an instruction."""
        chosen = self.order if order is None else order
        return {"memory_scope": self.scope, "semantics": MemorySemanticsAttr(chosen)}

    def update(self, kind: type[Operation], value: SSAValue) -> SSAValue:
        """Adds a read-modify-write of what memory holds."""
        return self.fn.emit(kind, (self.pointer, value), self.storage_type, self.properties())

    def load(self, order: MemorySemantics | None = None) -> SSAValue:
        """Adds an atomic load of what memory holds."""
        return self.fn.emit(spirv.AtomicLoadOp, (self.pointer,), self.storage_type, self.properties(order))

    def compare_exchange(self, expected: SSAValue, desired: SSAValue) -> SSAValue:
        """Adds a compare-exchange of what memory holds; a failure only reads, so it releases nothing."""
        failure = self.order
        if failure & (MemorySemantics.Release | MemorySemantics.AcquireRelease):
            acquires = bool(failure & MemorySemantics.AcquireRelease)
            failure = MemorySemantics.Acquire | _MEMORY if acquires else MemorySemantics.None_
        properties = {
            "memory_scope": self.scope,
            "equal_semantics": MemorySemanticsAttr(self.order),
            "unequal_semantics": MemorySemanticsAttr(failure),
        }
        operands = (self.pointer, desired, expected)
        return self.fn.emit(spirv.AtomicCompareExchangeOp, operands, self.storage_type, properties)


def _update(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    place, kind = _Place(fn, op), op.kind.data
    (value,) = place.values
    if not op.is_float:
        result = place.update(_INTEGER[kind], value)
    elif NATIVE in op.attributes:
        if kind == "sub":
            value = fn.emit(spirv.FNegateOp, (value,), value.type)
        result = place.update(_NATIVE[kind], value)
    elif kind == "exchange":
        result = place.element(place.update(spirv.AtomicExchangeOp, place.stored(value)))
    else:
        result = place.element(_loop(fn, op, place, lambda old: _FLOAT[kind](fn, old, value)))
    fn.values[op.results[0]] = result


def _loop(
    fn: FunctionLowering, op: Operation, place: _Place, compute: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """Adds the compare-exchange loop; returns the bits that the new value replaced."""
    outer = fn.block
    bits = place.storage_type
    result = fn.variable(bits)
    first = place.load(MemorySemantics.None_)
    entry, header, next_ = Block(), Block(arg_types=[bits]), Block()
    merge = Block([spirv.MergeOp.create(location=fn.location)])
    fn.block = entry
    fn.add(spirv.BranchOp.create(operands=(first,), successors=(header,)))
    fn.block = header
    (old,) = header.args
    if fn.module.env.loop_iteration_cap is not None:  # limit-loops checks the count after the operation
        count_rounds(fn, op, 1)
    fn.loop_depth += 1
    wanted = place.stored(compute(place.element(old)))
    found = place.compare_exchange(old, wanted)
    fn.loop_depth -= 1
    fn.store(result, found)
    is_done = fn.emit(spirv.IEqualOp, (found, old), fn.module.types.bool_like(bits))
    fn.add(
        spirv.BranchConditionalOp.create(
            operands=(is_done,), successors=(merge, next_), properties=_NO_BLOCK_ARGUMENTS
        )
    )
    fn.block = next_
    fn.add(spirv.BranchOp.create(operands=(found,), successors=(header,)))
    fn.block = outer
    fn.add(spirv.LoopOp.create(properties=_LOOP, regions=[Region([entry, header, next_, merge])]))
    return fn.load(result, bits)


def _plus(kind: type[Operation]) -> Callable[[FunctionLowering, SSAValue, SSAValue], SSAValue]:
    return lambda fn, old, value: fn.emit(kind, (old, value), value.type)


_FLOAT: dict[str, Callable[[FunctionLowering, SSAValue, SSAValue], SSAValue]] = {
    "add": _plus(spirv.FAddOp),
    "sub": _plus(spirv.FSubOp),
    "min": _plus(spirv.GLNMinOp),
    "max": _plus(spirv.GLNMaxOp),
}


def _compare_exchange(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, AtomicCompareExchangeOp)
    place = _Place(fn, op)
    expected, desired = (place.stored(value) for value in place.values)
    fn.values[op.results[0]] = place.element(place.compare_exchange(expected, desired))


def _load(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, AtomicLoadOp)
    place = _Place(fn, op)
    fn.values[op.results[0]] = place.element(place.load())


def _store(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, AtomicStoreOp)
    place = _Place(fn, op)
    stored = place.stored(place.values[0])
    fn.add(spirv.AtomicStoreOp.create(operands=(place.pointer, stored), properties=place.properties()))


ATOMIC_HANDLERS: dict[type[Operation], Handler] = {
    AtomicRMWOp: _update,
    AtomicCompareExchangeOp: _compare_exchange,
    AtomicLoadOp: _load,
    AtomicStoreOp: _store,
}
"""Handlers of the atomics of the kernel dialect."""
