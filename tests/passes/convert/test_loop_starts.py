"""Floats that a loop tests begin with values that a driver does not know, where its environment says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.target_env import TargetEnv

Fixture = Callable[..., Any]
HIDES = TargetEnv(hides_loop_starts=True)


def loop(start: str, type_: str = "f32") -> str:
    return f"""
      %start = arith.constant {start} : {type_}
      %limit = arith.constant 4.0 : {type_}
      %kept = arith.constant 1.0 : {type_}
      %end:2 = scf.while (%v = %start, %u = %kept) : ({type_}, {type_}) -> ({type_}, {type_}) {{
        %square = arith.mulf %v, %v : {type_}
        %goes_on = arith.cmpf olt, %square, %limit : {type_}
        scf.condition(%goes_on) %v, %u : {type_}, {type_}
      }} do {{
      ^bb0(%w : {type_}, %t : {type_}):
        %next = arith.addf %w, %t : {type_}
        scf.yield %next, %t : {type_}, {type_}
      }}
      memref.store %end#0, %x[%i] : memref<?x{type_}>"""


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("0.0", ["ShiftRightLogical", "Bitcast"]),
        ("1.5", ["ShiftRightLogical", "BitwiseOr", "Bitcast"]),
        ("-0.0", ["ShiftRightLogical", "BitwiseOr", "Bitcast"]),
    ],
)
def test_what_the_test_computes_with_is_hidden(
    lower: Fixture, kernel: Fixture, start: str, expected: list[str]
) -> None:
    names = lower(kernel(loop(start), "%x : memref<?xf32>"), HIDES).names()
    before = names[: names.index("mlir.loop")]
    assert [name for name in before if name in ("ShiftRightLogical", "BitwiseOr", "Bitcast")] == expected


@pytest.mark.parametrize(
    ("attributes", "type_", "env"),
    [("", "f32", TargetEnv()), ("", "f64", HIDES), (", kernel.wide", "f32", HIDES)],
    ids=["other drivers", "f64", "64-bit ids"],
)
def test_all_else_begins_with_constants(
    lower: Fixture, kernel: Fixture, attributes: str, type_: str, env: TargetEnv
) -> None:
    text = kernel(loop("0.0", type_), f"%x : memref<?x{type_}>", attributes)
    assert "Bitcast" not in lower(text, env).names()
