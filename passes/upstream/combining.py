"""What combines two values, by upstream's words for reductions.

add mul minsi minui maxsi maxui minnumf maxnumf minimumf maximumf and or xor
"""

from __future__ import annotations

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


def is_whole(type_: Attribute) -> bool:
    """Whether a type is that of integers, bools or indices."""
    return is_integer_type(type_) or isinstance(type_, IndexType)
