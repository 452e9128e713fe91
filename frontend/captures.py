"""What a kernel read from around itself when it was compiled, and whether it still is so.

A captured number, tuple, type, function or specialization constant is a constant of the compiled kernel; binding the
name to something else compiles the kernel again.  Not watched are Python's builtins, the modules that kernels name all
the time, and what is in these.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import numpy as np

from ..ir.errors import KernelArgumentError
from .intrinsics import Intrinsic, Namespace
from .scope import MISSING
from .struct_types import StructType
from .struct_values import host_value, leaf_values, struct_of_value
from .types import Type

if TYPE_CHECKING:
    from ..ir.errors import Diagnostic
    from .externals import ExternalFunction
    from .source import FunctionSource

PACKAGE = __name__.rpartition(".frontend.")[0]
"""The name of lapilli's own package."""
_FIXED_MODULES = (PACKAGE, "math", "numpy")


def is_watched(value: object, owner: object = None) -> bool:
    """Whether a name of `value`, or an attribute of the module or class `owner`, is looked up again at launches."""
    if _is_fixed_module(owner) or _is_fixed_module(value):
        return False
    name = getattr(value, "__name__", None)
    return not isinstance(name, str) or getattr(builtins, name, None) is not value


def _is_fixed_module(value: object) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ in _FIXED_MODULES


@dataclass(slots=True)
class NamesUsed:
    """Every name and attribute that one compilation read, in the order of the first reading.

    More than `Captures` watches: a process that starts later may find another type or module under a name.
    """

    _entries: dict[tuple[int, str], tuple[object, str, object]] = field(
        default_factory=dict[tuple[int, str], tuple[object, str, object]]
    )

    def name(self, function: object, name: str, value: object) -> None:
        """Remembers that `name` meant `value` inside of a function."""
        self._entries.setdefault((id(function), name), (function, name, value))

    def attribute(self, owner: object, name: str, value: object) -> None:
        """Remembers an attribute; those of lapilli's own objects never change."""
        if not isinstance(owner, Type | Intrinsic | Namespace):
            self.name(owner, name, value)

    def entries(self) -> Iterator[tuple[object, str, object]]:
        """Yields (function, module or class; name; what it meant)."""
        return iter(self._entries.values())


@dataclass(slots=True)
class Captures:
    """The names that one compilation read."""

    _seen: dict[tuple[int, str], tuple[Callable[[str], object], str, object]] = field(
        default_factory=dict[tuple[int, str], tuple[Callable[[str], object], str, object]]
    )
    used: NamesUsed = field(default_factory=NamesUsed)
    """What a compiled kernel depends on in another process."""
    functions: WeakValueDictionary[str, Callable[..., object]] = field(
        default_factory=WeakValueDictionary[str, Callable[..., object]]
    )
    """What was compiled, by the symbols in the module."""
    has_findings: bool = False
    """Whether the compiler warned: a process that takes the code from the disk would not."""
    of_several_dimensions: tuple[Callable[..., object], Diagnostic] | None = None
    """What is told of the kernel, and its function, where dimensions of the range that it does not name have more
    than one work-item."""
    imports: dict[str, ExternalFunction] = field(default_factory=dict[str, "ExternalFunction"])
    """The functions of other translation units that were called, by the linker's symbol."""

    def add(self, owner: object, resolve: Callable[[str], object], name: str, value: object) -> None:
        """Remembers that `name` meant `value`.

        Args:
            owner: where the name was looked up; one name of one owner is kept once.
            resolve: finds the present meaning of the name.
            name: the name.
            value: what it meant.
        """
        self._seen.setdefault((id(owner), name), (resolve, name, _snapshot(value)))

    def read_name(self, source: FunctionSource, name: str, value: object) -> None:
        """Remembers that `name` means `value` inside of a function."""
        self.used.name(source.function, name, value)
        if is_watched(value):
            self.add(source, source.resolve, name, value)

    def read_attribute(self, owner: object, name: str, value: object) -> None:
        """Remembers that attribute `name` of an object is `value`."""
        self.used.attribute(owner, name, value)
        if isinstance(owner, types.ModuleType | type | types.FunctionType) and is_watched(value, owner):
            self.add(owner, partial(getattr, owner), name, value)

    def read_function(self, function: types.FunctionType) -> None:
        """Remembers what a helper is made of: its code, which reloading replaces in place, and its defaults."""
        if str(function.__module__).partition(".")[0] == PACKAGE:
            return
        self.add(function, partial(getattr, function), "__code__", function.__code__)
        for name, value in defaults_of(function).items():
            self.add(function, partial(_default, function), name, value)

    def include(self, other: Captures) -> None:
        """Watches what `other` watches too: code that was linked in is part of the kernel."""
        self._seen = {**other._seen, **self._seen}
        self.has_findings |= other.has_findings
        self.of_several_dimensions = self.of_several_dimensions or other.of_several_dimensions

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could change."""
        return not self._seen

    def are_current(self) -> bool:
        """Returns whether every name still means the same object, or an equal one of the same type."""
        for resolve, name, value in self._seen.values():
            try:
                found = resolve(name)
            except AttributeError:  # deleted: the next compilation says so
                return False
            if found is not value and (type(found) is not type(value) or not _is_same(found, value)):
                return False
        return True


def defaults_of(function: types.FunctionType) -> dict[str, object]:
    """Returns the present defaults of a function's parameters."""
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return {
        **(function.__kwdefaults__ or {}),
        **dict(zip(names[len(names) - len(values) :], values, strict=True)),
    }


def _default(function: types.FunctionType, name: str) -> object:
    return defaults_of(function).get(name, MISSING)


def _is_same(found: object, value: object) -> bool:
    """Compares two objects of one type; repr tells 0.0 from -0.0."""
    if isinstance(value, float | np.generic) and value != value:
        return np.asarray(found).tobytes() == np.asarray(cast("Any", value)).tobytes()
    if isinstance(value, bool | int | float | str | np.generic):
        return repr(found) == repr(cast(object, value))
    if isinstance(value, tuple):
        pairs = cast("tuple[object, ...]", found), cast("tuple[object, ...]", value)
        return len(pairs[0]) == len(pairs[1]) and all(
            a is b or (type(a) is type(b) and _is_same(a, b)) for a, b in zip(*pairs, strict=True)
        )
    if isinstance(value, np.ndarray):
        return _content(found) == _content(cast("object", value))
    struct = struct_of_value(value)
    return struct is not None and leaf_texts(struct, found) == leaf_texts(struct, value)


def _snapshot(value: object) -> object:
    """Returns what to compare with later: a copy of what can change in place."""
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, Any]", value).copy()
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        copies = [_snapshot(item) for item in items]
        if all(copy is item for copy, item in zip(copies, items, strict=True)):
            return items
        return cast(Any, tuple).__new__(type(items), copies)  # named tuples keep their type
    struct = struct_of_value(value)
    return value if struct is None else host_value(struct, value, "")


def _content(array: object) -> object:
    found = cast("np.ndarray[Any, Any]", array)
    return found.dtype, found.shape, found.tobytes()


def leaf_texts(kind: StructType, value: object) -> str | None:
    """Returns a text of all scalars of a struct; None where its members hold something else by now."""
    try:
        return repr(leaf_values(kind, value, kind.name))
    except KernelArgumentError:
        return None
