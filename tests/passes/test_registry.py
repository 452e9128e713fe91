"""Every pass is where its name says, shows what it does, and is told of in the documentation."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from lapilli.ir.errors import InvalidError
from lapilli.ir.target_env import OPTIMISATION_PASSES
from lapilli.passes.propagate_aspects import PropagateAspectsPass
from lapilli.passes.registry import parse_passes, pass_factory, pass_names

PERFORMANCE = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pass_names())
def test_a_pass_lies_in_the_file_of_its_name(name: str) -> None:
    module = pass_factory(name)().__module__.removeprefix("lapilli.passes.")
    folder, _, stem = module.rpartition(".")
    spelt = stem.replace("_", "-")
    assert name == (f"trap-{spelt}" if folder == "traps" else spelt)


@pytest.mark.parametrize("name", pass_names())
def test_a_pass_shows_what_it_makes_of_what(name: str) -> None:
    text = inspect.getdoc(inspect.getmodule(pass_factory(name)()))
    assert text is not None
    assert "=>" in text or re.search(r"^ *input:.*output:", text, re.MULTILINE | re.DOTALL) or "    %" in text


@pytest.mark.parametrize("name", pass_names())
def test_a_pass_is_in_the_tables_of_the_documentation(name: str) -> None:
    tables = re.findall(r"^\| (`[^|]*) \|", PERFORMANCE, re.MULTILINE)
    named = [found for row in tables for found in re.findall(r"`([a-z-]+)`", row)]
    assert named.count(name) == 1


def test_what_can_be_switched_off_is_a_pass() -> None:
    assert set(OPTIMISATION_PASSES) <= set(pass_names())


@pytest.mark.parametrize(
    "text",
    [
        "propagate-aspects{exclude=4,1 warn=true},cse",
        " propagate-aspects{ exclude = 4, 1  warn=true } , cse\n",
    ],
)
def test_blanks_in_a_pipeline_count_for_nothing(text: str) -> None:
    propagate, cse = parse_passes(text)
    assert propagate == PropagateAspectsPass(exclude=(4, 1), warn=True)
    assert cse.name == "cse"


def test_blanks_do_not_join_passes() -> None:
    with pytest.raises(InvalidError, match="canonicalize cse"):
        parse_passes("canonicalize cse")
