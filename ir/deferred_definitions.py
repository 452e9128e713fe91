"""Importing modules full of dataclasses in half the time: their methods are compiled at the first call.

CPython 3.11 and 3.12 compile the text of each method that a dataclass gets, one by one, which is half of the time
that importing xDSL takes and half of lapilli's own: 1400 methods, of which a program calls a few dozen.  Within
`deferred_definitions` a class gets a small function instead, which compiles the real method when it is called
and puts it in its own place, and no docstring that spells out its signature.  Newer versions of Python build a class
with one compilation and are left alone, and so is every other thread; the garbage collector pauses.  Standard library
only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import threading
from collections.abc import Callable, Generator
from typing import Any

_PARAMETERS = ("name", "args", "body", "globals", "locals", "return_type")

MANY_OBJECTS = 1_000
"""So many new objects come of importing a few modules; importing one small one leaves the collector as it was."""

_lock = threading.RLock()


def is_supported() -> bool:
    """Whether this Python builds dataclasses in the way that can be deferred."""
    function = getattr(dataclasses, "_create_fn", None)
    code = getattr(function, "__code__", None)
    return code is not None and code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] == _PARAMETERS


@contextlib.contextmanager
def deferred_definitions() -> Generator[None]:
    """Defers the methods of the dataclasses that this thread defines within; may nest."""
    # Never waits: another thread that holds the lock may be waiting for a module that this one imports.
    if not is_supported() or not _lock.acquire(blocking=False):
        yield
        return
    # An import makes tens of thousands of objects and no garbage: collecting meanwhile is a seventh of its time.
    was_collecting = gc.isenabled()
    gc.disable()
    module: Any = dataclasses
    original, process_class, thread = module._create_fn, module._process_class, threading.get_ident()

    def create(name: str, args: Any, body: Any, **scope: Any) -> Any:
        if threading.get_ident() != thread:
            return original(name, args, body, **scope)
        return _deferred(name, lambda: original(name, args, body, **scope))

    def process(cls: Any, *options: Any, **more: Any) -> Any:
        # A class without a docstring would get its signature for one, which takes as long as the rest of it.
        if not cls.__doc__ and threading.get_ident() == thread:
            cls.__doc__ = cls.__name__
        return process_class(cls, *options, **more)

    module._create_fn, module._process_class = create, process
    try:
        yield
    finally:
        module._create_fn, module._process_class = original, process_class
        if was_collecting:
            _resume_collecting()
        _lock.release()


def _resume_collecting() -> None:
    """Turns the collector on, without the pass over everything imported that it would begin with.

    Freezing and thawing moves every object to the oldest generation, where imported code ends up anyway; garbage
    among them waits for the next full collection.  A program that froze objects of its own is left alone.
    """
    if gc.get_count()[0] > MANY_OBJECTS and gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
    gc.enable()


def _deferred(name: str, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Returns a function that becomes what `make` returns at its first call."""
    made: list[Callable[..., Any]] = []

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(make())
            _replace(type(self).__mro__, name, method, made[0])
        return made[0](self, *args, **kwargs)

    method.__name__ = name
    return method


def _replace(owners: tuple[type, ...], name: str, old: object, new: Callable[..., Any]) -> None:
    """Puts the real method where the deferred one stands."""
    for owner in owners:
        if owner.__dict__.get(name) is old:
            new.__qualname__ = f"{owner.__qualname__}.{name}"
            setattr(owner, name, new)
            return
