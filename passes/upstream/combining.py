"""What combines two values, by upstream's words for reductions.

add mul minsi minui maxsi maxui minnumf maxnumf minimumf maximumf and or xor
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.narrowing import is_integer_type
from .place import NO_FLAGS, UpstreamPlace

_COMBINE: dict[str, tuple[type[Operation] | None, type[Operation] | None]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
    "minsi": (arith.MinSIOp, None),
    "minui": (arith.MinUIOp, None),
    "maxsi": (arith.MaxSIOp, None),
    "maxui": (arith.MaxUIOp, None),
    "and": (arith.AndIOp, None),
    "or": (arith.OrIOp, None),
    "xor": (arith.XOrIOp, None),
    "minnumf": (None, arith.MinnumfOp),
    "maxnumf": (None, arith.MaxnumfOp),
    "minimumf": (None, arith.MinimumfOp),
    "maximumf": (None, arith.MaximumfOp),
}
"""Of integers, and of floats."""


def combined(
    place: UpstreamPlace, word: str, lhs: SSAValue, rhs: SSAValue, fastmath: Attribute | None = None
) -> SSAValue:
    """Returns two values of one type combined; raises PassError where the word is not for that type."""
    is_float = not is_whole(lhs.type)
    kind = _COMBINE.get(word, (None, None))[is_float]
    if kind is None:
        raise place.refused(
            f"'{word}' does not combine values of type {lhs.type}; take the word for that type"
        )
    flags = {"fastmath": fastmath or NO_FLAGS} if is_float else {}
    return place.emit(kind, [lhs, rhs], lhs.type, **flags)


def neutral(place: UpstreamPlace, word: str, type_: Attribute) -> SSAValue:
    """Returns what changes nothing where it is combined with another value."""
    if not is_whole(type_):
        numbers = {"minimumf": float("inf"), "maximumf": float("-inf"), "add": -0.0, "mul": 1.0}
        # minnumf and maxnumf take the other value; beside NaN that is NaN again.
        return place.constant(numbers.get(word, float("nan")), type_)
    width = 32 if isinstance(type_, IndexType) else cast("Any", type_).width.data
    lowest, highest = -(1 << width - 1), (1 << width - 1) - 1
    numbers = {"add": 0, "mul": 1, "or": 0, "xor": 0, "and": -1, "minsi": highest, "maxsi": lowest}
    return place.constant(numbers.get(word, -1 if word == "minui" else 0), type_)


def is_whole(type_: Attribute) -> bool:
    """Whether a type is that of integers, bools or indices."""
    return is_integer_type(type_) or isinstance(type_, IndexType)
