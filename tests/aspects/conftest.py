"""Modules made of text: options, warnings and translation units are matters of whole Python modules."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lapilli.frontend import aspect_warnings

_numbers = itertools.count()


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports a module of the given text, under a name of its own; `lp` is lapilli there."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def make(text: str) -> ModuleType:
        name = f"unit_{next(_numbers)}"
        names.append(name)
        (tmp_path / f"{name}.py").write_text(f"import lapilli as lp\n{text}", "utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def _nothing_reported_yet(monkeypatch: pytest.MonkeyPatch):  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(aspect_warnings, "_reported", set())
