"""Making a dataclass whose methods are compiled later in a third of the time.

`dataclasses` looks through each annotation with three regular expressions and writes the text of every method, which
takes three quarters of the time where none is compiled: 15 of 180 ms of importing the compiler.  What it puts into a
class, CPython 3.11 and 3.12 do in the same steps; `define` does them for the usual class, and leaves every other one
to `dataclasses`.  Standard library only.
"""

# pyright: reportAttributeAccessIssue=false, reportUnknownMemberType=false, reportPrivateUsage=false

from __future__ import annotations

import abc
import dataclasses
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field
from functools import cache
from typing import Any, Final, cast

from .late_methods import LateMethod, stand_ins
from .served_methods import (
    Serve,
    assign_fields,
    serve_equality,
    serve_hash,
    serve_refusal,
    serve_representation,
)

_OPTIONS: Final = (
    "init",
    "repr",
    "eq",
    "order",
    "unsafe_hash",
    "frozen",
    "match_args",
    "kw_only",
    "slots",
    "weakref_slot",
)
_HELPERS: Final = {
    "_process_class": ("cls", *_OPTIONS),
    "_repr_fn": ("fields", "globals"),
    "_cmp_fn": ("name", "op", "self_tuple", "other_tuple", "globals"),
    "_hash_fn": ("fields", "globals"),
    "_frozen_get_del_attr": ("cls", "fields", "globals"),
    "_add_slots": ("cls", "is_frozen", "weakref_slot"),
}
"""Functions of `dataclasses`, with their parameters in CPython 3.11 and 3.12."""
_OURS: Final = ("lapilli", "xdsl")
"""Packages whose annotations have no other names for these."""
_dataclasses: Any = dataclasses


@cache
def is_supported() -> bool:
    """Whether this Python makes dataclasses in these steps."""
    return sys.version_info[:2] in ((3, 11), (3, 12)) and all(
        _parameters(name) == expected for name, expected in _HELPERS.items()
    )


def _parameters(function: str) -> tuple[str, ...]:
    code = getattr(getattr(dataclasses, function, None), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def define(cls: Any, options: tuple[bool, ...]) -> Any:
    """Makes `cls` a dataclass and returns it; returns None, and changes nothing, where `dataclasses` has to do it.

    Args:
        cls: a class.
        options: those of `dataclasses.dataclass`, in its order.
    """
    init, repr_, eq, order, unsafe_hash, frozen, match_args, kw_only, slots, weakref_slot = options
    if order or unsafe_hash or weakref_slot or cls.__module__.partition(".")[0] not in _OURS:
        return None
    is_bare = _BARE.issuperset(cls.__mro__[1:])
    inherited = {} if is_bare else _inherited(cls, frozen)
    own = _own_defaults(cls, is_bare)
    namespace = cls.__dict__
    if inherited is None or own is None or (frozen and not namespace.keys().isdisjoint(_SET_AND_DELETE)):
        return None

    class_hash = namespace.get("__hash__", MISSING)
    has_hash = not (class_hash is MISSING or (class_hash is None and "__eq__" in namespace))
    fields = inherited | _own_fields(cls, own, kw_only)
    values = options[: _dataclasses._DataclassParams.__init__.__code__.co_argcount - 1]
    cls.__dataclass_params__ = _dataclasses._DataclassParams(*values)
    cls.__dataclass_fields__ = fields
    methods = _Methods(cls, fields, frozen, slots).stand_ins
    wanted = {
        "__init__": init,
        "__repr__": repr_,
        "__eq__": eq,
        "__hash__": eq and frozen and not has_hash,
        "__setattr__": frozen,
        "__delattr__": frozen,
    }
    if eq and not has_hash and not frozen:
        cls.__hash__ = None
    for name, is_wanted in wanted.items():
        if is_wanted and (name == "__hash__" or name not in namespace):
            method: Any = methods[name]
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)
        else:
            del methods[name]
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # not the signature, which takes as long as the rest
    if match_args and "__match_args__" not in namespace:
        cls.__match_args__ = tuple([f.name for f in _positional(_in_init(fields))])
    if slots:
        cls = _dataclasses._add_slots(cls, frozen, weakref_slot)
    return abc.update_abstractmethods(cls)


_SET_AND_DELETE: Final = ("__setattr__", "__delattr__")
_BARE: Final = frozenset((object, abc.ABC, typing.Generic))
"""Parents that have no fields."""


def _inherited(cls: Any, frozen: bool) -> dict[str, Field[Any]] | None:
    """Returns the fields of the classes that it comes from; None where some are frozen and others not."""
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields = None if base in _BARE else getattr(base, "__dataclass_fields__", None)
        if fields is not None:
            found.update(fields)
            if base.__dataclass_params__.frozen != frozen:
                return None
    return found


