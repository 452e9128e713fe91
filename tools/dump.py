"""``lapilli dump FILE:KERNEL --stage STAGE``: one stage of a kernel on its way from Python to SPIR-V.

FILE is executed as an imported module is, so what stands under ``if __name__ == "__main__":`` does not run.
KERNEL is the kernel's own name or that of the function, ``Class.kernel`` in a class; where a file has one kernel,
``:KERNEL`` may be left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from ..ir.errors import Error, InvalidError, UnknownKernelError
from ..vk_runtime.loader import is_file
from .output import fail, write_output

if TYPE_CHECKING:
    from ..frontend.kernel import KernelFunction

_INSPECTED = {
    "python": "python",
    "ir": "ir",
    "split": "split",
    "spirv-dialect": "spirv-dialect",
    "spirv": "binary",
    "disassembly": "spirv",
    "metadata": "metadata",
}
"""Stage of the command: stage of `frontend.compile.inspect`, where ``spirv`` is text for a reader."""

STAGES = tuple(_INSPECTED)
_STAGE_HELP = "What to write; spirv is text on standard output, and the binary in the file of -o."


@click.command("dump")
@click.argument("kernel", metavar="FILE:KERNEL")
@click.option("--stage", type=click.Choice(STAGES), default="ir", show_default=True, help=_STAGE_HELP)
@click.option("-o", "--output", metavar="OUT", help="File to write; standard output by default.")
def command(kernel: str, stage: str, output: str | None) -> None:
    """Writes one stage of a kernel: Python source, IR, SPIR-V, metadata."""
    try:
        # On standard output the stage is text, as `inspect` gives it; in a file it is the binary.
        is_text = stage == "spirv" and output is None
        write_output(dump(kernel, "disassembly" if is_text else stage), output)
    except Error as error:
        fail(error)


def dump(kernel: str, stage: str) -> str | bytes:
    """Returns one stage of a kernel.

    Args:
        kernel: ``FILE:KERNEL``, or ``FILE`` where it defines one kernel.
        stage: one of `STAGES`.

    Raises:
        InvalidError: the file cannot be read or executed.
        UnknownKernelError: it has no such kernel; the message lists those that it has.
        CompileError: the kernel does not compile.
    """
    from ..frontend.inspection import inspect

    path, name = _parse(kernel)
    with redirect_stdout(sys.stderr):  # what the program prints is no part of the stage
        module = load_module(path)
    return inspect(find_kernel(module, name, path), _INSPECTED[stage])


def _parse(text: str) -> tuple[Path, str | None]:
    # The whole text first: a path may hold colons, and on Windows it does.
    if is_file(Path(text)):
        return Path(text), None
    file, colon, name = text.rpartition(":")
    path = Path(file if colon else text)
    if not is_file(path) or not file:
        raise InvalidError(f"no file {(file or text)!r}; expected FILE:KERNEL, for example blur.py:blur")
    return path, name or None


def load_module(path: Path) -> ModuleType:
    """Executes a Python file as an import would and returns the module; `InvalidError` says what it raised.

    Its folder is searched for modules that it imports while it runs.  A file of a package is that package's module,
    so that its relative imports are found; ``__init__.py`` is the package itself.
    """
    folder, name = path.resolve().parent, path.stem
    root = folder
    while (root / "__init__.py").exists() and root.name.isidentifier():
        root, name = root.parent, f"{root.name}.{name}"
    name = name.removesuffix(".__init__")
    searched = [str(root), str(folder)] if root != folder else [str(folder)]
    sys.path[:0] = searched
    try:
        return _executed(path, name)
    except Error:
        raise
    except (Exception, SystemExit) as error:
        place = _place_in(path, error)
        raise InvalidError(f"{place} cannot be executed: {type(error).__name__}: {error}") from error
    finally:
        for entry in searched:
            with suppress(ValueError):  # the file may have taken it away
                sys.path.remove(entry)


def _executed(path: Path, name: str) -> ModuleType:
    parent = name.rpartition(".")[0]
    if parent:
        importlib.import_module(parent)
        imported = sys.modules.get(name)  # by the package's own __init__.py
        if imported is not None and Path(imported.__file__ or "").resolve() == path.resolve():
            return imported
    is_package = path.name == "__init__.py" and name != path.stem
    searched = [str(path.resolve().parent)] if is_package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=searched)
    if spec is None or spec.loader is None:
        raise InvalidError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(name)
    # As import does: dataclasses and annotations look the module up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if known is not None:
            sys.modules[name] = known
    return module


def _place_in(path: Path, error: BaseException) -> str:
    """Returns the path with the innermost line of that file that was being executed, where there was one."""
    frames = traceback.extract_tb(error.__traceback__)
    file = str(path.resolve())
    lines = [f.lineno for f in frames if os.path.realpath(f.filename) == file and f.lineno is not None]
    return f"{path}:{lines[-1]}" if lines else str(path)


def find_kernel(module: ModuleType, name: str | None, path: Path) -> KernelFunction:
    """Returns the kernel of a module that is called `name`, or its only one."""
    kernels = _kernels(module)
    distinct = set(kernels.values())
    if name is None and len(distinct) == 1:
        return distinct.pop()
    if name is not None and name in kernels:
        return kernels[name]
    if not kernels:
        raise UnknownKernelError(f"{path} has no kernel; expected a function with @lp.kernel")
    found = ", ".join(
        name if all(map(str.isidentifier, name.split("."))) else repr(name) for name in sorted(kernels)
    )
    wanted = "several kernels" if name is None else f"no kernel '{name}'"
    raise UnknownKernelError(f"{path} has {wanted}; expected one of: {found}")


def _kernels(module: ModuleType) -> dict[str, KernelFunction]:
    """Kernels by variable, also of classes, and by their own name where nothing else has it."""
    kernels = dict(_variables(vars(module), module.__name__, ""))
    counts = Counter(kernel.name for kernel in set(kernels.values()))
    return {kernel.name: kernel for kernel in kernels.values() if counts[kernel.name] == 1} | kernels


def _variables(names: Mapping[str, object], module: str, prefix: str) -> Iterator[tuple[str, KernelFunction]]:
    """Yields the kernels of a module or class as they are written, ``Class.kernel``."""
    from ..frontend.kernel import KernelFunction

    for name, bound in names.items():
        value: object = bound.__func__ if isinstance(bound, staticmethod) else bound
        if isinstance(value, KernelFunction):
            yield prefix + name, value
        elif isinstance(value, type) and (value.__module__, value.__qualname__) == (module, prefix + name):
            yield from _variables(vars(value), module, f"{prefix}{name}.")
