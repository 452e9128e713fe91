"""Source text of functions: positions are the file's, names resolve as Python's."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import lapilli as lp
from lapilli.frontend.codes import BODY_CODES
from lapilli.frontend.errors import CODES, compile_error
from lapilli.frontend.same_text import may_differ
from lapilli.frontend.scope import MISSING
from lapilli.frontend.source import FunctionSource
from lapilli.frontend.source_text import file_lines
from lapilli.ir.errors import CompileError

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Imports a text as a module of its own file."""

    def load_text(text: str) -> ModuleType:
        path = tmp_path / "sample.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("sample", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        linecache.clearcache()
        return module

    return load_text


def first(source: FunctionSource, kind: type[ast.AST]) -> ast.AST:
    return next(node for node in ast.walk(source.tree) if isinstance(node, kind))


def test_positions_of_a_top_level_function(load: Load) -> None:
    source = FunctionSource.of(load("x = 1\n\ndef f(a):\n    return a + 1\n").f)
    location = source.location(first(source, ast.BinOp))
    assert (location.line, location.column, location.function) == (4, 12, "f")
    assert location.file.endswith("sample.py")
    assert (source.name, source.qualname, source.text) == ("f", "f", "def f(a):\n    return a + 1\n")


def test_columns_count_characters_not_bytes(load: Load) -> None:
    source = FunctionSource.of(load('def f(größe):\n    return ("äöü", größe + 1)\n').f)
    sum_ = first(source, ast.BinOp)
    assert source.location(sum_).column == 20
    text = str(source.diagnostic(sum_, "bad"))
    assert text.splitlines()[1:] == ['        return ("äöü", größe + 1)', " " * 23 + "^^^^^^^^^"]


def test_nested_decorated_function_keeps_the_columns_of_the_file(load: Load) -> None:
    module = load(
        '''
        def mark(f):
            return f

        class Outer:
            def make():
                @mark
                @mark
                def f(a,
          b):  # continued at a smaller indent
                    """text
        at the margin
        """
                    return a + b
                return f
        '''
    )
    source = FunctionSource.of(module.Outer.make())
    location = source.location(first(source, ast.BinOp))
    assert (location.line, location.column) == (14, 20)
    assert location.function == "Outer.make.<locals>.f"
    assert source.location(source.tree).line == 9
    assert source.text.startswith("        @mark\n")


def test_definition_diagnostic_points_at_the_name(load: Load) -> None:
    source = FunctionSource.of(load("def f(a):\n    return a\n").f)
    assert str(source.diagnostic(None, "bad")).splitlines()[1:] == ["    def f(a):", "        ^"]


def test_caret_of_a_node_over_several_lines_goes_to_the_end_of_the_first(load: Load) -> None:
    source = FunctionSource.of(load("def f(a):\n    return (a +\n            1)\n").f)
    assert str(source.diagnostic(first(source, ast.BinOp), "bad")).splitlines()[2] == " " * 16 + "^^^"


def test_tabs_keep_the_caret_in_place(load: Load) -> None:
    source = FunctionSource.of(load("def f(a):\n\treturn\ta\n").f)
    assert str(source.diagnostic(first(source, ast.Return), "bad")).splitlines()[2] == "    \t^^^^^^^^"


def test_linecache_entry_is_enough() -> None:
    text = "def f(a):\n    return a * 2\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    variables: dict[str, object] = {"__name__": __name__}
    exec(compile(text, "<cell 1>", "exec"), variables)
    assert FunctionSource.of(variables["f"]).location(None).file == "<cell 1>"


def test_texts_of_one_name_are_told_apart() -> None:
    made: list[object] = []
    for text in ("def f(a):\n    return a * 2\n", "def f(a):\n    return a * 3\n"):
        linecache.cache["<cell 2>"] = (len(text), None, text.splitlines(keepends=True), "<cell 2>")
        variables: dict[str, object] = {}
        exec(compile(text, "<cell 2>", "exec"), variables)
        made.append(variables["f"])
    assert "a * 3" in FunctionSource.of(made[1]).text
    with pytest.raises(CompileError, match="not the text that it was made of") as caught:
        FunctionSource.of(made[0])
    assert caught.value.code == "LP2003"
    assert file_lines(made[1]) and not file_lines(made[0])


SCOPES = """
import math as m
from math import sin
N = 3
def plain(a, *, b: int = 2) -> int:
    "Doc."
    x: float = m.sin(a) + sin(N) + abs(-b)
    for i in range(a):
        if i % 2 and a < i < b or not x: continue
        x += i ** 2 // 3
    else:
        a, b = b, a
    while (y := a) > 0: a -= 1
    return x if x > 1 else plain(a)
class C:
    __k = 4
    def method(a):
        return C.__k + a
def outer(n):
    __z = 1
    def inner(a):
        return inner(a) + n + __z
    class D:
        @staticmethod
        def deep(__q):
            return __q + n
    return inner, D.deep
def nameless(n):
    def _(a):
        return a + n
    class _around:
        @staticmethod
        def _around(a):
            return a - n
    return _, _around._around
def one_of(a):
    return a in {8, 0, 16, 24} or a in (1, {24, 16, 0, 8})
functions = [plain, C.method, *outer(3), *nameless(2), one_of]
"""


