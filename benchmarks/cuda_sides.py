"""CUDA's side of the comparison: CuPy's raw kernels, a copy and cuBLAS, timed by CUDA events."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .cuda_cases import CudaCase
from .kernels import WrongResultError

OPTIONS = ("--std=c++14",)
"""Contraction stays on, as nvcc has it: no option for it."""


def load_cupy() -> Any:
    """Returns CuPy, None where it is not installed or finds no GPU."""
    try:
        cupy: Any = importlib.import_module("cupy")
        cupy.zeros(1)
    except Exception:  # ImportError, or any of CUDA's own: there is no CUDA to compare with
        return None
    return cupy


class CudaArrays:
    """The arrays of a case on the GPU, in CUDA's memory.

    Args:
        cupy: the module.
        case: what.
    """

    def __init__(self, cupy: Any, case: CudaCase) -> None:
        self.cupy = cupy
        self.case = case
        self.arrays: list[Any] = [cupy.asarray(array) for array in case.case.arrays]

    def timed(self, launch: Callable[[], object]) -> Callable[[], float]:
        """Returns what launches once and returns the milliseconds between two events around it."""
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()

        def measure() -> float:
            start.record()
            launch()
            end.record()
            end.synchronize()
            return float(self.cupy.cuda.get_elapsed_time(start, end))

        return measure


def cuda_side(cuda: CudaArrays) -> Callable[[], float]:
    """Returns the raw kernel with the block size that is best for it; its result is checked.

    Raises:
        WrongResultError: the result differs from NumPy's.
    """
    case, cupy = cuda.case, cuda.cupy
    launch = case.cuda
    kernel = cupy.RawKernel(launch.source, launch.kernel, options=OPTIONS)
    scalars = [np.float32(s) if isinstance(s, float) else np.uint32(s) for s in launch.scalars]
    arguments = (*cuda.arrays, *scalars) if launch.scalars_last else (*scalars, *cuda.arrays)

    def with_block(block: tuple[int, int]) -> Callable[[], object]:
        grid = tuple(-(-n // size) for n, size in zip(launch.threads, block, strict=True))
        return lambda: kernel(grid, block, arguments)

    with_block(launch.blocks[0])()
    if not case.case.check(cupy.asnumpy(cuda.arrays[-1]), case.case.arrays):
        raise WrongResultError(f"case '{case.case.name}', CUDA C: the result differs from NumPy's")
    measures = [cuda.timed(with_block(block)) for block in launch.blocks]
    for measure in measures:
        measure()
    return min(measures, key=lambda measure: min(measure() for _ in range(3)))


def copy_side(cuda: CudaArrays) -> Callable[[], float]:
    """Returns a copy of the last array to memory of its own, device to device: two thirds of saxpy's traffic."""
    source = cuda.arrays[-1]
    target = cuda.cupy.empty_like(source)
    stream = cuda.cupy.cuda.Stream.null
    measure = cuda.timed(lambda: target.data.copy_from_device_async(source.data, source.nbytes, stream))
    measure()
    return measure


def cublas_side(cuda: CudaArrays) -> Callable[[], float]:
    """Returns the product of the first two arrays by cuBLAS, in f32 as CuPy has it by default."""
    edge = len(cuda.arrays[0])
    a, b = (array.reshape(edge, edge) for array in cuda.arrays[:2])
    out = cuda.cupy.empty_like(a)
    measure = cuda.timed(lambda: cuda.cupy.matmul(a, b, out=out))
    measure()
    return measure
