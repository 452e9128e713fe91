"""Modules of the standard library that are run when something in them is used, not when they are imported.

CPython 3.11's `importlib.abc`, which xDSL needs for one base class, takes three base classes from a part of
`importlib.resources`, and that package takes `tempfile`, `shutil`, `random` and three libraries for compression: 4 of
160 ms for nothing.  Later versions do without.  Standard library only.
"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_running = threading.RLock()


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
    if name in sys.modules:
        return
    spec = find_spec(name)
    if spec is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _Late
    package, _, own = name.rpartition(".")
    setattr(sys.modules[package], own, sys.modules.setdefault(name, module))


class _Late(ModuleType):
    """A module that has not run yet."""

    def __getattr__(self, name: str) -> Any:
        with _running:
            if type(self) is _Late and not self.__dict__.get("__running__"):
                self.__running__ = True  # which looks at names of its own
                try:
                    loader: Any = self.__loader__
                    loader.exec_module(self)
                    self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue]
                finally:
                    del self.__running__
        return object.__getattribute__(self, name)
