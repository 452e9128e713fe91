"""wgpu: WGSL through wgpu-native and naga, on its Vulkan backend.

The public way to wait for a queue raises TypeError in 0.32.0, so launches wait by the device's ``_poll_wait``, which is
less work than the other public way, reading a buffer.  Downloads go through a buffer of their own that is mapped, in a
fifth of the time of ``read_buffer``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

os.environ["WGPU_BACKEND_TYPE"] = "Vulkan"  # read at the first use of the package
import wgpu

from ..driver import Driver, Work

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]
GROUP = 256
HEAD = "@builtin(global_invocation_id) g: vec3u, @builtin(num_workgroups) groups: vec3u"
LINE = f"@compute @workgroup_size({GROUP}) fn main({HEAD}) {{ let i = g.y * groups.x * {GROUP}u + g.x;"
PLANE = f"@compute @workgroup_size(16, 16) fn main({HEAD}) {{ let i = g.y; let j = g.x;"

SAXPY = LINE + "if (i < arrayLength(&y)) { y[i] = 2.0 * x[i] + y[i]; } }"
SUM = (
    LINE
    + """ let lanes = arrayLength(&y); if (i >= lanes) { return; } var s = 0.0;
  for (var k = i; k < arrayLength(&x); k += lanes) { s += x[k]; } y[i] = s; }"""
)
MATMUL = (
    PLANE
    + """ if (i >= EDGE || j >= EDGE) { return; } var s = 0.0;
  for (var k = 0u; k < EDGE; k++) { s += x[i * EDGE + k] * y[k * EDGE + j]; } z[i * EDGE + j] = s; }"""
)
MANDELBROT = (
    PLANE
    + """ if (i >= EDGE || j >= EDGE) { return; } let step = 3.0 / f32(EDGE);
  let cx = -2.0 + f32(j) * step; let cy = -1.5 + f32(i) * step; var zx = 0.0; var zy = 0.0; var n = 0;
  while (n < 256 && zx * zx + zy * zy <= 4.0) {
    let t = zx * zx - zy * zy + cx; zy = 2.0 * zx * zy + cy; zx = t; n++; }
  x[i * EDGE + j] = n; }"""
)
NBODY = """@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) {
  let i = g.x; if (i >= arrayLength(&x)) { return; } let me = x[i].xyz; var s = vec3f(0.0);
  for (var k = 0u; k < arrayLength(&x); k++) {
    let d = x[k].xyz - me; let r = inverseSqrt(dot(d, d) + 1e-3); s += d * (x[k].w * r * r * r); }
  y[i] = vec4f(s, 0.0); }"""
STENCIL = (
    PLANE
    + """ if (i >= EDGE || j >= EDGE) { return; } let k = i * EDGE + j;
  if (i > 0u && j > 0u && i < EDGE - 1u && j < EDGE - 1u) {
    y[k] = 0.25 * (x[k - EDGE] + x[k + EDGE] + x[k - 1u] + x[k + 1u]) - x[k]; } else { y[k] = x[k]; } }"""
)
INCREMENT = """@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) {
  if (g.x < arrayLength(&x)) { x[g.x] += 1.0; } }"""
SECOND = """@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) {
  if (g.x >= arrayLength(&x)) { return; } var v = x[g.x]; var s = 0.0;
  for (var k = 0; k < 12; k++) { s = s * 0.5 + v * C; if (s > 1.0) { s = 2.0 - s; } v = v * 0.75 + 0.125; }
  y[g.x] = s + v; }"""
MOST_GROUPS = 65535


class Gpu:
    """A device and what a user writes around it."""

    def __init__(self) -> None:
        self.adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        wanted = ("max-storage-buffer-binding-size", "max-buffer-size")
        limits = {name: self.adapter.limits[name] for name in wanted}
        self.device = self.adapter.request_device_sync(required_limits=limits)
        self.queue = self.device.queue

    def wait(self) -> None:
        self.device._poll_wait()

    def buffer(self, host: np.ndarray) -> Any:
        use = wgpu.BufferUsage
        return self.device.create_buffer_with_data(data=host, usage=use.STORAGE | use.COPY_SRC | use.COPY_DST)

    def read(self, buffer: Any, like: np.ndarray) -> np.ndarray:
        return np.frombuffer(self.queue.read_buffer(buffer), like.dtype).reshape(like.shape)

    def launcher(
        self, source: str, types: str, buffers: Sequence[Any], groups: tuple[int, ...]
    ) -> Callable[[int], None]:
        """Returns what encodes and submits a number of dispatches as one pass.

        Args:
            source: WGSL without its buffers, which are x, y and z.
            types: their element types.
            buffers: read only but for the last one.
            groups: of one dispatch.
        """
        last = len(buffers) - 1
        head = "".join(
            f"@group(0) @binding({n}) var<storage, {'read_write' if n == last else 'read'}> "
            f"{'xyz'[n]}: array<{element}>;\n"
            for n, element in enumerate(types.split())
        )
        module = self.device.create_shader_module(code=head + source)
        pipeline = self.device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        bound = self.device.create_bind_group(
            layout=pipeline.get_bind_group_layout(0),
            entries=[{"binding": n, "resource": {"buffer": b}} for n, b in enumerate(buffers)],
        )

        def launch(count: int) -> None:
            encoder = self.device.create_command_encoder()
            commands = encoder.begin_compute_pass()
            commands.set_pipeline(pipeline)
            commands.set_bind_group(0, bound)
            for _ in range(count):
                commands.dispatch_workgroups(*groups)
            commands.end()
            self.queue.submit([encoder.finish()])

        return launch


def _line(size: int) -> tuple[int, ...]:
    groups = -(-size // GROUP)
    rows = -(-groups // MOST_GROUPS)
    return (-(-groups // rows), rows, 1)


def _kernel(gpu: Gpu, inputs: Inputs, source: str, types: str, groups: tuple[int, ...]) -> Work:
    buffers = [gpu.buffer(host) for host in inputs]
    source = source.replace("EDGE", f"{inputs[0].shape[-1]}u")
    launch = gpu.launcher(source, types, buffers, groups)

    def run(_: int) -> None:
        launch(1)
        gpu.wait()

    return Work(run=run, result=lambda: gpu.read(buffers[-1], inputs[-1]))


def _plane(inputs: Inputs) -> tuple[int, ...]:
    rows, columns = inputs[-1].shape
    return (-(-columns // 16), -(-rows // 16), 1)


def _launches(gpu: Gpu, inputs: Inputs, parameters: Parameters, *, waits: bool) -> Work:
    x, launches = gpu.buffer(inputs[0]), parameters["launches"]
    launch = gpu.launcher(INCREMENT, "f32", [x], (1, 1, 1))

    def run(_: int) -> None:
        for _ in range(launches):
            launch(1)
            if waits:
                gpu.wait()
        gpu.wait()

    return Work(run=run, result=lambda: gpu.read(x, inputs[0]))


def _one_pass(gpu: Gpu, inputs: Inputs, parameters: Parameters) -> Work:
    """Command buffers of WebGPU run once: the nearest thing to a graph is one pass with all launches."""
    x, launches = gpu.buffer(inputs[0]), parameters["launches"]
    launch = gpu.launcher(INCREMENT, "f32", [x], (1, 1, 1))

    def run(_: int) -> None:
        launch(launches)
        gpu.wait()

    return Work(run=run, result=lambda: gpu.read(x, inputs[0]))


def _upload(gpu: Gpu, inputs: Inputs) -> Work:
    host = inputs[0]
    x = gpu.buffer(np.zeros_like(host))

    def run(_: int) -> None:
        gpu.queue.write_buffer(x, 0, host)
        gpu.queue.submit([])
        gpu.wait()

    return Work(run=run, result=lambda: gpu.read(x, host))


def _download(gpu: Gpu, inputs: Inputs) -> Work:
    host, out = inputs[0], np.zeros_like(inputs[0])
    x, use = gpu.buffer(host), wgpu.BufferUsage
    staging = gpu.device.create_buffer(size=host.nbytes, usage=use.MAP_READ | use.COPY_DST)

    def run(_: int) -> None:
        encoder = gpu.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(x, 0, staging, 0, host.nbytes)
        gpu.queue.submit([encoder.finish()])
        staging.map_sync(wgpu.MapMode.READ)
        np.copyto(out, np.frombuffer(staging.read_mapped(copy=False), host.dtype))
        staging.unmap()

    return Work(run=run, result=lambda: out)


def _second(gpu: Gpu, inputs: Inputs, parameters: Parameters) -> Work:
    buffers = [gpu.buffer(host) for host in inputs]
    groups = (-(-inputs[0].size // 64), 1, 1)

    def run(number: int) -> None:
        source = SECOND.replace("C", repr(parameters["constants"][number]))
        gpu.launcher(source, "f32 f32", buffers, groups)(1)
        gpu.wait()

    return Work(run=run, result=lambda: gpu.read(buffers[-1], inputs[-1]))


def make() -> Driver:
    """Returns the driver of wgpu."""
    gpu = Gpu()
    return Driver(
        version=wgpu.__version__,
        device=gpu.adapter.info["device"],
        cases={
            "saxpy": lambda inputs, _: _kernel(gpu, inputs, SAXPY, "f32 f32", _line(inputs[0].size)),
            "sum": lambda inputs, _: _kernel(gpu, inputs, SUM, "f32 f32", _line(inputs[-1].size)),
            "matmul": lambda inputs, _: _kernel(gpu, inputs, MATMUL, "f32 f32 f32", _plane(inputs)),
            "mandelbrot": lambda inputs, _: _kernel(gpu, inputs, MANDELBROT, "i32", _plane(inputs)),
            "n-body": lambda inputs, _: _kernel(
                gpu, inputs, NBODY, "vec4f vec4f", (-(-len(inputs[0]) // 64), 1, 1)
            ),
            "stencil": lambda inputs, _: _kernel(gpu, inputs, STENCIL, "f32 f32", _plane(inputs)),
            "launch + wait": lambda inputs, parameters: _launches(gpu, inputs, parameters, waits=True),
            "pipelined launch": lambda inputs, parameters: _launches(gpu, inputs, parameters, waits=False),
            "graph node": lambda inputs, parameters: _one_pass(gpu, inputs, parameters),
            "upload": lambda inputs, _: _upload(gpu, inputs),
            "download": lambda inputs, _: _download(gpu, inputs),
            "second kernel": lambda inputs, parameters: _second(gpu, inputs, parameters),
        },
    )
