"""`kernel_from_source`: a kernel from text, where Python keeps none: `exec`, frozen programs, older REPLs."""

from __future__ import annotations

import importlib
import io
import linecache
import sys
import textwrap
import types
from collections.abc import Mapping
from weakref import WeakValueDictionary

from ..ir.errors import CompileError, Diagnostic, InvalidError, Location
from ..ir.sha256 import sha256
from .kernel import KernelFunction


class _Text:
    """Lets Python find a text for as long as a function of it lives, each of which has this among its globals."""

    def __init__(self, entry: tuple[int, None, list[str], str]) -> None:
        self.entry = entry

    def __del__(self) -> None:
        file = self.entry[-1]
        if linecache.cache.get(file) is self.entry:
            linecache.cache.pop(file, None)


_texts: WeakValueDictionary[str, _Text] = WeakValueDictionary()
"""Those that live, by file name."""


def kernel_from_source(
    text: str, *, name: str | None = None, namespace: Mapping[str, object] | None = None
) -> KernelFunction:
    """Runs `text` as a small module and returns the kernel that it defines.

    Args:
        text: Python source with an ``@lp.kernel`` function; indentation of the whole is removed.
        name: which kernel, where the text defines several.
        namespace: names that the text may use beside ``lp``.

    Raises:
        CompileError: the text is no Python.
        InvalidError: it does not define the kernel, or defines several and no `name` is given.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(
            f"lp.kernel_from_source: expected Python source as a text, found {type(text).__name__}"
        )
    text = textwrap.dedent(text)
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()
    file = f"<lapilli source {digest[:24]}>"  # no other text may have it: `same_text` trusts such names
    # Not str.splitlines: to it a form feed or U+2028 ends a line, to Python's parser it does not.
    lines = io.StringIO(text, newline=None).readlines()
    # Tracebacks and FunctionSource find the text here, as those of doctests and notebooks.
    found = _texts.get(file)
    if found is None:
        found = _texts[file] = _Text((len(text), None, lines, file))
    linecache.cache[file] = found.entry
    outer = sys._getframe(1).f_globals  # pyright: ignore[reportPrivateUsage]
    caller = outer.get("__name__", "__main__")
    variables: dict[str, object] = {"lp": importlib.import_module("..", __package__), **(namespace or {})}
    # With its specification, by which `lp.compile_options` knows the module from an earlier one of its name.
    variables |= {"__name__": caller, "__spec__": outer.get("__spec__"), "__lapilli_text__": found}
    exec(_compiled(text, file, lines), variables)
    kernels = {
        value.name: value
        for value in variables.values()
        if isinstance(value, KernelFunction) and value.function.__code__.co_filename == file
    }
    if name is not None and name not in kernels and isinstance(variables.get(name), types.FunctionType):
        raise InvalidError(
            f"lp.kernel_from_source: '{name}' is a function without a mark; write @lp.kernel above it"
        )
    return _chosen(kernels, name)


def _compiled(text: str, file: str, lines: list[str]) -> types.CodeType:
    try:
        return compile(text, file, "exec", dont_inherit=True)
    except (RecursionError, MemoryError, ValueError) as error:  # nested too deeply, or a NUL character
        finding = Diagnostic(f"Python cannot compile this text: {error}", Location(file, 1, 1))
        raise CompileError(str(finding), code="LP2005", diagnostics=[finding]) from None
    except SyntaxError as error:
        line = error.lineno or 1
        source_line = lines[line - 1] if line <= len(lines) else None
        finding = Diagnostic(
            error.msg, Location(file, line, error.offset or 1), source_line=source_line, end_column=None
        )
        raise CompileError(str(finding), code="LP2005", diagnostics=[finding]) from error


def _chosen(kernels: dict[str, KernelFunction], name: str | None) -> KernelFunction:
    found = ", ".join(sorted(kernels)) or "none"
    if name is None:
        if len(kernels) != 1:
            raise InvalidError(
                f"lp.kernel_from_source: expected a text with one @lp.kernel function, found {found}"
                + ("; choose one with name=" if kernels else "")
            )
        return next(iter(kernels.values()))
    if name not in kernels:
        raise InvalidError(f"lp.kernel_from_source: expected a kernel '{name}' in the text, found {found}")
    return kernels[name]
