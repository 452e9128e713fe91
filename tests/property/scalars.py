"""Scalar values with the kernel language's semantics: the oracle that runs a kernel's own Python source.

`I32`, `U32` and `F32` overload Python's operators by the rules of the language (wrapping integers, floored
division, zero for division by zero, shift counts modulo the width), so that ``eval`` of an expression's
source gives what the device must give.  Floats go through NumPy scalars of the right width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def _wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


@dataclass(frozen=True)
class Int:
    """An integer of fixed width."""

    value: int
    bits: int = 32
    signed: bool = True

    def _of(self, value: int) -> Int:
        return Int(_wrap(value, self.bits, self.signed), self.bits, self.signed)

    def _other(self, other: Int | int | bool) -> int:
        if isinstance(other, Int):
            assert (other.bits, other.signed) == (self.bits, self.signed)
            return other.value
        return int(other)

    def __add__(self, other):
        return self._of(self.value + self._other(other))

    __radd__ = __add__

    def __sub__(self, other):
        return self._of(self.value - self._other(other))

    def __rsub__(self, other):
        return self._of(self._other(other) - self.value)

    def __mul__(self, other):
        return self._of(self.value * self._other(other))

    __rmul__ = __mul__

    def __floordiv__(self, other):
        other = self._other(other)
        return self._of(self.value // other if other else 0)

    def __mod__(self, other):
        other = self._other(other)
        return self._of(self.value % other if other else 0)

    def __and__(self, other):
        return self._of(self.value & self._other(other))

    def __or__(self, other):
        return self._of(self.value | self._other(other))

    def __xor__(self, other):
        return self._of(self.value ^ self._other(other))

    def __lshift__(self, other):
        return self._of(self.value << (self._other(other) % self.bits))

    def __rshift__(self, other):
        return self._of(self.value >> (self._other(other) % self.bits))

    def __neg__(self):
        return self._of(-self.value)

    def __invert__(self):
        return self._of(~self.value)

    def __abs__(self):
        return self._of(abs(self.value))

    def __lt__(self, other):
        return self.value < self._other(other)

    def __le__(self, other):
        return self.value <= self._other(other)

    def __gt__(self, other):
        return self.value > self._other(other)

    def __ge__(self, other):
        return self.value >= self._other(other)

    def __eq__(self, other):
        return self.value == self._other(other)

    def __ne__(self, other):
        return self.value != self._other(other)

    def __hash__(self):
        return hash(self.value)

    def __bool__(self):
        return self.value != 0


def i32(value: int) -> Int:
    """Returns a signed 32-bit value."""
    return Int(_wrap(int(value), 32, True))


def u32(value: int) -> Int:
    """Returns an unsigned 32-bit value."""
    return Int(_wrap(int(value), 32, False), signed=False)


def f32(value: float) -> np.float32:
    """Returns a single-precision value; NumPy's scalar arithmetic is the oracle."""
    return np.float32(value)
