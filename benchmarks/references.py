"""What NumPy says about the results of the cases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Check = Callable[[np.ndarray, tuple[np.ndarray, ...]], bool]
"""Whether a result is right, given the initial arrays of its case."""


def close(reference: Callable[..., np.ndarray], tolerance: float) -> Check:
    """Returns the check that a result is that of a function of the initial arrays."""

    def check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
        return bool(np.allclose(result, reference(*arrays), rtol=tolerance, atol=tolerance))

    return check


def saxpy_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.float32(2) * x + y


def sum_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    expected = arrays[0].sum(dtype=np.float64)
    return bool(np.isclose(result.sum(dtype=np.float64), expected, rtol=1e-5))


def matmul_reference(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
    return a @ b


def stencil_reference(g: np.ndarray, _: np.ndarray) -> np.ndarray:
    out = g.copy()
    out[1:-1, 1:-1] = 0.25 * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]) - g[1:-1, 1:-1]
    return out


def mandelbrot_reference(edge: int, limit: int) -> np.ndarray:
    step = np.float32(3.0) / np.float32(edge)
    cx = (np.float32(-2.0) + np.arange(edge, dtype=np.float32) * step)[None, :]
    cy = (np.float32(-1.5) + np.arange(edge, dtype=np.float32) * step)[:, None]
    zx, zy = np.zeros((edge, edge), np.float32), np.zeros((edge, edge), np.float32)
    count = np.zeros((edge, edge), np.int32)
    for _ in range(limit):
        inside = zx * zx + zy * zy <= 4
        zx, zy = np.where(inside, zx * zx - zy * zy + cx, zx), np.where(inside, 2 * zx * zy + cy, zy)
        count += inside
    return count


def mandelbrot_check(edge: int, limit: int) -> Check:
    expected = mandelbrot_reference(edge, limit)

    def check(result: np.ndarray, _: tuple[np.ndarray, ...]) -> bool:
        # Points whose orbit passes close to radius 2 may differ by rounding (contraction is allowed).
        return int(np.count_nonzero(np.not_equal(result, expected))) < 0.01 * expected.size

    return check


def nbody_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    bodies = arrays[0].astype(np.float64)
    difference = bodies[None, :, :3] - bodies[:64, None, :3]
    inverse = ((difference**2).sum(-1) + 1e-3) ** -1.5
    expected = (difference * (inverse * bodies[None, :, 3])[..., None]).sum(1)
    return bool(np.allclose(result[:64, :3], expected, rtol=2e-3, atol=1e-2))


def convolution_reference(weights: np.ndarray, g: np.ndarray, _: np.ndarray) -> np.ndarray:
    out = np.zeros_like(g)
    rows, columns = g.shape
    for i in range(3):
        for j in range(3):
            out[1:-1, 1:-1] += weights[i, j] * g[i : rows - 2 + i, j : columns - 2 + j]
    return out


def histogram_reference(levels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.bincount(levels, minlength=len(counts)).astype(np.uint32)


def prefix_sum_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    expected = np.cumsum(arrays[0], dtype=np.float64)
    return bool(np.allclose(result, expected, rtol=1e-4))


def sparse_product_reference(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray, _: np.ndarray
) -> np.ndarray:
    return np.add.reduceat(values.astype(np.float64) * x[columns], rows[:-1])


def nearest_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    points, centres, _ = arrays
    squares = ((points[:, None, :].astype(np.float64) - centres[None]) ** 2).sum(-1)
    chosen = np.take_along_axis(squares, result[:, None], 1)[:, 0]
    return bool(np.allclose(chosen, squares.min(1), rtol=1e-5))  # two may be equally near


def median_reference(g: np.ndarray, _: np.ndarray) -> np.ndarray:
    out = g.copy()
    rows, columns = g.shape
    neighbours = [g[i : rows - 2 + i, j : columns - 2 + j] for i in range(3) for j in range(3)]
    out[1:-1, 1:-1] = np.median(np.stack(neighbours), axis=0)
    return out
