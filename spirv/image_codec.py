"""Frozen dataclasses to JSON values and back, by their annotations.

What comes back is checked against the annotations field by field, so that a decoder never runs code nor makes
an object of another shape.  Handles what the seams use: scalars, bytes (as hexadecimal), tuples, optional
values, enums, and unions of dataclasses (tagged with the class).  Standard library only.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin

from ..ir.errors import InvalidError

MAX_INTEGER: Final = 1 << 63
"""Integers of an image are below it, and at least its negative."""
MAX_TUPLE: Final = 1 << 16
"""No tuple of an image is longer."""

_GROWING: Final = ("target_env.TargetEnv", "lpk_records.ConstantRecord", "size_arithmetic.SizeNode")
"""Classes that get fields as lapilli grows, whose defaults are what held before: a file may lack some.  By name, since
most programs have no bundle file."""

T = TypeVar("T")

JsonValue = Any
"""What `json.loads` returns."""


def encode(value: object) -> JsonValue:
    """Returns a value of the seams as JSON's dicts, lists, strings, numbers, booleans and None."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, tuple):
        return [encode(item) for item in cast("tuple[object, ...]", value)]
    if dataclasses.is_dataclass(kind):
        fields = {name: encode(getattr(value, name)) for name in _field_names(kind)}
        return {"class": kind.__name__, **fields}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, enum.Enum) and not isinstance(value, int):
        return value.value
    return value


_AS_THEY_ARE = frozenset((str, int, bool, float, type(None)))


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


class _Misfit(Exception):
    """Data that is not of its type; learns where it stands on its way out."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.where = ""


_Decoder = Callable[[JsonValue], object]


def decode(kind: type[T], data: JsonValue, where: str = "") -> T:
    """Returns the dataclass `kind` that `data` describes.

    Raises:
        InvalidError: a field is missing, unknown, or not of its type; says which.
    """
    try:
        return cast("T", _decoder(kind)(data))
    except _Misfit as error:
        place = f"{where}{error.where}".lstrip(".") or kind.__name__
        raise InvalidError(f"{place}: {error.message}") from None


@cache
def _decoder(kind: Any) -> _Decoder:
    """Returns what decodes a type; made once, so that an annotation is looked at once."""
    origin = get_origin(kind)
    if origin is tuple:
        return _tuple_decoder(get_args(kind))
    if origin in (Union, types.UnionType):
        return _union_decoder(get_args(kind))
    if kind is bytes:
        return _bytes
    if dataclasses.is_dataclass(kind):
        return _record_decoder(cast("type[object]", kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum_decoder(kind)
    return _scalar_decoder(kind)


def _record_decoder(kind: type[object]) -> _Decoder:
    keys = {"class", *_field_names(kind)}
    defaults = _defaults(kind)

    def decode_record(data: JsonValue) -> object:
        found = _object(data)
        if defaults:
            found = {**defaults, **found}
        if set(found) != keys or found["class"] != kind.__name__:
            differing = sorted(keys.symmetric_difference(found) - {"class"}) or ["class"]
            raise _Misfit(f"missing or unknown fields {', '.join(map(str, differing))}")
        values: dict[str, object] = {}
        name = ""
        try:
            for name, plain, decode_field in _field_decoders(kind):
                value = found[name]
                values[name] = value if type(value) in plain else decode_field(value)
        except _Misfit as error:
            error.where = f".{name}{error.where}"
            raise
        return kind(**values)

    return decode_record


def _defaults(kind: type[object]) -> Mapping[str, JsonValue]:
    """Returns what a file would hold of the fields of a class that files may lack; nothing for other classes."""
    found: dict[str, JsonValue] = {}
    grows = f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}" in _GROWING
    for field in dataclasses.fields(cast("Any", kind)) if grows else ():
        if field.init and field.default is not dataclasses.MISSING:
            found[field.name] = encode(field.default)
        elif field.init and field.default_factory is not dataclasses.MISSING:
            found[field.name] = encode(field.default_factory())
    return found


@cache
def _field_decoders(kind: type[object]) -> list[tuple[str, tuple[type, ...], _Decoder]]:
    """Returns, for each field of a class, its name, the types whose values it takes as they are, and what decodes the
    others; apart, for classes that contain themselves."""
    found: list[tuple[str, tuple[type, ...], _Decoder]] = []
    for field in dataclasses.fields(cast(Any, kind)):
        if field.init:
            meaning = _meaning(field.type, kind.__module__)
            parts = get_args(meaning) if get_origin(meaning) in (Union, types.UnionType) else (meaning,)
            found.append((field.name, tuple(_PLAIN.intersection(parts)), _decoder(meaning)))
    return found


_PLAIN: Final = frozenset((str, bool, float, type(None)))
"""Types of JSON's values that need no other check."""


