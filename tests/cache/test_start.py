"""What a program loads before its first result, and when: what keeps a start short without measuring time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapilli.vk_runtime.runtime import runtime

from .conftest import runner

PROGRAM = """
import sys, threading
import numpy as np, lapilli as lp

loaded, beside = {}, {}

def note(stage):
    loaded[stage] = sorted(sys.modules)

@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]

note("decorated")
from lapilli.vk_runtime import runtime

side_by_side = runtime.side_by_side

def watched(work, meanwhile):
    def opened():
        result = work()
        beside["thread"] = threading.current_thread().name
        return result
    def imported():
        before = set(sys.modules)
        meanwhile()
        beside["modules"] = sorted(set(sys.modules) - before)
        beside["libraries"] = [
            name for name in beside["modules"]
            if (getattr(sys.modules[name], "__file__", None) or "").endswith((".so", ".pyd"))
        ]
    return side_by_side(opened, imported)

runtime.side_by_side = watched
x = lp.asarray(np.arange(1000, dtype=np.float32))
y = lp.zeros_like(x)
note("arrays")
sys.modules["lapilli.frontend.first_launch"].in_the_wait.clear()  # what the next kernel may need does not count
saxpy[x.size](2.0, x, y)
assert np.asarray(y)[3] == 6.0
note("launched")
import atexit, json
from lapilli.vk_runtime.runtime import runtime

def say():
    note("ended")
    print(json.dumps({"loaded": loaded, "beside": beside}))

atexit.unregister(runtime().close)
atexit.register(say)
atexit.register(runtime().close)
"""


Found = dict[str, dict[str, list[str]]]
"""Lists of modules, by what they are and when."""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What the program said when its kernel was in the cache."""
    if not runtime().devices:
        pytest.skip("no Vulkan device")
    folder: Path = tmp_path_factory.mktemp("start")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    run = runner(folder)
    run(program)
    return json.loads(run(program))


@pytest.fixture(scope="module")
def uncached(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What the program said when there was no cache."""
    if not runtime().devices:
        pytest.skip("no Vulkan device")
    program = tmp_path_factory.mktemp("start") / "program.py"
    program.write_text('import os\nos.environ |= {"LAPILLI_CACHE": "0", "LAPILLI_VERIFY": "0"}\n' + PROGRAM)
    return json.loads(runner(program.parent)(program))


def own(modules: list[str]) -> set[str]:
    return {name.removeprefix("lapilli.") for name in modules if name.startswith("lapilli.")}


def test_annotations_load_no_runtime(start: Found) -> None:
    decorated = own(start["loaded"]["decorated"])
    assert "vk_runtime.array" in decorated
    assert decorated.isdisjoint({"vk_runtime.headers", "vk_runtime.logical_device", "vk_runtime.queue"})
    assert "ir.kernel_info" not in decorated


def test_what_a_launch_needs_is_imported_while_the_drivers_start(
    start: Found,
) -> None:
    beside = start["beside"]
    assert beside["thread"] == "lapilli-start"
    assert own(beside["modules"]) >= {
        "vk_runtime.physical_device",
        "vk_runtime.logical_device",
        "vk_runtime.transfer",
        "frontend.launch",
    }
    # One that is a library would wait for the driver's.
    assert beside["libraries"] == []
    assert own(start["loaded"]["launched"]) == own(start["loaded"]["arrays"])


def test_a_launch_from_the_cache_loads_little(start: Found) -> None:
    launched = set(start["loaded"]["launched"])
    assert launched.isdisjoint(
        {
            "xdsl",
            "hashlib",
            "zlib",
            "vulkan",
            "rich",
            "pandas",
            "asyncio",
            "logging",
            "lapilli.ir.lpk_records",
        }
    )
    assert len(own(start["loaded"]["launched"])) <= 147  # 146; each costs 0.1 to 0.3 ms


def test_the_end_of_a_program_loads_next_to_nothing(start: Found) -> None:
    assert own(start["loaded"]["ended"]) - own(start["loaded"]["launched"]) <= {
        "vk_runtime.quiet",
        "vk_runtime.profile",
    }


def test_without_a_cache_the_compiler_is_imported_while_the_drivers_start(uncached: Found) -> None:
    beside = uncached["beside"]
    assert set(beside["modules"]) >= {
        "xdsl.dialects.builtin",
        "lapilli.passes.pipeline",
        "lapilli.frontend.builder",
    }
    assert beside["libraries"] == []
    # What xDSL imports of the standard library and nobody uses.
    assert set(uncached["loaded"]["launched"]).isdisjoint(
        {"tempfile", "shutil", "random", "bz2", "lzma", "traceback"}
    )
    assert len(uncached["loaded"]["launched"]) - len(uncached["loaded"]["arrays"]) <= 6


def test_a_first_compilation_loads_few_modules(uncached: Found) -> None:
    launched = uncached["loaded"]["launched"]
    assert len(own(launched)) <= 351  # 349
    assert sum(name.startswith("xdsl.") for name in launched) <= 53  # 51
    assert set(launched).isdisjoint(
        {"xdsl.parser.core", "xdsl.dialects.math", "xdsl.dialects.ub", "xdsl.builder"}
    )
