"""Modules that are run when something in them is used, not when they are imported.

A name that is imported from one is `late_names`' stand-in until somebody calls it, looks into it or asks for its
objects; then the module runs, and the stand-ins that modules hold are replaced.  xDSL's parser, printer and rewriter
are so: dialects import them for their methods, and compiling a kernel reads and prints no IR.

CPython 3.11's `importlib.abc`, which xDSL needs for one base class, takes three base classes from a part of
`importlib.resources`, and that package takes `tempfile`, `shutil`, `random` and three libraries for compression: 4 of
160 ms for nothing.  Later versions do without.  Standard library only.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from .deferred_definitions import deferred_definitions

_importlib: Any = sys.modules["_frozen_importlib"]
"""What has the locks that Python holds while it imports."""


def put_off_resources() -> None:
    """Has `importlib.resources` wait for its first use, where `importlib.abc` would import it for its parts."""
    if sys.version_info < (3, 12):
        put_off("importlib.resources")


def put_off(name: str) -> None:
    """Puts a package into `sys.modules` that is run at the first look at one of its names; one that is there stays.

    Its submodules can be imported without running it.

    Args:
        name: ``package.module``, whose package is imported.
    """
    _put_off(name, _Late)


@contextlib.contextmanager
def late_names(*modules: str) -> Generator[None]:
    """Puts modules off, as `put_off` does, and has what this thread imports from them within be stand-ins.

    Args:
        modules: ``package.module``, whose packages are imported.
    """
    for name in modules:
        _put_off(name, _LateNames)
    _importing.append(threading.get_ident())
    try:
        yield
    finally:
        _importing.remove(threading.get_ident())


_importing: list[int] = []
"""The threads within `late_names`."""


def _put_off(name: str, kind: type[_Late]) -> None:
    if name in sys.modules:
        return
    spec = find_spec(name)
    if spec is None:
        return
    module = module_from_spec(spec)
    module.__class__ = kind
    package, _, own = name.rpartition(".")
    setattr(sys.modules[package], own, sys.modules.setdefault(name, module))


class _Late(ModuleType):
    """A module that has not run yet."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # which a package has by now
            raise AttributeError(name)
        _run(self)
        return object.__getattribute__(self, name)


@contextlib.contextmanager
def _lock_of(module: ModuleType) -> Generator[bool]:
    """Holds what Python holds while it imports a module; says whether it could, without threads that wait in a circle.

    A lock of our own would be no part of the circles that Python looks for: a thread that runs a late module imports
    others, and may wait for a thread that imports one of these and looks at the late one.
    """
    lock = _importlib._ModuleLockManager(module.__name__)
    try:
        lock.__enter__()
    except _importlib._DeadlockError:
        yield False
        return
    try:
        yield True
    finally:
        lock.__exit__(None, None, None)


def _run(module: ModuleType) -> None:
    """Runs a module unless it has run, and gives those that hold stand-ins what these stand for."""
    with _lock_of(module) as is_held:
        # One that is running is taken as it is: it looks at names of its own, or threads import in a circle.
        if not is_held or not isinstance(module, _Late) or module.__dict__.get("__running__"):
            return
        late: Any = module
        late.__running__ = True
        try:
            with deferred_definitions():
                late.__loader__.exec_module(late)
            late.__class__ = ModuleType
        finally:
            del late.__running__
        for name in late.__dict__.pop("__late_names__", {}).values():
            name.replace()


class _LateNames(_Late):
    """A module that has not run yet, of which others hold stand-ins."""

    def __getattr__(self, name: str) -> Any:
        is_late = threading.get_ident() in _importing and not self.__dict__.get("__running__")
        if is_late and not _is_special(name):
            names: dict[str, LateName] = self.__dict__.setdefault("__late_names__", {})
            late = names.get(name)
            if late is None:
                late = names[name] = LateName(self, name)
            late.hold(sys._getframe(1).f_globals)  # pyright: ignore[reportPrivateUsage]
            return late
        return super().__getattr__(name)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class LateName:
    """Stands for what a module that has not run yet will define.

    Args:
        owner: the module, or what stands for a class in it.
        name: in the owner.
    """

    __slots__ = ("_holders", "_name", "_owner")

    def __init__(self, owner: ModuleType | LateName, name: str) -> None:
        self._owner, self._name = owner, name
        self._holders: list[dict[str, Any]] = []

    def hold(self, names: dict[str, Any]) -> None:
        """Takes note of a module that has imported it."""
        self._holders.append(names)

    def replace(self) -> None:
        """Gives the modules that have imported it what it stands for, if the module has defined that."""
        for names in self._holders if hasattr(self._owner, self._name) else ():
            for name in [name for name, value in names.items() if value is self]:
                names[name] = self.real
        self._holders.clear()

    @property
    def real(self) -> Any:
        """What it stands for; the module runs."""
        owner = self._owner
        if isinstance(owner, LateName):
            return getattr(owner.real, self._name)
        _run(owner)
        return getattr(owner, self._name)

    def __getattr__(self, name: str) -> Any:
        if threading.get_ident() in _importing:  # in an annotation
            if _is_special(name):
                raise AttributeError(name)
            return LateName(self, name)
        return getattr(self.real, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.real(*args, **kwargs)

    def __getitem__(self, item: Any) -> Any:
        return self.real[item]

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.real)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.real)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (self.real,)

    def __or__(self, other: Any) -> Any:
        return self.real | other

    def __ror__(self, other: Any) -> Any:
        return other | self.real