@cache
def _meaning(annotation: object, module: str) -> Any:
    """Returns the type that an annotation stands for: most fields share a few, and each takes 10 µs to evaluate.

    `typing.get_type_hints` does the same and takes 40.
    """
    return eval(annotation, vars(sys.modules[module])) if isinstance(annotation, str) else annotation


def _object(data: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(data, dict):
        raise _mismatch("an object", data)
    return cast("dict[str, JsonValue]", data)


def _scalar_decoder(kind: Any) -> _Decoder:
    def decode_scalar(data: JsonValue) -> object:
        # bool is a subclass of int: the types must be the same.
        if type(data) is not kind:
            raise _mismatch(kind.__name__, data)
        if kind is int and not -MAX_INTEGER <= data < MAX_INTEGER:
            raise _mismatch("an integer of 64 bits", data)
        return data

    return decode_scalar


def _bytes(data: JsonValue) -> bytes:
    if isinstance(data, str):
        try:
            return bytes.fromhex(data)
        except ValueError:
            pass
    raise _mismatch("hexadecimal digits", data)


def _enum_decoder(kind: type[enum.Enum]) -> _Decoder:
    def decode_enum(data: JsonValue) -> object:
        for member in kind:
            if type(data) is type(member.value) and member.value == data:
                return member
        raise _mismatch(f"a value of {kind.__name__}", data)

    return decode_enum


def _tuple_decoder(items: tuple[Any, ...]) -> _Decoder:
    is_any_length = len(items) == 2 and items[1] is Ellipsis
    decoders = [_decoder(item) for item in items if item is not Ellipsis]

    def decode_tuple(data: JsonValue) -> object:
        if not isinstance(data, list):
            raise _mismatch("a list", data)
        values = cast("list[JsonValue]", data)
        if len(values) > MAX_TUPLE or not (is_any_length or len(values) == len(decoders)):
            raise _Misfit(f"{len(values)} entries, more or fewer than it can have")
        found: list[object] = []
        each = repeat(decoders[0]) if is_any_length else decoders
        try:
            for decode_item, value in zip(each, values, strict=False):
                found.append(decode_item(value))
        except _Misfit as error:
            error.where = f"[{len(found)}]{error.where}"
            raise
        return tuple(found)

    return decode_tuple


def _union_decoder(kinds: tuple[Any, ...]) -> _Decoder:
    others = {kind.__name__: _decoder(kind) for kind in kinds if kind is not type(None)}
    only = next(iter(others.values())) if len(others) == 1 else None

    def decode_union(data: JsonValue) -> object:
        if data is None and type(None) in kinds:
            return None
        if only is not None:
            return only(data)
        name = _object(data).get("class")
        decode_one = others.get(name) if isinstance(name, str) else None
        if decode_one is None:
            raise _mismatch(" or ".join(others), name)
        return decode_one(data)

    return decode_union


def _mismatch(expected: str, found: object) -> _Misfit:
    return _Misfit(f"expected {expected}; found {found!r:.80}")
