"""What a compilation read from around the kernel, in a form that another process can check.

`NamesUsed` collects while the front end works; `dependencies` turns it into plain data: under which name, in
which function, an object of which fingerprint was found; `verified` looks the same names up again, in the same
order, so that helpers are reached before what they read themselves.
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
class Dependency:
    """One name, and what it meant."""

    function: int
    """The function it was read in: 0 is the kernel, the others are dependencies in the order of the list."""
    path: tuple[str, ...]
    """A name of the function's scope, then attributes."""
    print: str
    """`fingerprint` of the object."""


def dependencies(
    kernel: types.FunctionType, captures: Captures
) -> tuple[tuple[Dependency, ...], tuple[types.FunctionType, ...]] | None:
    """Returns what a compilation depends on, and its functions, the kernel first.

    None where something cannot be found again by name, or has no fingerprint.
    """
    functions: list[types.FunctionType] = [kernel]
    paths: dict[int, tuple[int, tuple[str, ...]]] = {}
    found: list[Dependency] = []
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
        found.append(Dependency(*place, text))
        paths.setdefault(id(value), place)
        if isinstance(value, types.FunctionType):
            functions.append(value)
    return tuple(found), tuple(functions)


def verified(
    kernel: types.FunctionType, wanted: Sequence[Dependency]
) -> tuple[Captures, tuple[types.FunctionType, ...]] | None:
    """Looks every dependency up; returns what to watch from now on and the functions, None where one differs."""
    functions: list[types.FunctionType] = [kernel]
    captures = Captures()
    for item in wanted:
        if item.function >= len(functions) or not item.path:
            return None
        function = functions[item.function]
        owner: object = function
        value = resolve(function, item.path[0])
        for attribute in item.path[1:]:
            owner = value
            if _is_own_name(owner, attribute):
                break
            if not isinstance(owner, types.ModuleType | type):
                return None
            value = getattr(owner, attribute, MISSING)
        else:
            if value is MISSING or fingerprint(value) != item.print:
                return None
            _watch(captures, function, owner, item.path[-1], value)
            if isinstance(value, types.FunctionType):
                functions.append(value)
                captures.read_function(value)
    return captures, tuple(functions)


def _is_own_name(owner: object, attribute: str) -> bool:
    """Whether it is a public name of lapilli's that nobody has loaded or replaced yet: loading it costs time."""
    return owner is sys.modules.get(PACKAGE) and attribute not in vars(cast(types.ModuleType, owner))


def _watch(captures: Captures, function: types.FunctionType, owner: object, name: str, value: object) -> None:
    if owner is not function:
        captures.read_attribute(owner, name, value)
    elif is_watched(value):
        captures.add(function, partial(resolve, function), name, value)


def to_json(items: Sequence[Dependency]) -> list[Any]:
    """Returns dependencies as JSON's lists, numbers and strings."""
    return [[item.function, list(item.path), item.print] for item in items]


def from_json(data: object) -> tuple[Dependency, ...]:
    """Reads what `to_json` wrote; ValueError where it is something else."""
    if not isinstance(data, list):
        raise ValueError("dependencies are a list")
    return tuple(map(_one_from_json, cast("list[object]", data)))


def _one_from_json(data: object) -> Dependency:
    if isinstance(data, list) and len(items := cast("list[object]", data)) == 3:
        function, path, text = items
        if isinstance(function, int) and function >= 0 and isinstance(path, list) and isinstance(text, str):
            names = tuple(name for name in cast("list[object]", path) if isinstance(name, str))
            if len(names) == len(cast("list[object]", path)):
                return Dependency(function, names, text)
    raise ValueError("a dependency is [function, path, fingerprint]")
