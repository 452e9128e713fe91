"""Wrong kernels and all of what is said about them: `tests/golden/wrong_kernels.txt`, to be read line by line.

``LAPILLI_UPDATE_GOLDEN=1`` writes what is said now into the file; the difference is what has to be read.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels

GOLDEN = Path(__file__).parents[1] / "golden" / "wrong_kernels.txt"
LEAST = 120
"""Cases that the corpus has at least."""


class Case(NamedTuple):
    name: str
    source: str
    expected: str


def read() -> list[Case]:
    blocks = re.split(r"^===== (\w+)\n", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    cases: list[Case] = []
    for name, block in zip(blocks[::2], blocks[1::2], strict=True):
        source, _, expected = block.partition("-----\n")
        cases.append(Case(name, source, expected))
    return cases


CASES = read()


def said(source: str) -> str:
    """Returns class, code and text of the error that a source gives."""
    with warnings.catch_warnings(), pytest.raises(lp.Error) as caught:
        warnings.simplefilter("ignore")  # SyntaxWarning: a number is called
        compile_kernels([lp.kernel_from_source(source, name="k")])
    error = caught.value
    text = re.sub(r"<lapilli source \w+>", "k.py", str(error))
    text = re.sub(r"<class '[\w.]+\.P'>", "<class 'P'>", text)
    return f"{type(error).__name__} {error.code}\n{text}\n"


def test_the_corpus_is_as_large_as_promised():
    assert len(CASES) >= LEAST
    assert len({case.name for case in CASES}) == len(CASES)
    if os.environ.get("LAPILLI_UPDATE_GOLDEN"):
        GOLDEN.write_text("".join(f"===== {c.name}\n{c.source}-----\n{said(c.source)}" for c in CASES))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_said_about_a_wrong_kernel(case: Case):
    assert said(case.source) == case.expected
