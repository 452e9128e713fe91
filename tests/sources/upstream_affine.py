"""Kernels with affine loops, branches and accesses, and what each gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import WIDTH, Case

_HEAD = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %zero = arith.constant 0.0 : f32
    %row = memref.subview %y[%i, 0] [1, {WIDTH}] [1, 1]
      : memref<?x?xf32> to memref<{WIDTH}xf32, strided<[1], offset: ?>>
    %line = memref.subview %o[%i, 0] [1, {WIDTH}] [1, 1]
      : memref<?x?xi32> to memref<{WIDTH}xi32, strided<[1], offset: ?>>
"""
_ROW = f"memref<{WIDTH}xf32, strided<[1], offset: ?>>"
_LINE = f"memref<{WIDTH}xi32, strided<[1], offset: ?>>"


def _keep(value: str, position: int) -> str:
    """Returns what stores an index."""
    return f"""
    %as{position} = arith.index_cast {value} : index to i32
    affine.store %as{position}, %line[{position}] : {_LINE}
"""


def _expressions(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    results: list[int] = []
    for a in (int(n[0]), int(n[1])):
        results += [a % 5, a // 4, -(-a // 3), 2 * a - 7, min(a, 5, -a), max(a, 5, -a + 1), (a + 5) // 2 % 3]
    return [], results


_MAPS = (
    ("apply", "d0 mod 5"),
    ("apply", "d0 floordiv 4"),
    ("apply", "d0 ceildiv 3"),
    ("apply", "d0 * 2 - 7"),
    ("min", "d0, s0, -d0"),
    ("max", "d0, 5, -d0 + 1"),
    ("apply", "((d0 + s0) floordiv 2) mod 3"),
)
_RESULTS = ", ".join(["index"] * len(_MAPS))
# What upstream takes into affine expressions: the parameters of a function, constants and counters.
_EXPRESSIONS = (
    f"  func.func @expressions(%a: index, %c5: index) -> ({_RESULTS}) {{\n"
    + "".join(
        f"    %e{k} = affine.{word} affine_map<(d0)[s0] -> ({expression})>(%a)[%c5]\n"
        for k, (word, expression) in enumerate(_MAPS)
    )
    + f"    return {', '.join(f'%e{k}' for k in range(len(_MAPS)))} : {_RESULTS}\n  }}\n"
)


def _number(k: int) -> str:
    """Returns what reads a number of the work-item as an index."""
    return f"""
    %n{k} = affine.load %n[%i * 8 + {k}] : memref<?xi32>
    %a{k} = arith.index_cast %n{k} : i32 to index
"""


_AT = f"""{_number(3)}
    %c7 = arith.constant 7 : index
    %at = arith.andi %a3, %c7 : index
"""


def _loops(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    at = int(n[3]) & 7
    sums = [x[1:7].sum(), x[0:7:2].sum(), x[max(at, 2) : min(at + 4, 6)].sum() + 0.0, 0.0]
    pairs = [x[2 * j] * x[k] for j in range(2) for k in range(j, 3)]
    return [*sums, float(np.sum(pairs))], []


def _branches(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    found: list[Any] = []
    for a in (int(n[0]), int(n[1])):
        holds = a - 2 >= 0 and a % 2 == 0 and 5 - a >= 0
        found += [3 * a if holds else a - 1, 7 if a == 1 else 9]
    return [], found


def _parallel(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    at = int(n[3]) & 7
    return [
        *(2 * x[0:3]),
        x[0 : min(at, 5)].sum() + 0.0,
        x[:6:2].prod(),
        max(x[:4]),
        *x[4:8],
        x[2],
    ], [int(n[:4].prod()), int(n[:4].sum()), 29 // 12, 29 // 4 % 3, 29 % 4]


AFFINE: dict[str, Case] = {
    "affine_expressions": Case(
        _HEAD
        + "".join(
            f"{_number(k)}    %e{k}:7 = func.call @expressions(%a{k}, %c5) : (index, index) -> ({_RESULTS})\n"
            + "".join(_keep(f"%e{k}#{number}", 7 * k + number) for number in range(7))
            for k in range(2)
        ),
        _expressions,
        tail=_EXPRESSIONS,
    ),
    "affine_loops": Case(
        _HEAD
        + f"""
    %s0 = affine.for %j = 1 to 7 iter_args(%t = %zero) -> (f32) {{
      %v = affine.load %x[%j + symbol(%i) * 8] : memref<?xf32>
      %u = arith.addf %t, %v : f32
      affine.yield %u : f32
    }}
    affine.store %s0, %row[0] : {_ROW}
    %s1 = affine.for %j = 0 to 7 step 2 iter_args(%t = %zero) -> f32 {{
      %v = affine.load %x[%i * 8 + %j] : memref<?xf32>
      %u = arith.addf %t, %v : f32
      affine.yield %u : f32
    }}
    affine.store %s1, %row[1] : {_ROW}
    {_AT}
    %s2 = func.call @part(%at, %x, %i) : (index, memref<?xf32>, index) -> f32
    affine.store %s2, %row[2] : {_ROW}
    affine.for %j = 4 to %c1 {{
      %one = arith.constant 1.0 : f32
      affine.store %one, %row[3] : {_ROW}
    }}
    %s4 = affine.for %j = 0 to 2 iter_args(%t = %zero) -> (f32) {{
      %r = affine.for %k = affine_map<(d0) -> (d0)>(%j) to 3 iter_args(%q = %t) -> (f32) {{
        %v = affine.load %x[%i * 8 + %j * 2] : memref<?xf32>
        %w = affine.load %x[%i * 8 + %k] : memref<?xf32>
        %p = arith.mulf %v, %w : f32
        %u = arith.addf %q, %p : f32
        affine.yield %u : f32
      }}
      affine.yield %r : f32
    }}
    affine.store %s4, %row[4] : {_ROW}
""",
        _loops,
        tail="""
  func.func @part(%at: index, %x: memref<?xf32>, %k0: index) -> f32 {
    %zero = arith.constant 0.0 : f32
    %c6 = arith.constant 6 : index
    %s = affine.for %j = max affine_map<(d0) -> (d0, 2)>(%at) to min affine_map<(d0)[s0] -> (d0 + 4, s0)>(%at)[%c6]
      iter_args(%t = %zero) -> (f32) {
      %v = affine.load %x[%k0 * 8 + %j] : memref<?xf32>
      %u = arith.addf %t, %v : f32
      affine.yield %u : f32
    }
    return %s : f32
  }
""",
    ),
    "affine_branches": Case(
        _HEAD
        + "".join(
            f"""{_number(k)}
    %r{k}:2 = func.call @branches(%a{k}, %c5) : (index, index) -> (index, i32)
    {_keep(f"%r{k}#0", 2 * k)}
    affine.store %r{k}#1, %line[{2 * k + 1}] : {_LINE}
"""
            for k in range(2)
        ),
        _branches,
        tail="""
  func.func @branches(%a: index, %c5: index) -> (index, i32) {
    %r = affine.if affine_set<(d0)[s0] : (d0 - 2 >= 0, d0 mod 2 == 0, s0 - d0 >= 0)>(%a)[%c5] -> index {
      %t = affine.apply affine_map<(d0) -> (d0 * 3)>(%a)
      affine.yield %t : index
    } else {
      %t = affine.apply affine_map<(d0) -> (d0 - 1)>(%a)
      affine.yield %t : index
    }
    %own = memref.alloca() : memref<1xi32>
    %nine = arith.constant 9 : i32
    affine.store %nine, %own[0] : memref<1xi32>
    affine.if affine_set<(d0) : (d0 - 1 == 0)>(%a) {
      %seven = arith.constant 7 : i32
      affine.store %seven, %own[0] : memref<1xi32>
    }
    %found = affine.load %own[0] : memref<1xi32>
    return %r, %found : index, i32
  }
""",
    ),
    "affine_parallel": Case(
        _HEAD
        + f"""
    affine.parallel (%j) = (0) to (3) {{
      %v = affine.load %x[%i * 8 + %j] : memref<?xf32>
      %u = arith.addf %v, %v : f32
      affine.store %u, %row[%j] : {_ROW}
    }}
    {_AT}
    %s0 = func.call @sum(%at, %x, %i) : (index, memref<?xf32>, index) -> f32
    affine.store %s0, %row[3] : {_ROW}
    %s1 = affine.parallel (%j) = (0) to (6) step (2) reduce ("mulf") -> (f32) {{
      %v = affine.load %x[%i * 8 + %j] : memref<?xf32>
      affine.yield %v : f32
    }}
    affine.store %s1, %row[4] : {_ROW}
    %s2:3 = affine.parallel (%j) = (0) to (4) reduce ("maximumf", "muli", "addi") -> (f32, i32, i32) {{
      %v = affine.load %x[%i * 8 + %j] : memref<?xf32>
      %w = affine.load %n[%i * 8 + %j] : memref<?xi32>
      affine.yield %v, %w, %w : f32, i32, i32
    }}
    affine.store %s2#0, %row[5] : {_ROW}
    affine.store %s2#1, %line[0] : {_LINE}
    affine.store %s2#2, %line[1] : {_LINE}
    affine.prefetch %x[%i * 8], read, locality<3>, data : memref<?xf32>
    %four = affine.vector_load %x[%i * 8 + 4] : memref<?xf32>, vector<4xf32>
    affine.vector_store %four, %row[6] : {_ROW}, vector<4xf32>
    %two = affine.load %x[(%i + 1) * 8 - 6] : memref<?xf32>
    affine.store %two, %row[10] : {_ROW}
    %c29 = arith.constant 29 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %d:3 = affine.delinearize_index %c29 into (%c5, %c3, %c4) : index, index, index
    {_keep("%d#0", 2)}{_keep("%d#1", 3)}{_keep("%d#2", 4)}
""",
        _parallel,
        tail="""
  func.func @sum(%at: index, %x: memref<?xf32>, %k0: index) -> f32 {
    %s = affine.parallel (%j, %k) = (0, max(0, %at - %at)) to (min(%at, 5), 1) reduce ("addf") -> (f32) {
      %v = affine.load %x[%k0 * 8 + %j + %k] : memref<?xf32>
      affine.yield %v : f32
    }
    return %s : f32
  }
""",
    ),
}
