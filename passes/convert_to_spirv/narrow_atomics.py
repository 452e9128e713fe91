"""Atomics on 8 and 16 bits, which no device has: done on the 32-bit word around them.

    old = load(word);  do { found = compare_exchange(word, old → old with the new bits) } while (found != old)

A buffer is seen as an array of words, next to how else it is seen; a shared array has a word for each element
(`words`).  A compare-exchange that finds another value puts back what it found, so it ends when the word, and not
only the element, was as read.  Bitwise operations are the word's own, and a load is one.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import BFloat16Type, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel_atomic import (
    BITWISE_KINDS,
    AtomicCompareExchangeOp,
    AtomicLoadOp,
    AtomicOp,
    AtomicRMWOp,
)
from ...ir.dialects.kernel_fields import field_operands
from .array_parameter import ArrayParameter
from .atomic_place import AtomicPlace, compare_exchange_loop
from .cast_handlers import from_bf16, scalar_width, to_bf16
from .function_lowering import FunctionLowering, arrays_of
from .words import from_word, to_word

_INTEGER: dict[str, type[Operation]] = {
    "add": spirv.IAddOp,
    "sub": spirv.ISubOp,
    "smin": spirv.GLSMinOp,
    "umin": spirv.GLUMinOp,
    "smax": spirv.GLSMaxOp,
    "umax": spirv.GLUMaxOp,
}
_FLOAT: dict[str, type[Operation]] = {
    "add": spirv.FAddOp,
    "sub": spirv.FSubOp,
    "min": spirv.GLNMinOp,
    "max": spirv.GLNMaxOp,
}
_BITWISE: dict[str, type[Operation]] = {
    "and": spirv.AtomicAndOp,
    "or": spirv.AtomicOrOp,
    "xor": spirv.AtomicXorOp,
}


class _Word:
    """The word around an element, or part of one, and where in it that lies."""

    def __init__(self, fn: FunctionLowering, op: AtomicOp) -> None:
        array = arrays_of(fn, op).array(op.array)
        first = op.first_index
        self.fn = fn
        self.type: Attribute = fn.type(op.element_type)
        """What is changed, as the device has it: bf16 as its bits."""
        self._bits = fn.index(scalar_width(self.type))
        self._shift: SSAValue | None = None
        """In bits; None where the word holds nothing else."""
        operands, path = field_operands(op, first) if op.path else (list(op.operands[first:]), [])
        steps = [step if isinstance(step, int) else fn.value(step) for step in path]
        indices = fn.array_indices(operands, array.index_type)
        if isinstance(array, ArrayParameter):
            pointer, self._shift = array.word_pointer(indices, steps, self.type)
        else:
            steps = [fn.index(step) if isinstance(step, int) else step for step in steps]
            pointer = array.element_pointer(indices, steps, i32, is_atomic=True)
        self.place = AtomicPlace(fn, op, pointer, i32)

    def taken(self, word: SSAValue, *, is_signed: bool = False) -> SSAValue:
        """Returns the bits of the element in a word, as an i32."""
        if self._shift is None and not is_signed:
            return word
        kind = spirv.BitFieldSExtractOp if is_signed else spirv.BitFieldUExtractOp
        return self.fn.emit(kind, (word, self._shift or self.fn.index(0), self._bits), i32)

    def put(self, word: SSAValue, bits: SSAValue) -> SSAValue:
        """Returns a word with the element's bits replaced by the low ones of an i32."""
        fn, shift = self.fn, self._shift or self.fn.index(0)
        base = fn.index(0) if self._shift is None else word
        return fn.emit(spirv.BitFieldInsertOp, (base, bits, shift, self._bits), i32)

    def element(self, word: SSAValue) -> SSAValue:
        """Returns the element in a word."""
        return from_word(self.fn, self.taken(word), self.type)

    def replace(self, op: Operation, renew: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Adds the loop that gives the element the bits `renew(word)`; returns the word before."""
        return compare_exchange_loop(self.fn, op, self.place, lambda old: self.put(old, renew(old)))

    def change_bits(self, kind: str, value: SSAValue) -> SSAValue:
        """Adds a bitwise instruction that leaves the rest of the word alone; returns the word before."""
        fn = self.fn
        # What does not change the other bits: ones for `and`, zeros for `or` and `xor`.
        neutral = fn.index(-1 if kind == "and" and self._shift is not None else 0)
        shift = self._shift or fn.index(0)
        operand = fn.emit(spirv.BitFieldInsertOp, (neutral, to_word(fn, value), shift, self._bits), i32)
        return fn.emit(_BITWISE[kind], (self.place.pointer, operand), i32, self.place.properties())


def lower_narrow(fn: FunctionLowering, op: Operation) -> None:
    """Lowers an atomic operation on less than 32 bits."""
    assert isinstance(op, AtomicOp)
    word = _Word(fn, op)
    if isinstance(op, AtomicLoadOp):
        found = word.place.load()
    elif isinstance(op, AtomicRMWOp) and op.kind.data in BITWISE_KINDS:
        found = word.change_bits(op.kind.data, word.place.values[0])
    elif isinstance(op, AtomicRMWOp) and op.kind.data != "exchange":
        found = word.replace(op, _renewal(fn, op, word))
    elif isinstance(op, AtomicCompareExchangeOp):
        expected, desired = (to_word(fn, value) for value in word.place.values)
        found = word.replace(op, lambda old: _desired_if(fn, word.taken(old), expected, desired))
    else:  # an exchange, or a store, which is an exchange whose result is not used
        bits = to_word(fn, word.place.values[0])
        found = word.replace(op, lambda _: bits)
    if op.results:
        fn.values[op.results[0]] = word.element(found)


def _desired_if(fn: FunctionLowering, found: SSAValue, expected: SSAValue, desired: SSAValue) -> SSAValue:
    is_expected = fn.emit(spirv.IEqualOp, (found, expected), fn.module.types.bool_like(i32))
    return fn.emit(spirv.SelectOp, (is_expected, desired, found), i32)


def _renewal(fn: FunctionLowering, op: AtomicRMWOp, word: _Word) -> Callable[[SSAValue], SSAValue]:
    """Returns what makes the new bits of the element out of the old word."""
    kind, value = op.kind.data, word.place.values[0]
    if not op.is_float:
        is_signed = kind in ("smin", "smax")
        widen = spirv.SConvertOp if is_signed else spirv.UConvertOp
        wide = fn.emit(widen, (value,), i32)
        return lambda old: fn.emit(_INTEGER[kind], (word.taken(old, is_signed=is_signed), wide), i32)
    combine = _FLOAT[kind]
    if isinstance(op.element_type, BFloat16Type):
        number = from_bf16(fn, value, f32)

        def renewed(old: SSAValue) -> SSAValue:
            result = fn.emit(combine, (from_bf16(fn, word.element(old), f32), number), f32)
            return to_word(fn, to_bf16(fn, result, word.type))

        return renewed
    return lambda old: to_word(fn, fn.emit(combine, (word.element(old), value), value.type))
