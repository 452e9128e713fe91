"""Taichi on Vulkan, and Quadrants, its fork with the same names.

Kernels are loops over ``range`` on ndarrays, each in the form that takes the least time on lavapipe (Taichi 1.7.4,
Quadrants 1.3.3): with a bound that is known when it is compiled Taichi launches in an eighth of the time, but fails to
dispatch 2^24 elements unless groups are larger, which is slower there, and faster in Quadrants.  Fields gain nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..driver import Driver, Unsupported, Work

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]
LIMIT = 256
"""Of mandelbrot's iterations."""


def make_driver(ti: Any, *, fixed_saxpy: bool) -> Driver:
    """Returns the driver of a module that is taichi or has its names.

    Args:
        ti: the module.
        fixed_saxpy: whether saxpy's loop has a bound that is known when it is compiled.
    """
    ti.init(arch=ti.vulkan, log_level=ti.ERROR)
    kernels = _kernels(ti)
    return Driver(
        version=".".join(map(str, ti.__version__)),
        device="",
        cases={
            "saxpy": lambda inputs, _: _work(ti, _saxpy(ti, inputs, fixed=fixed_saxpy), inputs, (2.0,)),
            "sum": lambda inputs, _: _work(ti, _sum(ti, inputs), inputs),
            "matmul": lambda inputs, _: _work(ti, kernels["matmul"], inputs),
            "mandelbrot": lambda inputs, _: _work(ti, kernels["mandelbrot"], inputs),
            "n-body": lambda inputs, _: _nbody(ti, kernels["nbody"], inputs),
            "stencil": lambda inputs, _: _work(ti, kernels["stencil"], inputs),
            "launch + wait": lambda inputs, parameters: _launches(
                ti, kernels, inputs, parameters, waits=True
            ),
            "pipelined launch": lambda inputs, parameters: _launches(
                ti, kernels, inputs, parameters, waits=False
            ),
            "graph node": lambda inputs, parameters: _graph(ti, kernels, inputs, parameters),
            "upload": lambda inputs, _: _upload(ti, inputs),
            "download": lambda inputs, _: _download(ti, inputs),
            "second kernel": lambda inputs, parameters: _second(ti, inputs, parameters),
        },
    )


def _kernels(ti: Any) -> dict[str, Any]:
    line, plane = (ti.types.ndarray(dtype=ti.f32, ndim=n) for n in (1, 2))
    counts = ti.types.ndarray(dtype=ti.i32, ndim=2)
    bodies = ti.types.ndarray(dtype=ti.math.vec4, ndim=1)

    @ti.kernel
    def matmul(a: plane, b: plane, c: plane):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    @ti.kernel
    def mandelbrot(out: counts):
        for i, j in out:
            cx = -2.0 + j * (3.0 / out.shape[1])
            cy = -1.5 + i * (3.0 / out.shape[0])
            zx = 0.0
            zy = 0.0
            n = 0
            while n < LIMIT and zx * zx + zy * zy <= 4.0:
                t = zx * zx - zy * zy + cx
                zy = 2.0 * zx * zy + cy
                zx = t
                n += 1
            out[i, j] = n

    @ti.kernel
    def nbody(p: bodies, f: bodies):
        for i in range(p.shape[0]):
            me = p[i].xyz
            s = ti.math.vec3(0.0)
            for j in range(p.shape[0]):
                other = p[j]
                d = other.xyz - me
                r = ti.rsqrt(d.dot(d) + 1e-3)
                s += d * (other.w * r * r * r)
            f[i] = ti.math.vec4(s, 0.0)

    @ti.kernel
    def stencil(g: plane, out: plane):
        for i, j in g:
            if i > 0 and j > 0 and i < g.shape[0] - 1 and j < g.shape[1] - 1:
                out[i, j] = 0.25 * (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1]) - g[i, j]
            else:
                out[i, j] = g[i, j]

    @ti.kernel
    def increment(x: line):
        for i in range(64):
            x[i] += 1.0

    return {kernel.__name__: kernel for kernel in (matmul, mandelbrot, nbody, stencil, increment)}


