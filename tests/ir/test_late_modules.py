"""Modules that are run at their first use."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from lapilli.ir.late_modules import LateName, late_names, put_off

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


HOLDER = f"""
from {NAME} import Number, answer as found

def of(number: Number, part: tuple[Number.Part, ...]) -> Number:
    return Number(3)

def is_number(value: object) -> bool:
    return isinstance(value, Number)
"""


@pytest.fixture
def holder(package: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that has imported names of `NAME`, which has not run."""
    inside = Path(package.__path__[0]) / "inside" / "__init__.py"
    inside.write_text(inside.read_text() + "class Number(int):\n    class Part: ...\n")
    (inside.parent.parent / "holder.py").write_text(HOLDER)
    monkeypatch.setitem(sys.modules, "late_package.holder", sys)  # removed at the end
    del sys.modules["late_package.holder"]
    with late_names(NAME):
        made = import_module("late_package.holder")
    assert package.runs == []
    assert isinstance(vars(made)["found"], LateName)
    return made


def test_what_holds_a_late_name_gets_what_it_stands_for(package: Any, holder: Any) -> None:
    assert holder.of(None, ()) == 3
    late: Any = sys.modules[NAME]
    assert (holder.found, holder.Number, type(late), package.runs) == (42, late.Number, type(sys), [NAME])


def test_a_late_name_is_asked_for_its_objects(package: Any, holder: Any) -> None:
    assert not holder.is_number(3)
    assert package.runs == [NAME]
    assert holder.is_number(holder.Number(3))


def test_a_late_name_that_was_kept_elsewhere_stands_for_it_still(package: Any, holder: Any) -> None:
    number: Any = holder.Number
    names: dict[str, Any] = {"number": number}
    exec("class Again(number): ...", names)
    assert names["Again"].__mro__[1] is holder.Number
    assert package.runs == [NAME]
    assert issubclass(names["Again"], number) and isinstance(names["Again"](4), number)
    assert (number(5), number.from_bytes(b"a", "big"), str | number) == (5, 97, str | holder.Number)


def test_what_uses_a_late_name_at_once_runs_the_module(package: Any, holder: Any) -> None:
    names: dict[str, Any] = {}
    with late_names(NAME):
        exec(f"from {NAME} import Number\nclass Derived(Number): ...\nmade = Number(2)", names)
    assert (names["made"], names["Derived"].__mro__[1] is holder.Number, package.runs) == (2, True, [NAME])


def test_other_threads_get_the_names_themselves(package: Any) -> None:
    names: dict[str, Any] = {}
    with late_names(NAME):
        thread = threading.Thread(target=lambda: exec(f"from {NAME} import answer", names))
        thread.start()
        thread.join()
    assert names["answer"] == 42


def test_everything_is_taken_of_a_module_that_has_run(package: Any) -> None:
    names: dict[str, Any] = {}
    with late_names(NAME):
        exec(f"from {NAME} import *", names)
    assert names["answer"] == 42


THREADS = """
import threading
from importlib import import_module
from lapilli.ir.late_modules import put_off

found = []
def look(module, name):
    try:
        found.append(getattr(import_module(module), name))
    except (AttributeError, ImportError):
        found.append(None)

for name in LATE:
    put_off(name)
threads = [threading.Thread(target=look, args=args, daemon=True) for args in LOOKS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
assert not any(thread.is_alive() for thread in threads)
print(sorted(found, key=str))
"""


def _found_by_threads(folder: Path, first: str, second: str) -> str:
    """Has two threads look at ``threaded.first``, which is late, and at ``second`` at once."""
    package = folder / "threaded"
    package.mkdir()
    for name, body in (("first", first), ("second", second)):
        other = "second" if name == "first" else "first"
        head = f"import threaded\nthreaded.begun_{name}.set()\n"
        (package / f"{name}.py").write_text(f"{head}threaded.begun_{other}.wait(10)\n{body}")
    (package / "__init__.py").write_text(
        "from threading import Event\nbegun_first, begun_second = Event(), Event()\n"
    )
    (package / "third.py").write_text("name = 3\n")
    program = "LATE = 'threaded.first', 'threaded.third'\n"
    program += "LOOKS = ('threaded.first', 'name'), ('threaded.second', 'name')\n" + THREADS
    command = (sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}")
    ended = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    return ended.stdout.strip()


def test_threads_that_import_what_others_run_do_not_wait_for_each_other(tmp_path: Path) -> None:
    first = "from threaded.second import name as other\nname = other + 10\n"
    second = "from threaded.third import name as other\nname = other + 100\n"
    assert _found_by_threads(tmp_path, first, second) == "[103, 113]"


def test_threads_that_import_in_a_circle_end_as_with_other_modules(tmp_path: Path) -> None:
    first = "from threaded.second import name\n"
    second = "from threaded.first import name\n"
    assert _found_by_threads(tmp_path, first, second) == "[None, None]"


COMPILER = """
import sys
import lapilli as lp
from lapilli.frontend.compile import compile_kernels, load_compiler

load_compiler()
names = ("parser", "printer", "pattern_rewriter", "rewriter", "ir.affine", "utils.dialect_stub")
late = [sys.modules[f"xdsl.{name}"] for name in names]
text = "import lapilli as lp\\n@lp.kernel\\ndef k(x: lp.Array[lp.f32]):\\n    i = lp.global_id(0)\\n"
text += "    if x[i] > 2.0:\\n        x[i] = x[i] * 2.0\\n"
compile_kernels([lp.kernel_from_source(text, name="k")], rank=1)
assert not any(type(module) is type(sys) for module in late), late

from lapilli.ir.deferred_operations import _deferred
from lapilli.ir.dialects import spirv
from xdsl.context import Context
from xdsl.dialects import builtin, func, scf

assert {builtin.ModuleOp, spirv.BranchConditionalOp, func.FuncOp} <= _deferred.keys()

from xdsl.parser import Parser

assert func.Parser is scf.Parser is Parser, func.Parser
context = Context()
for dialect in (builtin.Builtin, func.Func, scf.Scf):
    context.load_dialect(dialect)
text = "func.func @f(%n: index) {\\n  scf.for %i = %n to %n step %n {\\n    scf.yield\\n  }\\n  func.return\\n}"
module = Parser(context, text).parse_module()
module.verify()
assert "scf.for" in str(module)
layout = "memref<4xf32, affine_map<(d0) -> (d0)>>"
assert str(Parser(context, layout).parse_type()) == layout
assert builtin.AffineMap is sys.modules["xdsl.ir.affine"].AffineMap
assert func.Printer is sys.modules["xdsl.printer"].Printer
"""


def test_the_compiler_leaves_parser_and_printer_until_they_are_used() -> None:
    environment = {**os.environ, "LAPILLI_VERIFY": "0"}  # which would define all classes
    subprocess.run((sys.executable, "-c", COMPILER), check=True, env=environment)


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
