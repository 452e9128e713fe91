"""Kernels with products and quotients of symbols, positions along extents, and regions without terminators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import WIDTH, Case

_LINE = f"memref<{WIDTH}xi32, strided<[1], offset: ?>>"
_HEAD = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %line = memref.subview %o[%i, 0] [1, {WIDTH}] [1, 1] : memref<?x?xi32> to {_LINE}
"""
_SIGNATURE = "(%a: index, %s: index, %t: index) -> index"


def _keep(value: str, position: int) -> str:
    """Returns what stores an index."""
    return f"""
    %as{position} = arith.index_cast {value} : index to i32
    affine.store %as{position}, %line[{position}] : {_LINE}
"""


def _numbers(count: int) -> str:
    """Returns what reads the first numbers of a work-item as indices."""
    return "".join(
        f"    %n{k} = affine.load %n[%i * 8 + {k}] : memref<?xi32>\n"
        f"    %a{k} = arith.index_cast %n{k} : i32 to index\n"
        for k in range(count)
    )


def _function(name: str, expression: str) -> str:
    """Returns a function of an expression of %a, and of %s and %t as symbols."""
    return (
        f"  func.func @{name}{_SIGNATURE} {{\n"
        f"    %r = affine.apply affine_map<(d0)[s0, s1] -> ({expression})>(%a)[%s, %t]\n"
        "    return %r : index\n  }\n"
    )


def _call(name: str, position: int) -> str:
    return (
        f"    %r{position} = func.call @{name}(%a0, %symbol, %c7) : (index, index, index) -> index"
        f"{_keep(f'%r{position}', position)}"
    )


_SYMBOL = """
    %a = arith.andi %a1, %c7 : index
    %symbol = arith.addi %a, %c1 : index
"""


def _products(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, s = int(n[0]), (int(n[1]) & 7) + 1
    return [], [a * s, s * 7 + a * s * 7]


def _quotients(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, s = int(n[0]), (int(n[1]) & 7) + 1
    return [], [a % s, a // s, -(-a // s), (a * s) % 7 + a // 7, int(n[3 % s])]


def _positions(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, b, s = int(n[0]), int(n[1]), (int(n[1]) & 7) + 1
    return [], [(a * s + b) * 4 + 2, (a * s + b) * 4 + 2, a]


def _chosen(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    zero, sum_ = (0.0 if n[1] == 1 else -1.0), 2 * int(n[0])
    return [], [int(np.float32(zero).view(np.int32)), sum_, sum_ if n[0] == 2 else 5]


def _regions(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    return [], [{0: 3, 2: 5, -1: 8}.get(int(n[1]), 0), 5]


SYMBOLS: dict[str, Case] = {
    "products_of_symbols": Case(
        f"{_HEAD}{_numbers(2)}{_SYMBOL}{_call('scaled', 0)}{_call('sums', 1)}",
        _products,
        tail=_function("scaled", "d0 * s0") + _function("sums", "s0 * s1 + (d0 * s0) * s1"),
    ),
    "quotients_of_symbols": Case(
        f"{_HEAD}{_numbers(2)}{_SYMBOL}"
        + "".join(map(_call, ("rest", "floor", "ceiling", "mixed"), range(4)))
        + f"""
    %c3 = arith.constant 3 : index
    %v = affine.load %n[%i * 8 + %c3 mod symbol(%symbol)] : memref<?xi32>
    affine.store %v, %line[4] : {_LINE}
""",
        _quotients,
        tail=_function("rest", "d0 mod s0")
        + _function("floor", "d0 floordiv s0")
        + _function("ceiling", "d0 ceildiv s0")
        + _function("mixed", "(d0 * s0) mod 7 + d0 floordiv 7"),
        is_on_cpu=False,  # upstream's lowering divides by constants only
    ),
    "regions_without_ends": Case(
        f"""{_HEAD}{_numbers(2)}
    %five = arith.constant 5 : i32
    %one = arith.constant 1 : i32
    scf.index_switch %a1
    case 0 {{
      %v = arith.constant 3 : i32
      memref.store %v, %line[%c0] : {_LINE}
      scf.yield
    }}
    case 2 {{
      memref.store %five, %line[%c0] : {_LINE}
      scf.yield
    }}
    case -1 {{
      %v = arith.constant 8 : i32
      memref.store %v, %line[%c0] : {_LINE}
      scf.yield
    }}
    default {{
    }}
    memref.alloca_scope {{
    }}
    scf.while : () -> () {{
      %v = memref.load %line[%c1] : {_LINE}
      %is_less = arith.cmpi slt, %v, %five : i32
      scf.condition(%is_less)
    }} do {{
      %v = memref.load %line[%c1] : {_LINE}
      %w = arith.addi %v, %one : i32
      memref.store %w, %line[%c1] : {_LINE}
      scf.yield
    }}
""",
        _regions,
    ),
    "results_without_brackets": Case(
        f"""{_HEAD}{_numbers(2)}
    %five = arith.constant 5 : i32
    %two = arith.constant 2 : i32
    %none = arith.constant 0 : i32
    %c2 = arith.constant 2 : index
    %z = scf.index_switch %a1 -> f32
    case 1 {{
      %v = arith.constant 0.0 : f32
      scf.yield %v : f32
    }}
    default {{
      %v = arith.constant -1.0 : f32
      scf.yield %v : f32
    }}
    %bits = arith.bitcast %z : f32 to i32
    memref.store %bits, %line[%c0] : {_LINE}
    %sum = scf.for %k = %c0 to %a0 step %c1 iter_args(%s = %none) -> i32 {{
      %more = arith.addi %s, %two : i32
      scf.yield %more : i32
    }}
    memref.store %sum, %line[%c1] : {_LINE}
    %is_two = arith.cmpi eq, %a0, %c2 : index
    %last = scf.if %is_two -> i32 {{
      scf.if %is_two {{
      }} else {{
      }}
      scf.yield %sum : i32
    }} else {{
      scf.yield %five : i32
    }}
    memref.store %last, %line[%c2] : {_LINE}
""",
        _chosen,
    ),
}
"""By name."""
NEWER: dict[str, Case] = {
    "linear_positions": Case(
        f"""{_HEAD}{_numbers(2)}{_SYMBOL}
    %c2 = arith.constant 2 : index
    %p = affine.linearize_index [%a0, %a1, %c2] by (5, %symbol, 4) : index{_keep("%p", 0)}
    %q = affine.linearize_index disjoint [%a0, %a1, %c2] by (%symbol, 4) : index{_keep("%q", 1)}
    %r = affine.linearize_index [%a0] by () : index{_keep("%r", 2)}
""",
        _positions,
    ),
}
"""What MLIR has had since version 20."""
