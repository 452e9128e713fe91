"""`isinstance` of xDSL's attribute classes by inheritance alone, without asking every subclass.

Abstract classes of Python ask each of their subclasses, too, as others may be registered with one, and remember every
answer: 3,400 questions in a start without caches.  xDSL registers nothing with attributes and constraints; once another
program does, they are asked as ever.
"""

from __future__ import annotations

import abc
from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint

CLASSES: tuple[Any, ...] = (Attribute, AttrConstraint)
"""Classes with which xDSL registers nothing, nor with what inherits from them."""

_registry: Any = getattr(abc, "_get_dump", None)
"""Gives what is registered with a class, first of four; of CPython."""
_seen: tuple[object, bool] = None, True
"""Number of registrations with any class, and whether there were none with ours then."""


def answer_by_inheritance() -> None:
    """Has them look no further while nothing is registered with them."""
    for kind in CLASSES if _registry is not None else ():
        kind.__subclasshook__ = classmethod(_inherits)


def _inherits(cls: type, other: type) -> Any:
    global _seen
    now, (then, is_plain) = abc.get_cache_token(), _seen
    if now != then:
        is_plain = not any(map(_has_registered, CLASSES))
        _seen = now, is_plain
    return cls in other.__mro__ if is_plain else NotImplemented


def _has_registered(kind: type) -> bool:
    """Whether something is registered with a class or with what inherits from it."""
    pending, seen = [kind], set[type]()
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            if isinstance(each, abc.ABCMeta) and _registry(each)[0]:
                return True
            pending += each.__subclasses__()
    return False
