"""The passes on whole functions: input and output side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import OPTIMISATION_PASSES
from lapilli.passes.optimise.pipeline import optimise
from lapilli.passes.registry import pass_factory
from tests.passes.optimise.pass_cases import CASES

After = Callable[[str, str], str]
Text = Callable[[str], str]


@pytest.mark.parametrize("case", CASES, ids=": ".join)
def test_pass(after: After, normal: Text, case: tuple[str, str]) -> None:
    text, expected = CASES[case]
    assert after(case[0], text) == normal(text if expected is None else expected)


def test_invariants_leave_loops(optimised: Text, normal: Text) -> None:
    text = """
    func.func @f(%x : memref<?xi32>, %a : i32, %b : i32, %n : index, %s : index) {
      scf.for %i = %n to %s step %n {
        scf.for %j = %n to %s step %n {
          %p = arith.muli %a, %b : i32
          %q = arith.divsi %a, %b : i32
          %r = arith.addi %p, %q : i32
          memref.store %r, %x[%j] : memref<?xi32>
        }
      }
      func.return
    }"""
    expected = """
    func.func @f(%x : memref<?xi32>, %a : i32, %b : i32, %n : index, %s : index) {
      %p = arith.muli %a, %b : i32
      scf.for %i = %n to %s step %n {
        scf.for %j = %n to %s step %n {
          %q = arith.divsi %a, %b : i32
          %r = arith.addi %p, %q : i32
          memref.store %r, %x[%j] : memref<?xi32>
        }
      }
      func.return
    }"""
    assert optimised(text) == normal(expected)


@pytest.mark.parametrize("name", ["SDiv", "UDiv", "SRem", "SMod", "UMod"])
def test_spirv_divisions_stay_behind_their_guard(optimised: Text, normal: Text, name: str) -> None:
    """A loop may run no times because the divisor is 0."""
    text = f"""
    func.func @f(%x : memref<?xi32>, %a : i32, %b : i32, %n : index, %s : index) {{
      scf.for %j = %n to %s step %n {{
        %q = "spirv.{name}"(%a, %b) : (i32, i32) -> i32
        memref.store %q, %x[%j] : memref<?xi32>
      }}
      func.return
    }}"""
    assert optimised(text) == normal(text)


def test_level_0_changes_nothing(optimised: Callable[..., str], normal: Text) -> None:
    for text, _ in CASES.values():
        assert optimised(text, 0) == normal(text)


def test_locations_survive() -> None:
    text = """
    func.func @f(%a : i32) -> i32 {
      %b = arith.constant 2 : i32 loc("k.py":1:2)
      %c = arith.constant 3 : i32 loc("k.py":2:2)
      %d = arith.muli %b, %c : i32 loc("k.py":3:2)
      %e = arith.addi %a, %d : i32 loc("k.py":4:2)
      func.return %e : i32
    }"""
    module = parse_module(text, context=make_context()).module
    optimise(module, 1)
    lines: dict[str, int] = {}
    for op in module.walk():
        location: Any = op.location
        if op.name.startswith("arith"):
            lines[op.name] = location.line.data
    assert lines == {"arith.constant": 3, "arith.addi": 4}


def test_names_of_passes() -> None:
    for name in OPTIMISATION_PASSES:
        assert pass_factory(name)().name == name
