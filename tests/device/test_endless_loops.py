"""Loops without an end trap where the driver ends them, also where it knows that nothing comes behind them."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = [pytest.mark.device, pytest.mark.native_only("such a loop never ends in the interpreter")]

KERNEL = """
import lapilli as lp

@lp.kernel(opt_level={level})
def endless(n: lp.i32, u: lp.u32, x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    c = 0
    while {test}:
        {body}
    x[i] = c
"""
MLIR = """
gpu.module @m {
  gpu.func @endless(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %one = arith.constant 1 : i32
    cf.br ^round
  ^round:
    %v = memref.load %x[%i] : memref<?xi32>
    %w = arith.addi %v, %one : i32
    memref.store %w, %x[%i] : memref<?xi32>
    cf.br ^round
  }
}"""


@pytest.fixture(autouse=True)
def _driver_ends_loops(device: lp.Device) -> None:  # pyright: ignore[reportUnusedFunction]
    if device.target_env.loop_iteration_cap is None:
        pytest.skip("the driver would run such a loop for ever")


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("True", "pass"),
        ("True", "for k in range(n): x[i] += k"),
        ("u >= 0", "x[i] += 1"),
        ("min(n, 3) < 4", "c += x[i] + 1"),
        ("n == n", "for k in range(n): x[i] += k"),
        ("max(c, 1) > 0", "c += 1"),
        ("n == n", "while True: x[i] += 1"),
        ("c < 3", "while u >= 0: x[i] += 1"),
        ("i == 2", "while i == 2: x[i] += 1"),
    ],
)
def test_endless_loops_trap(level: int, test: str, body: str, device: lp.Device) -> None:
    kernel = lp.kernel_from_source(KERNEL.format(level=level, test=test, body=body))
    x = lp.zeros(8, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
        kernel[8](3, 3, x)
        x.numpy()


def test_endless_blocks_trap(device: lp.Device) -> None:
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.MLIR, MLIR)
    x = lp.zeros(8, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
        lp.Queue(device, context=context).parallel_for(
            8, lp.build(source).ext_oneapi_get_kernel("endless"), x
        )
        x.numpy()
