"""Modules that are imported the quick way are as Python's own; what is not as usual is left to Python."""

from __future__ import annotations

import importlib
import json
import os
import py_compile
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from lapilli.ir import quick_imports as module
from lapilli.ir.quick_imports import QuickFinder, QuickLoader, quick_imports

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files of a package that is imported the quick way, and which no test after this one has seen."""
    name = f"quick_{os.getpid()}_{tmp_path.name}"
    monkeypatch.setattr(module, "_PACKAGES", (name,))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()

    def write_file(file: str, text: str) -> Path:
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write_file


def load(path: Path, *, again: bool = False) -> Any:
    """Imports a file of the package, anew where it is there already."""
    name = f"{path.parent.name}.{path.stem}"
    if again:
        sys.modules.pop(name, None)
    return importlib.import_module(name)


def cached(path: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(path)))


def test_a_module_is_as_python_makes_it(write: Write) -> None:
    path = write("one.py", "def f(): return __name__")
    theirs = load(path)
    with quick_imports():
        ours = load(path, again=True)
    assert isinstance(ours.__loader__, QuickLoader)
    assert isinstance(ours.__loader__, SourceFileLoader)
    for name in ("__name__", "__file__", "__cached__", "__package__", "__doc__"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
        assert getattr(ours.__spec__, name) == getattr(theirs.__spec__, name)
    assert (ours.f(), ours.f.__code__) == (theirs.f(), theirs.f.__code__)
    assert ours.__loader__.get_source(ours.__name__) == path.read_text()
    assert importlib.reload(ours) is ours
    assert sys.modules[ours.__package__].one is ours


def test_only_finders_of_others_are_asked_before() -> None:
    class Other:
        """A finder of the program's."""

        def find_spec(self, *_: object) -> None:
            """Finds nothing."""

    before, other = list(sys.meta_path), Other()
    sys.meta_path[:] = [BuiltinImporter, other, FrozenImporter, PathFinder]
    try:
        with quick_imports():
            kinds = [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
        assert sys.meta_path == [BuiltinImporter, other, FrozenImporter, PathFinder]
    finally:
        sys.meta_path[:] = before
    assert kinds == ["BuiltinImporter", "Other", "QuickFinder", "FrozenImporter", "PathFinder"]


def test_the_first_import_keeps_the_code(write: Write) -> None:
    path = write("one.py", "value = 1")
    with quick_imports():
        assert load(path).value == 1
        assert cached(path).exists()
        assert load(path, again=True).value == 1


@pytest.mark.parametrize("later_s", [0, 5], ids=["by size", "by time"])
def test_source_that_has_changed_is_read_anew(write: Write, later_s: float) -> None:
    path = write("one.py", "value = 1")
    load(path)
    before = path.stat()
    path.write_text("value = 2" if later_s else "value = 22")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + int(later_s * 1e9)))
    with quick_imports():
        assert load(path, again=True).value in (2, 22)


@pytest.mark.parametrize("kept", [b"", b"x", bytes(16), bytes(200)])
def test_code_of_another_python_is_made_anew(write: Write, kept: bytes) -> None:
    path = write("one.py", "value = 1")
    load(path)
    cached(path).write_bytes(kept)
    with quick_imports():
        assert load(path, again=True).value == 1


@pytest.mark.parametrize("rest", [b"", b"\xff", b"N", b"i\x01\0\0\0"])
def test_damaged_code_is_the_error_that_it_is(write: Write, rest: bytes) -> None:
    path = write("one.py", "value = 1")
    load(path)
    cached(path).write_bytes(cached(path).read_bytes()[:16] + rest)
    errors: list[str] = []
    for within in (quick_imports, threading.Lock):
        with within(), pytest.raises((ImportError, EOFError, ValueError)) as raised:
            load(path, again=True)
        errors.append(repr(raised.value))
    assert errors[0] == errors[1]