def test_the_text_of_a_function_is_recognised_in_every_scope(load: Load) -> None:
    functions = load(SCOPES).functions
    for function in functions:
        assert may_differ(function.__code__.co_filename)
        assert FunctionSource.of(function).name == function.__name__


def test_missing_source_names_kernel_from_source() -> None:
    variables: dict[str, object] = {}
    exec("def f(a): pass", variables)
    with pytest.raises(CompileError, match=r"source text of 'f' cannot be found") as caught:
        FunctionSource.of(variables["f"])
    assert "lp.kernel_from_source(text)" in str(caught.value)
    assert caught.value.code == "LP2002"


@pytest.mark.parametrize(
    "changed",
    [
        "def g(a):\n    return a\n",
        "def f(a, b):\n    return a\n",
        "def f(a):\n    return -a\n",
        "def f(a):\n    return b\n",
        "def f(a):\n    return 1\n",
        "x = (\n",
        "",
        "# gone\n",
    ],
)
def test_changed_file_is_noticed(load: Load, changed: str) -> None:
    function = load("def f(a):\n    return a\n").f
    Path(function.__code__.co_filename).write_text(changed)
    linecache.clearcache()
    with pytest.raises(CompileError) as caught:
        FunctionSource.of(function)
    assert caught.value.code in ("LP2002", "LP2003")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f = lambda a: a", "'<lambda>' is a lambda; expected a plain function"),
        ("async def f(): pass", "'f' is a coroutine"),
        ("def f(): yield", "'f' is a generator"),
        ("async def f(): yield", "'f' is an asynchronous generator"),
        ("class f: pass", "expected a function written with def, found <class 'sample.f'> of type type"),
        ("f = len", "found <built-in function len> of type builtin_function_or_method"),
        ("f = 3", "expected a function written with def, found 3 of type int"),
    ],
)
def test_what_is_no_plain_function_is_refused(load: Load, text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        FunctionSource.of(load(text).f)
    assert message in str(caught.value)
    assert caught.value.code == "LP2004"


def test_private_parameters_of_a_method_match(load: Load) -> None:
    assert FunctionSource.of(load("class C:\n    def f(__a): return __a\n").C.f).name == "f"


def test_resolve_looks_in_closure_globals_builtins() -> None:
    captured = 5
    later: int

    def f() -> object:
        return captured, later  # type: ignore[name-defined]

    source = FunctionSource.of(f)
    assert source.resolve("captured") == 5
    assert source.resolve("later") is MISSING
    assert source.resolve("pytest") is pytest
    assert source.resolve("len") is len
    assert source.resolve("nowhere") is MISSING
    later = 6
    assert source.resolve("later") == 6


def test_compile_error_text(load: Load) -> None:
    source = FunctionSource.of(load("def f(a):\n    return a + 1\n").f)
    note = source.diagnostic(None, "defined here", severity="note")
    error = compile_error(source, first(source, ast.BinOp), "no", code="LP2033", hint="do not", notes=[note])
    file = source.file
    assert str(error).splitlines() == [
        f"{file}:2:12: error: no",
        "        return a + 1",
        "               ^^^^^",
        f"{file}:1:5: note: defined here",
        "    def f(a):",
        "        ^",
        "    help: do not",
    ]
    assert (error.code, error.location) == ("LP2033", source.location(first(source, ast.BinOp)))
    assert len(error.diagnostics) == 2


def test_large_module_is_not_parsed(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    function = load("def f(a):\n    return a\n" + "x = 1\n" * 5000).f
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: parsed.append(text) or parse(text))
    FunctionSource.of(function)
    assert [len(text) for text in parsed] == [len("def f(a):\n    return a\n")]


def test_texts_whose_digests_begin_alike_are_told_apart() -> None:
    """A program that makes 100,000 kernels of texts has two whose sha256 has the same first 32 bits."""
    text = "\n@lp.kernel\ndef fill(x: lp.Out[lp.i32]):\n    x[lp.global_id(0)] = {n}\n"
    one, two = (lp.kernel_from_source(text.format(n=n)) for n in (161951, 224540))
    assert "161951" in one.source.text and "224540" in two.source.text


def test_every_code_in_the_folder_is_explained() -> None:
    folder = Path(sys.modules[FunctionSource.__module__].__file__ or "").parent
    import re

    used = {
        code
        for path in folder.glob("*.py")
        for code in re.findall(r'"(LP\d{4})"', path.read_text(encoding="utf-8"))
    }
    assert used <= set(CODES)
    assert set(BODY_CODES) <= set(CODES)
    assert all(text.strip().endswith((".", "!")) for text in CODES.values())
