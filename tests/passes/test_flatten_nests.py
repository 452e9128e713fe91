"""Nests of loops that become one loop, which stay, and how often it is unrolled."""

from __future__ import annotations

import pytest

from tests.passes.running import run

NEST = """
        func.func @f(%n : i32, %m : i32, %a : memref<?xi32>) -> i32 {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %at = arith.constant 0 : index
          %r = scf.for %i = %zero to %n step %one iter_args(%t = %zero) -> (i32) : i32 {{
            %p = arith.muli %i, %m : i32
            {between}
            %q = scf.for %j = %zero to %m step %one iter_args(%u = %t) -> (i32) : i32 {{
              %v = arith.xori %u, %p : i32
              {inside}
              scf.yield %v : i32
            }}
            scf.yield %q : i32
          }}
          func.return %r : i32
        }}
        func.func private @g()"""


def test_a_nest_becomes_one_loop() -> None:
    found = run(NEST.format(between="", inside=""), "flatten-nests")
    assert found.count("scf.while") == 1
    assert "scf.for" not in found
    assert "scf.if" not in found  # all that it computes may be computed in any round


def test_what_has_effects_runs_where_it_did() -> None:
    store = "memref.store %v, %a[%at] : memref<?xi32>"
    found = run(NEST.format(between="", inside=store), "flatten-nests")
    assert found.count("scf.while") == found.count("memref.store") == 1
    branch = found.index("scf.if")
    assert branch < found.index("memref.store")


@pytest.mark.parametrize(
    "between",
    [
        '"gpu.barrier"() : () -> ()',
        "func.call @g() : () -> ()",
        "%s = memref.alloca() : memref<4xi32>",
    ],
)
def test_nests_that_stay(between: str) -> None:
    found = run(NEST.format(between=between, inside=""), "flatten-nests")
    assert found.count("scf.for") == 2


def test_a_single_loop_stays() -> None:
    once = run(NEST.format(between="", inside=""), "flatten-nests")
    assert run(once, "flatten-nests") == once


def test_a_flat_nest_is_unrolled_without_tests() -> None:
    text = NEST.format(between="", inside="").replace("attributes", "")
    kernel = text.replace("-> i32 {\n          %zero", "-> i32 attributes {gpu.kernel} {\n          %zero", 1)
    kernel = kernel.replace("-> i32 attributes", "attributes", 1).replace(
        "func.return %r : i32",
        """
          memref.store %r, %a[%at] : memref<?xi32>
          func.return""",
    )
    found = run(kernel, "limit-loops{cap=1000 level=2}")
    assert found.count("scf.while") == 1
    assert found.count("arith.muli") == 256
    assert "flattened" not in found
