"""What the methods of a dataclass do, without compiling them: 0.1 ms for each of 250 that a first launch calls.

For `deferred_definitions`, which compiles the real one when it is called often.  Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import Any, Final

INIT_PARAMETERS = (
    "fields",
    "std_fields",
    "kw_only_fields",
    "frozen",
    "has_post_init",
    "self_name",
    "globals",
    "slots",
)
"""Parameters of the function of `dataclasses` that makes an ``__init__``, in CPython 3.11 and 3.12."""

Serve = Callable[[Any, Sequence[Any], Mapping[str, Any]], object]
"""Does what a method does, and returns what it returns; `NOT_SERVED`, and does nothing, where arguments do not fit."""

NOT_SERVED: Final = object()

_FIELD = re.compile(r"\bself\.(\w+)")


def assign_fields(
    fields: Sequence[Field[Any]],
    std_fields: Sequence[Field[Any]],
    kw_only_fields: Sequence[Field[Any]],
    frozen: bool,
    has_post_init: bool,
    self_name: str,
    globals: Mapping[str, Any],
    slots: bool,
) -> Serve | None:
    """Returns what the ``__init__`` of a class does; None for classes with pseudo-fields.

    Where arguments do not fit, the real one says what is wrong.  The parameters are those of the function of
    `dataclasses`.
    """
    del self_name, globals
    if any(field._field_type.name != "_FIELD" for field in fields):  # type: ignore[attr-defined]
        return None
    names = tuple(field.name for field in std_fields)
    allowed = frozenset((*names, *(field.name for field in kw_only_fields)))
    required = frozenset(
        field.name
        for field in fields
        if field.init and field.default is MISSING and field.default_factory is MISSING
    )
    set_field = object.__setattr__ if frozen else setattr

    def assign(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        values = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not allowed.issuperset(kwargs) or not values.keys().isdisjoint(kwargs):
            return NOT_SERVED
        values.update(kwargs)
        if not required.issubset(values):
            return NOT_SERVED
        for field in fields:
            name = field.name
            if name in values:
                set_field(self, name, values[name])
            elif field.default_factory is not MISSING:
                set_field(self, name, field.default_factory())
            elif field.default is not MISSING and (field.init or slots):
                set_field(self, name, field.default)
        if has_post_init:
            self.__post_init__()
        return None

    return assign


def serve_text(name: str, body: Sequence[str]) -> Serve | None:
    """Returns what an ``__eq__``, ``__hash__`` or ``__repr__`` does, None for other methods.

    Args:
        name: of the method.
        body: its lines, as `dataclasses` writes them; other lines are not understood.
    """
    make = _MAKERS.get(name)
    if make is None:
        return None
    fields = [field for field in _FIELD.findall("".join(body)) if field != "__class__"]
    lines, serve = make(fields)
    return serve if list(body) == lines else None


def serve_equality(fields: Sequence[str]) -> Serve:
    """Returns what an ``__eq__`` does that compares these fields."""
    return _equality(fields)[1]


def serve_refusal(owner: type, fields: Sequence[str], verb: str) -> Serve:
    """Returns what a ``__setattr__`` or ``__delattr__`` of a frozen class does where it refuses.

    `typing` asks for an attribute of each object that is made through a generic alias.

    Args:
        owner: the class.
        fields: their names.
        verb: what it would do with a field.
    """
    count = 2 if verb == "assign to" else 1

    def refuse(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        if len(args) != count or kwargs or not (type(self) is owner or args[0] in fields):
            return NOT_SERVED
        raise FrozenInstanceError(f"cannot {verb} field {args[0]!r}")

    return refuse


def serve_hash(fields: Sequence[str]) -> Serve:
    """Returns what a ``__hash__`` of these fields does."""
    return _hash(fields)[1]


def serve_representation(fields: Sequence[str]) -> Serve:
    """Returns what a ``__repr__`` of these fields does."""
    return _representation(fields)[1]


def _equality(fields: Sequence[str]) -> tuple[list[str], Serve]:
    def equal(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        if len(args) != 1 or kwargs:
            return NOT_SERVED
        (other,) = args
        if other.__class__ is not self.__class__:
            return NotImplemented
        return tuple([getattr(self, name) for name in fields]) == tuple(
            [getattr(other, name) for name in fields]
        )

    both = f" return {_tuple_of('self', fields)}=={_tuple_of('other', fields)}"
    return ["if other.__class__ is self.__class__:", both, "return NotImplemented"], equal


def _hash(fields: Sequence[str]) -> tuple[list[str], Serve]:
    def hashed(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        return NOT_SERVED if args or kwargs else hash(tuple([getattr(self, name) for name in fields]))

    return [f"return hash({_tuple_of('self', fields)})"], hashed


def _representation(fields: Sequence[str]) -> tuple[list[str], Serve]:
    @recursive_repr()
    def text_of(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in fields])
        return f"{self.__class__.__qualname__}({values})"

    def shown(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        return NOT_SERVED if args or kwargs else text_of(self)

    values = ", ".join([f"{name}={{self.{name}!r}}" for name in fields])
    return [f'return self.__class__.__qualname__ + f"({values})"'], shown


def _tuple_of(owner: str, fields: Sequence[str]) -> str:
    return f"({','.join([f'{owner}.{name}' for name in fields])},)" if fields else "()"


_MAKERS: Final = {"__eq__": _equality, "__hash__": _hash, "__repr__": _representation}
