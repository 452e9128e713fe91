"""Kernels on parts and other shapes of arrays, with atomic updates and loops of upstream's, and what each gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import WIDTH, Case, flat

_HEAD = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %first = arith.muli %i, %c8 : index
    %row = memref.subview %y[%i, 0] [1, {WIDTH}] [1, 1]
      : memref<?x?xf32> to memref<{WIDTH}xf32, strided<[1], offset: ?>>
    %line = memref.subview %o[%i, 0] [1, {WIDTH}] [1, 1]
      : memref<?x?xi32> to memref<{WIDTH}xi32, strided<[1], offset: ?>>
"""
_ROW = f"memref<{WIDTH}xf32, strided<[1], offset: ?>>"
_LINE = f"memref<{WIDTH}xi32, strided<[1], offset: ?>>"
_EIGHT = "memref<8xf32, strided<[1], offset: ?>>"
_PART = "memref<4xf32, strided<[1], offset: ?>>"


def _views(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    m = x.reshape(2, 4)
    return flat(m.T, x[1::2], m[1, 1:3], m.T[2, 1], x[5], x[3]), [2, 4, 2, WIDTH]


def _made(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    at = n[0] & 3
    return flat(x[4], x[:4], x[2] + 1, [2.5, -1, 4, 8][at], x[0] + x[7]), []


def _updates(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, b = n[0], n[1]
    u = np.uint32
    integers = [a + b, b, max(a, b), np.int32(max(u(a), u(b))), min(a, b), np.int32(min(u(a), u(b)))]
    return flat(x[0] + x[1], x[3]), [*integers, a | b, a & b]


def _more_updates(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    floats = [x[0] * x[1], x[0], max(x[0], x[1]), min(x[0], x[1]), 0, x[0] * x[1] + 1, x[0]]
    return [*floats, floats[2], floats[3]], [n[0] * n[1], n[0]]


def _loops(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    table = [10 * j + k for j in range(2) for k in range(0, 4, 2)]
    return flat(x[::2].sum(), x[::2].prod() + 0, table, x[:3] * 2, x[6]), [n[2] if n[0] < 3 else n[3], 9]


def _passed(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    products = x * np.arange(1, 9)
    return flat(products[4:], products.sum()), []


MEMORY: dict[str, Case] = {
    "views": Case(
        _HEAD
        + f"""
    %m = memref.reinterpret_cast %x to offset: [%first], sizes: [2, 4], strides: [4, 1]
      : memref<?xf32> to memref<2x4xf32, strided<[4, 1], offset: ?>>
    %t = memref.transpose %m (a, b) -> (b, a)
      : memref<2x4xf32, strided<[4, 1], offset: ?>> to memref<4x2xf32, strided<[1, 4], offset: ?>>
    %start = memref.subview %row[0] [8] [1] : {_ROW} to {_EIGHT}
    %e = memref.expand_shape %start [[0, 1]] output_shape [4, 2]
      : {_EIGHT} into memref<4x2xf32, strided<[2, 1], offset: ?>>
    memref.copy %t, %e : memref<4x2xf32, strided<[1, 4], offset: ?>> to memref<4x2xf32, strided<[2, 1], offset: ?>>
    %second = arith.addi %first, %c1 : index
    %odd = memref.subview %x[%second] [4] [2] : memref<?xf32> to memref<4xf32, strided<[2], offset: ?>>
    %next = memref.subview %row[8] [4] [1] : {_ROW} to {_PART}
    memref.copy %odd, %next : memref<4xf32, strided<[2], offset: ?>> to {_PART}
    %mid = memref.subview %m[1, 1] [1, 2] [1, 1]
      : memref<2x4xf32, strided<[4, 1], offset: ?>> to memref<2xf32, strided<[1], offset: ?>>
    %w = vector.load %mid[%c0] : memref<2xf32, strided<[1], offset: ?>>, vector<2xf32>
    %c12 = arith.constant 12 : index
    vector.store %w, %row[%c12] : {_ROW}, vector<2xf32>
    %at = memref.load %t[%c2, %c1] : memref<4x2xf32, strided<[1, 4], offset: ?>>
    %c14 = arith.constant 14 : index
    memref.store %at, %row[%c14] : {_ROW}
    %flat = memref.collapse_shape %m [[0, 1]]
      : memref<2x4xf32, strided<[4, 1], offset: ?>> into {_EIGHT}
    %c5 = arith.constant 5 : index
    %five = memref.load %flat[%c5] : {_EIGHT}
    %c15 = arith.constant 15 : index
    memref.store %five, %row[%c15] : {_ROW}
    %base, %offset, %size, %stride = memref.extract_strided_metadata %odd
      : memref<4xf32, strided<[2], offset: ?>> -> memref<f32>, index, index, index
    %again = memref.reinterpret_cast %base to offset: [%offset], sizes: [%size], strides: [%stride]
      : memref<f32> to memref<?xf32, strided<[?], offset: ?>>
    %three = memref.load %again[%c1] : memref<?xf32, strided<[?], offset: ?>>
    %c16 = arith.constant 16 : index
    memref.store %three, %row[%c16] : {_ROW}
    %rank = memref.rank %t : memref<4x2xf32, strided<[1, 4], offset: ?>>
    %dim = memref.dim %t, %c0 : memref<4x2xf32, strided<[1, 4], offset: ?>>
    %one = arith.minsi %i, %c1 : index
    %some = arith.maxsi %one, %c1 : index
    %run = memref.dim %t, %some : memref<4x2xf32, strided<[1, 4], offset: ?>>
    %width = memref.dim %y, %c1 : memref<?x?xf32>
    %v = vector.from_elements %rank, %dim, %run, %width : vector<4xindex>
    %vi = arith.index_cast %v : vector<4xindex> to vector<4xi32>
    vector.store %vi, %line[%c0] : {_LINE}, vector<4xi32>
""",
        _views,
    ),
    "made": Case(
        _HEAD
        + f"""
    %own = memref.alloca() : memref<2x4xf32>
    %wide = memref.collapse_shape %own [[0, 1]] : memref<2x4xf32> into memref<8xf32>
    %mine = memref.subview %x[%first] [8] [1] : memref<?xf32> to {_EIGHT}
    memref.copy %mine, %wide : {_EIGHT} to memref<8xf32>
    %v = memref.load %own[%c1, %c0] : memref<2x4xf32>
    memref.store %v, %row[%c0] : {_ROW}
    %bytes = memref.alloca() : memref<32xi8>
    %words = memref.view %bytes[%c4][] : memref<32xi8> to memref<4xf32>
    %same = memref.view %bytes[%c0][%c4] : memref<32xi8> to memref<?xf32>
    scf.for %j = %c0 to %c4 step %c1 {{
      %u = memref.load %mine[%j] : {_EIGHT}
      memref.store %u, %words[%j] : memref<4xf32>
      %k = arith.addi %j, %c1 : index
      memref.store %u, %row[%k] : {_ROW}
    }}
    %u3 = memref.load %same[%c3] : memref<?xf32>
    %cell = memref.alloca() : memref<f32>
    %f1 = arith.constant 1.0 : f32
    %sum = arith.addf %u3, %f1 : f32
    memref.store %sum, %cell[] : memref<f32>
    %cv = memref.load %cell[] : memref<f32>
    %c5 = arith.constant 5 : index
    memref.store %cv, %row[%c5] : {_ROW}
    %table = memref.get_global @table : memref<2x2xf32>
    %line2 = memref.collapse_shape %table [[0, 1]] : memref<2x2xf32> into memref<4xf32>
    %n0 = memref.load %n[%first] : memref<?xi32>
    %at = arith.index_cast %n0 : i32 to index
    %low = arith.andi %at, %c3 : index
    %tv = memref.load %line2[%low] : memref<4xf32>
    %c6 = arith.constant 6 : index
    memref.store %tv, %row[%c6] : {_ROW}
    %ends = func.call @ends(%mine) : ({_EIGHT}) -> f32
    %c7 = arith.constant 7 : index
    memref.store %ends, %row[%c7] : {_ROW}
""",
        _made,
        tail=f"""
  memref.global "private" constant @table : memref<2x2xf32> = dense<[[2.5, -1.0], [4.0, 8.0]]>
  func.func @ends(%a: {_EIGHT}) -> f32 {{
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %u = memref.load %a[%c0] : {_EIGHT}
    %v = memref.load %a[%c7] : {_EIGHT}
    %s = arith.addf %u, %v : f32
    func.return %s : f32
  }}
""",
    ),
    "passed": Case(
        _HEAD
        + f"""
    %own = memref.alloca() : memref<2x4xf32>
    %cell = memref.alloca() : memref<f32>
    %table = memref.get_global @weights : memref<2x4xf32>
    %shared = memref.alloc() : memref<2x4xf32>
    func.call @fill(%own, %x, %first) : (memref<2x4xf32>, memref<?xf32>, index) -> ()
    func.call @fill(%shared, %x, %first) : (memref<2x4xf32>, memref<?xf32>, index) -> ()
    func.call @products(%own, %table, %shared, %cell)
      : (memref<2x4xf32>, memref<2x4xf32>, memref<2x4xf32>, memref<f32>) -> ()
    scf.for %j = %c0 to %c4 step %c1 {{
      %v = memref.load %shared[%c1, %j] : memref<2x4xf32>
      memref.store %v, %row[%j] : {_ROW}
    }}
    %sum = memref.load %cell[] : memref<f32>
    memref.store %sum, %row[%c4] : {_ROW}
""",
        _passed,
        tail="""
  memref.global "private" constant @weights : memref<2x4xf32> = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]>
  func.func @fill(%to: memref<2x4xf32>, %x: memref<?xf32>, %first: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %start = arith.muli %i, %c4 : index
      %begin = arith.addi %first, %start : index
      scf.for %j = %c0 to %c4 step %c1 {
        %at = arith.addi %begin, %j : index
        %v = memref.load %x[%at] : memref<?xf32>
        memref.store %v, %to[%i, %j] : memref<2x4xf32>
      }
    }
    func.return
  }
  func.func @products(%a: memref<2x4xf32>, %b: memref<2x4xf32>, %to: memref<2x4xf32>, %sum: memref<f32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %sum[] : memref<f32>
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %u = memref.load %a[%i, %j] : memref<2x4xf32>
        %v = memref.load %b[%i, %j] : memref<2x4xf32>
        %p = arith.mulf %u, %v : f32
        memref.store %p, %to[%i, %j] : memref<2x4xf32>
        func.call @add(%sum, %p) : (memref<f32>, f32) -> ()
      }
    }
    func.return
  }
  func.func @add(%to: memref<f32>, %v: f32) {
    %old = memref.load %to[] : memref<f32>
    %new = arith.addf %old, %v : f32
    memref.store %new, %to[] : memref<f32>
    func.return
  }
""",
    ),
    "updates": Case(
        _HEAD
        + """
    %second = arith.addi %first, %c1 : index
    %a = memref.load %n[%first] : memref<?xi32>
    %b = memref.load %n[%second] : memref<?xi32>
    %u = memref.load %x[%first] : memref<?xf32>
    %v = memref.load %x[%second] : memref<?xf32>
"""
        + "".join(
            f"""
    %k{k} = arith.constant {k} : index
    memref.store %a, %line[%k{k}] : {_LINE}
    %old{k} = memref.atomic_rmw {word} %b, %line[%k{k}] : (i32, {_LINE}) -> i32"""
            for k, word in enumerate(("addi", "assign", "maxs", "maxu", "mins", "minu", "ori", "andi"))
        )
        + "".join(
            f"""
    %f{k} = arith.constant {k} : index
    memref.store %u, %row[%f{k}] : {_ROW}
    %was{k} = memref.atomic_rmw {word} %v, %row[%f{k}] : (f32, {_ROW}) -> f32"""
            for k, word in enumerate(("addf",))
        )
        + f"""
    memref.prefetch %x[%first], read, locality<3>, data : memref<?xf32>
    memref.assume_alignment %x, 4 : memref<?xf32>
    %near = arith.addi %first, %c3 : index
    %w = memref.load %x[%near] : memref<?xf32>
    memref.store %w, %row[%c1] : {_ROW}
""",
        _updates,
    ),
    "more_updates": Case(
        _HEAD
        + f"""
    %second = arith.addi %first, %c1 : index
    %a = memref.load %n[%first] : memref<?xi32>
    %b = memref.load %n[%second] : memref<?xi32>
    %u = memref.load %x[%first] : memref<?xf32>
    %v = memref.load %x[%second] : memref<?xf32>
    memref.store %u, %row[%c0] : {_ROW}
    %p0 = memref.atomic_rmw mulf %v, %row[%c0] : (f32, {_ROW}) -> f32
    memref.store %p0, %row[%c1] : {_ROW}
    memref.store %a, %line[%c0] : {_LINE}
    %q0 = memref.atomic_rmw muli %b, %line[%c0] : (i32, {_LINE}) -> i32
    memref.store %q0, %line[%c1] : {_LINE}
    memref.store %u, %row[%c2] : {_ROW}
    %c7 = arith.constant 7 : index
    memref.store %u, %row[%c7] : {_ROW}
    %was7 = memref.atomic_rmw maxnumf %v, %row[%c7] : (f32, {_ROW}) -> f32
    memref.store %u, %row[%c8] : {_ROW}
    %was8 = memref.atomic_rmw minnumf %v, %row[%c8] : (f32, {_ROW}) -> f32
    %was2 = memref.atomic_rmw maximumf %v, %row[%c2] : (f32, {_ROW}) -> f32
    memref.store %u, %row[%c3] : {_ROW}
    %was3 = memref.atomic_rmw minimumf %v, %row[%c3] : (f32, {_ROW}) -> f32
    %f5 = arith.constant 5 : index
    memref.store %u, %row[%f5] : {_ROW}
    %g = memref.generic_atomic_rmw %row[%f5] : {_ROW} {{
    ^bb0(%now: f32):
      %one = arith.constant 1.0 : f32
      %p = arith.mulf %now, %v : f32
      %q = arith.addf %p, %one : f32
      memref.atomic_yield %q : f32
    }}
    %f6 = arith.constant 6 : index
    memref.store %g, %row[%f6] : {_ROW}
""",
        _more_updates,
        is_on_cpu=False,
    ),
    "loops": Case(
        _HEAD
        + f"""
    %one = arith.constant 1.0 : f32
    %mine = memref.subview %x[%first] [8] [1] : memref<?xf32> to {_EIGHT}
    %s:2 = scf.parallel (%j) = (%c0) to (%c8) step (%c2) init (%zero, %one) -> (f32, f32) {{
      %u = memref.load %mine[%j] : {_EIGHT}
      scf.reduce(%u, %u : f32, f32) {{
      ^bb0(%l: f32, %r: f32):
        %t = arith.addf %l, %r : f32
        scf.reduce.return %t : f32
      }}, {{
      ^bb0(%l: f32, %r: f32):
        %t = arith.mulf %l, %r : f32
        scf.reduce.return %t : f32
      }}
    }}
    memref.store %s#0, %row[%c0] : {_ROW}
    memref.store %s#1, %row[%c1] : {_ROW}
    %ten = arith.constant 10 : index
    scf.parallel (%j, %k) = (%c0, %c0) to (%c2, %c4) step (%c1, %c2) {{
      %jj = arith.muli %j, %ten : index
      %sum = arith.addi %jj, %k : index
      %si = arith.index_cast %sum : index to i32
      %f = arith.sitofp %si : i32 to f32
      %k2 = arith.divui %k, %c2 : index
      %j2 = arith.muli %j, %c2 : index
      %p = arith.addi %j2, %k2 : index
      %q = arith.addi %p, %c2 : index
      memref.store %f, %row[%q] : {_ROW}
    }}
    %c6 = arith.constant 6 : index
    scf.forall (%j) in (3) {{
      %u = memref.load %mine[%j] : {_EIGHT}
      %d = arith.addf %u, %u : f32
      %q = arith.addi %j, %c6 : index
      memref.store %d, %row[%q] : {_ROW}
    }}
    %w = memref.alloca_scope -> (f32) {{
      %cell = memref.alloca() : memref<1xf32>
      %u = memref.load %mine[%c6] : {_EIGHT}
      memref.store %u, %cell[%c0] : memref<1xf32>
      %r = memref.load %cell[%c0] : memref<1xf32>
      memref.alloca_scope.return %r : f32
    }}
    %c9 = arith.constant 9 : index
    memref.store %w, %row[%c9] : {_ROW}
    %n0 = memref.load %n[%first] : memref<?xi32>
    %at = arith.index_cast %n0 : i32 to index
    %from = scf.index_switch %at -> index
    case 0 {{
      scf.yield %c2 : index
    }}
    case 1 {{
      scf.yield %c2 : index
    }}
    case 2 {{
      scf.yield %c2 : index
    }}
    default {{
      scf.yield %c3 : index
    }}
    %place = arith.addi %first, %from : index
    %e = scf.execute_region -> i32 {{
      %l = memref.load %n[%place] : memref<?xi32>
      scf.yield %l : i32
    }}
    memref.store %e, %line[%c0] : {_LINE}
    %nine = arith.constant 9 : i32
    memref.store %nine, %line[%c1] : {_LINE}
""",
        _loops,
    ),
}
"""By name."""
