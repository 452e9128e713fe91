"""PublicNames: the class of classes whose internal members ``dir`` and ``help`` leave out.  Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_OF_THIS_CLASS = ("__dir__", "internal_names")


class PublicNames(type):
    """Class of the classes that users meet, which other parts of lapilli use as well.

    ``class Graph(metaclass=PublicNames, internal="add_copy add_fill")`` leaves two methods out of what ``dir``,
    ``help`` and completion show of it, of its instances, and of classes that inherit from it.  Hints (`is_hint`), which
    stand in the place of what is not there, are left out as well.

    Args:
        internal: names of members, separated by spaces.
    """

    internal_names: frozenset[str]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, internal: str = ""
    ) -> PublicNames:
        namespace.setdefault("__dir__", _dir_of_instance)
        made = super().__new__(cls, name, bases, namespace)
        hints = (member for member, value in namespace.items() if getattr(value, "is_hint", False))
        inherited = (base.internal_names for base in bases if isinstance(base, PublicNames))
        made.internal_names = frozenset(internal.split()).union(hints, *inherited)
        return made

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, internal: str = ""
    ) -> None:
        super().__init__(name, bases, namespace)

    def __dir__(cls) -> list[str]:
        return _public(cls, super().__dir__())


def _dir_of_instance(self: object) -> list[str]:
    return _public(type(self), object.__dir__(self))


def _public(owner: Any, names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in owner.internal_names and name not in _OF_THIS_CLASS]
