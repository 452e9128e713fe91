"""What stands for the methods of a dataclass until they are compiled, in few objects.

A start defines 400 dataclasses with five methods each, of which a program calls a few dozen.  The garbage collector
looks at every function and cell of them, so a class has one record that all its stand-ins share; what a method needs is
made when it is called.  Standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from .served_methods import NOT_SERVED, Serve

CALLS_BEFORE_COMPILING = 16
"""So often a method works without being compiled, which takes as long as 30 calls."""

FREQUENT_CALLS = 4
"""A method that was called so often is worth compiling where nothing else is to be done."""

compiling: Final[list[int]] = []
"""The threads that compile a method: `dataclasses` is to make the real one."""


class LateMethod:
    """A method that is compiled at its first call, or after some that are served without.

    Args:
        name: of the method.
        make: compiles it.
        find_serve: finds what serves until then, None: nothing does.
    """

    __slots__ = ("_find_serve", "_made", "_make", "_name", "_serve", "_served")

    def __init__(
        self, name: str, make: Callable[[], Callable[..., Any]], find_serve: Callable[[], Serve | None]
    ) -> None:
        self._name, self._make, self._find_serve = name, make, find_serve
        self._made: Callable[..., Any] | None = None
        self._serve: Serve | None = None
        self._served = 0

    def call(self, stand_in: object, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the method of an object; once compiled, it takes the place of `stand_in` in the object's class."""
        made = self._made
        if made is None:
            kind: type = owner.__class__
            if self._serve is None:
                self._serve = self._find_serve()
                _called.append((self, stand_in, kind))
            serve = self._serve
            if serve is not None and self._served < CALLS_BEFORE_COMPILING:
                result = serve(owner, args, kwargs)
                if result is not NOT_SERVED:
                    self._served += 1
                    return result
            made = self._compile(stand_in, kind)
        return made(owner, *args, **kwargs)

    @property
    def is_made(self) -> bool:
        """Whether the method is compiled."""
        return self._made is not None

    def compile_if_frequent(self, stand_in: object, owner: type, calls: int) -> bool:
        """Compiles the method if it was called so often and is not compiled yet; returns whether it did."""
        if self._made is not None or self._served < calls:
            return False
        self._compile(stand_in, owner)
        return True

    def _compile(self, stand_in: object, owner: type) -> Callable[..., Any]:
        thread = threading.get_ident()
        compiling.append(thread)
        try:
            made = self._made = self._make()
        finally:
            compiling.remove(thread)
        _replace(owner.__mro__, self._name, stand_in, made)
        return made


_called: Final[list[tuple[LateMethod, object, type]]] = []
"""Those that were called, with what stands for each and the class of its object."""


def compile_frequent(calls: int = FREQUENT_CALLS) -> bool:
    """Compiles a method that was called so often, the first such one; returns whether there was one.

    For whoever has time to spare: the next kernel calls it again, as often.
    """
    _called[:] = [entry for entry in _called if not entry[0].is_made]
    return any(late.compile_if_frequent(stand_in, owner, calls) for late, stand_in, owner in _called)


def _replace(owners: tuple[type, ...], name: str, old: object, new: Callable[..., Any]) -> None:
    """Puts the real method where the deferred one stands."""
    for owner in owners:
        if owner.__dict__.get(name) is old:
            new.__qualname__ = f"{owner.__qualname__}.{name}"
            setattr(owner, name, new)
            return


class Methods(Protocol):
    """The methods of a class that are not compiled yet."""

    def call(self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls one of them, of an object."""
        ...


def stand_in(late: LateMethod, name: str) -> Callable[..., Any]:
    """Returns the function that stands for one method."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return late.call(method, self, args, kwargs)

    method.__name__ = name
    return method


def stand_ins(methods: Methods) -> dict[str, Callable[..., Any]]:
    """Returns the functions that stand for all methods of a dataclass, by name; they share one cell."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__init__", self, args, kwargs)

    def __repr__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__repr__", self, args, kwargs)

    def __eq__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__eq__", self, args, kwargs)

    def __hash__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__hash__", self, args, kwargs)

    def __setattr__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__setattr__", self, args, kwargs)

    def __delattr__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return methods.call("__delattr__", self, args, kwargs)

    return {
        "__init__": __init__,
        "__repr__": __repr__,
        "__eq__": __eq__,
        "__hash__": __hash__,
        "__setattr__": __setattr__,
        "__delattr__": __delattr__,
    }
