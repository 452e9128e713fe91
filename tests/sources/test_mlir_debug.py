"""Debug mode of kernels from MLIR text: indices and divisors, with the line of the text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.parse import parse_module
from lapilli.passes.traps.accesses import trap_accesses

pytestmark = pytest.mark.device

Built = Callable[..., lp.KernelBundle]

SHIFT = """
gpu.module @m {
  func.func @half(%v: i32, %d: i32) -> i32 {
    %w = arith.divsi %v, %d : i32
    return %w : i32
  }
  gpu.func @shift(%x: memref<?xi32>, %y: memref<?xi32>, %by: i32, %d: i32) kernel {
    %i = gpu.global_id x
    %step = arith.index_cast %by : i32 to index
    %j = arith.addi %i, %step : index
    %v = memref.load %x[%j] : memref<?xi32>
    %w = func.call @half(%v, %d) : (i32, i32) -> i32
    memref.store %w, %y[%i] : memref<?xi32>
    gpu.return
  }
}
"""
MATRIX = """
gpu.module @m {
  gpu.func @transpose(%x: memref<?x?xf32>, %n: i32) kernel {
    %i = gpu.global_id x
    %k = arith.index_cast %n : i32 to index
    %table = memref.alloca() : memref<4xf32, #gpu.address_space<private>>
    %c0 = arith.constant 0 : index
    %f = arith.constant 1.0 : f32
    memref.store %f, %table[%k] : memref<4xf32, #gpu.address_space<private>>
    memref.store %f, %x[%c0, %i] : memref<?x?xf32>
    gpu.return
  }
}
"""


def launch(
    device: lp.Device, queue: lp.Queue, built: Built, by: int, divisor: int, extent: int = 8
) -> np.ndarray:
    with lp.config.override(debug=True):
        kernel = built(lp.SourceLanguage.MLIR, SHIFT).ext_oneapi_get_kernel("shift")
    x = lp.asarray(10 * np.arange(extent, dtype=np.int32), device=device)
    y = lp.zeros(8, lp.i32, device=device)
    queue.parallel_for(lp.NdRange(8, 8), kernel, x, y, by, divisor).wait()
    return y.numpy()


def test_what_is_right_computes(device: lp.Device, queue: lp.Queue, built: Built) -> None:
    assert launch(device, queue, built, 0, 2).tolist() == [5 * k for k in range(8)]


@pytest.mark.parametrize(("by", "work_item", "index"), [(1, 7, 8), (-1, 0, -1)])
def test_an_index_out_of_range(
    device: lp.Device, queue: lp.Queue, built: Built, by: int, work_item: int, index: int
) -> None:
    with pytest.raises(lp.KernelTrap, match=f"index {index} is out of range of dimension 0 of 'x'") as caught:
        launch(device, queue, built, by, 2)
    assert str(caught.value.location) == "<MLIR>:11:5"
    assert caught.value.work_item == (work_item,)
    assert caught.value.values == (index, 8)


def test_a_division_by_zero_in_a_helper(device: lp.Device, queue: lp.Queue, built: Built) -> None:
    with pytest.raises(lp.KernelTrap, match=r"integer division of \d+ by zero") as caught:
        launch(device, queue, built, 0, 0)
    assert str(caught.value.location) == "<MLIR>:4:5"


@pytest.mark.parametrize(
    ("rows", "columns", "n", "text"),
    [
        (1, 4, 3, None),
        (1, 3, 3, "index 3 is out of range of dimension 1 of 'x', whose extent is 3"),
        (1, 4, 4, "index 4 is out of range of dimension 0 of 'table', whose extent is 4"),
    ],
)
def test_every_dimension_and_private_arrays(
    device: lp.Device, queue: lp.Queue, built: Built, rows: int, columns: int, n: int, text: str | None
) -> None:
    with lp.config.override(debug=True):
        kernel = built(lp.SourceLanguage.MLIR, MATRIX).ext_oneapi_get_kernel("transpose")
    x = lp.zeros((rows, columns), device=device)
    event = queue.parallel_for(lp.NdRange(4, 4), kernel, x, n)
    if text is None:
        event.wait()
        assert x.numpy().tolist() == [[1.0] * 4]
        return
    with pytest.raises(lp.KernelTrap, match=text):
        event.wait()


PART = """
gpu.module @m {
  gpu.func @part(%x: memref<?x?xf32>, %n: i32) kernel {
    %i = gpu.global_id x
    %k = arith.index_cast %n : i32 to index
    %row = memref.subview %x[%i, 1] [1, 2] [1, 1] : memref<?x?xf32> to memref<2xf32, strided<[1], offset: ?>>
    %one = arith.constant 1.0 : f32
    memref.store %one, %row[%k] : memref<2xf32, strided<[1], offset: ?>>
    gpu.return
  }
}
"""


def test_parts_of_arrays_are_checked_against_the_array(
    device: lp.Device, queue: lp.Queue, built: Built
) -> None:
    with lp.config.override(debug=True):
        kernel = built(lp.SourceLanguage.MLIR, PART).ext_oneapi_get_kernel("part")
    x = lp.zeros((2, 3), device=device)
    queue.parallel_for(lp.NdRange(2, 2), kernel, x, 1).wait()
    assert x.numpy().tolist() == [[0, 0, 1]] * 2
    with pytest.raises(
        lp.KernelTrap, match="index 6 is out of range of dimension 0 of 'x', whose extent is 6"
    ):
        queue.parallel_for(lp.NdRange(2, 2), kernel, x, 2).wait()


def test_without_debug_mode_nothing_is_checked(built: Built) -> None:
    with lp.config.override(debug=False):
        (image,) = built(lp.SourceLanguage.MLIR, SHIFT)
    assert "AtomicCompareExchange" not in image.disassemble()


def test_indices_that_are_known_are_not_checked() -> None:
    text = """
    func.func @k(%x: memref<4xi32>, %v: i32) attributes {gpu.kernel} {
      %c3 = arith.constant 3 : index
      %c2 = arith.constant 2 : i32
      %w = arith.divsi %v, %c2 : i32
      memref.store %w, %x[%c3] : memref<4xi32>
      return
    }
    func.func @exported(%v: i32) -> i32 attributes {aspect.external} {
      %w = arith.divui %v, %v : i32
      return %w : i32
    }
    """
    module = parse_module(text, "t").module
    trap_accesses(module)
    assert "kernel.check" not in str(module)


STEPS = """
gpu.module @m {
  gpu.func @sums(%x: memref<?xf32>, %y: memref<?xf32>, %by: i32) kernel {
    %i = gpu.global_id x
    %step = arith.index_cast %by : i32 to index
    %zero = arith.constant 0 : index
    %none = arith.constant 0.0 : f32
    %end = memref.dim %x, %zero : memref<?xf32>
    %sum = scf.for %k = %zero to %end step %step iter_args(%s = %none) -> (f32) {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %y[%i] : memref<?xf32>
    gpu.return
  }
}
"""


@pytest.mark.parametrize(
    ("by", "bad", "trap", "line"),
    [
        (2, 0, None, 0),
        (0, 0, r"the step of the loop is 0; expected one above 0", 9),
        (-1, 0, r"the step of the loop is -1; expected one above 0", 9),
        (1, np.nan, r"NaN is stored into 'y' at \[\d\]", 14),
    ],
)
def test_steps_of_loops_and_nan(
    device: lp.Device, queue: lp.Queue, built: Built, by: int, bad: float, trap: str | None, line: int
) -> None:
    with lp.config.override(debug=True):
        kernel = built(lp.SourceLanguage.MLIR, STEPS).ext_oneapi_get_kernel("sums")
    x = lp.asarray(np.array([1, 2, 4, bad], np.float32), device=device)
    y = lp.zeros(2, device=device)
    event = queue.parallel_for(lp.NdRange(2, 2), kernel, x, y, by)
    if trap is None:
        event.wait()
        assert y.numpy().tolist() == [5, 5]
        return
    with pytest.raises(lp.KernelTrap, match=trap) as caught:
        event.wait()
    assert str(caught.value.location) == f"<MLIR>:{line}:5"
