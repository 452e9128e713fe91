"""Truth values that loops carry have no ends that could be hidden from a driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.target_env import TargetEnv

Fixture = Callable[..., Any]
LOOP = """
      %start = arith.constant true
      %end = arith.constant false
      %none = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      %one = arith.constant 1 : i32
      %last = scf.for %k = %none to %three step %one iter_args(%v = %start) -> (i1) : i32 {{
        %test = arith.cmpi {predicate}, %v, %end : i1
        %next = arith.select %test, %end, %start : i1
        scf.yield %next : i1
      }}
      %n = arith.extui %last : i1 to i32
      memref.store %n, %x[%i] : memref<?xi32>"""


@pytest.mark.parametrize("flag", ["loses_last_rounds", "divides_rounds"])
@pytest.mark.parametrize("predicate", ["eq", "slt", "sge", "ult"])
def test_truth_values_stay(lower: Fixture, kernel: Fixture, predicate: str, flag: str) -> None:
    text = kernel(LOOP.format(predicate=predicate), "%x : memref<?xi32>")
    env = TargetEnv(**{flag: True})
    assert lower(text, env).names() == lower(text, TargetEnv()).names()
