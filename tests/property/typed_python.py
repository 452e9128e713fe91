"""The kernel language's semantics in plain Python; `host_language` is what a program sees as ``lapilli`` on the host.

A `Number` knows its type, and its operators follow API section 2 by themselves: promotion, weak literals, wrapping,
floored division, zero for division by zero, shift counts modulo the width, saturating conversions.  Written
independently of `frontend/promotion.py`: the two check each other.
"""

from __future__ import annotations

import builtins
import math
import operator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Type:
    """A scalar type; ``index`` is the type of ids and sizes."""

    name: str
    kind: str
    bits: int

    @property
    def is_float(self):
        return self.kind == "float"

    @property
    def numpy(self):
        if self.kind == "bool":
            return np.dtype(np.bool_)
        return np.dtype(f"{self.kind}{self.bits}")

    def __call__(self, value):
        return convert(value, self)

    def __getitem__(self, _):
        return self


TYPES = {
    f"{kind[0]}{bits}": Type(f"{kind[0]}{bits}", kind, bits)
    for kind, widths in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (16, 32, 64)))
    for bits in widths
}
BOOL = Type("bool_", "bool", 1)
INDEX = Type("index", "int", 32)
I32, F32 = TYPES["i32"], TYPES["f32"]


def promote(left, right):
    """Returns the type that arithmetic on two numbers is done in; None where the language asks for a cast."""
    left, right = (I32 if t is BOOL else t for t in (left, right))
    if left == right:
        return left
    if left.is_float and right.is_float:
        return left if left.bits > right.bits else right
    if left.is_float or right.is_float:
        return left if left.is_float else right
    if INDEX in (left, right):
        other = right if left is INDEX else left
        return other if other.bits == 64 or other.name == "u32" else I32
    if left.kind == right.kind:
        return left if left.bits > right.bits else right
    signed, unsigned = (left, right) if left.kind == "int" else (right, left)
    return signed if signed.bits > unsigned.bits else None


def wrap(value, kind):
    """Returns an integer's low bits as a number of type `kind`."""
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind.kind == "int" and value >> (kind.bits - 1) else value


def convert(value, kind):
    """Converts a number, bool or literal as ``lp.T(value)`` does."""
    source = value.type if isinstance(value, Number) else None
    value = value.value if isinstance(value, Number) else value
    if kind is BOOL:
        return Number(bool(value != 0), BOOL)
    if kind.is_float:
        if source is not None and source.kind in ("int", "uint"):
            value = np.array(value, source.numpy)  # one rounding, also from 64 bits
        elif source is None and isinstance(value, (int, float)):
            value = float(value)
        with np.errstate(all="ignore"):
            return Number(kind.numpy.type(value), kind)
    if isinstance(value, (float, np.floating)):
        low, high = (0, (1 << kind.bits) - 1)
        if kind.kind == "int":
            low, high = -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
        if math.isnan(value):
            return Number(0, kind)
        if math.isinf(value):
            return Number(high if value > 0 else low, kind)
        return Number(builtins.min(builtins.max(builtins.int(value), low), high), kind)
    return Number(wrap(builtins.int(value), kind), kind)


def number(value):
    """Returns a Python bool as a bool of the language; other numbers as they are."""
    return Number(value, BOOL) if isinstance(value, bool) else value


WATCHERS = []
"""Called with a message where debug mode traps."""


def _tell(message):
    for watcher in WATCHERS:
        watcher(message)