def _saxpy(ti: Any, inputs: Inputs, *, fixed: bool) -> Any:
    line, size = ti.types.ndarray(dtype=ti.f32, ndim=1), inputs[0].size

    @ti.kernel
    def saxpy(a: ti.f32, x: line, y: line):
        for i in range(x.shape[0]):
            y[i] = a * x[i] + y[i]

    @ti.kernel
    def fixed_saxpy(a: ti.f32, x: line, y: line):
        ti.loop_config(block_dim=512)
        for i in range(size):
            y[i] = a * x[i] + y[i]

    return fixed_saxpy if fixed else saxpy


def _sum(ti: Any, inputs: Inputs) -> Any:
    line, lanes = ti.types.ndarray(dtype=ti.f32, ndim=1), inputs[-1].size

    @ti.kernel
    def total(x: line, out: line):
        for i in range(lanes):
            s = 0.0
            for k in range(x.shape[0] // lanes):
                s += x[k * lanes + i]
            out[i] = s

    return total


def _array(ti: Any, host: np.ndarray) -> Any:
    made = ti.ndarray(ti.i32 if host.dtype == np.int32 else ti.f32, host.shape)
    made.from_numpy(host)
    return made


def _work(ti: Any, kernel: Any, inputs: Inputs, scalars: tuple[float, ...] = ()) -> Work:
    arrays = [_array(ti, host) for host in inputs]

    def run(_: int) -> None:
        kernel(*scalars, *arrays)
        ti.sync()

    return Work(run=run, result=arrays[-1].to_numpy)


def _nbody(ti: Any, kernel: Any, inputs: Inputs) -> Work:
    arrays = [ti.ndarray(ti.math.vec4, host.shape[0]) for host in inputs]
    for array, host in zip(arrays, inputs, strict=True):
        array.from_numpy(host)

    def run(_: int) -> None:
        kernel(*arrays)
        ti.sync()

    return Work(run=run, result=arrays[-1].to_numpy)


def _launches(
    ti: Any, kernels: Mapping[str, Any], inputs: Inputs, parameters: Parameters, *, waits: bool
) -> Work:
    x, launches, increment = _array(ti, inputs[0]), parameters["launches"], kernels["increment"]

    def run(_: int) -> None:
        for _ in range(launches):
            increment(x)
            if waits:
                ti.sync()
        ti.sync()

    return Work(run=run, result=x.to_numpy)


def _graph(ti: Any, kernels: Mapping[str, Any], inputs: Inputs, parameters: Parameters) -> Work:
    if not hasattr(ti.graph, "GraphBuilder"):
        raise Unsupported("graphs of kernels on Vulkan")
    x = _array(ti, inputs[0])
    argument = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    builder = ti.graph.GraphBuilder()
    for _ in range(parameters["launches"]):
        builder.dispatch(kernels["increment"], argument)
    graph = builder.compile()

    def run(_: int) -> None:
        graph.run({"x": x})
        ti.sync()

    return Work(run=run, result=x.to_numpy)


def _upload(ti: Any, inputs: Inputs) -> Work:
    host = inputs[0]
    x = ti.ndarray(ti.f32, host.shape)

    def run(_: int) -> None:
        x.from_numpy(host)
        ti.sync()

    return Work(run=run, result=x.to_numpy)


def _download(ti: Any, inputs: Inputs) -> Work:
    x = _array(ti, inputs[0])
    found: list[np.ndarray] = []

    def run(_: int) -> None:
        found[:] = [x.to_numpy()]

    return Work(run=run, result=lambda: found[0])


def _second(ti: Any, inputs: Inputs, parameters: Parameters) -> Work:
    line = ti.types.ndarray(dtype=ti.f32, ndim=1)

    def make(c: float) -> Any:
        @ti.kernel
        def second(x: line, y: line):
            for i in range(x.shape[0]):
                v = x[i]
                s = 0.0
                for _ in range(12):
                    s = s * 0.5 + v * c
                    if s > 1.0:
                        s = 2.0 - s
                    v = v * 0.75 + 0.125
                y[i] = s + v

        return second

    x, y = (_array(ti, host) for host in inputs)

    def run(number: int) -> None:
        make(parameters["constants"][number])(x, y)
        ti.sync()

    return Work(run=run, result=y.to_numpy)
