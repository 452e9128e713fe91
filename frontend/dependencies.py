"""What a compilation read from around the kernel, in a form that another process can check.

`NamesUsed` collects while the front end works; `dependencies` turns it into plain data: the names, which kernels of one
text mostly share, and what they mean, by which they differ.  `look_up` finds out what the same names mean in another
process, in the same order, so that helpers are reached before what they read themselves.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from .captures import PACKAGE, Captures, is_watched
from .fingerprint import fingerprint
from .scope import MISSING, resolve


@dataclass(frozen=True, slots=True)
class Name:
    """One name that a compilation read."""

    function: int
    """The function it was read in: 0 is the kernel, the others are functions that names mean, in the order of the
    list."""
    path: tuple[str, ...]
    """A name of the function's scope, then attributes."""
    meaning: str | None
    """`fingerprint` of what it means, where it is one of lapilli's own names, which mean the same everywhere; None: it
    is among `Found.meanings`."""


@dataclass(frozen=True, slots=True)
class Found:
    """What names mean now."""

    meanings: tuple[str, ...]
    """A `fingerprint` for each name without a fixed one."""
    functions: tuple[types.FunctionType, ...]
    """The kernel, then those that names mean."""
    captures: Captures
    """What to watch from now on."""


def dependencies(kernel: types.FunctionType, captures: Captures) -> tuple[tuple[Name, ...], Found] | None:
    """Returns the names that a compilation read, and what they mean.

    None where something cannot be found again by name, or has no fingerprint.
    """
    functions: list[types.FunctionType] = [kernel]
    paths: dict[int, tuple[int, tuple[str, ...]]] = {}
    names: list[Name] = []
    meanings: list[str] = []
    package = sys.modules.get(PACKAGE)
    for owner, name, value in captures.used.entries():
        if value is MISSING:
            continue
        if isinstance(owner, types.FunctionType):
            index = next((i for i, function in enumerate(functions) if function is owner), None)
            place = None if index is None else (index, (name,))
        else:
            base = paths.get(id(owner))
            place = None if base is None else (base[0], (*base[1], name))
        text = fingerprint(value)
        if place is None or text is None:
            return None
        if owner is package:
            names.append(Name(*place, text))
        else:
            names.append(Name(*place, None))
            meanings.append(text)
        paths.setdefault(id(value), place)
        if isinstance(value, types.FunctionType):
            functions.append(value)
    return tuple(names), Found(tuple(meanings), tuple(functions), captures)


def look_up(kernel: types.FunctionType, names: Sequence[Name]) -> Found | None:
    """Returns what names mean now; None where one means nothing, or one of lapilli's own something else."""
    functions: list[types.FunctionType] = [kernel]
    meanings: list[str] = []
    captures = Captures()
    for item in names:
        if item.function >= len(functions) or not item.path:
            return None
        function = functions[item.function]
        owner: object = function
        value = resolve(function, item.path[0])
        for attribute in item.path[1:]:
            owner = value
            if item.meaning is not None and _is_own_name(owner, attribute):
                break
            if not isinstance(owner, types.ModuleType | type):
                return None
            value = getattr(owner, attribute, MISSING)
        else:
            text = None if value is MISSING else fingerprint(value)
            if text is None or text != (item.meaning or text):
                return None
            if item.meaning is None:
                meanings.append(text)
            _watch(captures, function, owner, item.path[-1], value)
            if isinstance(value, types.FunctionType):
                functions.append(value)
                captures.read_function(value)
    return Found(tuple(meanings), tuple(functions), captures)


def _is_own_name(owner: object, attribute: str) -> bool:
    """Whether it is a public name of lapilli's that nobody has loaded or replaced yet: loading it costs time."""
    return owner is sys.modules.get(PACKAGE) and attribute not in vars(cast(types.ModuleType, owner))


def _watch(captures: Captures, function: types.FunctionType, owner: object, name: str, value: object) -> None:
    if owner is not function:
        captures.read_attribute(owner, name, value)
    elif is_watched(value):
        captures.add(function, partial(resolve, function), name, value)


def to_json(names: Sequence[Name]) -> list[Any]:
    """Returns names as JSON's lists, numbers and strings."""
    return [[name.function, list(name.path), name.meaning] for name in names]


def from_json(data: object) -> tuple[Name, ...]:
    """Reads what `to_json` wrote; ValueError where it is something else."""
    if not isinstance(data, list):
        raise ValueError("names are a list")
    return tuple(map(_one_from_json, cast("list[object]", data)))


def _one_from_json(data: object) -> Name:
    if isinstance(data, list) and len(items := cast("list[object]", data)) == 3:
        function, path, text = items
        if isinstance(function, int) and function >= 0 and isinstance(path, list):
            parts = tuple(part for part in cast("list[object]", path) if isinstance(part, str))
            if len(parts) == len(cast("list[object]", path)) and (text is None or isinstance(text, str)):
                return Name(function, parts, text)
    raise ValueError("a name is [function, path, fingerprint or null]")
