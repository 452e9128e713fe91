"""The inputs of ``lapilli build``: Python files and packages, which are imported, as importing makes kernels."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..ir.errors import Error, InvalidError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable


def import_units(name: str) -> tuple[str, ...]:
    """Imports a Python file or a package; returns the names of the modules that it consists of.

    Args:
        name: the path of a ``.py`` file or of a package's folder, or the dotted name of a module or package.

    Raises:
        InvalidError: there is no such thing, importing it raises, or another module has its name.
        CompileError: a kernel in it has an impossible signature.
    """
    path = Path(name)
    if path.suffix == ".py" or path.is_dir():
        root, module_name = _place(path)
        with _on_path(root):
            return _with_submodules(_checked_import(module_name, path))
    if path.is_file() or not all(part.isidentifier() for part in name.split(".")):
        what = "something else" if path.is_file() else "none that exists"
        raise InvalidError(f"lapilli build takes a .py file, a package or a .mlir file; {name!r} is {what}")
    with _on_path(Path.cwd()):
        return _with_submodules(_import(name))


def _place(path: Path) -> tuple[Path, str]:
    """Returns the folder to import from and the dotted name of a file or a package's folder."""
    if not path.exists():
        raise InvalidError(f"cannot read {path}: there is no such file")
    if path.is_dir() and not (path / "__init__.py").exists():
        raise InvalidError(f"{path} is no package: it has no __init__.py")
    path = path.resolve()
    parts = [] if path.name == "__init__.py" else [path.stem if path.is_file() else path.name]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if not all(part.isidentifier() for part in parts):
        raise InvalidError(
            f"{path} cannot be imported: {'.'.join(parts)!r} is no name of a module, which has letters, digits and "
            "underscores alone; rename it"
        )
    return folder, ".".join(parts)


def _checked_import(name: str, path: Path) -> ModuleType:
    module = _import(name)
    found = getattr(module, "__file__", None)
    expected = path / "__init__.py" if path.is_dir() else path
    if found is None or Path(found).resolve() != expected.resolve():
        raise InvalidError(
            f"{path} cannot be imported: '{name}' is the name of another module, {found or 'a built-in one'}; rename "
            "the file"
        )
    return module


def _with_submodules(module: ModuleType) -> tuple[str, ...]:
    names = [module.__name__]
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        if not found.name.endswith(".__main__"):
            names += _with_submodules(_import(found.name))
    return tuple(names)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Error:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidError(f"lapilli build finds no module '{name}'") from error
        raise _failed(name, error) from error
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> InvalidError:
    place = _place_in(Path(sys.path[0]), error)
    return InvalidError(f"importing '{name}' failed{place}: {type(error).__name__}: {error}")


def _place_in(root: Path, error: BaseException) -> str:
    """Returns the innermost line of a file below the folder that is imported from: `` at a.py:3``, or nothing."""
    lines = [
        f" at {frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(root)
    ]
    return lines[-1] if lines else ""


@contextmanager
def _on_path(folder: Path) -> Generator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before


def is_ir(name: str) -> bool:
    """Whether an input is IR text."""
    return Path(name).suffix == ".mlir"


def with_given_names(text: str, inputs: Iterable[str]) -> str:
    """Returns a message in which files of inputs are called as the user called them: importing makes paths absolute.

    Args:
        text: with absolute paths.
        inputs: as `import_units` takes them.
    """
    for name in inputs:
        path = Path(name)
        is_file = path.suffix == ".py" or path.is_dir()
        folder = path.parent if is_file else Path()
        if not path.is_absolute():
            shown = "" if folder == Path() else f"{folder}{os.sep}"
            text = text.replace(f"{folder.resolve()}{os.sep}", shown)
    return text
