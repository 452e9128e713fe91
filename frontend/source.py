"""The source text of a function: its syntax tree with the file's own lines and columns, and its names.

Kernels are compiled from text, not from bytecode.  The text is found as Python's tracebacks find it (files,
notebooks, doctests, `linecache` entries).  Nothing is executed here.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import tokenize
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar, cast

from ..ir.errors import Diagnostic, Location
from .errors import finding_error, signature_error
from .same_text import is_made_of, may_differ
from .scope import resolve

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

_REFUSED_FLAGS = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)
"""Of the code of functions that `refused_functions` knows."""

Notes = Callable[[], Sequence[Diagnostic]]
"""Makes what an error says besides, such as the calls that lead to a function: asked where there is an error."""


def no_notes() -> Sequence[Diagnostic]:
    """Returns nothing to say besides."""
    return ()


@dataclass(frozen=True, kw_only=True)
class FunctionSource:
    """A function and the text that it was made of."""

    function: types.FunctionType
    name: str
    qualname: str
    file: str
    """As Python reports it (``co_filename``)."""
    tree: ast.FunctionDef
    """Line numbers and (byte) columns are those of the file; decorators included, long elif chains flattened."""
    lines: tuple[str, ...]
    """All lines of the file, with their line ends."""

    @classmethod
    def of(cls, function: object, notes: Notes = no_notes) -> FunctionSource:
        """Finds and parses the text of `function`.

        Args:
            function: a plain function.
            notes: makes what an error says besides, such as where it is called.

        Raises:
            CompileError: it is no plain function, or its text cannot be found or is not what it was made of.
        """
        plain = plain_function(function, notes)
        lines = _file_lines(plain, notes)
        try:
            tree = _definition(plain, lines, notes)
        except (RecursionError, MemoryError):
            raise signature_error(
                f"'{plain.__qualname__}' is nested too deeply to be parsed",
                code="LP2030",
                location=definition_location(plain),
                hint="split its expressions into statements",
                notes=notes(),
            ) from None
        from .elif_chains import flatten_chains

        flatten_chains(tree)
        return cls(
            function=plain,
            name=plain.__name__,
            qualname=plain.__qualname__,
            file=plain.__code__.co_filename,
            tree=tree,
            lines=tuple(lines),
        )

    @property
    def text(self) -> str:
        """The function's own lines, decorators included, as they stand in the file."""
        first = min([self.tree.lineno, *(d.lineno for d in self.tree.decorator_list)])
        return "".join(self.lines[first - 1 : self.tree.end_lineno])

    def resolve(self, name: str) -> object:
        """Returns what `name` means now: a captured variable, a global or a builtin, else `MISSING`.

        A specialization constant without a name of its own learns the one that it is found under.
        """
        return resolve(cast(types.FunctionType, self.function), name)  # type checkers see a method here

    def location(self, node: ast.AST | None) -> Location:
        """Returns where `node` starts; None means the function's ``def`` line."""
        return Location(self.file, *self.position(node), self.qualname)

    def position(self, node: ast.AST | None) -> tuple[int, int]:
        """Returns the line and the column where `node` starts, from 1; see `location`."""
        if isinstance(node, ast.FunctionDef) or node is None:
            line, column_bytes, _ = self._definition_span()
        else:
            line = getattr(node, "lineno", self.tree.lineno)
            column_bytes = getattr(node, "col_offset", 0)
        return line, self._column(line, column_bytes)

    def diagnostic(self, node: ast.AST | None, message: str, *, severity: str = "error") -> Diagnostic:
        """Makes a finding at `node`, with its source line and the caret under as much as that line holds."""
        location = self.location(node)
        return Diagnostic(
            message,
            location,
            severity,
            self._line(location.line).rstrip("\r\n"),
            self._end_column(node, location),
        )

    def _end_column(self, node: ast.AST | None, location: Location) -> int | None:
        """Returns the column after `node`, None where it goes on over the line's end."""
        if isinstance(node, ast.FunctionDef) or node is None:
            return self._column(location.line, self._definition_span()[2])
        end_line, end_bytes = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if end_line != location.line or end_bytes is None:
            return None
        return self._column(location.line, end_bytes)

    def _definition_span(self) -> tuple[int, int, int]:
        """Returns line, first and end byte column of the name in ``def name``."""
        line = self.tree.lineno
        text = self._line(line).encode()
        start = text.find(self.tree.name.encode(), self.tree.col_offset + len("def"))
        if start < 0:  # "def" and the name stand on different lines
            return line, self.tree.col_offset, self.tree.col_offset + len("def")
        return line, start, start + len(self.tree.name.encode())

    def _line(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    def _column(self, line: int, column_bytes: int) -> int:
        """Converts a byte column from 0, which ast counts in UTF-8, to a character column from 1."""
        text = self._line(line)
        if text.isascii():
            return min(column_bytes, len(text)) + 1
        return len(text.encode()[:column_bytes].decode(errors="replace")) + 1


def plain_function(function: object, notes: Notes = no_notes) -> types.FunctionType:
    """Returns `function` if it is written with ``def`` and can be a kernel or helper.

    Raises:
        CompileError: it cannot.
    """
    if isinstance(function, staticmethod | classmethod):
        method = cast("staticmethod[..., object]", function)
        kind, inner = type(method).__name__, cast("types.FunctionType", method.__func__)
        raise signature_error(
            f"expected a function written with def, found the {kind} {inner.__qualname__!r}",
            code="LP2004",
            location=definition_location(inner),
            hint=f"write @{kind} above the decorator of lapilli"
            if kind == "staticmethod"
            else "make it a @staticmethod, above the decorator of lapilli: kernels have no classes to be given",
            notes=notes(),
        )
    if not isinstance(function, types.FunctionType):
        is_size = isinstance(function, int | tuple)
        raise signature_error(
            f"expected a function written with def, found {function!r} of type {type(function).__name__}",
            code="LP2004",
            hint=f"options have names: @lp.kernel(local_size={function!r})" if is_size else None,
            notes=notes(),
        )
    if function.__name__ == "<lambda>" or function.__code__.co_flags & _REFUSED_FLAGS:
        from .refused_functions import finding, refusal

        why = refusal(function)
        message = f"'{function.__qualname__}' is {why.kind}; expected a plain function"
        place = finding(function, why, message) or Diagnostic(message, definition_location(function))
        raise finding_error([place, *notes()], code="LP2004", hint=why.hint)
    return function


def definition_location(function: types.FunctionType) -> Location:
    """Returns where `function` begins as far as its code object knows: the line of its first decorator."""
    code = function.__code__
    return Location(code.co_filename, code.co_firstlineno, 1, function.__qualname__)


def _file_lines(function: types.FunctionType, notes: Notes) -> list[str]:
    file = function.__code__.co_filename
    try:
        linecache.checkcache(file)
        # What inspect finds, which looks for the function's module first; it alone knows the REPL of Python 3.13.
        return linecache.getlines(file, function.__globals__) or inspect.findsource(function)[0]
    except (OSError, TypeError, ValueError, IndexError, SyntaxError):
        from .typed_text import typed_lines

        if lines := typed_lines(function):
            return lines
        raise signature_error(
            f"the source text of '{function.__qualname__}' cannot be found",
            code="LP2002",
            location=definition_location(function),
            hint="put the function into a file or into a notebook's cell by itself, or give its text to "
            "lp.kernel_from_source(text); programs without their source load bundle files: lapilli build",
            notes=notes(),
        ) from None


def _definition(function: types.FunctionType, lines: list[str], notes: Notes) -> ast.FunctionDef:
    """Returns the ``def`` of `function` in the file `lines`."""
    tree = parsed_definition(function, lines)
    if tree is None:
        raise signature_error(
            f"the source text found for '{function.__qualname__}' is not the text that it was made of",
            code="LP2003",
            location=definition_location(function),
            hint="the file changed after it was imported, or another text took its name: start the program again, "
            "reload the module, or run its cell again",
            notes=notes(),
        )
    return tree


def parsed_definition(function: types.FunctionType, lines: list[str]) -> ast.FunctionDef | None:
    """Returns the ``def`` of `function` in `lines`, None where these are not the text that it was made of."""
    tree = _parse_block(function, lines) or _parse_file(function, lines)
    if tree is None or not _matches(tree, function):
        return None
    is_doubtful = may_differ(function.__code__.co_filename)
    return None if is_doubtful and not is_made_of(function, tree) else tree


def _parse_block(function: types.FunctionType, lines: list[str]) -> ast.FunctionDef | None:
    """Parses only the function's own lines: a large module costs nothing."""
    first = function.__code__.co_firstlineno
    # inspect finds the end by Python's tokenizer in Python, which takes three times as long as parsing.
    return _parse_lines(_indented_block(lines, first), first) or _parse_lines(
        _token_block(lines, first), first
    )


def _indented_block(lines: list[str], first: int) -> list[str]:
    """Returns the lines of a ``def`` as indentation shows them: up to a line as far left as the first.

    A line in brackets or in a text may stand there too.  What is cut off inside of one does not parse.
    """
    margin, is_defined = _indent(lines[first - 1]) if first <= len(lines) else 0, False
    for number in range(first - 1, len(lines)):
        text = lines[number].lstrip()
        if not text or text[0] in "#)]}" or _indent(lines[number]) > margin:
            continue
        if is_defined:
            return lines[first - 1 : number]
        is_defined = text.startswith("def ")  # decorators come before it
    return lines[first - 1 :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _token_block(lines: list[str], first: int) -> list[str]:
    try:
        return inspect.getblock(lines[first - 1 :])
    except (SyntaxError, ValueError, IndexError, tokenize.TokenError):
        return []


def _parse_lines(block: list[str], first: int) -> ast.FunctionDef | None:
    """Parses the lines of a function, the first of which has that number in its file; None where they do not parse."""
    # An indented def is legal under "if 1:", so that columns, continuation lines and multi-line strings
    # stay as they are in the file; textwrap.dedent would move them.
    indented = bool(block) and block[0][:1] in (" ", "\t")
    # The lines before it are left empty, so that every node has its line of the file.
    before = "\n" * (first - 2) + "if 1:\n" if indented else "\n" * (first - 1)
    try:
        module = ast.parse(before + "".join(block))
    except (SyntaxError, ValueError):
        return None
    if not module.body:
        return None
    body = cast(ast.If, module.body[0]).body if indented else module.body
    if not body or not isinstance(body[0], ast.FunctionDef):
        return None
    return body[0]


def _parse_file(function: types.FunctionType, lines: list[str]) -> ast.FunctionDef | None:
    """Finds the function in the whole file: for text that its own lines alone do not parse."""
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == function.__code__.co_firstlineno:
                return node
    return None


def _matches(tree: ast.FunctionDef, function: types.FunctionType) -> bool:
    """Whether name, parameters and last line agree: a changed file shows there most often."""
    code = function.__code__
    arguments = tree.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    expected = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if tree.name != code.co_name or _mangled(names, function) != list(expected):
        return False
    # Text that ends before the function does would compile to something else without a word.
    lines = cast("Iterator[int | None]", map(itemgetter(2), code.co_lines()))  # hundreds of them
    last = max(filter(None, lines), default=0)
    return tree.end_lineno is not None and last <= tree.end_lineno


def _mangled(names: list[str], function: types.FunctionType) -> list[str]:
    """Returns parameter names as the compiler writes private ones in a class (``__x`` in C is ``_C__x``)."""
    scope = function.__code__.co_qualname.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    if not scope.isidentifier():
        return names
    return [f"_{scope}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names]


def func(function: FunctionT) -> FunctionT:
    """Marks a helper of kernels.  Optional: any plain function may be called; the mark checks it early.

    Raises:
        CompileError: it is no plain function.
    """
    plain_function(function)
    return function
