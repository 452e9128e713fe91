"""A stored kernel is used only where everything that decided about its code is as it was."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lapilli.frontend import compiler_version
from lapilli.vk_runtime.runtime import runtime

from .conftest import runner

PROGRAM = """
import json, os, sys
sys.dont_write_bytecode = True
{before}
import numpy as np
import lapilli as lp
{header}

def helper(v, k={default}):
    return v * k

@lp.kernel({options})
def scale(x: lp.Array[lp.f32], by: lp.f32 = {by}):
    i = lp.global_id(0)
    x[i] = helper(x[i]) + by + lp.math.floor(lp.math.exp(x[i] * 0.0))

x = lp.asarray(np.full(4, 3.0, np.float32), device={device})
with lp.trace() as trace:
    scale[4](x)
print(json.dumps(dict(
    result=float(x.numpy()[1]), compiles=trace.count("compile"), hits=trace.count("cache_hit")
)))
"""
PLAIN = {"before": "", "header": "", "default": "2.0", "options": "", "by": "0.0", "device": "None"}


Results = Callable[..., dict[str, object]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Returns a function that runs the program with changes, all with one cache, which has the plain program."""
    if not runtime().devices:
        pytest.skip("no Vulkan device")
    folder = tmp_path_factory.mktemp("keys")
    run = runner(folder)

    def results_of(**changes: str) -> dict[str, object]:
        program = folder / "program.py"
        program.write_text(PROGRAM.format(**{**PLAIN, **changes}))
        return json.loads(run(program))

    assert results_of() == {"result": 7.0, "compiles": 1, "hits": 0}
    return results_of


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        pytest.param({"default": "3.0"}, 10.0, id="default argument of a helper"),
        pytest.param({"default": "2"}, 7.0, id="type of a default argument"),
        pytest.param({"by": "1.0"}, 8.0, id="default argument of the kernel"),
        pytest.param({"options": "opt_level=0"}, 7.0, id="option of the kernel"),
        pytest.param({"options": 'math_accuracy="high"'}, 7.0, id="accuracy"),
        pytest.param({"options": "local_size=4"}, 7.0, id="local size"),
        pytest.param({"options": "debug=True"}, 7.0, id="debug mode of the kernel"),
        pytest.param({"before": "os.environ['LAPILLI_DEBUG'] = '1'"}, 7.0, id="debug mode of the process"),
        pytest.param({"header": "lp.compile_options(debug=True)"}, 7.0, id="debug mode of the module"),
        pytest.param({"header": "lp.compile_options(opt_level=2)"}, 7.0, id="options of the module"),
        pytest.param({"header": "sys.version += '+'"}, 7.0, id="another Python"),
        pytest.param({"header": "lp.__version__ += '.post1'"}, 7.0, id="another lapilli"),
        pytest.param(
            {"device": "lp.device().masked(limits=dict(maxPushConstantsSize=0))"},
            7.0,
            id="a limit of the device",
        ),
    ],
)
def test_a_change_compiles_it_again(results: Results, changes: dict[str, str], result: float) -> None:
    assert results(**changes) == {"result": result, "compiles": 1, "hits": 0}


def test_the_same_code_serves_a_device_of_other_features_that_the_kernel_does_not_ask_for(
    results: Results,
) -> None:
    masked = "lp.device().masked(without=[lp.Aspect.VK_SUBGROUP_BASIC])"
    assert results(device=masked) == {"result": 7.0, "compiles": 0, "hits": 1}


def test_the_compiler_s_text_follows_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lapilli"
    for folder in (*compiler_version.FOLDERS, "passes/optimise"):
        (package / folder).mkdir(parents=True)
        (package / folder / "file.py").write_text("a = 1\n")
    monkeypatch.setattr(compiler_version, "__file__", str(package / "frontend" / "compiler_version.py"))
    version = compiler_version.compiler_version.__wrapped__
    before = version()
    assert version() == before
    changed = package / "passes" / "optimise" / "file.py"
    status = changed.stat()
    changed.write_text("a = 2\n")
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    after = version()
    assert after != before
    (package / "ir" / "new.py").touch()
    assert version() not in (before, after)


def test_the_compiler_s_text_in_a_frozen_program_is_that_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = set[str]()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    for run in ("first", "second"):  # each unpacks the program's files into a folder of its own
        unpacked = tmp_path / run / "lapilli" / "frontend" / "compiler_version.py"
        unpacked.parent.mkdir(parents=True)
        unpacked.touch()
        monkeypatch.setattr(compiler_version, "__file__", str(unpacked))
        versions.add(compiler_version.compiler_version.__wrapped__())
    assert len(versions) == 1
