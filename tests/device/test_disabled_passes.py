"""Every optimisation pass can be switched off, does nothing then, and changes no result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import Executable
from lapilli.frontend.compile_options import overridden_options
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import OPTIMISATION_PASSES
from lapilli.spirv.device_image import DeviceImage

SIZE = 64
SHAPE = (32, 32)
Run = Callable[[lp.Device], tuple[KernelFunction, np.ndarray]]
"""Defines a kernel anew, so that nothing is compiled yet, launches it and returns what it wrote."""


def _data(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(3).random(shape, dtype=np.float32)


def run_product(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """Shared and private arrays, barriers, loops with invariants, equal and dead expressions, constants."""
    tile = 8

    @lp.kernel(local_size=(tile, tile))
    def product(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
        left = lp.local.array((tile, tile), lp.f32)
        right = lp.local.array((tile, tile), lp.f32)
        sums = lp.private.array(2, lp.f32)
        i, j = lp.global_id(0), lp.global_id(1)
        ti, tj = lp.local_id(0), lp.local_id(1)
        for k in range(2):
            sums[k] = 0.0
        for k0 in range(0, a.shape[1], tile):
            scale = (a.shape[1] + 3) * (2 + 1)
            unused = scale * 5  # noqa: F841
            left[ti, tj] = a[i, k0 + tj]
            right[ti, tj] = b[k0 + ti, j]
            lp.barrier()
            for k in range(tile):
                sums[0] += left[ti, k] * right[k, tj]
                sums[1] += lp.f32((a.shape[1] + 3) * 3 - scale) + left[k, tj] * 0.5
            lp.barrier()
        c[i, j] = sums[0] + sums[1]

    a, b = _data(SHAPE), _data(SHAPE)
    out = lp.zeros(SHAPE, device=device)
    product[SHAPE](lp.asarray(a, device=device), lp.asarray(b, device=device), out)
    return product, out.numpy()


def run_scan(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """Prefix sums of work-groups: rounds that end with a barrier, and nothing shared behind them."""

    @lp.kernel(local_size=SIZE)
    def scan(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
        part = lp.local.array(SIZE, lp.f32)
        i, t = lp.global_id(0), lp.local_id(0)
        value = x[i]
        part[t] = value
        lp.barrier()
        reach = 1
        while reach < SIZE:
            before = part[t - reach] if t >= reach else 0.0
            lp.barrier()
            value += before
            part[t] = value
            lp.barrier()
            reach = reach << 1
        out[i] = value

    x = _data((4 * SIZE,))
    out = lp.zeros(4 * SIZE, device=device)
    scan[4 * SIZE](lp.asarray(x, device=device), out)
    np.testing.assert_allclose(out.numpy(), x.reshape(4, SIZE).cumsum(axis=1).ravel(), rtol=1e-5)
    return scan, out.numpy()


def run_stencil(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """Large enough to be coarsened, with branches at borders."""

    @lp.kernel
    def stencil(g: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        total = 0.0
        if i > 0 and j > 0 and i < g.shape[0] - 1 and j < g.shape[1] - 1:
            for di in range(3):
                for dj in range(3):
                    total += g[i + di - 1, j + dj - 1]
        out[i, j] = total

    grid = _data((SIZE, SIZE))
    out = lp.zeros(grid.shape, device=device)
    stencil[grid.shape](lp.asarray(grid, device=device), out)
    return stencil, out.numpy()


def run_matmul(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """Large enough to be coarsened, with a loop."""

    @lp.kernel
    def matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total

    a, b = _data((SIZE, SIZE)), _data((SIZE, SIZE))
    out = lp.zeros(a.shape, device=device)
    matmul[a.shape](lp.asarray(a, device=device), lp.asarray(b, device=device), out)
    return matmul, out.numpy()


def run_rows(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """Rows of four, in a loop; too small to be coarsened."""

    @lp.kernel
    def rows(points: lp.In[lp.f32, 2], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        total = 0.0
        for k in range(points.shape[0]):
            total += (points[k, 0] - points[i, 0]) * points[k, 1] + points[k, 2] * points[k, 3]
        out[i] = total

    points = _data((SIZE, 4))
    out = lp.zeros(SIZE, device=device)
    rows[SIZE](lp.asarray(points, device=device), out)
    return rows, out.numpy()


def run_search(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """A loop that ends early."""

    @lp.kernel
    def search(limit: lp.i32, out: lp.Out[lp.i32]):
        n = lp.global_id(0)
        for k in range(limit):
            if k * k > n:
                break
            n -= k
        out[lp.global_id(0)] = n

    out = lp.zeros(SIZE, lp.i32, device=device)
    search[SIZE](10, out)
    return search, out.numpy()


def run_escape(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """A loop that counts its rounds until a float is large."""

    @lp.kernel
    def escape(limit: lp.i32, out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        z, n = lp.f32(0.0), 0
        while n < limit and z * z < 4.0:
            z = z * z + lp.f32(i) * 0.02
            n += 1
        out[i] = n

    out = lp.zeros(SIZE, lp.i32, device=device)
    escape[SIZE](9, out)
    return escape, out.numpy()


def run_helpers(device: lp.Device) -> tuple[KernelFunction, np.ndarray]:
    """A helper, called twice."""

    def between(a, b, t):
        return a + (b - a) * t

    @lp.kernel
    def helpers(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        out[i] = between(x[i], between(x[0], 1.0, 0.5), x[i] * 0.25)

    x = _data((SIZE,))
    out = lp.zeros(SIZE, device=device)
    helpers[SIZE](lp.asarray(x, device=device), out)
    return helpers, out.numpy()


KERNELS: tuple[Run, ...] = (
    run_product,
    run_stencil,
    run_matmul,
    run_rows,
    run_search,
    run_scan,
    run_escape,
    run_helpers,
)


def _images(kernel: KernelFunction) -> list[DeviceImage]:
    return [made.image for made in kernel.compiled.values() if isinstance(made, Executable)]


def _code(kernel: KernelFunction) -> set[bytes]:
    return {image.spirv for image in _images(kernel)}


@pytest.mark.parametrize("run", KERNELS)
@pytest.mark.parametrize("name", (*OPTIMISATION_PASSES, "all"))
def test_results_do_not_depend_on_a_pass(device: lp.Device, run: Run, name: str) -> None:
    _, expected = run(device)
    disabled = OPTIMISATION_PASSES if name == "all" else (name,)
    with overridden_options(disabled_passes=disabled):
        kernel, found = run(device)
    assert {image.target_env.disabled_passes for image in _images(kernel)} == {disabled}
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", OPTIMISATION_PASSES)
def test_every_pass_does_something(device: lp.Device, name: str) -> None:
    """Else the test above would show nothing: without the pass the code of some kernel is another one."""
    differs = has_coarse = False
    for run in KERNELS:
        usual, _ = run(device)
        with overridden_options(disabled_passes=(name,)):
            other, _ = run(device)
        differs = differs or _code(usual) != _code(other)
        has_coarse = has_coarse or len(_images(usual)) > 1
    if name == "coarsen" and not has_coarse:
        pytest.skip(f"{device.selector} runs these kernels as they are")
    env = device.target_env
    has = {
        "pair-rounds": env.pairs_rounds,
        "rotate-barriers": env.rotates_barriers,
        "speculate-rounds": env.pairs_rounds,
        "unroll-barriers": env.unrolls_barriers,
        "unroll-short": env.unrolls_short,
    }
    if not has.get(name, True):
        pytest.skip(f"{device.selector} is not one of those that it is for")
    assert differs
