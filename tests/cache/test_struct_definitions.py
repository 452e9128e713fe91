"""Struct definitions are part of what a stored kernel depends on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapilli.vk_runtime.runtime import runtime

from .conftest import Run

PROGRAM = """
import json, sys
sys.dont_write_bytecode = True
import numpy as np
import lapilli as lp

@lp.struct
class Inner:
    n: lp.{inner} = {default}

@lp.struct
class Outer:
    {members}

@lp.struct
class Result:
    value: lp.{result} = 1

ORIGIN = lp.SpecializationId(Inner, Inner({value}))

def helper(v: Outer):
    return v.x + v.inner.n

@lp.kernel
def compute(out: lp.Array[lp.f32], given: Outer):
    made = Outer(x=2.0)
    out[0] = helper(made) + Result().value + ORIGIN.n + given.x

out = lp.zeros(1)
with lp.trace() as trace:
    compute[1](out, Outer(x=0.5))
print(json.dumps(dict(
    result=float(out.numpy()[0]), compiles=trace.count("compile"), hits=trace.count("cache_hit")
)))
"""
PLAIN = {
    "inner": "i32",
    "default": "3",
    "members": "x: lp.f32; inner: Inner",
    "result": "i32",
    "value": "0",
}


def results(run: Run, folder: Path, **changes: str) -> dict[str, object]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(**{**PLAIN, **changes}))
    return json.loads(run(program))


@pytest.fixture(autouse=True)
def first(tmp_path: Path, run: Run) -> None:
    if not runtime().devices:
        pytest.skip("no Vulkan device")
    assert results(run, tmp_path) == {"result": 6.5, "compiles": 1, "hits": 0}


def test_equal_definitions_hit(tmp_path: Path, run: Run) -> None:
    assert results(run, tmp_path) == {"result": 6.5, "compiles": 0, "hits": 1}


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        pytest.param({"default": "4"}, 7.5, id="default of a nested member"),
        pytest.param({"result": "f32"}, 6.5, id="type of a member"),
        pytest.param({"members": "inner: Inner; x: lp.f32"}, 6.5, id="order of the members"),
        pytest.param({"members": "x: lp.f32; inner: Inner; v: lp.f32x4"}, 6.5, id="another member"),
        pytest.param({"members": "x: lp.Aligned[lp.f32, 16]; inner: Inner"}, 6.5, id="alignment"),
        pytest.param({"members": "x: lp.f32; inner: Inner = Inner(8)"}, 11.5, id="default of a struct"),
        pytest.param({"value": "2"}, 8.5, id="value of a constant"),
    ],
)
def test_a_changed_definition_is_compiled(
    tmp_path: Path, run: Run, changes: dict[str, str], result: float
) -> None:
    found = results(run, tmp_path, **changes)
    assert found == {"result": result, "compiles": 1, "hits": 0}
    assert results(run, tmp_path) == {"result": 6.5, "compiles": 0, "hits": 1}
