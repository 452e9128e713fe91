"""Frozen dataclasses to JSON values and back, by their annotations.

What comes back is checked against the annotations field by field, so that a decoder never runs code nor makes
an object of another shape.  Handles what the seams use: scalars, bytes (as hexadecimal), tuples, optional
values, enums, and unions of dataclasses (tagged with the class).  Standard library only.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ..ir.errors import InvalidError

MAX_INTEGER: Final = 1 << 63
"""Integers of an image are below it and above its negative."""
MAX_TUPLE: Final = 1 << 16
"""No tuple of an image is longer."""

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


def decode(kind: type[T], data: JsonValue, where: str = "") -> T:
    """Returns the dataclass `kind` that `data` describes.

    Raises:
        InvalidError: a field is missing, unknown, or not of its type; says which.
    """
    hints = _hints(kind)
    fields = _object(data, where or kind.__name__)
    names = set(_field_names(kind))
    if fields.keys() - {"class"} != names or fields.get("class") != kind.__name__:
        differing = sorted((fields.keys() - {"class"}) ^ names) or ["class"]
        raise InvalidError(
            f"{where or kind.__name__}: missing or unknown fields {', '.join(map(str, differing))}"
        )
    values = {name: _value(hints[name], fields[name], f"{where}.{name}".lstrip(".")) for name in names}
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(data: JsonValue, where: str) -> Mapping[str, JsonValue]:
    if not isinstance(data, dict):
        raise _mismatch(where, "an object", data)
    return cast("dict[str, JsonValue]", data)


def _value(kind: Any, data: JsonValue, where: str) -> object:
    origin = get_origin(kind)
    if origin is tuple:
        return _tuple(get_args(kind), data, where)
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), data, where)
    if kind is bytes:
        return _bytes(data, where)
    if dataclasses.is_dataclass(kind):
        return decode(cast("type[object]", kind), data, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(kind, data, where)
    return _scalar(kind, data, where)


def _scalar(kind: Any, data: JsonValue, where: str) -> object:
    # bool is a subclass of int: the types must be the same.
    if type(data) is not kind:
        raise _mismatch(where, kind.__name__, data)
    if kind is int and not -MAX_INTEGER < data < MAX_INTEGER:
        raise _mismatch(where, "an integer of 64 bits", data)
    return data


def _bytes(data: JsonValue, where: str) -> bytes:
    if isinstance(data, str):
        try:
            return bytes.fromhex(data)
        except ValueError:
            pass
    raise _mismatch(where, "hexadecimal digits", data)


def _enum(kind: type[enum.Enum], data: JsonValue, where: str) -> enum.Enum:
    for member in kind:
        if type(data) is type(member.value) and member.value == data:
            return member
    raise _mismatch(where, f"a value of {kind.__name__}", data)


def _tuple(items: tuple[Any, ...], data: JsonValue, where: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _mismatch(where, "a list", data)
    values = cast("list[JsonValue]", data)
    is_any_length = len(items) == 2 and items[1] is Ellipsis
    if len(values) > MAX_TUPLE or not (is_any_length or len(values) == len(items)):
        raise InvalidError(f"{where}: {len(values)} entries, more or fewer than it can have")
    kinds = (items[0],) * len(values) if is_any_length else items
    pairs = zip(kinds, values, strict=True)
    return tuple(_value(kind, value, f"{where}[{n}]") for n, (kind, value) in enumerate(pairs))


def _union(kinds: tuple[Any, ...], data: JsonValue, where: str) -> object:
    if data is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) == 1:
        return _value(others[0], data, where)
    name = _object(data, where).get("class")
    for kind in others:
        if kind.__name__ == name:
            return _value(kind, data, where)
    raise _mismatch(where, " or ".join(kind.__name__ for kind in others), name)


def _mismatch(where: str, expected: str, found: object) -> InvalidError:
    return InvalidError(f"{where}: expected {expected}; found {found!r:.80}")
