"""Floats that loops begin with are values that a driver does not know, where its environment says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.target_env import TargetEnv

Fixture = Callable[..., Any]
HIDES = TargetEnv(folds_zeros=True)
HIDING = ("ShiftRightLogical", "BitwiseOr", "Bitcast", "INotEqual", "Select")


def while_loop(start: str, type_: str = "f32") -> str:
    return f"""
      %start = arith.constant {start} : {type_}
      %limit = arith.constant 4.0 : {type_}
      %end = scf.while (%v = %start) : ({type_}) -> {type_} {{
        %goes_on = arith.cmpf olt, %v, %limit : {type_}
        scf.condition(%goes_on) %v : {type_}
      }} do {{
      ^bb0(%w : {type_}):
        %next = arith.addf %w, %limit : {type_}
        scf.yield %next : {type_}
      }}
      memref.store %end, %x[%i] : memref<?x{type_}>"""


FOR_LOOP = """
      %start = arith.constant 0.0 : f32
      %none = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      %one = arith.constant 1 : i32
      %end:2 = scf.for %k = %none to %three step %one iter_args(%v = %start, %n = %none) -> (f32, i32) : i32 {
        %next = arith.addf %v, %v : f32
        %more = arith.addi %n, %k : i32
        scf.yield %next, %more : f32, i32
      }
      memref.store %end#0, %x[%i] : memref<?xf32>"""


def hiding(lower: Fixture, text: str, env: TargetEnv = HIDES) -> list[str]:
    """Returns the instructions before the loop that may hide something."""
    names = lower(text, env).names()
    return [name for name in names[: names.index("mlir.loop")] if name in HIDING]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("0.0", ["ShiftRightLogical", "Bitcast"]),
        ("1.5", ["ShiftRightLogical", "BitwiseOr", "Bitcast"]),
        ("-0.0", ["ShiftRightLogical", "BitwiseOr", "Bitcast"]),
    ],
)
def test_floats_are_hidden(lower: Fixture, kernel: Fixture, start: str, expected: list[str]) -> None:
    assert hiding(lower, kernel(while_loop(start), "%x : memref<?xf32>")) == expected


def test_loops_over_ranges_hide_floats_and_no_integers(lower: Fixture, kernel: Fixture) -> None:
    assert hiding(lower, kernel(FOR_LOOP, "%x : memref<?xf32>")) == ["ShiftRightLogical", "Bitcast"]


def test_other_widths_are_selected(lower: Fixture, kernel: Fixture) -> None:
    text = kernel(while_loop("0.0", "f64"), "%x : memref<?xf64>")
    assert hiding(lower, text) == ["ShiftRightLogical", "INotEqual", "Select"]


def test_ids_of_64_bits(lower: Fixture, kernel: Fixture) -> None:
    text = kernel(while_loop("0.0"), "%x : memref<?xf32>", ", kernel.wide")
    assert hiding(lower, text)[-2:] == ["ShiftRightLogical", "Bitcast"]


def test_other_drivers_know_them(lower: Fixture, kernel: Fixture) -> None:
    assert not hiding(lower, kernel(while_loop("0.0"), "%x : memref<?xf32>"), TargetEnv())
