"""Whether something is of a class of xDSL's is answered by what it inherits from.

Abstract classes of Python ask each of their subclasses, too, as others may be registered with one, and remember every
answer: 3,400 questions in a start without caches.  xDSL registers nothing with attributes and constraints.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint

CLASSES: tuple[Any, ...] = (Attribute, AttrConstraint)
"""Classes with which nothing is registered, nor with what inherits from them."""


def answer_by_inheritance() -> None:
    """Has them look no further."""
    for kind in CLASSES:
        kind.__subclasshook__ = classmethod(_inherits)


def _inherits(cls: type, other: type) -> bool:
    return cls in other.__mro__
