"""Kernels in classes, closures, doctests, notebooks, the REPL and text: they run, and errors point at their lines."""

from __future__ import annotations

import code
import doctest
import io
import linecache
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

GOOD = """\
import lapilli as lp

FACTOR = 3

def scaled(v):
    return v * FACTOR

@lp.kernel
def good(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    x[i] = scaled(x[i]) + 1
"""
BAD = """\
import lapilli as lp

def wrong(v):
    # comment
    return v + missing

@lp.kernel
def bad(x: lp.Array[lp.i32]):
    x[0] = wrong(x[0])
"""


def _check(namespace, file: str, bad_from: int = 1) -> None:
    """Runs `good` and reads what is said about `bad`.

    Args:
        namespace: has both.
        file: what its place is called, as a regular expression.
        bad_from: line of the file that the text of `bad` begins at.
    """
    x = lp.asarray(np.int32([1, 2, 3]))
    namespace["good"][3](x)
    assert x.numpy().tolist() == [4, 7, 10]
    with pytest.raises(lp.CompileError) as caught:
        namespace["bad"][3](x)
    _check_text(str(caught.value), file, bad_from)
    assert caught.value.location.line == bad_from + 4
    assert caught.value.location.column == 16


def _check_text(text: str, file: str, bad_from: int) -> None:
    assert re.search(
        rf"(?:{file}):{bad_from + 4}:16: error: unknown name 'missing'\n"
        r" +return v \+ missing\n"
        r" +\^{7}\n"
        rf"(?:{file}):{bad_from + 8}:12: note: in 'wrong', called here\n"
        r" +x\[0\] = wrong\(x\[0\]\)\n"
        r" +\^{11}",
        text,
    ), text


def test_text_that_exec_gets_with_a_linecache_entry():
    for number, text in enumerate((GOOD, BAD)):
        name = f"<made {number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, object] = {}
    exec(compile(GOOD, "<made 0>", "exec"), space)
    exec(compile(BAD, "<made 1>", "exec"), space)
    _check(space, "<made 1>")


def test_text_that_exec_gets_alone_is_refused_with_the_way_out():
    space: dict[str, object] = {}
    exec(compile(BAD, "<nowhere>", "exec"), space)
    with pytest.raises(lp.CompileError, match=r"lp\.kernel_from_source") as caught:
        space["bad"][1](lp.zeros(1, lp.i32))
    assert caught.value.code == "LP2002"


def test_kernel_from_source():
    space = {"good": lp.kernel_from_source(GOOD), "bad": lp.kernel_from_source(BAD)}
    _check(space, r"<lapilli source \w+>")


def test_doctest():
    """A doctest's examples have a file each, which doctest shows to linecache while they run."""
    lines = []
    for text in (GOOD, BAD):
        for block in re.split(r"\n\n+", text.strip()):
            first, *rest = block.splitlines()
            lines += [f">>> {first}", *(f"... {line}" for line in rest)]
    lines += [
        ">>> x = lp.asarray([1, 2, 3], dtype=lp.i32)",
        ">>> event = good[3](x)",
        ">>> x.numpy().tolist()",
        "[4, 7, 10]",
        ">>> try:",
        "...     bad[3](x)",
        "... except lp.CompileError as error:",
        "...     print(error)",
        "<doctest kernels[5]>:3:16: error: unknown name 'missing'",
        "        return v + missing",
        "                   ^^^^^^^",
        "<doctest kernels[6]>:3:12: note: in 'wrong', called here",
        "        x[0] = wrong(x[0])",
        "               ^^^^^^^^^^^",
        "    help: check the spelling, or define it before the kernel is compiled",
    ]
    example = doctest.DocTestParser().get_doctest("\n".join(lines) + "\n", {}, "kernels", None, None)
    said = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(example, out=said.write).failed == 0, said.getvalue()


def test_interactive_console(capsys):
    """Python keeps the text of what is typed from 3.13 on; before, the error says what to do."""
    console = code.InteractiveConsole()
    for text in (GOOD, BAD):
        for block in re.split(r"\n\n+", text.strip()):
            for line in block.splitlines():
                console.push(line)
            console.push("")
    space = console.locals
    try:
        space["good"][1](lp.zeros(1, lp.i32))
    except lp.CompileError as error:
        assert error.code == "LP2002"
        assert "lp.kernel_from_source" in str(error)
        return
    with pytest.raises(lp.CompileError, match=r"unknown name .missing.\n +return v \+ missing\n +\^{7}"):
        space["bad"][1](lp.zeros(1, lp.i32))


