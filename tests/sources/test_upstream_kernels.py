"""Kernels written for MLIR against NumPy, and NumPy against what upstream compiles for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

from . import upstream_cpu
from .upstream_affine import AFFINE
from .upstream_arithmetic import ARITHMETIC
from .upstream_kernels import ITEMS, WIDTH, N, X, expected_of, kernel_text
from .upstream_memory import MEMORY
from .upstream_symbols import NEWER, SYMBOLS
from .upstream_transfers import TRANSFERS
from .upstream_vectors import VECTORS

CASES = {**VECTORS, **TRANSFERS, **MEMORY, **ARITHMETIC, **AFFINE, **SYMBOLS}


@pytest.mark.device
@pytest.mark.parametrize("name", [*CASES, *NEWER])
def test_kernel_on_the_device(
    device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle], name: str
):
    case = {**CASES, **NEWER}[name]
    kernel = built(lp.SourceLanguage.MLIR, kernel_text(name, case)).ext_oneapi_get_kernel(name)
    x, n = lp.asarray(X.ravel(), device=device), lp.asarray(N.ravel(), device=device)
    y = lp.zeros((ITEMS, WIDTH), lp.f32, device=device)
    o = lp.zeros((ITEMS, WIDTH), lp.i32, device=device)
    queue.parallel_for(lp.NdRange(ITEMS, ITEMS), kernel, x, n, y, o)
    floats, integers = expected_of(case)
    np.testing.assert_array_equal(y.numpy(), floats)  # exact: small whole numbers
    np.testing.assert_array_equal(o.numpy(), integers)


def test_upstream_gives_the_same(tmp_path: Path):
    for name, case in CASES.items():
        if not case.is_on_cpu:
            continue
        folder = tmp_path / name
        folder.mkdir()
        library = upstream_cpu.compiled(kernel_text(name, case), folder)
        y, o = np.zeros((ITEMS, WIDTH), np.float32), np.zeros((ITEMS, WIDTH), np.int32)
        upstream_cpu.run(library, name, ITEMS, [X.ravel(), N.ravel(), y, o])
        floats, integers = expected_of(case)
        np.testing.assert_array_equal(y, floats, err_msg=name)
        np.testing.assert_array_equal(o, integers, err_msg=name)