def _own_defaults(cls: Any, is_bare: bool) -> dict[str, tuple[object, Any]] | None:
    """Returns annotation and default of each of its own fields; None where one of them is no usual field.

    Args:
        cls: the class.
        is_bare: whether its parents have no fields.
    """
    namespace = cls.__dict__
    annotations = namespace.get("__annotations__", {})
    has_fields = Field in map(type, namespace.values())  # usually not: most defaults are plain values
    if has_fields and any(
        type(item) is Field and name not in annotations for name, item in namespace.items()
    ):
        return None
    found: dict[str, tuple[object, Any]] = {}
    for name, annotation in annotations.items():
        # Asking a class for what it does not have takes as long as the rest of this.
        default: Any = MISSING if is_bare and name not in namespace else getattr(cls, name, MISSING)
        if type(default) is types.MemberDescriptorType:
            default = MISSING
        value: Any = cast(Any, default).default if type(default) is Field else default
        if _is_pseudo(annotation) or value.__class__.__hash__ is None:
            return None
        found[name] = annotation, default
    return found


def _is_pseudo(annotation: object) -> bool:
    if type(annotation) is str:
        return "ClassVar" in annotation or "InitVar" in annotation or "KW_ONLY" in annotation
    return (
        annotation is dataclasses.KW_ONLY
        or _dataclasses._is_classvar(annotation, typing)
        or _dataclasses._is_initvar(annotation, dataclasses)
    )


def _own_fields(cls: Any, own: dict[str, tuple[object, Any]], kw_only: bool) -> dict[str, Field[Any]]:
    """Makes its own fields, and its attributes their defaults."""
    found: dict[str, Field[Any]] = {}
    for name, (annotation, default) in own.items():
        is_field = type(default) is Field
        made: Any = cast(Any, default) if is_field else dataclasses.field(default=default)
        made.name, made.type, made._field_type = name, annotation, _dataclasses._FIELD
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        if is_field:
            if made.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, made.default)
        found[name] = made
    return found


class _Methods:
    """The methods of one class, made one by one when they are called.

    Args:
        cls: the class, where it gets slots the one without them.
        fields: its fields, pseudo-fields included.
        frozen: as in its options.
        slots: as in its options.
    """

    __slots__ = ("_cls", "_fields", "_frozen", "_late", "_slots", "stand_ins")

    def __init__(self, cls: Any, fields: dict[str, Any], frozen: bool, slots: bool) -> None:
        self._cls, self._fields, self._frozen, self._slots = cls, fields, frozen, slots
        self._late: dict[str, LateMethod] | None = None
        self.stand_ins = stand_ins(self)

    def call(self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls one of them, of an object."""
        if self._late is None:
            self._late = {}
        late = self._late.get(name)
        if late is None:
            late = self._late[name] = LateMethod(name, *self._makers(name))
        return late.call(self.stand_ins[name], owner, args, kwargs)

    def _makers(self, name: str) -> tuple[Callable[[], Callable[..., Any]], Callable[[], Serve | None]]:
        """Returns what compiles a method, and what finds what serves until then."""
        module, functions = sys.modules.get(self._cls.__module__), _dataclasses
        scope: dict[str, Any] = {} if module is None else module.__dict__
        plain = [f for f in self._fields.values() if f._field_type is functions._FIELD]
        if name == "__init__":
            description = self._description(scope)
            return lambda: functions._init_fn(*description), lambda: assign_fields(*description)
        if name == "__repr__":
            shown = [f for f in plain if f.repr]
            return (
                lambda: functions._repr_fn(shown, scope),
                lambda: serve_representation([f.name for f in shown]),
            )
        if name == "__eq__":
            compared = [f for f in plain if f.compare]
            both = [functions._tuple_str(owner, compared) for owner in ("self", "other")]
            return (
                lambda: functions._cmp_fn("__eq__", "==", *both, globals=scope),
                lambda: serve_equality([f.name for f in compared]),
            )
        if name == "__hash__":
            hashed = [f for f in plain if (f.compare if f.hash is None else f.hash)]
            return lambda: functions._hash_fn(hashed, scope), lambda: serve_hash([f.name for f in hashed])
        place = _SET_AND_DELETE.index(name)
        return (
            lambda: functions._frozen_get_del_attr(self._cls, plain, scope)[place],
            lambda: serve_refusal(self._cls, [f.name for f in plain], ("assign to", "delete")[place]),
        )

    def _description(self, scope: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the arguments of the function of `dataclasses` that makes an ``__init__``."""
        everything = _in_init(self._fields)
        return (
            everything,
            _positional(everything),
            tuple([f for f in everything if f.init and f.kw_only]),
            self._frozen,
            hasattr(self._cls, "__post_init__"),
            "__dataclass_self__" if "self" in self._fields else "self",
            scope,
            self._slots,
        )


def _in_init(fields: dict[str, Any]) -> list[Any]:
    return [f for f in fields.values() if f._field_type is not _dataclasses._FIELD_CLASSVAR]


def _positional(in_init: list[Any]) -> tuple[Any, ...]:
    return tuple([f for f in in_init if f.init and not f.kw_only])
