"""Kernels for MLIR whose blocks branch to each other compute what their blocks say, in any order and on any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from tests.property.branch_programs import BranchProgram

pytestmark = pytest.mark.device

START = (np.arange(64, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32)
"""Numbers of 32 bits with little in common."""
MOST_STEPS = 2000
GROUP = 16


def run(
    device: lp.Device, queue: lp.Queue, kernel: lp.Kernel, start: np.ndarray[tuple[int], np.dtype[np.uint32]]
) -> list[int]:
    x = lp.asarray(start.view(np.int32), device=device)
    queue.parallel_for(lp.NdRange(start.size, GROUP), kernel, x)
    return x.numpy().view(np.uint32).tolist()


@pytest.mark.parametrize("seed", [16, 24, 25, 38, 40, 50, 65, 75, 76, 98, 105, 132])
def test_random_blocks(seed: int, device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]):
    program = BranchProgram.random(seed)
    expected = [program.run(int(number), MOST_STEPS) for number in START]
    ends = [index for index, number in enumerate(expected) if number is not None]
    ends = ends[: len(ends) // GROUP * GROUP]
    if not ends:
        pytest.skip("few numbers come to the end of this program")
    kernel = built(
        lp.SourceLanguage.MLIR, f"gpu.module @m {{\n{program.text('k')}\n}}", lp.BuildOptions(f"-O{seed % 3}")
    ).ext_oneapi_get_kernel("k")
    assert run(device, queue, kernel, START[ends]) == [expected[index] for index in ends]


def test_barriers_in_loops_of_blocks(
    device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
):
    text = """
    gpu.module @m {
      gpu.func @k(%x: memref<?xi32>)
          workgroup(%tile: memref<16xi32, #gpu.address_space<workgroup>>) kernel
          attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [16, 1, 1]>} {
        %g = gpu.global_id x
        %t = gpu.thread_id x
        %zero = arith.constant 0 : index
        %half = arith.constant 8 : index
        %two = arith.constant 2 : index
        %v = memref.load %x[%g] : memref<?xi32>
        memref.store %v, %tile[%t] : memref<16xi32, #gpu.address_space<workgroup>>
        cf.br ^test(%half : index)
      ^test(%n: index):
        gpu.barrier
        %more = arith.cmpi ugt, %n, %zero : index
        cf.cond_br %more, ^round, ^done
      ^round:
        %is_first = arith.cmpi ult, %t, %n : index
        cf.cond_br %is_first, ^add, ^next
      ^add:
        %o = arith.addi %t, %n : index
        %a = memref.load %tile[%t] : memref<16xi32, #gpu.address_space<workgroup>>
        %b = memref.load %tile[%o] : memref<16xi32, #gpu.address_space<workgroup>>
        %s = arith.addi %a, %b : i32
        memref.store %s, %tile[%t] : memref<16xi32, #gpu.address_space<workgroup>>
        cf.br ^next
      ^next:
        %m = arith.divui %n, %two : index
        cf.br ^test(%m : index)
      ^done:
        %r = memref.load %tile[%zero] : memref<16xi32, #gpu.address_space<workgroup>>
        memref.store %r, %x[%g] : memref<?xi32>
        gpu.return
      }
    }"""
    kernel = built(lp.SourceLanguage.MLIR, text).ext_oneapi_get_kernel("k")
    sums = START.reshape(-1, GROUP).sum(axis=1, dtype=np.uint32)
    assert run(device, queue, kernel, START) == np.repeat(sums, GROUP).tolist()
