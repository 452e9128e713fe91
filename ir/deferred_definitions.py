"""Importing modules full of dataclasses in half the time: their methods are compiled at the first call.

CPython 3.11 and 3.12 compile the text of each method that a dataclass gets, one by one, which is half of the time
that importing xDSL takes and half of lapilli's own: 1400 methods, of which a program calls a few dozen.  Within
`deferred_definitions` a class gets a small function instead, which compiles the real method when it is called and puts
it in its own place (`late_methods`); some calls before are served without it (`served_methods`).  It gets no docstring
that spells out its signature.  Newer versions of Python build a class with one compilation and are left alone, and so
is every other thread; the garbage collector pauses.  Standard library only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import threading
from collections.abc import Generator
from functools import cache
from typing import Any

from . import quick_dataclasses
from .collector import collector_off
from .late_methods import LateMethod, compiling, stand_in
from .quick_imports import quick_imports
from .served_methods import INIT_PARAMETERS, Serve, assign_fields, serve_text

_PARAMETERS = ("name", "args", "body", "globals", "locals", "return_type")

MANY_OBJECTS = 1_000
"""So many new objects come of importing a few modules; importing one small one leaves the collector as it was."""

_lock = threading.RLock()


@cache
def is_supported() -> bool:
    """Whether this Python builds dataclasses in the way that can be deferred."""
    return _parameters("_create_fn") == _PARAMETERS and _parameters("_init_fn") == INIT_PARAMETERS


def _parameters(function: str) -> tuple[str, ...]:
    code = getattr(getattr(dataclasses, function, None), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@contextlib.contextmanager
def deferred_definitions() -> Generator[None]:
    """Defers the methods of the dataclasses that this thread defines within, and has modules imported the quick way;
    may nest."""
    with quick_imports(), _deferred_methods():
        yield


@contextlib.contextmanager
def _deferred_methods() -> Generator[None]:
    # Never waits: another thread that holds the lock may be waiting for a module that this one imports.
    if not is_supported() or not _lock.acquire(blocking=False):
        yield
        return
    module: Any = dataclasses
    names = ("_create_fn", "_init_fn", "_process_class")
    originals = create_function, make_init, process_class = [getattr(module, name) for name in names]
    thread, is_quick = threading.get_ident(), quick_dataclasses.is_supported()
    assign: list[Serve | None] = [None]
    """What the ``__init__`` that is being made would do."""

    def create(name: str, args: Any, body: Any, **scope: Any) -> Any:
        if threading.get_ident() != thread or thread in compiling:
            return create_function(name, args, body, **scope)
        assigns = assign[0]
        late = LateMethod(
            name,
            lambda: create_function(name, args, body, **scope),
            lambda: assigns or serve_text(name, body),
        )
        return stand_in(late, name)

    def init(*description: Any) -> Any:
        if threading.get_ident() != thread:
            return make_init(*description)
        assign[0] = assign_fields(*description)
        try:
            return make_init(*description)
        finally:
            assign[0] = None

    def process(cls: Any, *options: Any, **more: Any) -> Any:
        if is_quick and not more and threading.get_ident() == thread:
            made = quick_dataclasses.define(cls, options)
            if made is not None:
                return made
        # A class without a docstring would get its signature for one, which takes as long as the rest of it.
        if not cls.__doc__ and threading.get_ident() == thread:
            cls.__doc__ = cls.__name__
        return process_class(cls, *options, **more)

    try:
        # An import makes tens of thousands of objects and no garbage: collecting meanwhile is a seventh of its time.
        with collector_off(resume_collecting):
            for name, replacement in zip(names, (create, init, process), strict=True):
                setattr(module, name, replacement)
            yield
    finally:
        for name, original in zip(names, originals, strict=True):
            setattr(module, name, original)
        _lock.release()


def resume_collecting() -> None:
    """Turns the collector on, without the pass over everything imported that it would begin with.

    Freezing and thawing moves every object to the oldest generation, where imported code ends up anyway; garbage
    among them waits for the next full collection.  A program that froze objects of its own is left alone: thousands,
    while the collector of CPython 3.12 by itself puts the few hundred immortal tuples that it meets among the frozen.
    """
    if gc.get_count()[0] > MANY_OBJECTS > gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
    gc.enable()
