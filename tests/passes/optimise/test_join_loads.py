"""join-loads: which loads become one, and what must keep them apart."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

After = Callable[[str, str], str]

HEAD = """
func.func @k(%a: memref<?x?xf32>, %out: memref<?xf32>, %n: index) attributes {gpu.kernel, kernel.rank = 1 : i32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
"""


def kernel(body: str, head: str = HEAD) -> str:
    return f"{head}{body}\n  func.return\n}}"


def loop(body: str) -> str:
    return f"scf.for %k = %c0 to %n step %c1 {{ {body} }}"


def loads(row: str, *columns: int) -> str:
    return "".join(f"\n%{row}{c} = memref.load %a[%{row}, %c{c}] : memref<?x?xf32>" for c in columns)


def used(row: str, *columns: int) -> str:
    return "".join(f"\nmemref.store %{row}{c}, %out[%{row}] : memref<?xf32>" for c in columns)


def test_a_row_of_four(after: After, normal: Callable[[str], str]) -> None:
    text = kernel(loop(loads("k", 0, 1, 2, 3) + used("k", 0, 3)))
    joined = """
  %last = arith.constant 1 : index
  %columns = memref.dim %a, %last : memref<?x?xf32>
  %mask = arith.constant 3 : index
  %rest = arith.andi %columns, %mask : index
  %none = arith.constant 0 : index
  %whole = arith.cmpi eq, %rest, %none : index
  scf.if %whole {
    scf.for %k = %c0 to %n step %c1 {
      %start = arith.constant 0 : index
      %v = "kernel.load_wide"(%a, %k, %start) : (memref<?x?xf32>, index, index) -> vector<4xf32>
      %k0 = "spirv.CompositeExtract"(%v) <{indices = [0 : i32]}> : (vector<4xf32>) -> f32
      %k1 = "spirv.CompositeExtract"(%v) <{indices = [1 : i32]}> : (vector<4xf32>) -> f32
      %k2 = "spirv.CompositeExtract"(%v) <{indices = [2 : i32]}> : (vector<4xf32>) -> f32
      %k3 = "spirv.CompositeExtract"(%v) <{indices = [3 : i32]}> : (vector<4xf32>) -> f32
      memref.store %k0, %out[%k] : memref<?xf32>
      memref.store %k3, %out[%k] : memref<?xf32>
    }
  } else {
    LOOP
  }"""
    plain = loop(loads("k", 0, 1, 2, 3) + used("k", 0, 3))
    expected = normal(kernel(joined.replace("LOOP", plain)))
    assert unnamed(after("join-loads", text)) == unnamed(expected)


def unnamed(text: str) -> str:
    """With values numbered in the order in which they appear."""
    names: dict[str, str] = {}
    return re.sub(r"%\w+", lambda found: names.setdefault(found[0], f"%{len(names)}"), text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (loop(loads("k", 0, 1, 2, 3) + used("k", 0)), 1),
        (loop(loads("k", 1, 2, 3) + used("k", 1)), 1),
        (loop(loads("k", 0, 3) + used("k", 0)), 0),  # two of four
        (loop(loads("k", 0, 1, 2) + used("k", 0)), 0),  # rows of three, perhaps
        (loads("n", 0, 1, 2, 3) + used("n", 0), 0),  # once
        (loop(loads("k", 0, 1) + used("k", 0) + loads("k", 2, 3)), 0),  # a store between them
        (loop(loads("k", 0, 1) + '\n"gpu.barrier"() : () -> ()\n' + loads("k", 2, 3)), 0),
        (loop(loads("k", 0, 1, 2, 3) + used("k", 0) + loads("n", 0, 1, 2, 3) + used("n", 1)), 2),
        (loop(loop(loads("n", 0, 1, 2, 3) + used("n", 1)).replace("%k", "%m")), 1),
    ],
)
def test_what_is_joined(after: After, body: str, expected: int) -> None:
    text = after("join-loads", kernel(body))
    assert text.count("kernel.load_wide") == expected
    assert text.count("scf.if") == min(expected, 1)


def test_helpers_and_known_shapes(after: After) -> None:
    body = loop(loads("k", 0, 1, 2, 3) + used("k", 0))
    assert "load_wide" not in after("join-loads", kernel(body, HEAD.replace("gpu.kernel, ", "")))
    shared = body.replace("?x?xf32", "?x?xi1").replace(": memref<?xf32>", ": memref<?xi1>")
    head = HEAD.replace("?x?xf32", "?x?xi1").replace("?xf32", "?xi1")
    assert "load_wide" not in after("join-loads", kernel(shared, head))


def test_a_long_loop_is_not_doubled(after: After) -> None:
    many = "".join(f"\n%x{i + 1} = arith.addf %x{i}, %k1 : f32" for i in range(400)).replace("%x0,", "%k0,")
    assert "load_wide" not in after("join-loads", kernel(loop(loads("k", 0, 1, 2, 3) + many + used("k", 0))))


def test_results_of_loops(after: After) -> None:
    """Two arrays: both must suit."""
    head = HEAD.replace("%n: index", "%b: memref<?x?xf32>, %n: index")
    body = f"""
  %z = arith.constant 0.0 : f32
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %z) -> (f32) {{
    {loads("k", 0, 1, 2, 3)}
    {
        loads("k", 0, 1, 2, 3)
        .replace("%a[", "%b[")
        .replace("%k0 =", "%j0 =")
        .replace("%k1 =", "%j1 =")
        .replace("%k2 =", "%j2 =")
        .replace("%k3 =", "%j3 =")
    }
    %u = arith.addf %t, %j3 : f32
    scf.yield %u : f32
  }}
  memref.store %s, %out[%c0] : memref<?xf32>"""
    text = after("join-loads", kernel(body, head))
    assert text.count("kernel.load_wide") == 2
    assert text.count("memref.dim") == 2
    assert "arith.andi" in text
    assert "= scf.if" in text
