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
from typing import Any, Final, cast

from .served_methods import Serve, assign_fields, serve_equality, serve_hash

Deferred = Callable[[str, Callable[[], Callable[..., Any]], Callable[[], Serve | None]], Callable[..., Any]]
"""Makes a method that is compiled later, of its name, what compiles it, and what finds what serves until then."""

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
_PSEUDO: Final = ("ClassVar", "InitVar", "KW_ONLY")
_OURS: Final = ("lapilli", "xdsl")
"""Packages whose annotations have no other names for these."""
_dataclasses: Any = dataclasses


def is_supported() -> bool:
    """Whether this Python makes dataclasses in these steps."""
    return sys.version_info[:2] in ((3, 11), (3, 12)) and all(
        _parameters(name) == expected for name, expected in _HELPERS.items()
    )


def _parameters(function: str) -> tuple[str, ...]:
    code = getattr(getattr(dataclasses, function, None), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def define(cls: Any, options: tuple[bool, ...], deferred: Deferred) -> Any:
    """Makes `cls` a dataclass and returns it; returns None, and changes nothing, where `dataclasses` has to do it.

    Args:
        cls: a class.
        options: those of `dataclasses.dataclass`, in its order.
        deferred: makes its methods.
    """
    init, repr_, eq, order, unsafe_hash, frozen, match_args, kw_only, slots, weakref_slot = options
    if order or unsafe_hash or weakref_slot or cls.__module__.partition(".")[0] not in _OURS:
        return None
    inherited = _inherited(cls, frozen)
    own = _own_defaults(cls)
    namespace = cls.__dict__
    if inherited is None or own is None or (frozen and not namespace.keys().isdisjoint(_SET_AND_DELETE)):
        return None

    class_hash = namespace.get("__hash__", MISSING)
    has_hash = not (class_hash is MISSING or (class_hash is None and "__eq__" in namespace))
    fields = inherited | _own_fields(cls, own, kw_only)
    values = options[: _dataclasses._DataclassParams.__init__.__code__.co_argcount - 1]
    cls.__dataclass_params__ = _dataclasses._DataclassParams(*values)
    cls.__dataclass_fields__ = fields
    in_init = [f for f in fields.values() if f._field_type is not _dataclasses._FIELD_CLASSVAR]
    positional = tuple([f for f in in_init if f.init and not f.kw_only])
    made = _methods(cls, fields, (in_init, positional), init, repr_, eq, frozen, slots, deferred)
    if eq and not has_hash and not frozen:
        cls.__hash__ = None
        made.pop("__hash__", None)
    elif has_hash or not eq:
        made.pop("__hash__", None)
    for name, method in made.items():
        if name == "__hash__" or name not in namespace:
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # not the signature, which takes as long as the rest
    if match_args and "__match_args__" not in namespace:
        cls.__match_args__ = tuple([f.name for f in positional])
    if slots:
        cls = _dataclasses._add_slots(cls, frozen, weakref_slot)
    return abc.update_abstractmethods(cls)


_SET_AND_DELETE: Final = ("__setattr__", "__delattr__")


def _inherited(cls: Any, frozen: bool) -> dict[str, Field[Any]] | None:
    """Returns the fields of the classes that it comes from; None where some are frozen and others not."""
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields = getattr(base, "__dataclass_fields__", None)
        if fields is not None:
            found.update(fields)
            if base.__dataclass_params__.frozen != frozen:
                return None
    return found


def _own_defaults(cls: Any) -> dict[str, tuple[object, Any]] | None:
    """Returns annotation and default of each of its own fields; None where one of them is no usual field."""
    namespace = cls.__dict__
    annotations = namespace.get("__annotations__", {})
    if any(type(value) is Field and name not in annotations for name, value in namespace.items()):
        return None
    found: dict[str, tuple[object, Any]] = {}
    for name, annotation in annotations.items():
        default: Any = getattr(cls, name, MISSING)
        if type(default) is types.MemberDescriptorType:
            default = MISSING
        value: Any = cast(Any, default).default if type(default) is Field else default
        if _is_pseudo(annotation) or value.__class__.__hash__ is None:
            return None
        found[name] = annotation, default
    return found


def _is_pseudo(annotation: object) -> bool:
    if type(annotation) is str:
        return any(name in annotation for name in _PSEUDO)
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


def _methods(
    cls: Any,
    fields: dict[str, Field[Any]],
    in_init: tuple[list[Any], tuple[Any, ...]],
    init: bool,
    repr_: bool,
    eq: bool,
    frozen: bool,
    slots: bool,
    deferred: Deferred,
) -> dict[str, Any]:
    """Returns the methods by name; which of them the class gets is left to `define`."""
    module = sys.modules.get(cls.__module__)
    scope: dict[str, Any] = {} if module is None else module.__dict__
    plain: list[Any] = [f for f in fields.values() if f._field_type is _dataclasses._FIELD]
    made: dict[str, Any] = {}
    if init:
        everything, positional = in_init
        description = (
            everything,
            positional,
            tuple([f for f in everything if f.init and f.kw_only]),
            frozen,
            hasattr(cls, "__post_init__"),
            "__dataclass_self__" if "self" in fields else "self",
            scope,
            slots,
        )
        make_init = _dataclasses._init_fn
        made["__init__"] = deferred(
            "__init__", lambda: make_init(*description), lambda: assign_fields(*description)
        )
    if repr_:
        shown = [f for f in plain if f.repr]
        made["__repr__"] = deferred("__repr__", lambda: _dataclasses._repr_fn(shown, scope), lambda: None)
    if eq:
        compared = [f for f in plain if f.compare]
        made["__eq__"] = deferred(
            "__eq__",
            lambda: _dataclasses._cmp_fn(
                "__eq__",
                "==",
                _dataclasses._tuple_str("self", compared),
                _dataclasses._tuple_str("other", compared),
                globals=scope,
            ),
            lambda: serve_equality([f.name for f in compared]),
        )
        hashed = [f for f in plain if (f.compare if f.hash is None else f.hash)]
        made["__hash__"] = deferred(
            "__hash__",
            lambda: _dataclasses._hash_fn(hashed, scope),
            lambda: serve_hash([f.name for f in hashed]),
        )
    if frozen:
        for place, name in enumerate(_SET_AND_DELETE):
            made[name] = deferred(
                name,
                lambda place=place: _dataclasses._frozen_get_del_attr(cls, plain, scope)[place],
                lambda: None,
            )
    return made
