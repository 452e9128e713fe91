"""compushady: HLSL through its own compiler; every dispatch submits and waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import compushady as c
import numpy as np
from compushady.shaders import hlsl

from ..driver import Driver, Work

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]


def _line(threads: int) -> str:
    return f"[numthreads({threads}, 1, 1)] void main(uint3 g : SV_DispatchThreadID) {{ uint i = g.x;"


def _plane(x: int, y: int) -> str:
    head = f"[numthreads({x}, {y}, 1)] void main(uint3 g : SV_DispatchThreadID) {{ uint j = g.x, r = g.y;"
    return head + " if (j >= EDGE || r >= EDGE) return;"


SAXPY = _line(1024) + " if (i < COUNT) y[i] = 2.0 * x[i] + y[i]; }"
SUM = (
    _line(64)
    + """ if (i >= LANES) return; float s = 0.0;
  for (uint k = i; k < COUNT; k += LANES) s += x[k]; y[i] = s; }"""
)
MATMUL = (
    _plane(16, 16)
    + """ float s = 0.0;
  for (uint k = 0; k < EDGE; k++) s += x[r * EDGE + k] * y[k * EDGE + j];
  z[r * EDGE + j] = s; }"""
)
MANDELBROT = (
    _plane(16, 16)
    + """ float scale = 3.0 / float(EDGE);
  float cx = -2.0 + float(j) * scale, cy = -1.5 + float(r) * scale, zx = 0.0, zy = 0.0; int n = 0;
  while (n < 256 && zx * zx + zy * zy <= 4.0) {
    float t = zx * zx - zy * zy + cx; zy = 2.0 * zx * zy + cy; zx = t; n++; }
  x[r * EDGE + j] = n; }"""
)
NBODY = (
    _line(64)
    + """ if (i >= BODIES) return; float3 me = x[i].xyz, s = 0;
  for (uint k = 0; k < BODIES; k++) {
    float3 d = x[k].xyz - me; float q = rsqrt(dot(d, d) + 1e-3); s += d * (x[k].w * q * q * q); }
  y[i] = float4(s, 0); }"""
)
STENCIL = (
    _plane(256, 1)
    + """ uint k = r * EDGE + j;
  if (r > 0 && j > 0 && r < EDGE - 1 && j < EDGE - 1)
    y[k] = 0.25 * (x[k - EDGE] + x[k + EDGE] + x[k - 1] + x[k + 1]) - x[k];
  else y[k] = x[k]; }"""
)
INCREMENT = _line(64) + " x[i] += 1.0; }"
SECOND = (
    _line(64)
    + """ float v = x[i], s = 0.0;
  for (int k = 0; k < 12; k++) { s = s * 0.5 + v * CONSTANT; if (s > 1.0) s = 2.0 - s; v = v * 0.75 + 0.125; }
  y[i] = s + v; }"""
)


def _buffer(host: np.ndarray, stride: int) -> Any:
    buffer, staging = c.Buffer(host.nbytes, stride=stride), c.Buffer(host.nbytes, c.HEAP_UPLOAD)
    staging.upload(np.ascontiguousarray(host).tobytes())
    staging.copy_to(buffer)
    return buffer


def _read(buffer: Any, like: np.ndarray) -> np.ndarray:
    staging = c.Buffer(like.nbytes, c.HEAP_READBACK)
    buffer.copy_to(staging)
    return np.frombuffer(staging.readback(), like.dtype).reshape(like.shape)


def _compute(source: str, element: str, buffers: Sequence[Any], inputs: Inputs) -> Any:
    first, last = inputs[0], inputs[-1]
    head = "".join(
        f"RWStructuredBuffer<{element}> {'xyz'[n]} : register(u{n});\n" for n in range(len(buffers))
    )
    sizes = {
        "COUNT": first.size, "LANES": last.size, "EDGE": last.shape[-1], "BODIES": first.shape[0]
    }  # fmt: skip
    defines = "".join(f"#define {name} {value}u\n" for name, value in sizes.items())
    return c.Compute(hlsl.compile(defines + head + source), uav=list(buffers))


def _kernel(inputs: Inputs, source: str, element: str, stride: int, groups: tuple[int, int]) -> Work:
    buffers = [_buffer(host, stride) for host in inputs]
    compute = _compute(source, element, buffers, inputs)
    return Work(run=lambda _: compute.dispatch(*groups, 1), result=lambda: _read(buffers[-1], inputs[-1]))


def _launches(inputs: Inputs, parameters: Parameters) -> Work:
    x, launches = _buffer(inputs[0], 4), parameters["launches"]
    compute = _compute(INCREMENT, "float", [x], inputs)

    def run(_: int) -> None:
        for _ in range(launches):
            compute.dispatch(1, 1, 1)

    return Work(run=run, result=lambda: _read(x, inputs[0]))


def _upload(inputs: Inputs) -> Work:
    host = inputs[0]
    x, staging = c.Buffer(host.nbytes, stride=4), c.Buffer(host.nbytes, c.HEAP_UPLOAD)

    def run(_: int) -> None:
        staging.upload(host)
        staging.copy_to(x)

    return Work(run=run, result=lambda: _read(x, host))


def _download(inputs: Inputs) -> Work:
    host, out = inputs[0], np.zeros_like(inputs[0])
    x, staging = _buffer(host, 4), c.Buffer(host.nbytes, c.HEAP_READBACK)

    def run(_: int) -> None:
        x.copy_to(staging)
        staging.readback(out)

    return Work(run=run, result=lambda: out)


def _second(inputs: Inputs, parameters: Parameters) -> Work:
    buffers = [_buffer(host, 4) for host in inputs]

    def run(number: int) -> None:
        source = SECOND.replace("CONSTANT", repr(parameters["constants"][number]))
        _compute(source, "float", buffers, inputs).dispatch(-(-inputs[0].size // 64), 1, 1)

    return Work(run=run, result=lambda: _read(buffers[-1], inputs[-1]))


def make() -> Driver:
    """Returns the driver of compushady."""

    def line(inputs: Inputs, local: int) -> tuple[int, int]:
        return (-(-inputs[-1].shape[0] // local), 1)

    def plane(inputs: Inputs, x: int, y: int) -> tuple[int, int]:
        rows, columns = inputs[-1].shape
        return (-(-columns // x), -(-rows // y))

    return Driver(
        version=metadata.version("compushady"),
        device=c.get_current_device().name,
        cases={
            "saxpy": lambda i, _: _kernel(i, SAXPY, "float", 4, line(i, 1024)),
            "sum": lambda i, _: _kernel(i, SUM, "float", 4, line(i, 64)),
            "matmul": lambda i, _: _kernel(i, MATMUL, "float", 4, plane(i, 16, 16)),
            "mandelbrot": lambda i, _: _kernel(i, MANDELBROT, "int", 4, plane(i, 16, 16)),
            "n-body": lambda i, _: _kernel(i, NBODY, "float4", 16, line(i, 64)),
            "stencil": lambda i, _: _kernel(i, STENCIL, "float", 4, plane(i, 256, 1)),
            "launch + wait": _launches,
            "upload": lambda i, _: _upload(i),
            "download": lambda i, _: _download(i),
            "second kernel": _second,
        },
    )
