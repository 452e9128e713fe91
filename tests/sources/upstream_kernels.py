"""What tests of kernels written for MLIR have in common: a kernel, and what it writes, from NumPy.

Row i of `y` and `o` is work-item i's; `x` and `n` have eight numbers for each of `ITEMS` work-items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ITEMS = 4
WIDTH = 40
"""Numbers of each row of the results."""
RNG = np.random.default_rng(5)
X = RNG.integers(-9, 9, (ITEMS, 8)).astype(np.float32)
N = np.array(
    [[3, 1, 7, 0, 2, 6, 5, 4], [0, -1, 2, 9, 1, 1, 8, 3], [5, 5, 1, 2, -7, 3, 0, 1], [1, 2, 3, 4, 5, 6, 7, 0]]
)
N = N.astype(np.int32)


class Case(NamedTuple):
    """A kernel."""

    body: str
    expected: Callable[[np.ndarray, np.ndarray], tuple[list[Any], list[Any]]]
    """From a row of `X` and of `N`: the numbers that it writes to `y` and `o`, in order."""
    head: str = ""
    """Aliases in front of the module."""
    tail: str = ""
    """What stands behind the kernel in the module."""
    is_on_cpu: bool = True
    """Whether upstream lowers it to the CPU without passes of LLVM's."""


def kernel_text(name: str, case: Case) -> str:
    """Returns a module with one kernel."""
    signature = "(%x: memref<?xf32>, %n: memref<?xi32>, %y: memref<?x?xf32>, %o: memref<?x?xi32>)"
    return (
        f"{case.head}gpu.module @m {{\n  gpu.func @{name}{signature} kernel {{\n    %i = gpu.global_id x\n"
        f"{case.body}\n    gpu.return\n  }}\n{case.tail}}}\n"
    )


def expected_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Returns what the kernel writes into zeros."""
    y, o = np.zeros((ITEMS, WIDTH), np.float32), np.zeros((ITEMS, WIDTH), np.int32)
    for item in range(ITEMS):
        floats, integers = case.expected(X[item], N[item])
        y[item, : len(floats)], o[item, : len(integers)] = floats, integers
    return y, o


def flat(*parts: Any) -> list[Any]:
    """Returns the numbers of some arrays, one after the other."""
    return [number for part in parts for number in np.ravel(part)]
