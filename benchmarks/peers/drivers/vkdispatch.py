"""vkdispatch: kernels traced in Python, through GLSL and its own glslang.

It reads annotations as objects, so this file does without ``from __future__ import annotations``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import vkdispatch as vd
import vkdispatch.codegen as vc
from vkdispatch.codegen.abbreviations import Buff, Const, f32, i32, v4

from ..driver import Driver, Work

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]
LINE, PLANE, GROUP = (512, 1, 1), (16, 16, 1), (64, 1, 1)


def _saxpy(inputs: Inputs) -> Work:
    @vd.shader(exec_size=inputs[0].size, local_size=LINE)
    def saxpy(x: Buff[f32], y: Buff[f32], a: Const[f32]):
        i = vc.global_invocation_id().x
        y[i] = a * x[i] + y[i]

    return _work(saxpy, inputs, (2.0,))


def _sum(inputs: Inputs) -> Work:
    size, lanes = inputs[0].size, inputs[1].size

    @vd.shader(exec_size=lanes, local_size=GROUP)
    def total(x: Buff[f32], out: Buff[f32]):
        i = vc.new_int_register(vc.to_int(vc.global_invocation_id().x))
        k = vc.new_int_register(i)
        s = vc.new_float_register(0.0)
        with vc.while_block(k < size):
            s += x[k]
            k += lanes
        out[i] = s

    return _work(total, inputs)


def _matmul(inputs: Inputs) -> Work:
    edge = inputs[0].shape[0]

    @vd.shader(exec_size=(edge, edge), local_size=PLANE)
    def matmul(a: Buff[f32], b: Buff[f32], c: Buff[f32]):
        g = vc.global_invocation_id()
        i, j = vc.new_int_register(vc.to_int(g.y)), vc.new_int_register(vc.to_int(g.x))
        k = vc.new_int_register(0)
        s = vc.new_float_register(0.0)
        with vc.while_block(k < edge):
            s += a[i * edge + k] * b[k * edge + j]
            k += 1
        c[i * edge + j] = s

    return _work(matmul, inputs)


def _mandelbrot(inputs: Inputs) -> Work:
    edge = inputs[0].shape[0]

    @vd.shader(exec_size=(edge, edge), local_size=PLANE)
    def mandelbrot(out: Buff[i32]):
        g, new = vc.global_invocation_id(), vc.new_float_register
        cx = new(vc.to_float(g.x) * (3.0 / edge) - 2.0)
        cy = new(vc.to_float(g.y) * (3.0 / edge) - 1.5)
        zx, zy, t = new(0.0), new(0.0), new(0.0)
        n = vc.new_int_register(0)
        with vc.while_block(vc.all(n < 256, zx * zx + zy * zy <= 4.0)):
            t[:] = zx * zx - zy * zy + cx
            zy[:] = 2.0 * zx * zy + cy
            zx[:] = t
            n += 1
        out[g.y * edge + g.x] = n

    return _work(mandelbrot, inputs)


def _nbody(inputs: Inputs) -> Work:
    count = inputs[0].shape[0]

    @vd.shader(exec_size=count, local_size=GROUP)
    def nbody(p: Buff[v4], f: Buff[v4]):
        i, new = vc.global_invocation_id().x, vc.new_float_register
        me, other = vc.new_vec4_register(p[i]), vc.new_vec4_register(p[i])
        x, y, z, dx, dy, dz, r = (new(0.0) for _ in range(7))
        k = vc.new_int_register(0)
        with vc.while_block(k < count):
            other[:] = p[k]
            dx[:] = other.x - me.x
            dy[:] = other.y - me.y
            dz[:] = other.z - me.z
            r[:] = vc.inversesqrt(dx * dx + dy * dy + dz * dz + 1e-3)
            r[:] = other.w * r * r * r
            x += dx * r
            y += dy * r
            z += dz * r
            k += 1
        f[i] = vc.to_vec4(x, y, z, 0.0)

    p, f = vd.Buffer((count,), v4), vd.Buffer((count,), v4)
    p.write(inputs[0])

    def run(_: int) -> None:
        nbody(p, f)
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(f, inputs[1]))


def _stencil(inputs: Inputs) -> Work:
    edge = inputs[0].shape[0]

    @vd.shader(exec_size=(edge, edge), local_size=PLANE)
    def stencil(g: Buff[f32], out: Buff[f32]):
        ids = vc.global_invocation_id()
        x, y = vc.new_int_register(vc.to_int(ids.x)), vc.new_int_register(vc.to_int(ids.y))
        i = vc.new_int_register(y * edge + x)
        with vc.if_block(vc.all(x > 0, y > 0, x < edge - 1, y < edge - 1)):
            out[i] = 0.25 * (g[i - edge] + g[i + edge] + g[i - 1] + g[i + 1]) - g[i]
        with vc.else_block():
            out[i] = g[i]

    return _work(stencil, inputs)


def _second(inputs: Inputs, parameters: Parameters) -> Work:
    size = inputs[0].size

    def make(c: float) -> Any:
        @vd.shader(exec_size=size, local_size=GROUP)
        def second(x: Buff[f32], y: Buff[f32]):
            i = vc.global_invocation_id().x
            v, s = vc.new_float_register(x[i]), vc.new_float_register(0.0)
            k = vc.new_int_register(0)
            with vc.while_block(k < 12):
                s[:] = s * 0.5 + v * c
                with vc.if_block(s > 1.0):
                    s[:] = 2.0 - s
                v[:] = v * 0.75 + 0.125
                k += 1
            y[i] = s + v

        return second

    x, y = (vd.asbuffer(host) for host in inputs)

    def run(number: int) -> None:
        make(parameters["constants"][number])(x, y)
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(y, inputs[1]))


@vd.shader(exec_size=lambda arguments: arguments.x.size, local_size=GROUP)
def increment(x: Buff[f32]):
    i = vc.global_invocation_id().x
    x[i] = x[i] + 1.0


def _read(buffer: Any, like: np.ndarray) -> np.ndarray:
    return np.asarray(buffer.read(0)).reshape(like.shape)


def _work(kernel: Any, inputs: Inputs, scalars: tuple[float, ...] = ()) -> Work:
    buffers = [vd.asbuffer(host) for host in inputs]

    def run(_: int) -> None:
        kernel(*buffers, *scalars)
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(buffers[-1], inputs[-1]))


def _launches(inputs: Inputs, parameters: Parameters, *, waits: bool) -> Work:
    x, launches = vd.asbuffer(inputs[0]), parameters["launches"]

    def run(_: int) -> None:
        for _ in range(launches):
            increment(x)
            if waits:
                vd.queue_wait_idle()
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(x, inputs[0]))


def _graph(inputs: Inputs, parameters: Parameters) -> Work:
    """One recorded launch, submitted as that many instances: faster than as many recorded launches."""
    x, graph = vd.asbuffer(inputs[0]), vd.CommandGraph()
    increment(x, graph=graph)

    def run(_: int) -> None:
        graph.submit(instance_count=parameters["launches"])
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(x, inputs[0]))


def _upload(inputs: Inputs) -> Work:
    host = inputs[0]
    x = vd.asbuffer(np.zeros_like(host))

    def run(_: int) -> None:
        x.write(host)
        vd.queue_wait_idle()

    return Work(run=run, result=lambda: _read(x, host))


def _download(inputs: Inputs) -> Work:
    x = vd.asbuffer(inputs[0])
    found: list[np.ndarray] = []

    def run(_: int) -> None:
        found[:] = [x.read(0)]

    return Work(run=run, result=lambda: np.asarray(found[0]))


def make() -> Driver:
    """Returns the driver of vkdispatch."""
    vd.initialize(backend="vulkan")
    vd.make_context(use_cpu=True)
    return Driver(
        version=vd.__version__,
        device=vd.get_devices()[0].device_name,
        cases={
            "saxpy": lambda inputs, _: _saxpy(inputs),
            "sum": lambda inputs, _: _sum(inputs),
            "matmul": lambda inputs, _: _matmul(inputs),
            "mandelbrot": lambda inputs, _: _mandelbrot(inputs),
            "n-body": lambda inputs, _: _nbody(inputs),
            "stencil": lambda inputs, _: _stencil(inputs),
            "launch + wait": lambda inputs, parameters: _launches(inputs, parameters, waits=True),
            "pipelined launch": lambda inputs, parameters: _launches(inputs, parameters, waits=False),
            "graph node": _graph,
            "upload": lambda inputs, _: _upload(inputs),
            "download": lambda inputs, _: _download(inputs),
            "second kernel": _second,
        },
    )
