"""Remainders of floats: which have loops, and how these are counted."""

from __future__ import annotations

import pytest

from tests.passes.running import run

KERNEL = """
        func.func @k(%x : memref<?x{t}>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
          %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
          %zero = arith.constant 0 : index
          %a = memref.load %x[%i] : memref<?x{t}>
          %b = memref.load %x[%zero] : memref<?x{t}>
          {body}
          memref.store %r, %x[%i] : memref<?x{t}>
          func.return
        }}"""
ONE = "%r = arith.remf %a, %b : {t}"
REPEATED = """
          %one = arith.constant 1 : index
          %n = memref.dim %x, %zero : memref<?xf32>
          %r = scf.for %j = %zero to %n step %one iter_args(%c = %a) -> (f32) {
            %d = arith.remf %c, %b : f32
            scf.yield %d : f32
          }"""


@pytest.mark.parametrize(("name", "loops"), [("f16", 0), ("bf16", 1), ("f32", 1), ("f64", 1)])
def test_one_loop_at_most_that_settles(name: str, loops: int) -> None:
    found = run(KERNEL.format(t=name, body=ONE.format(t=name)), "expand-remainders")
    assert "arith.remf" not in found
    assert found.count("scf.while") == found.count("kernel.settles") == loops


def test_rounds_that_stay_below_the_limit_are_not_counted() -> None:
    found = run(KERNEL.format(t="f32", body=ONE.format(t="f32")), "expand-remainders,limit-loops{cap=65535}")
    assert "count_rounds" not in found


def test_rounds_in_other_loops_are_counted() -> None:
    found = run(KERNEL.format(t="f32", body=REPEATED), "expand-remainders,limit-loops{cap=65535}")
    assert "count_rounds" in found and "check_rounds" in found


TWO = """
          %c = arith.mulf %b, %b : f32
          %d = arith.remf %a, %b : f32
          %e = arith.addf %a, %c : f32
          %f = arith.remf %e, {y} : f32
          %r = arith.addf %d, %f : f32"""


@pytest.mark.parametrize(("divisor", "loops"), [("%c", 1), ("%d", 2)])
def test_remainders_that_do_not_need_each_other_share_a_loop(divisor: str, loops: int) -> None:
    found = run(KERNEL.format(t="f32", body=TWO.format(y=divisor)), "expand-remainders")
    assert found.count("scf.while") == loops


def test_what_is_loaded_behind_a_store_stays_there() -> None:
    body = """
          %d = arith.remf %a, %b : f32
          memref.store %a, %x[%zero] : memref<?xf32>
          %e = memref.load %x[%i] : memref<?xf32>
          %r = arith.remf %e, %b : f32"""
    assert run(KERNEL.format(t="f32", body=body), "expand-remainders").count("scf.while") == 2
