"""Kernels with transfers between vectors and arrays, beyond their ends and with masks, and what each gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import WIDTH, Case, flat

_TWO = "memref<2x4xf32, strided<[4, 1], offset: ?>>"
_EIGHT = "memref<8xf32, strided<[1], offset: ?>>"
_ROW = f"memref<{WIDTH}xf32, strided<[1], offset: ?>>"
_HEAD = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %pad = arith.constant -1.0 : f32
    %first = arith.muli %i, %c8 : index
    %mine = memref.subview %x[%first] [8] [1] : memref<?xf32> to {_EIGHT}
    %m = memref.reinterpret_cast %x to offset: [%first], sizes: [2, 4], strides: [4, 1] : memref<?xf32> to {_TWO}
    %row = memref.subview %y[%i, 0] [1, {WIDTH}] [1, 1] : memref<?x?xf32> to {_ROW}
    %p = vector.load %n[%first] : memref<?xi32>, vector<4xi32>
    %ones = arith.constant dense<1> : vector<4xi32>
    %keep = arith.cmpi sgt, %p, %ones : vector<4xi32>
"""


def _stored(values: dict[str, str]) -> str:
    """Returns what writes vectors of eight numbers one after the other."""
    return "".join(
        f"    %flat{k} = vector.shape_cast {value} : {type_} to vector<8xf32>\n"
        f"    %place{k} = arith.constant {8 * k} : index\n"
        f"    vector.store %flat{k}, %row[%place{k}] : {_ROW}, vector<8xf32>\n"
        for k, (value, type_) in enumerate(values.items())
    )


def _reads(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    m = x.reshape(2, 4)
    padded = np.full((4, 8), -1, np.float32)
    padded[:2, :4] = m
    at = padded[1:3, 2:6]
    keep = n[:4] > 1
    masked = np.where(keep, x[4:], -1)
    return flat(x[5:], [-1], masked, at, padded[0:4, 2:4].T, np.stack([x[:4]] * 2)), []


def _writes(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    keep = n[:4] > 1
    part = np.zeros((2, 3), np.float32)
    part[1, 1:3] = x[0:2]
    turned = x[4:8].reshape(2, 2).T
    return flat(np.where(keep, x[:4], 0), part, turned), []


def _masks(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    keep = n[:4] > 1
    kept = np.where(keep, x[:4], 0)
    return flat(x[2] + kept.sum(), kept.reshape(2, 2).sum(axis=1), 0, np.where(keep, x[4:], -1)), []


TRANSFERS: dict[str, Case] = {
    "reads": Case(
        _HEAD
        + f"""
    %end = vector.transfer_read %mine[%c5], %pad : {_EIGHT}, vector<4xf32>
    %masked = vector.transfer_read %mine[%c4], %pad, %keep {{in_bounds = [true]}} : {_EIGHT}, vector<4xf32>
    %both = vector.shuffle %end, %masked [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
    %corner = vector.transfer_read %m[%c1, %c2], %pad : {_TWO}, vector<2x4xf32>
    %turned = vector.transfer_read %m[%c0, %c2], %pad {{permutation_map = affine_map<(d0, d1) -> (d1, d0)>}}
      : {_TWO}, vector<2x4xf32>
    %rows = vector.transfer_read %m[%c0, %c0], %pad
      {{in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (0, d1)>}} : {_TWO}, vector<2x4xf32>
"""
        + _stored(
            {
                "%both": "vector<8xf32>",
                "%corner": "vector<2x4xf32>",
                "%turned": "vector<2x4xf32>",
                "%rows": "vector<2x4xf32>",
            }
        ),
        _reads,
    ),
    "writes": Case(
        _HEAD
        + f"""
    %a = vector.load %mine[%c0] : {_EIGHT}, vector<4xf32>
    vector.transfer_write %a, %row[%c0], %keep {{in_bounds = [true]}} : vector<4xf32>, {_ROW}
    %part = memref.subview %row[4] [6] [1] : {_ROW} to memref<6xf32, strided<[1], offset: ?>>
    %grid = memref.expand_shape %part [[0, 1]] output_shape [2, 3]
      : memref<6xf32, strided<[1], offset: ?>> into memref<2x3xf32, strided<[3, 1], offset: ?>>
    %box = vector.shape_cast %a : vector<4xf32> to vector<2x2xf32>
    vector.transfer_write %box, %grid[%c1, %c1] : vector<2x2xf32>, memref<2x3xf32, strided<[3, 1], offset: ?>>
    %last = memref.subview %row[10] [4] [1] : {_ROW} to memref<4xf32, strided<[1], offset: ?>>
    %square = memref.expand_shape %last [[0, 1]] output_shape [2, 2]
      : memref<4xf32, strided<[1], offset: ?>> into memref<2x2xf32, strided<[2, 1], offset: ?>>
    %b = vector.load %mine[%c4] : {_EIGHT}, vector<4xf32>
    %bb = vector.shape_cast %b : vector<4xf32> to vector<2x2xf32>
    vector.transfer_write %bb, %square[%c0, %c0]
      {{in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>}}
      : vector<2x2xf32>, memref<2x2xf32, strided<[2, 1], offset: ?>>
""",
        _writes,
    ),
    "masks": Case(
        _HEAD
        + f"""
    %a = vector.load %mine[%c0] : {_EIGHT}, vector<4xf32>
    %box = vector.shape_cast %a : vector<4xf32> to vector<2x2xf32>
    %x2 = vector.extract %a[2] : f32 from vector<4xf32>
    %sum = vector.mask %keep {{ vector.reduction <add>, %a, %x2 : vector<4xf32> into f32 }} : vector<4xi1> -> f32
    memref.store %sum, %row[%c0] : {_ROW}
    %z0 = arith.constant dense<0.0> : vector<2xf32>
    %k2 = vector.shape_cast %keep : vector<4xi1> to vector<2x2xi1>
    %t = vector.mask %keep {{ vector.transfer_read %mine[%c4], %pad {{in_bounds = [true]}} : {_EIGHT}, vector<4xf32> }}
      : vector<4xi1> -> vector<4xf32>
    vector.store %t, %row[%c4] : {_ROW}, vector<4xf32>
    %sums = vector.mask %k2 {{ vector.multi_reduction <add>, %box, %z0 [1] : vector<2x2xf32> to vector<2xf32> }}
      : vector<2x2xi1> -> vector<2xf32>
    vector.store %sums, %row[%c1] : {_ROW}, vector<2xf32>
""",
        _masks,
        is_on_cpu=False,
    ),
}
"""By name."""
