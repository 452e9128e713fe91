"""``lapilli explain``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapilli.frontend.errors import CODES
from lapilli.ir.errors import InvalidError
from lapilli.tools.cli import group
from lapilli.tools.explain import explanation

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("frontend", "ir", "passes", "spirv", "vk_runtime", "tools")


def test_a_code_is_explained_in_any_spelling():
    assert explanation("LP2031") == explanation("lp2031") == explanation("2031")
    assert explanation("LP2031").splitlines()[0] == "LP2031"


def test_an_unknown_code_names_those_near_it():
    with pytest.raises(InvalidError, match=r"no error code 'LP2O31'; near it: .*LP2031"):
        explanation("LP2O31")
    with pytest.raises(InvalidError, match=r"no error code 'foo'; lapilli explain lists them"):
        explanation("foo")


def test_without_a_code_all_are_listed():
    result = CliRunner().invoke(group, ["explain"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(CODES)


def test_every_code_in_the_sources_is_explained():
    used: dict[str, str] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if not re.search(r"LP\d{4}", text):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and re.fullmatch(r"LP\d{4}", str(node.value)):
                    used.setdefault(str(node.value), f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {code: place for code, place in used.items() if code not in CODES} == {}


def test_an_explanation_says_more_than_what_is_wrong():
    """Every traceback ends with the command, ``lapilli explain LP2031 says more``: then it does."""
    short = [code for code, text in CODES.items() if len(re.findall(r"[.:;](?:\s|$)", text)) < 2]
    assert short == []