def test_code_that_is_checked_by_hash_is(write: Write) -> None:
    path = write("one.py", "value = 1")
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    before = path.stat()
    path.write_text("value = 2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with quick_imports():
        assert load(path).value == 2


def test_code_that_was_moved_here_says_where_it_lies(write: Write, tmp_path: Path) -> None:
    path = write("one.py", "def f(): pass")
    py_compile.compile(str(path), dfile="/elsewhere/one.py")
    with quick_imports():
        assert load(path).f.__code__.co_filename == str(path)


def test_packages_and_names_that_are_not_there_are_left_to_python(write: Write) -> None:
    path = write("inner/__init__.py", "value = 1")
    write("inner/part.py", "value = 2")
    write("both.py", "value = 'module'")
    write("both/__init__.py", "value = 'package'")
    package = path.parent.parent.name
    with quick_imports():
        inner = importlib.import_module(f"{package}.inner")
        assert not isinstance(inner.__loader__, QuickLoader)
        assert importlib.import_module(f"{package}.inner.part").value == 2
        assert importlib.import_module(f"{package}.both").value == "package"
        with pytest.raises(ModuleNotFoundError, match=f"No module named '{package}.missing'"):
            importlib.import_module(f"{package}.missing")
        write("missing.py", "value = 3")  # since the folder was looked through
        importlib.invalidate_caches()
        assert importlib.import_module(f"{package}.missing").value == 3
        assert not isinstance(json.__loader__, QuickLoader)


def test_extension_modules_come_first(write: Write) -> None:
    path = write("one.py", "value = 1")
    write(f"one{importlib.machinery.EXTENSION_SUFFIXES[0]}", "no library")
    with quick_imports(), pytest.raises(ImportError):
        load(path)


def test_other_finders_are_asked_before(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("one.py", "value = 1")
    asked: list[str] = []

    class Other(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Other(), *sys.meta_path])
    with quick_imports():
        found = load(path)
    assert found.__name__ in asked


def test_modules_of_packages_with_loaders_of_their_own_are_left_to_these(write: Write) -> None:
    path = write("one.py", "value = 1")

    class Other(SourceFileLoader):
        pass

    package: Any = importlib.import_module(path.parent.name)
    package.__loader__ = Other(package.__name__, package.__file__)
    with quick_imports():
        assert not isinstance(load(path).__loader__, QuickLoader)


def test_it_ends_with_the_last_that_began(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def finders() -> int:
        return sum(isinstance(finder, QuickFinder) for finder in sys.meta_path)

    with quick_imports():
        with pytest.raises(KeyError), quick_imports():
            assert finders() == 1
            raise KeyError
        assert finders() == 1
        kinds: list[Any] = [type(finder) for finder in sys.meta_path]
        assert kinds.index(QuickFinder) < sys.meta_path.index(PathFinder)
    assert finders() == 0
    monkeypatch.setattr(sys, "meta_path", [])
    with quick_imports():
        assert finders() == 0


def test_code_that_is_kept_elsewhere_is_left_to_python(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("one.py", "value = 1")
    monkeypatch.setattr(sys, "pycache_prefix", str(path.parent / "kept"))
    with quick_imports():
        assert not isinstance(load(path).__loader__, QuickLoader)


PROGRAM = """
import importlib.util, sys
import lapilli as lp
from lapilli.frontend.compile import load_compiler
lp.kernel, lp.Array
load_compiler()
from lapilli.ir.quick_imports import QuickLoader
quick = [m for m in sys.modules.values() if type(getattr(m, "__loader__", None)) is QuickLoader]
for made in quick:
    spec = importlib.util.find_spec(made.__name__)
    parent = sys.modules[made.__spec__.parent]
    from importlib.machinery import PathFinder
    theirs = PathFinder.find_spec(made.__name__, parent.__path__)
    ours = made.__spec__
    assert (ours.origin, ours.cached, ours.has_location) == (theirs.origin, theirs.cached, theirs.has_location)
    assert made.__cached__ == importlib.util.cache_from_source(made.__file__)
print(len(quick) > 200, {m.__name__.partition(".")[0] for m in quick} == {"lapilli", "xdsl"})
"""


def run(program: str, *options: str) -> str:
    done = subprocess.run(
        (sys.executable, *options, "-c", program), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_compiler_is_imported_so() -> None:
    assert run(PROGRAM) == "True True\n"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_optimised_code_is_kept_apart(level: int, tmp_path: Path) -> None:
    package = tmp_path / "optimised"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("value = __debug__")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from lapilli.ir import quick_imports
quick_imports._PACKAGES = ("optimised",)
with quick_imports.quick_imports():
    import optimised.one
from importlib.util import cache_from_source
assert optimised.one.__cached__ == cache_from_source(optimised.one.__file__)
print(optimised.one.value, type(optimised.one.__loader__).__name__)
"""
    options = ("-B", *["-O"] * level)
    for _ in range(2):
        assert run(program, *options) == f"{not level} QuickLoader\n"


def test_threads_that_begin_and_end_at_once_leave_nothing(write: Write) -> None:
    def work() -> None:
        for _ in range(200):
            with quick_imports():
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(isinstance(finder, QuickFinder) for finder in sys.meta_path)
