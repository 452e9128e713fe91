"""Modules that are run at their first use."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from lapilli.ir.late_modules import put_off

NAME = "late_package.inside"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package; its module `NAME`, with one inside, notes when it runs, and fails as often as it is told."""
    for name in ("late_package", NAME, f"{NAME}.part"):
        monkeypatch.setitem(sys.modules, name, sys)  # removed at the end
        del sys.modules[name]
    inside = tmp_path / "late_package" / "inside"
    inside.mkdir(parents=True)
    (inside.parent / "__init__.py").write_text("runs = []\nfails = []\n")
    (inside / "__init__.py").write_text(
        "import time\nimport late_package\nfrom . import part\n"
        "if late_package.fails: raise ImportError(late_package.fails.pop())\n"
        "late_package.runs.append(__name__)\ntime.sleep(0.05)\nanswer = part.half * 2\n"
    )
    (inside / "part.py").write_text("half = 21\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return import_module("late_package")


def test_it_runs_at_the_first_look(package: Any) -> None:
    put_off(NAME)
    late: Any = import_module(NAME)
    part: Any = import_module(f"{NAME}.part")
    assert (part.half, package.runs) == (21, [])
    assert package.inside is late is sys.modules[NAME]
    names: dict[str, Any] = {}
    exec(f"from {NAME} import answer", names)
    assert (names["answer"], package.runs) == (42, [NAME])
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = late.other
    assert (late.answer, type(late), package.runs) == (42, type(sys), [NAME])


def test_one_that_is_there_stays(package: Any) -> None:
    there = import_module(NAME)
    put_off(NAME)
    assert import_module(NAME) is there
    assert package.runs == [NAME]


def test_threads_run_it_once(package: Any) -> None:
    put_off(NAME)
    found: list[int] = []
    late: Any = import_module(NAME)
    threads = [threading.Thread(target=lambda: found.append(late.answer)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [42] * 4
    assert package.runs == [NAME]


def test_one_that_fails_is_tried_again(package: Any) -> None:
    put_off(NAME)
    package.fails.append("not today")
    late: Any = import_module(NAME)
    with pytest.raises(ImportError, match="not today"):
        _ = late.answer
    assert late.answer == 42


def test_one_that_is_not_there_is_left_to_the_import(package: Any) -> None:
    put_off(f"{NAME}s")
    assert f"{NAME}s" not in sys.modules


def test_resources_work_as_ever() -> None:
    program = """
import sys
from lapilli.ir.late_modules import put_off_resources
put_off_resources()
import importlib.abc, importlib.resources
assert sys.version_info >= (3, 12) or "tempfile" not in sys.modules
assert importlib.resources.files("lapilli").joinpath("__init__.py").is_file()
assert importlib.resources.as_file is sys.modules["importlib.resources"].as_file
assert type(importlib.resources) is type(sys)
"""
    subprocess.run((sys.executable, "-c", program), check=True)