def test_the_interpreter_that_reads_stdin():
    run = "x = lp.full(1, 5, lp.i32)\n\ngood[1](x)\n\nprint('found', x.numpy())\n\n"
    typed = f"{GOOD}\n\n{run}{BAD}\n\nbad[1](x)\n\nexit()\n"
    result = subprocess.run(
        [sys.executable, "-i", "-q", "-X", "utf8"],
        input=typed, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    if sys.version_info >= (3, 13):
        assert "found [16]" in result.stdout
        assert "3:16: error: unknown name 'missing'\n        return v + missing\n" in result.stderr
    else:
        assert "found [5]" in result.stdout
        assert result.stderr.count("lp.kernel_from_source") == 2


OLDER = """\
@lp.kernel
def good(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    x[i] = scaled(x[i]) + 7
"""
ASKING = """\
@lp.kernel
def asking(x: lp.Array[lp.i32]):
    assert x[0] {} 0
    x[0] = 5
"""


def test_the_prompt_whose_lines_readline_has():
    """Before 3.13 the history is all there is of the text; texts that other code was made of do not count."""
    readline = pytest.importorskip("readline")
    before, space = readline.get_current_history_length(), {}
    texts = [*re.split(r"\n\n+", GOOD.strip()), ASKING.format("<"), *re.split(r"\n\n+", BAD.strip())]
    try:
        for text in ("import lapilli as lp", OLDER, *texts, OLDER, ASKING.format("=="), "y = [", "    good]"):
            for line in text.strip().splitlines():
                readline.add_history(line)
            if text in texts:
                exec(compile(text, "<stdin>", "single"), space)
        x = lp.asarray(np.int32([1, 2, 3]))
        space["good"][3](x)
        assert x.numpy().tolist() == [4, 7, 10]
        with pytest.raises(
            lp.CompileError, match=r"<stdin>:3:16: .*\n +return v \+ missing\n +\^{7}\n<stdin>:3:12"
        ):
            space["bad"][3](x)
        with pytest.raises(lp.KernelTrap, match=r"<stdin>:3"):
            space["asking"][1](lp.ones(1, lp.i32)).wait()
    finally:
        while readline.get_current_history_length() > before:
            readline.remove_history_item(readline.get_current_history_length() - 1)


@pytest.mark.parametrize("way", ["-c", "<"])
def test_a_program_that_is_no_file_of_its_own(way, tmp_path):
    program = f"{GOOD}\nx = lp.full(1, 5, lp.i32)\ngood[1](x)\nprint('found', x.numpy())\n{BAD}\nbad[1](x)\n"
    (tmp_path / "program.py").write_text(program)
    arguments = ["-c", program] if way == "-c" else []
    with (tmp_path / "program.py").open() as file:
        result = subprocess.run(
            [sys.executable, *arguments], stdin=file, capture_output=True, text=True, timeout=120, check=False
        )
    assert "found [16]" in result.stdout, result.stderr
    assert re.search(r"<\w+>:20:16: error: unknown name 'missing'\n +return v \+ missing\n", result.stderr)


class Holder:
    """Kernels in a class: as a static method, and as an attribute."""

    STEP = 5

    @staticmethod
    @lp.kernel
    def inside(x: lp.Array[lp.i32]):
        x[0] = Holder.STEP


def _made(step: int, halve: bool):
    def part(v):
        return v // 2 if halve else v

    @lp.kernel
    def closed(x: lp.Array[lp.i32]):
        x[0] = part(step)
        x[1] = unknown_here  # noqa: F821

    @lp.kernel
    def right(x: lp.Array[lp.i32]):
        x[0] = part(step)

    return closed, right


def test_classes_and_closures():
    x = lp.zeros(2, lp.i32)
    Holder.inside[1](x)
    assert x.numpy()[0] == 5
    for step, halve in ((8, True), (8, False), (9, True)):
        closed, right = _made(step, halve)
        right[1](x)
        assert x.numpy()[0] == (step // 2 if halve else step)
        with pytest.raises(lp.CompileError) as caught:
            closed[1](x)
        line = _made.__code__.co_firstlineno + 7
        assert (caught.value.location.line, caught.value.location.column) == (line, 16)
        assert caught.value.location.file == __file__


def test_notebook_cells(monkeypatch, tmp_path):
    """IPython names each cell and keeps its text; a cell that is run again has a new name."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell_module = pytest.importorskip("IPython.core.interactiveshell")
    shell = shell_module.InteractiveShell()
    shell.history_manager.enabled = False
    space = shell.user_ns
    for text in (GOOD, "# A cell.\n\n" + BAD):
        shell.run_cell(text).raise_error()
    _check(space, r"<ipython-input-[^\n]*>", bad_from=3)
    shell.run_cell(GOOD.replace("+ 1", "+ 2")).raise_error()
    x = lp.zeros(1, lp.i32)
    space["good"][1](x)
    assert x.numpy().tolist() == [2]


def test_notebook_run_by_nbclient(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    show = "x = lp.zeros(2, lp.i32)\ngood[2](x)\nprint(x.numpy().tolist())\n"
    caught = "try:\n    bad[1](x)\nexcept lp.CompileError as error:\n    print(error)\n"
    cells = [nbformat.v4.new_code_cell(text) for text in (GOOD, show, BAD, caught)]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    said = ["".join(out.get("text", "") for out in cell.outputs) for cell in book.cells]
    assert said[1] == "[1, 1]\n"
    _check_text(said[3], r"[^\n]*", 1)


def test_future_annotations_and_deep_indentation():
    text = textwrap.dedent('''
        from __future__ import annotations
        import lapilli as lp
        if True:
            class Outer:
                class Inner:
                    @lp.kernel
                    def good(x: lp.Array[lp.i32]):
                        """Text over
            several lines that begin before the def."""
                        x[0] = (1 +
            2)
        good = Outer.Inner.good
    ''')
    linecache.cache["<deep>"] = (len(text), None, text.splitlines(keepends=True), "<deep>")
    space: dict[str, object] = {}
    exec(compile(text, "<deep>", "exec"), space)
    x = lp.zeros(1, lp.i32)
    space["good"][1](x)
    assert x.numpy().tolist() == [3]
