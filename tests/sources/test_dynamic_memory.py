"""Memory of a work-group that the launch gives on other targets, divided into views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SIZE = 16
SPACE = "#gpu.address_space<workgroup>"
BYTES = f"memref<?xi8, {SPACE}>"
TEXT = f"""
gpu.module @m {{
  gpu.func @k(%x: memref<?xf32>, %o: memref<?xi32>, %p: memref<?xi32>) kernel
      attributes {{spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [{SIZE}, 1, 1]>}} {{
    %i = gpu.global_id x
    %l = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c15 = arith.constant 15 : index
    %bytes = arith.muli %c4, %c16 : index
    %d = gpu.dynamic_shared_memory : {BYTES}
    %floats = memref.view %d[%c0][] : {BYTES} to memref<4x4xf32, {SPACE}>
    %again = gpu.dynamic_shared_memory : {BYTES}
    %ints = memref.view %again[%bytes][%c16] : {BYTES} to memref<?xi32, {SPACE}>
    %row = arith.divui %l, %c4 : index
    %column = arith.remui %l, %c4 : index
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %floats[%column, %row] : memref<4x4xf32, {SPACE}>
    %n = arith.fptosi %v : f32 to i32
    memref.store %n, %ints[%l] : memref<?xi32, {SPACE}>
    gpu.barrier
    %from = arith.subi %c15, %l : index
    %m = scf.for %k = %c0 to %c1 step %c1 iter_args(%t = %n) -> (i32) {{
      %half = arith.constant 96 : index
      %upper = memref.view %d[%half][] : {BYTES} to memref<8xi32, {SPACE}>
      %j = arith.andi %l, %c15 : index
      %c7 = arith.constant 7 : index
      %at = arith.andi %j, %c7 : index
      %u = memref.load %upper[%at] : memref<8xi32, {SPACE}>
      scf.yield %u : i32
    }}
    %w = memref.load %floats[%row, %column] : memref<4x4xf32, {SPACE}>
    %wi = arith.fptosi %w : f32 to i32
    %s = memref.load %ints[%from] : memref<?xi32, {SPACE}>
    %ws = arith.addi %wi, %s : i32
    memref.store %ws, %o[%i] : memref<?xi32>
    memref.store %m, %p[%i] : memref<?xi32>
    gpu.return
  }}
}}
"""


def test_views_of_several_types(
    device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
) -> None:
    kernel = built(lp.SourceLanguage.MLIR, TEXT).ext_oneapi_get_kernel("k")
    x = np.random.default_rng(4).integers(-99, 99, 2 * SIZE)
    o, p = (lp.zeros(2 * SIZE, lp.i32, device=device) for _ in range(2))
    queue.parallel_for(
        lp.NdRange(2 * SIZE, SIZE), kernel, lp.asarray(x.astype(np.float32), device=device), o, p
    )
    groups = x.reshape(2, SIZE)
    transposed = groups.reshape(2, 4, 4).transpose(0, 2, 1).reshape(2, SIZE)
    assert o.numpy().tolist() == (transposed + groups[:, ::-1]).ravel().tolist()
    assert p.numpy().tolist() == np.tile(groups[:, 8:], 2).ravel().tolist()
