"""Kernels on vectors of upstream's, and what each gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import Case, flat

_ALIASES = """
#dot = {
  indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
  iterator_types = ["reduction"]
}
#largest = {
  indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
  iterator_types = ["reduction"], kind = #vector.kind<maxnumf>
}
#product = {
  indexing_maps = [
    affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>
  ],
  iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>
}
"""
_HEAD = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %first = arith.muli %i, %c8 : index
    %v = vector.load %x[%first] : memref<?xf32>, vector<8xf32>
    %a = vector.load %x[%first] : memref<?xf32>, vector<4xf32>
    %after = arith.addi %first, %c4 : index
    %b = vector.load %x[%after] : memref<?xf32>, vector<4xf32>
    %p = vector.load %n[%first] : memref<?xi32>, vector<4xi32>
    %q = vector.load %n[%after] : memref<?xi32>, vector<4xi32>
"""


def _shapes(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    m = x.reshape(2, 4)
    put = m.T.copy()
    put[1:3] = np.stack([m[1], m[1]])[:, 1:3]
    return flat(m.T, put, np.ravel([x[:4], x[4:]], "F"), x[[1, 4, 7, 0, 0, 6]], x[2], np.repeat(x[4], 2)), []


def _positions(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    at = n[0] & 3
    moved = x[:4].copy()
    moved[at] = x[4]
    m = np.stack([x[:4], x[4:]])
    row = m[n[1] & 1].copy()
    m[n[1] & 1] = row[::-1]
    return flat(x[at], moved, row, m), [0, 1, 2, 3, *(np.arange(4) < n[3]), *(np.arange(4) < 3)]


def _moves(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    keep = n[:4] < n[4:]
    count = int(keep.sum())
    expanded = x[4:].copy()
    expanded[keep] = x[:count]
    at = n[:4] & 7
    gathered = np.where(keep, x[at], x[4:])
    scattered = np.zeros(8, np.float32)
    for place, bit, value in zip(at, keep, x[4:], strict=True):
        if bit:
            scattered[place] = value
    compressed = np.zeros(4, np.float32)
    compressed[:count] = x[:4][keep]
    return flat(
        np.where(keep, x[:4], x[4:]), np.where(keep, x[:4], 0), expanded, compressed, gathered, scattered
    ), []


def _sums(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, b, p = x[:4], x[4:], n[:4].astype(np.int64)
    u = p.astype(np.uint32)
    m = x.reshape(4, 2)
    floats = [a.sum(), a.prod() + 0, x.min(), x.max(), x.sum() + x[0], m.sum(axis=1) + a, m.max()]
    scan = np.cumsum(a)
    products = np.outer(a, b)[1], a * b[0] + a, a[:, None][0] * b
    integers = [p.sum(), p.prod(), p.min(), u.min(), p.max(), u.max(), np.bitwise_and.reduce(p)]
    integers += [np.bitwise_or.reduce(p), np.bitwise_xor.reduce(p)]
    wrapped = np.array(integers, np.int64).astype(np.int32)
    return flat(*floats, scan, scan[-1], [x[0], *(x[0] + scan[:3])], *products[:2]), list(wrapped)


def _products(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    m, k = x[:6].reshape(2, 3), x[:6].reshape(3, 2)
    return flat(m @ k + 1, x[:4] @ x[4:] + x[0], max(x[0], *(x[:4] * x[4:]))), []


def _matrices(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    matrix = (x[:4].reshape(2, 2).T @ x[4:].reshape(2, 2).T).T
    return flat(matrix, matrix.ravel()[[0, 2, 1, 3]]), []


def _flow(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    total = x * 4
    chosen = x[:4] if n[0] < n[1] else x[4:]
    return flat(total, chosen, np.maximum(x[:4], x[4:]), x[::-1]), list(
        np.where(n[:4] < n[4:], n[:4], n[4:]) + 7
    )


VECTORS: dict[str, Case] = {
    "shapes": Case(
        _HEAD
        + """
    %m = vector.shape_cast %v : vector<8xf32> to vector<2x4xf32>
    %t = vector.transpose %m, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
    %row = vector.extract %m[1] : vector<4xf32> from vector<2x4xf32>
    %ins = vector.insert %row, %m[0] : vector<4xf32> into vector<2x4xf32>
    %sl = vector.extract_strided_slice %ins
      {offsets = [0, 1], sizes = [2, 2], strides = [1, 1]} : vector<2x4xf32> to vector<2x2xf32>
    %put = vector.insert_strided_slice %sl, %t
      {offsets = [1, 0], strides = [1, 1]} : vector<2x2xf32> into vector<4x2xf32>
    %il = vector.interleave %a, %b : vector<4xf32> -> vector<8xf32>
    %sh = vector.shuffle %a, %b [1, 4, 7, 0, 0, 6] : vector<4xf32>, vector<4xf32>
    %one = vector.extract_strided_slice %v {offsets = [2], sizes = [1], strides = [1]} : vector<8xf32> to vector<1xf32>
    %s = vector.extract %b[0] : f32 from vector<4xf32>
    %sp = vector.splat %s : vector<2xf32>
    %ft = vector.shape_cast %t : vector<4x2xf32> to vector<8xf32>
    %fp = vector.shape_cast %put : vector<4x2xf32> to vector<8xf32>
    vector.store %ft, %y[%i, %c0] : memref<?x?xf32>, vector<8xf32>
    vector.store %fp, %y[%i, %c8] : memref<?x?xf32>, vector<8xf32>
    %c16 = arith.constant 16 : index
    vector.store %il, %y[%i, %c16] : memref<?x?xf32>, vector<8xf32>
    %c24 = arith.constant 24 : index
    vector.store %sh, %y[%i, %c24] : memref<?x?xf32>, vector<6xf32>
    %c30 = arith.constant 30 : index
    vector.store %one, %y[%i, %c30] : memref<?x?xf32>, vector<1xf32>
    %c31 = arith.constant 31 : index
    vector.store %sp, %y[%i, %c31] : memref<?x?xf32>, vector<2xf32>
""",
        _shapes,
    ),
    "positions": Case(
        _HEAD
        + """
    %three = arith.constant 3 : i32
    %n0 = vector.extract %p[0] : i32 from vector<4xi32>
    %n1 = vector.extract %p[1] : i32 from vector<4xi32>
    %n3 = vector.extract %p[3] : i32 from vector<4xi32>
    %k = arith.andi %n0, %three : i32
    %e = vector.extractelement %a[%k : i32] : vector<4xf32>
    %b0 = vector.extract %b[0] : f32 from vector<4xf32>
    %moved = vector.insertelement %b0, %a[%k : i32] : vector<4xf32>
    %m = vector.shape_cast %v : vector<8xf32> to vector<2x4xf32>
    %i1 = arith.constant 1 : i32
    %l = arith.andi %n1, %i1 : i32
    %j = arith.index_cast %l : i32 to index
    %r0 = vector.extract %m[0] : vector<4xf32> from vector<2x4xf32>
    %r1 = vector.extract %m[1] : vector<4xf32> from vector<2x4xf32>
    %is = arith.cmpi eq, %l, %i1 : i32
    %row = arith.select %is, %r1, %r0 : vector<4xf32>
    %back = vector.shuffle %row, %row [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
    %m0 = vector.insert %back, %m[0] : vector<4xf32> into vector<2x4xf32>
    %m1 = vector.insert %back, %m[1] : vector<4xf32> into vector<2x4xf32>
    %mm = arith.select %is, %m1, %m0 : vector<2x4xf32>
    memref.store %e, %y[%i, %c0] : memref<?x?xf32>
    vector.store %moved, %y[%i, %c1] : memref<?x?xf32>, vector<4xf32>
    %c5 = arith.constant 5 : index
    vector.store %row, %y[%i, %c5] : memref<?x?xf32>, vector<4xf32>
    %c9 = arith.constant 9 : index
    %f = vector.shape_cast %mm : vector<2x4xf32> to vector<8xf32>
    vector.store %f, %y[%i, %c9] : memref<?x?xf32>, vector<8xf32>
    %st = vector.step : vector<4xindex>
    %sti = arith.index_cast %st : vector<4xindex> to vector<4xi32>
    vector.store %sti, %o[%i, %c0] : memref<?x?xi32>, vector<4xi32>
    %size = arith.index_cast %n3 : i32 to index
    %cm = vector.create_mask %size : vector<4xi1>
    %cmi = arith.extui %cm : vector<4xi1> to vector<4xi32>
    vector.store %cmi, %o[%i, %c4] : memref<?x?xi32>, vector<4xi32>
    %km = vector.constant_mask [3] : vector<4xi1>
    %kmi = arith.extui %km : vector<4xi1> to vector<4xi32>
    vector.store %kmi, %o[%i, %c8] : memref<?x?xi32>, vector<4xi32>
""",
        _positions,
    ),
    "moves": Case(
        _HEAD
        + """
    %keep = arith.cmpi slt, %p, %q : vector<4xi32>
    %ml = vector.maskedload %x[%first], %keep, %b : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.store %ml, %y[%i, %c0] : memref<?x?xf32>, vector<4xf32>
    vector.maskedstore %y[%i, %c4], %keep, %a : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
    %ex = vector.expandload %x[%first], %keep, %b : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.store %ex, %y[%i, %c8] : memref<?x?xf32>, vector<4xf32>
    %c12 = arith.constant 12 : index
    vector.compressstore %y[%i, %c12], %keep, %a : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
    %seven = arith.constant dense<7> : vector<4xi32>
    %at = arith.andi %p, %seven : vector<4xi32>
    %g = vector.gather %x[%first] [%at], %keep, %b
      : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    %c16 = arith.constant 16 : index
    vector.store %g, %y[%i, %c16] : memref<?x?xf32>, vector<4xf32>
    %c20 = arith.constant 20 : index
    vector.scatter %y[%i, %c20] [%at], %keep, %b : memref<?x?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
""",
        _moves,
    ),
    "sums": Case(
        _HEAD
        + """
    %s0 = vector.reduction <add>, %a : vector<4xf32> into f32
    memref.store %s0, %y[%i, %c0] : memref<?x?xf32>
    %s1 = vector.reduction <mul>, %a : vector<4xf32> into f32
    memref.store %s1, %y[%i, %c1] : memref<?x?xf32>
    %s2 = vector.reduction <minnumf>, %v : vector<8xf32> into f32
    memref.store %s2, %y[%i, %c2] : memref<?x?xf32>
    %s3 = vector.reduction <maximumf>, %v : vector<8xf32> into f32
    %c3 = arith.constant 3 : index
    memref.store %s3, %y[%i, %c3] : memref<?x?xf32>
    %a0 = vector.extract %a[0] : f32 from vector<4xf32>
    %s4 = vector.reduction <add>, %v, %a0 fastmath<reassoc> : vector<8xf32> into f32
    memref.store %s4, %y[%i, %c4] : memref<?x?xf32>
    %m = vector.shape_cast %v : vector<8xf32> to vector<4x2xf32>
    %r = vector.multi_reduction <add>, %m, %a [1] : vector<4x2xf32> to vector<4xf32>
    %c5 = arith.constant 5 : index
    vector.store %r, %y[%i, %c5] : memref<?x?xf32>, vector<4xf32>
    %r2 = vector.multi_reduction <maxnumf>, %m, %a0 [0, 1] : vector<4x2xf32> to f32
    %c9 = arith.constant 9 : index
    memref.store %r2, %y[%i, %c9] : memref<?x?xf32>
    %z = vector.broadcast %a0 : f32 to vector<f32>
    %sc:2 = vector.scan <add>, %a, %z {inclusive = true, reduction_dim = 0} : vector<4xf32>, vector<f32>
    %c10 = arith.constant 10 : index
    vector.store %sc#0, %y[%i, %c10] : memref<?x?xf32>, vector<4xf32>
    %c14 = arith.constant 14 : index
    %last = vector.extract %sc#1[] : f32 from vector<f32>
    memref.store %last, %y[%i, %c14] : memref<?x?xf32>
    %se:2 = vector.scan <add>, %a, %z {inclusive = false, reduction_dim = 0} : vector<4xf32>, vector<f32>
    %c15 = arith.constant 15 : index
    vector.store %se#0, %y[%i, %c15] : memref<?x?xf32>, vector<4xf32>
    %op = vector.outerproduct %a, %b : vector<4xf32>, vector<4xf32>
    %op1 = vector.extract %op[1] : vector<4xf32> from vector<4x4xf32>
    %c19 = arith.constant 19 : index
    vector.store %op1, %y[%i, %c19] : memref<?x?xf32>, vector<4xf32>
    %b0 = vector.extract %b[0] : f32 from vector<4xf32>
    %ax = vector.outerproduct %a, %b0, %a {kind = #vector.kind<add>} : vector<4xf32>, f32
    %c23 = arith.constant 23 : index
    vector.store %ax, %y[%i, %c23] : memref<?x?xf32>, vector<4xf32>
"""
        + "".join(
            f"""
    %w{k} = vector.reduction <{word}>, %p : vector<4xi32> into i32
    %k{k} = arith.constant {k} : index
    memref.store %w{k}, %o[%i, %k{k}] : memref<?x?xi32>"""
            for k, word in enumerate(("add", "mul", "minsi", "minui", "maxsi", "maxui", "and", "or", "xor"))
        ),
        _sums,
    ),
    "products": Case(
        _HEAD
        + """
    %six = vector.load %x[%first] : memref<?xf32>, vector<6xf32>
    %m = vector.shape_cast %six : vector<6xf32> to vector<2x3xf32>
    %k = vector.shape_cast %six : vector<6xf32> to vector<3x2xf32>
    %ones = arith.constant dense<1.0> : vector<2x2xf32>
    %r = vector.contract #product %m, %k, %ones : vector<2x3xf32>, vector<3x2xf32> into vector<2x2xf32>
    %rf = vector.shape_cast %r : vector<2x2xf32> to vector<4xf32>
    vector.store %rf, %y[%i, %c0] : memref<?x?xf32>, vector<4xf32>
    %a0 = vector.extract %a[0] : f32 from vector<4xf32>
    %d = vector.contract #dot %a, %b, %a0 : vector<4xf32>, vector<4xf32> into f32
    memref.store %d, %y[%i, %c4] : memref<?x?xf32>
    %e = vector.contract #largest %a, %b, %a0 : vector<4xf32>, vector<4xf32> into f32
    %c5 = arith.constant 5 : index
    memref.store %e, %y[%i, %c5] : memref<?x?xf32>
""",
        _products,
        head=_ALIASES,
        is_on_cpu=False,  # contractions become intrinsics that need a pass of LLVM's
    ),
    "matrices": Case(
        _HEAD
        + """
    %mm = vector.matrix_multiply %a, %b
      {lhs_rows = 2 : i32, lhs_columns = 2 : i32, rhs_columns = 2 : i32}
      : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    vector.store %mm, %y[%i, %c0] : memref<?x?xf32>, vector<4xf32>
    %ft = vector.flat_transpose %mm {rows = 2 : i32, columns = 2 : i32} : vector<4xf32> -> vector<4xf32>
    vector.store %ft, %y[%i, %c4] : memref<?x?xf32>, vector<4xf32>
""",
        _matrices,
        is_on_cpu=False,
    ),
    "flow": Case(
        _HEAD
        + """
    %r = scf.for %j = %c0 to %c8 step %c4 iter_args(%t = %v) -> (vector<8xf32>) {
      %u = arith.addf %t, %t : vector<8xf32>
      scf.yield %u : vector<8xf32>
    }
    vector.store %r, %y[%i, %c0] : memref<?x?xf32>, vector<8xf32>
    %n0 = vector.extract %p[0] : i32 from vector<4xi32>
    %n1 = vector.extract %p[1] : i32 from vector<4xi32>
    %less = arith.cmpi slt, %n0, %n1 : i32
    %ch, %seven = scf.if %less -> (vector<4xf32>, i32) {
      %k = arith.constant 7 : i32
      scf.yield %a, %k : vector<4xf32>, i32
    } else {
      %k = arith.constant 7 : i32
      scf.yield %b, %k : vector<4xf32>, i32
    }
    vector.store %ch, %y[%i, %c8] : memref<?x?xf32>, vector<4xf32>
    %max = arith.maximumf %a, %b : vector<4xf32>
    %c12 = arith.constant 12 : index
    vector.store %max, %y[%i, %c12] : memref<?x?xf32>, vector<4xf32>
    %c1i = arith.constant 1 : i32
    %back, %stop = scf.while (%w = %v, %m = %c1i) : (vector<8xf32>, i32) -> (vector<8xf32>, i32) {
      %more = arith.cmpi sgt, %m, %c1i : i32
      scf.condition(%more) %w, %m : vector<8xf32>, i32
    } do {
    ^bb0(%w: vector<8xf32>, %m: i32):
      %s = arith.subi %m, %c1i : i32
      scf.yield %w, %s : vector<8xf32>, i32
    }
    %rev = vector.shuffle %back, %back [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xf32>, vector<8xf32>
    %c16 = arith.constant 16 : index
    vector.store %rev, %y[%i, %c16] : memref<?x?xf32>, vector<8xf32>
    %mask = arith.cmpi slt, %p, %q : vector<4xi32>
    %low = arith.select %mask, %p, %q : vector<4xi1>, vector<4xi32>
    %sevens = vector.broadcast %seven : i32 to vector<4xi32>
    %sum = arith.addi %low, %sevens : vector<4xi32>
    vector.store %sum, %o[%i, %c0] : memref<?x?xi32>, vector<4xi32>
""",
        _flow,
    ),
}
"""By name."""
