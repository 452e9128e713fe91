"""lapilli itself, by the same protocol as the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import lapilli as lp

from ... import plain_cases as plain
from ..driver import Driver, Work

if TYPE_CHECKING:
    from lapilli.frontend.kernel import KernelFunction

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]


@lp.kernel
def increment(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@lp.kernel
def mandelbrot(out: lp.Out[lp.i32, 2]):
    """With a limit that is in the kernel, as in those of the others."""
    i = lp.global_id(0)
    j = lp.global_id(1)
    cx = -2.0 + lp.f32(j) * (3.0 / lp.f32(out.shape[1]))
    cy = -1.5 + lp.f32(i) * (3.0 / lp.f32(out.shape[0]))
    zx = lp.f32(0.0)
    zy = lp.f32(0.0)
    n = 0
    while n < 256 and zx * zx + zy * zy <= 4.0:
        t = zx * zx - zy * zy + cx
        zy = 2.0 * zx * zy + cy
        zx = t
        n += 1
    out[i, j] = n


def second(c: float) -> KernelFunction:
    """Returns a new kernel; every constant makes another one."""

    @lp.kernel
    def second(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        v = x[i]
        s = lp.f32(0.0)
        for _ in range(12):
            s = s * 0.5 + v * c
            if s > 1.0:
                s = 2.0 - s
            v = v * 0.75 + 0.125
        y[i] = s + v

    return second


def _kernel(kernel: KernelFunction, scalars: tuple[float | int, ...] = ()):
    def prepare(inputs: Inputs, _: Parameters) -> Work:
        arrays = [lp.asarray(array) for array in inputs]
        launch = kernel[inputs[-1].shape[: 1 if kernel is plain.nbody else None]]
        return Work(run=lambda _: launch(*scalars, *arrays).wait(), result=arrays[-1].numpy)

    return prepare


def _launch_and_wait(inputs: Inputs, parameters: Parameters) -> Work:
    x, launches = lp.asarray(inputs[0]), parameters["launches"]

    def run(_: int) -> None:
        for _ in range(launches):
            increment[x.size](x).wait()

    return Work(run=run, result=x.numpy)


def _pipelined(inputs: Inputs, parameters: Parameters) -> Work:
    x, launches = lp.asarray(inputs[0]), parameters["launches"]

    def run(_: int) -> None:
        for _ in range(launches):
            increment[x.size](x)
        x.device.default_queue.wait()

    return Work(run=run, result=x.numpy)


def _graph(inputs: Inputs, parameters: Parameters) -> Work:
    x = lp.asarray(inputs[0])
    with lp.graph() as graph:
        for _ in range(parameters["launches"]):
            increment[x.size](x)
    return Work(run=lambda _: graph.replay().wait(), result=x.numpy)


def _upload(inputs: Inputs, _: Parameters) -> Work:
    host = inputs[0]
    x = lp.zeros(host.shape)
    queue = x.device.default_queue

    def run(_: int) -> None:
        x.copy_from(host)
        queue.wait()

    return Work(run=run, result=x.numpy)


def _download(inputs: Inputs, _: Parameters) -> Work:
    x, out = lp.asarray(inputs[0]), np.zeros_like(inputs[0])
    return Work(run=lambda _: x.copy_to(out), result=lambda: out)


def _second(inputs: Inputs, parameters: Parameters) -> Work:
    x, y = (lp.asarray(array) for array in inputs)

    def run(number: int) -> None:
        second(parameters["constants"][number])[x.size](x, y).wait()

    return Work(run=run, result=y.numpy)


def make() -> Driver:
    """Returns lapilli's driver."""
    return Driver(
        version=lp.__version__,
        device=lp.device().name,
        cases={
            "saxpy": _kernel(plain.saxpy, (2.0,)),
            "sum": _kernel(plain.partial_sums),
            "matmul": _kernel(plain.matmul),
            "mandelbrot": _kernel(mandelbrot),
            "n-body": _kernel(plain.nbody),
            "stencil": _kernel(plain.stencil),
            "launch + wait": _launch_and_wait,
            "pipelined launch": _pipelined,
            "graph node": _graph,
            "upload": _upload,
            "download": _download,
            "second kernel": _second,
        },
    )
