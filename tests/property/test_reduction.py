"""`make fuzz` outlives what ends a process, and its findings can be made small."""

from __future__ import annotations

import ast
import sys

import pytest

from . import soak
from .parts import changed_texts, devices_of, parts, run
from .reduce import reduced
from .text_edits import smaller_texts

TEXT = """
def helper(a):
    return a + 1

def k(x, n):
    s = 0
    for i in range(n):
        if x[i] > 3 and n < 9:
            s += helper(x[i] * 2)
        else:
            s -= 1
    return s
"""


def test_every_edit_loses_something_and_can_be_read() -> None:
    size = len(list(ast.walk(ast.parse(TEXT))))
    found = list(smaller_texts(TEXT))
    assert len(found) >= 30
    for text in found:
        assert len(list(ast.walk(ast.parse(text)))) < size


def test_reduction_keeps_what_fails_and_nothing_else() -> None:
    def fails(texts):
        return ["x[i] * 2" in text and "for" in text for text in texts]

    text = reduced(TEXT, fails, at_once=4, seconds=60)
    assert fails([text]) == [True]
    assert not any(fails(list(smaller_texts(text))))
    assert "helper" not in text and "else" not in text


def test_reduction_ends_where_nothing_smaller_fails() -> None:
    assert reduced(TEXT, lambda texts: [False] * len(texts), at_once=4, seconds=60) == TEXT


def test_a_seed_whose_process_ends_is_a_failure_that_names_the_part(monkeypatch, tmp_path, capsys) -> None:
    code = "import os; print('7 k0'); print('7 values', flush=True); os.abort()"
    monkeypatch.setattr(soak, "COMMAND", (sys.executable, "-c", code))
    assert soak.failed(7, tmp_path) == 1
    assert capsys.readouterr().out == "7 values: the process ended with -6\n"


def test_a_seed_that_hangs_is_a_failure(monkeypatch, tmp_path, capsys) -> None:
    code = "import time; print('7 lanes', flush=True); time.sleep(60)"
    monkeypatch.setattr(soak, "COMMAND", (sys.executable, "-c", code))
    assert soak.failed(7, tmp_path, seconds=1.0) == 1
    assert capsys.readouterr().out == "7 lanes: still running after 1 s\n"


@pytest.mark.parametrize("part", ["k0", "values", "groups"])
def test_the_texts_of_parts_can_be_changed(part, tmp_path) -> None:
    """Python executes the changed text and the compiler compiles it: one that stores nothing is right, too."""
    texts = []

    def without_stores(text: str) -> str:
        lines = [line for line in text.splitlines() if not line.startswith(("    out", "    acc", "    w["))]
        texts.append("\n".join(lines))
        return texts[-1]

    seed = 4
    with changed_texts(without_stores):
        parts(seed, tmp_path, devices_of(seed)[1:2])[part]()
    assert len(texts) == 1 and "def k" in texts[0]


def test_a_part_that_is_none_is_no_success(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit, match=r"seed 4 has no part 'value'; it has k0, .*values"):
        run(4, tmp_path, only="value")
