"""The cases as GLSL, for packages that take SPIR-V; sizes are literals, as their users write them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

LOCAL_SIZES = {
    "saxpy": (1024, 1), "sum": (64, 1), "matmul": (16, 16), "mandelbrot": (16, 16), "n-body": (64, 1),
    "stencil": (256, 1), "increment": (64, 1), "second": (64, 1),
}  # fmt: skip
"""Work-items of a group, fastest dimension first."""


def _head(name: str, *buffers: str) -> str:
    x, y = LOCAL_SIZES[name]
    lines = ["#version 450", f"layout(local_size_x = {x}, local_size_y = {y}) in;"]
    lines += [
        f"layout(set = 0, binding = {n}) {buffer.partition(' ')[0]} buffer B{n} "
        f"{{ {buffer.partition(' ')[2]}[]; }};"
        for n, buffer in enumerate(buffers)
    ]
    lines.append("void main() { const uint i = gl_GlobalInvocationID.x;")
    return "\n".join(lines)


_ELEMENT = "const uint j = i, r = gl_GlobalInvocationID.y; if (j >= EDGE || r >= EDGE) return;"

SHADERS = {
    "saxpy": _head("saxpy", "readonly float x", "coherent float y").replace("coherent ", "")
    + " if (i < COUNT) y[i] = 2.0 * x[i] + y[i]; }",
    "sum": _head("sum", "readonly float x", "writeonly float y")
    + " if (i >= LANES) return; float s = 0.0; for (uint k = i; k < COUNT; k += LANES) s += x[k]; y[i] = s; }",
    "matmul": _head("matmul", "readonly float a", "readonly float b", "writeonly float c")
    + _ELEMENT
    + """ float s = 0.0;
  for (uint k = 0; k < EDGE; k++) s += a[r * EDGE + k] * b[k * EDGE + j];
  c[r * EDGE + j] = s; }""",
    "mandelbrot": _head("mandelbrot", "writeonly int counts")
    + _ELEMENT
    + """ const float scale = 3.0 / float(EDGE);
  float cx = -2.0 + float(j) * scale, cy = -1.5 + float(r) * scale, zx = 0.0, zy = 0.0; int n = 0;
  while (n < 256 && zx * zx + zy * zy <= 4.0) {
    float t = zx * zx - zy * zy + cx; zy = 2.0 * zx * zy + cy; zx = t; n++; }
  counts[r * EDGE + j] = n; }""",
    "n-body": _head("n-body", "readonly vec4 p", "writeonly vec4 f")
    + """ if (i >= BODIES) return; vec3 me = p[i].xyz, s = vec3(0);
  for (uint k = 0; k < BODIES; k++) {
    vec3 d = p[k].xyz - me; float q = inversesqrt(dot(d, d) + 1e-3); s += d * (p[k].w * q * q * q); }
  f[i] = vec4(s, 0); }""",
    "stencil": _head("stencil", "readonly float g", "writeonly float y")
    + _ELEMENT
    + """ const uint k = r * EDGE + j;
  if (r > 0 && j > 0 && r < EDGE - 1 && j < EDGE - 1)
    y[k] = 0.25 * (g[k - EDGE] + g[k + EDGE] + g[k - 1] + g[k + 1]) - g[k];
  else y[k] = g[k]; }""",
    "increment": _head("increment", "restrict float x") + " x[i] += 1.0; }",
}


def second(c: float) -> str:
    """Returns the kernel that every constant makes another one."""
    return (
        _head("second", "readonly float x", "writeonly float y")
        + f""" float v = x[i], s = 0.0;
  for (int k = 0; k < 12; k++) {{
    s = s * 0.5 + v * {c!r}; if (s > 1.0) s = 2.0 - s; v = v * 0.75 + 0.125; }}
  y[i] = s + v; }}"""
    )


def compile_glsl(source: str, inputs: Sequence[np.ndarray]) -> bytes:
    """Returns SPIR-V, with the sizes of a case's arrays as constants; CalledProcessError where it does not compile."""
    first, last = inputs[0], inputs[-1]
    sizes = {
        "COUNT": first.size, "LANES": last.size, "EDGE": last.shape[-1], "BODIES": first.shape[0]
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "shader.comp"), Path(folder, "shader.spv")
        text.write_text(source)
        defines = [f"-D{name}={value}u" for name, value in sizes.items()]
        command = [
            "glslangValidator",
            "-V",
            "--target-env",
            "vulkan1.1",
            *defines,
            str(text),
            "-o",
            str(binary),
        ]
        subprocess.run(command, check=True, capture_output=True)
        return binary.read_bytes()


def groups_of(name: str, inputs: Sequence[np.ndarray]) -> tuple[int, int, int]:
    """Returns the work-groups of a case, fastest dimension first."""
    x, y = LOCAL_SIZES[name]
    if name in ("matmul", "mandelbrot", "stencil"):
        rows, columns = inputs[-1].shape
        return (-(-columns // x), -(-rows // y), 1)
    items = inputs[-1].shape[0]
    return (-(-items // x), 1, 1)
