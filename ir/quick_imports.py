"""Importing many small modules of packages that are there already, each in less than half of the time.

Python looks along a path for what may have changed, and asks three times when a file was written: 50 µs for a module
with nothing in it, and a start loads 150 to 380.  Within `quick_imports` modules of lapilli and xDSL are looked for
where their package lies, and the code that Python keeps for them is taken if it is that of the source as it is now:
20 µs.  Whatever is not as usual is left to Python: other finders and loaders, packages, extension modules, code that
is missing, old or checked in another way.  Standard library only.
"""

from __future__ import annotations

import contextlib
import io
import marshal
import os
import struct
import sys
from collections.abc import Generator, Sequence
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    BuiltinImporter,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType
from typing import Any, Final, cast

_PACKAGES: Final = ("lapilli", "xdsl")
_HEADER: Final = struct.Struct("<4s3I")


class QuickLoader(SourceFileLoader):
    """Python's loader, which reads code that is as usual in fewer steps."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        super().__init__(name, path)
        self._cached = cached

    def get_code(self, fullname: str) -> CodeType | None:
        return _kept_code(self.path, self._cached) or super().get_code(fullname)


def _kept_code(path: str, cached: str) -> CodeType | None:
    """Returns the code that Python keeps for a source file; None where it is not as usual."""
    try:
        source = os.stat(path)
        with io.open_code(cached) as file:
            data = file.read()
        if _HEADER.unpack_from(data) != _header(source):
            return None
        code = marshal.loads(memoryview(data)[_HEADER.size :])
    except (OSError, EOFError, ValueError, TypeError, struct.error):  # Python says what is wrong
        return None
    return code if isinstance(code, CodeType) and code.co_filename == path else None


def _header(source: os.stat_result) -> tuple[bytes, int, int, int]:
    """Returns how the code of a source file begins: a number of Python's version, no flags, time and size."""
    return MAGIC_NUMBER, 0, int(source.st_mtime) & 0xFFFF_FFFF, source.st_size & 0xFFFF_FFFF


_names: Final[dict[str, tuple[int, frozenset[str]]]] = {}
"""What lies in a folder, and when it was written."""


class QuickFinder:
    """Finds modules beside others of their package; on `sys.meta_path` within `quick_imports`."""

    def __init__(self) -> None:
        level = sys.flags.optimize
        self._ending = f".{sys.implementation.cache_tag}{f'.opt-{level}' if level else ''}.pyc"
        self._current: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the module's spec; None leaves it to the next finder."""
        package, _, own = name.rpartition(".")
        kind: Any = type(path)
        if path is None or package.partition(".")[0] not in _PACKAGES or kind is not list or len(path) != 1:
            return None
        parent: Any = sys.modules.get(package)
        if target is not None or type(getattr(parent, "__loader__", None)) not in _USUAL:
            return None
        folder, file = path[0], own + ".py"
        names = self._names_in(folder)
        if file not in names or own in names or any(own + suffix in names for suffix in EXTENSION_SUFFIXES):
            return None
        origin = f"{folder}{os.sep}{file}"
        cached = f"{folder}{os.sep}__pycache__{os.sep}{own}{self._ending}"
        spec = ModuleSpec(name, QuickLoader(name, origin, cached), origin=origin)
        spec.has_location, spec.cached = True, cached
        return spec

    def _names_in(self, folder: str) -> frozenset[str]:
        found = self._current.get(folder)
        if found is None:
            try:
                written = os.stat(folder).st_mtime_ns
                known = _names.get(folder)
                if known is None or known[0] != written:
                    known = _names[folder] = written, frozenset(os.listdir(folder))
                found = known[1]
            except OSError:
                found = frozenset[str]()
            self._current[folder] = found
        return found


_USUAL: Final = (SourceFileLoader, QuickLoader)
_FOR_OTHERS: Final = cast("tuple[object, ...]", (BuiltinImporter, FrozenImporter))
"""Python's finders that know nothing of packages whose loader is a usual one, and take 5 µs to say so."""

_within: Final[list[object]] = []
"""One entry for each `quick_imports` that has begun and not ended."""
_finders: Final[list[QuickFinder]] = []
"""Those on `sys.meta_path`: one, or none.  Threads that begin and end at once may make two of one, or do without; a
lock would be found taken in the child of a fork."""


@contextlib.contextmanager
def quick_imports() -> Generator[None]:
    """Has modules of lapilli and xDSL imported in this way, by any thread; may nest."""
    mark = object()
    _within.append(mark)
    try:
        if not _finders and sys.pycache_prefix is None and getattr(sys.implementation, "cache_tag", None):
            _begin()
        yield
    finally:
        _within.remove(mark)
        if not _within:
            _end()


def _begin() -> None:
    with contextlib.suppress(ValueError):  # somebody has removed Python's finder
        place = sys.meta_path.index(PathFinder)  # finders that were in front of it stay in front
        while place and sys.meta_path[place - 1] in _FOR_OTHERS:
            place -= 1
        finder = QuickFinder()
        _finders.append(finder)
        sys.meta_path.insert(place, finder)


def _end() -> None:
    with contextlib.suppress(IndexError):  # the list is empty: all are ended
        while True:
            finder = _finders.pop()
            with contextlib.suppress(ValueError):  # somebody has removed it
                sys.meta_path.remove(finder)