def _floor_divide(a, b, kind):
    if kind.is_float:
        return kind.numpy.type(np.floor_divide(a, b))
    if not b:
        _tell(f"integer division of {a} by zero")
    return wrap(a // b, kind) if b else 0


def _modulo(a, b, kind):
    if not kind.is_float:
        if not b:
            _tell(f"integer division of {a} by zero")
        return wrap(a % b, kind) if b else 0
    return kind.numpy.type(np.mod(a, b))


_PLAIN = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def binary(symbol, left, right):
    """Returns ``left symbol right``, at least one of which is a `Number`."""
    left, right = number(left), number(right)
    if symbol in ("<<", ">>"):
        return _shift(symbol, left, right)
    kinds = [v.type if isinstance(v, Number) else None for v in (left, right)]
    if kinds[0] is BOOL and kinds[1] is BOOL and symbol in "&|^":
        return Number(bool(_PLAIN[symbol](left.value, right.value)), BOOL)
    kind = promote(
        *(k or _literal_type(v, o) for k, v, o in zip(kinds, (left, right), kinds[::-1], strict=True))
    )
    assert kind is not None, f"{kinds} must not meet"
    a, b = (convert(v, kind).value for v in (left, right))
    with np.errstate(all="ignore"):
        if symbol == "//":
            return Number(_floor_divide(a, b, kind), kind)
        if symbol == "%":
            return Number(_modulo(a, b, kind), kind)
        if kind.is_float:
            return Number(kind.numpy.type(_PLAIN[symbol](a, b)), kind)
        return Number(wrap(_PLAIN[symbol](a, b), kind), kind)


def _literal_type(value, other):
    if other is BOOL:
        return F32 if isinstance(value, float) else I32
    return F32 if isinstance(value, float) and not other.is_float else other


def _shift(symbol, left, right):
    kind = left.type if isinstance(left, Number) else right.type
    kind = I32 if kind is BOOL else kind
    count = (right.value if isinstance(right, Number) else right) % kind.bits
    value = convert(left, kind).value
    return Number(wrap(value << count if symbol == "<<" else value >> count, kind), kind)


def compare(function, left, right):
    """Returns a comparison of two numbers as a bool of the language."""
    left, right = number(left), number(right)
    kinds = [v.type if isinstance(v, Number) else None for v in (left, right)]
    kind = promote(
        *(k or _literal_type(v, o) for k, v, o in zip(kinds, (left, right), kinds[::-1], strict=True))
    )
    assert kind is not None
    return Number(bool(function(convert(left, kind).value, convert(right, kind).value)), BOOL)


class Number:
    """A value of the kernel language."""

    __slots__ = ("type", "value")

    def __init__(self, value, type_):
        self.value, self.type = value, type_

    def __repr__(self):
        return str(self)

    def __str__(self):
        if self.type is BOOL:
            return str(bool(self.value))
        if not self.type.is_float:
            return str(int(self.value))
        return repr(float(str(self.value)))  # with the digits that tell it from others of its type

    def __format__(self, spec):
        if not spec:
            return str(self)
        return format(float(self.value) if self.type.is_float else int(self.value), spec)

    def __bool__(self):
        return bool(self.value != 0)

    def __index__(self):
        return builtins.int(self.value)

    def __hash__(self):
        return hash(self.value)

    def __neg__(self):
        if self.type.is_float:
            return Number(-self.value, self.type)
        return 0 - (convert(self, I32) if self.type is BOOL else self)

    def __pos__(self):
        return convert(self, I32) if self.type is BOOL else self

    def __invert__(self):
        value = +self
        return Number(wrap(~value.value, value.type), value.type)

    def __abs__(self):
        value = +self
        if value.type.is_float:
            return Number(abs(value.value), value.type)
        return Number(wrap(abs(value.value), value.type), value.type)

    def __pow__(self, exponent):
        assert isinstance(exponent, int)
        result = None
        for _ in builtins.range(exponent):
            result = +self if result is None else result * self
        return result


def _operators():
    for symbol, name in (
        ("+", "add"), ("-", "sub"), ("*", "mul"), ("//", "floordiv"), ("%", "mod"), ("&", "and"), ("|", "or"),
        ("^", "xor"), ("<<", "lshift"), (">>", "rshift"),
    ):  # fmt: skip
        setattr(
            Number, f"__{name}__", lambda a, b, s=symbol: binary(s, a, b) if _is_plain(b) else NotImplemented
        )
        setattr(Number, f"__r{name}__", lambda a, b, s=symbol: binary(s, b, a))
    for function in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        setattr(Number, f"__{function.__name__}__", lambda a, b, f=function: compare(f, a, b))


def _is_plain(value):
    return isinstance(value, (Number, int, float))


_operators()


class HostArray:
    """An array parameter on the host: elements are numbers of its type, stores convert."""

    def __init__(self, data, type_):
        self.data, self.type = data, type_

    @property
    def shape(self):
        return tuple(Number(n, INDEX) for n in self.data.shape)

    @property
    def size(self):
        return Number(self.data.size, INDEX)

    def __len__(self):
        return self.data.shape[0]

    def _at(self, index):
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(operator.index(i) for i in index)
        literal_tail = tuple(i + n if i < 0 else i for i, n in zip(index, self.data.shape, strict=True))
        assert all(0 <= i < n for i, n in zip(literal_tail, self.data.shape, strict=True)), (
            index,
            self.data.shape,
        )
        return literal_tail

    def __getitem__(self, index):
        value = self.data[self._at(index)]
        return Number(
            bool(value) if self.type is BOOL else value if self.type.is_float else int(value), self.type
        )

    def __setitem__(self, index, value):
        value = convert(value, self.type).value
        if self.type.is_float and math.isnan(value):
            _tell("NaN is stored into")
        self.data[self._at(index)] = value


class HostTable:
    """A fixed array: ``t[i, j]`` and ``t[i][j]``."""

    def __init__(self, values, type_):
        self.values, self.type = np.asarray(values), type_

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        found = self.values[tuple(operator.index(i) for i in index)]
        if np.ndim(found):
            return HostTable(found, self.type)
        return convert(bool(found) if self.type is BOOL else found.item(), self.type)
