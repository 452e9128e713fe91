"""Kernels of MLIR modules that say no local size: a launch takes one that divides the range, where none can tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

Built = Callable[..., lp.KernelBundle]
pytestmark = pytest.mark.device

PLACES = """
gpu.module @m {
  func.func @last(%x: index) -> index {
    %n = gpu.grid_dim x
    %size = gpu.block_dim x
    %all = arith.muli %n, %size : index
    %sum = arith.addi %all, %x : index
    func.return %sum : index
  }
  gpu.func @places(%o: memref<?xi32>) kernel {
    %group = gpu.block_id x
    %size = gpu.block_dim x
    %local = gpu.thread_id x
    %first = arith.muli %group, %size : index
    %i = arith.addi %first, %local : index
    %sum = func.call @last(%i) : (index) -> index
    %value = arith.index_cast %sum : index to i32
    memref.store %value, %o[%i] : memref<?xi32>
    gpu.return
  }
}
"""
ONE_DIMENSION = """
func.func @k(%x: memref<?xi32>) attributes {gpu.kernel} {
  %i = gpu.global_id x
  %v = arith.index_cast %i : index to i32
  memref.store %v, %x[%i] : memref<?xi32>
  func.return
}
"""
ROWS = """
func.func @rows(%o: memref<?x?xi32>) attributes {gpu.kernel} {
  %i = gpu.global_id y
  %j = gpu.global_id x
  %old = memref.load %o[%i, %j] : memref<?x?xi32>
  %new = arith.addi %old, %old : i32
  memref.store %new, %o[%i, %j] : memref<?x?xi32>
  func.return
}
"""


@pytest.mark.behaviour("SRC-27")
@pytest.mark.parametrize("n", [0, 1, 8, 1000, 1009, 4096])
@pytest.mark.parametrize("option", ["-O0", "-O1"])
def test_any_range_will_do(device: lp.Device, queue: lp.Queue, built: Built, n: int, option: str):
    """No work-item runs beyond the range: what the kernel computes of its groups says how many there are."""
    kernel = built(lp.SourceLanguage.MLIR, PLACES, lp.BuildOptions(option)).get_kernel("places")
    found = lp.zeros(n + 8, lp.i32, device=device)
    queue.parallel_for(n, kernel, found)
    np.testing.assert_array_equal(found.numpy(), [*range(n, 2 * n), *[0] * 8])


@pytest.mark.parametrize(
    "range_", [(1, 1, 8), (1, 8), lp.NdRange((1, 1, 8), (1, 1, 4)), lp.NdRange((1, 8), (1, 2))]
)
def test_ranges_with_ones_in_front(range_: object, device: lp.Device, queue: lp.Queue, built: Built) -> None:
    kernel = built(lp.SourceLanguage.MLIR, ONE_DIMENSION).ext_oneapi_get_kernel("k")
    x = lp.zeros(8, lp.i32, device=device)
    queue.parallel_for(range_, kernel, x)
    assert x.numpy().tolist() == list(range(8))


@pytest.mark.parametrize("range_", [(8, 1), (2, 8), lp.NdRange((8, 1), (4, 1)), lp.NdRange((1, 8), (2, 4))])
def test_ranges_with_more_dimensions(
    range_: object, device: lp.Device, queue: lp.Queue, built: Built
) -> None:
    kernel = built(lp.SourceLanguage.MLIR, ONE_DIMENSION).ext_oneapi_get_kernel("k")
    with pytest.raises(lp.NdRangeError):
        queue.parallel_for(range_, kernel, lp.zeros(8, lp.i32, device=device))


def test_several_dimensions(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, ROWS).get_kernel("rows")
    x = lp.full((7, 30), 3, lp.i32, device=device)
    queue.parallel_for((7, 30), kernel, x)
    assert (x.numpy() == 6).all()


@pytest.mark.parametrize(
    "together",
    [
        "gpu.barrier",
        "%lane = gpu.lane_id",
        "%joint = gpu.subgroup_reduce add %value : (i32) -> (i32)",
        "%joint = gpu.all_reduce add %value uniform {} : (i32) -> (i32)",
    ],
)
def test_kernels_whose_work_items_work_together_need_a_local_size(
    device: lp.Device, queue: lp.Queue, built: Built, together: str
):
    text = PLACES.replace("    memref.store", f"    {together}\n    memref.store")
    kernel = built(lp.SourceLanguage.MLIR, text).get_kernel("places")
    x = lp.zeros(64, lp.i32, device=device)
    with pytest.raises(lp.InvalidError, match="it needs a local size"):
        queue.parallel_for(64, kernel, x)
    queue.parallel_for(lp.NdRange(64, 8), kernel, x)
    np.testing.assert_array_equal(x.numpy(), np.arange(64, 128))


@pytest.mark.parametrize(
    "asked", ["%n = gpu.thread_id x", "%n = gpu.block_id x", "%n = gpu.grid_dim x\n    %m = gpu.block_dim y"]
)
def test_kernels_that_count_on_a_size_need_it(device: lp.Device, queue: lp.Queue, built: Built, asked: str):
    """What they compute would depend on the work-groups that a launch chose."""
    text = f"""
gpu.module @m {{
  gpu.func @places(%o: memref<?xi32>) kernel {{
    {asked}
    %i = gpu.global_id x
    %value = arith.index_cast %n : index to i32
    memref.store %value, %o[%i] : memref<?xi32>
    gpu.return
  }}
}}
"""
    kernel = built(lp.SourceLanguage.MLIR, text).get_kernel("places")
    x = lp.zeros(64, lp.i32, device=device)
    with pytest.raises(lp.InvalidError, match="it needs a local size"):
        queue.parallel_for(64, kernel, x)
    queue.parallel_for(lp.NdRange(64, 8), kernel, x)
    i = np.arange(64)
    expected = {"thread": i % 8, "block": i // 8, "grid": np.full(64, 8)}
    np.testing.assert_array_equal(x.numpy(), expected[asked.split("gpu.")[1].split("_")[0]])


def test_a_saved_kernel_still_takes_any_range(
    device: lp.Device, queue: lp.Queue, built: Built, tmp_path: Path
):
    path = tmp_path / "rows.lpk"
    built(lp.SourceLanguage.MLIR, ROWS).save(path)
    kernel = lp.load_kernel_bundle(queue.context, path).get_kernel("rows")
    x = lp.ones((5, 9), lp.i32, device=device)
    queue.parallel_for((5, 9), kernel, x)
    assert (x.numpy() == 2).all()
