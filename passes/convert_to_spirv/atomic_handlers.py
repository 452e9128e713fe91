"""Handlers of the atomics of the kernel dialect.

What SPIR-V has for integers only is done on the bits of floats: exchange, load and store directly, the
others by a compare-exchange loop.  What is narrower than 32 bits is changed inside of its word (`narrow_atomics`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, Operation, SSAValue

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
from .array_parameter import ArrayParameter
from .atomic_place import AtomicPlace, compare_exchange_loop
from .function_lowering import FunctionLowering, Handler, arrays_of
from .local_array import LocalArray
from .memory_handlers import from_storage, to_storage
from .narrow_atomics import lower_narrow

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


class _Place(AtomicPlace):
    """An element, or part of one, that an atomic instruction works on."""

    def __init__(self, fn: FunctionLowering, op: AtomicOp) -> None:
        first = op.first_index
        array = arrays_of(fn, op).array(op.array)
        self.element_type = array.element_type
        if op.path is None:
            indices = fn.array_indices(op.operands[first:], array.index_type)
            pointer, stored = array.element_pointer(indices, is_atomic=True), array.storage_type
        else:
            self.element_type = fn.type(op.element_type)
            pointer, stored = _field_pointer(fn, op, array, self.element_type)
        super().__init__(fn, op, pointer, stored)

    def stored(self, value: SSAValue) -> SSAValue:
        """Returns an element as memory holds it."""
        return to_storage(self.fn, value, self.storage_type)

    def element(self, value: SSAValue) -> SSAValue:
        """Returns what memory holds as an element."""
        return from_storage(self.fn, value, self.element_type)

    def update(self, kind: type[Operation], value: SSAValue) -> SSAValue:
        """Adds a read-modify-write of what memory holds."""
        return self.fn.emit(kind, (self.pointer, value), self.storage_type, self.properties())


def _field_pointer(
    fn: FunctionLowering, op: AtomicOp, array: ArrayParameter | LocalArray, field: Attribute
) -> tuple[SSAValue, Attribute]:
    """Returns a pointer to a scalar inside of an element, and what it holds: bits of a float without instruction."""
    operands, path = field_operands(op, op.first_index)
    indices = fn.array_indices(operands, array.index_type)
    if isinstance(array, LocalArray) or not op.keeps_bits:
        field = array.stored(field)
        steps = [fn.index(step) if isinstance(step, int) else fn.value(step) for step in path]
        return array.element_pointer(indices, steps, field, is_atomic=True), field
    bits = fn.module.types.bits_like(field)
    steps = [step if isinstance(step, int) else fn.value(step) for step in path]
    return array.bits_pointer(indices, steps, field, bits), bits


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
        compute = _FLOAT[kind]
        found = compare_exchange_loop(
            fn, op, place, lambda old: place.stored(compute(fn, place.element(old), value))
        )
        result = place.element(found)
    fn.values[op.results[0]] = result


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


def _by_width(lower: Handler) -> Handler:
    """Returns the handler of an operation that `lower` lowers where it changes 32 bits or more."""

    def choose(fn: FunctionLowering, op: Operation) -> None:
        assert isinstance(op, AtomicOp)
        (lower_narrow if op.is_narrow else lower)(fn, op)

    return choose


HANDLERS: dict[type[Operation], Handler] = {
    AtomicRMWOp: _by_width(_update),
    AtomicCompareExchangeOp: _by_width(_compare_exchange),
    AtomicLoadOp: _by_width(_load),
    AtomicStoreOp: _by_width(_store),
}
"""Handlers of the atomics of the kernel dialect."""
