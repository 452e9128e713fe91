"""The six throughput cases: each a lapilli kernel, the same kernel in GLSL, its data and its NumPy reference.

GLSL is written the way its users write it (vec4 where a body is four floats, `const` sizes as push constants);
both sides run on the same buffers, with the same local size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

import lapilli as lp


@lp.kernel
def saxpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def partial_sums(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    total = 0.0
    for k in range(i, x.size, out.size):
        total += x[k]
    out[i] = total


@lp.kernel
def matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@lp.kernel
def mandelbrot(limit: lp.i32, out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    cx = -2.0 + lp.f32(j) * (3.0 / lp.f32(out.shape[1]))
    cy = -1.5 + lp.f32(i) * (3.0 / lp.f32(out.shape[0]))
    zx = lp.f32(0.0)
    zy = lp.f32(0.0)
    n = 0
    while n < limit and zx * zx + zy * zy <= 4.0:
        t = zx * zx - zy * zy + cx
        zy = 2.0 * zx * zy + cy
        zx = t
        n += 1
    out[i, j] = n


@lp.kernel
def nbody(bodies: lp.In[lp.f32, 2], forces: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    fx, fy, fz = lp.f32(0.0), lp.f32(0.0), lp.f32(0.0)
    for k in range(bodies.shape[0]):
        dx, dy, dz = bodies[k, 0] - x, bodies[k, 1] - y, bodies[k, 2] - z
        inverse = lp.math.rsqrt(dx * dx + dy * dy + dz * dz + 1e-3)
        scale = bodies[k, 3] * inverse * inverse * inverse
        fx += dx * scale
        fy += dy * scale
        fz += dz * scale
    forces[i, 0] = fx
    forces[i, 1] = fy
    forces[i, 2] = fz
    forces[i, 3] = 0.0


@lp.kernel
def stencil(g: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    if i > 0 and j > 0 and i < g.shape[0] - 1 and j < g.shape[1] - 1:
        out[i, j] = 0.25 * (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1]) - g[i, j]
    else:
        out[i, j] = g[i, j]


SAXPY_GLSL = """
layout(set=0, binding=0) readonly buffer X { float x[]; };
layout(set=0, binding=1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; float a; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < n) y[i] = a * x[i] + y[i]; }
"""
SUM_GLSL = """
layout(set=0, binding=0) readonly buffer X { float x[]; };
layout(set=0, binding=1) writeonly buffer O { float o[]; };
layout(push_constant) uniform P { uint n; uint count; };
void main() { uint i = gl_GlobalInvocationID.x; if (i >= n) return;
  float total = 0.0; for (uint k = i; k < count; k += n) total += x[k]; o[i] = total; }
"""
MATMUL_GLSL = """
layout(set=0, binding=0) readonly buffer A { float a[]; };
layout(set=0, binding=1) readonly buffer B { float b[]; };
layout(set=0, binding=2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint rows; uint columns; uint depth; };
void main() { uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x; if (i >= rows || j >= columns) return;
  float total = 0.0; for (uint k = 0; k < depth; k++) total += a[i * depth + k] * b[k * columns + j];
  c[i * columns + j] = total; }
"""
MANDELBROT_GLSL = """
layout(set=0, binding=0) writeonly buffer O { int o[]; };
layout(push_constant) uniform P { uint rows; uint columns; int limit; };
void main() { uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x; if (i >= rows || j >= columns) return;
  float cx = -2.0 + float(j) * (3.0 / float(columns)), cy = -1.5 + float(i) * (3.0 / float(rows)), zx = 0.0, zy = 0.0;
  int n = 0;
  while (n < limit && zx * zx + zy * zy <= 4.0) {
    float t = zx * zx - zy * zy + cx; zy = 2.0 * zx * zy + cy; zx = t; n++; }
  o[i * columns + j] = n; }
"""
NBODY_GLSL = """
layout(set=0, binding=0) readonly buffer B { vec4 p[]; };
layout(set=0, binding=1) writeonly buffer F { vec4 f[]; };
layout(push_constant) uniform P { uint n; };
void main() { uint i = gl_GlobalInvocationID.x; if (i >= n) return; vec3 me = p[i].xyz, s = vec3(0);
  for (uint k = 0; k < n; k++) {
    vec3 d = p[k].xyz - me; float r = inversesqrt(dot(d, d) + 1e-3); s += d * (p[k].w * r * r * r); }
  f[i] = vec4(s, 0); }
"""
STENCIL_GLSL = """
layout(set=0, binding=0) readonly buffer G { float g[]; };
layout(set=0, binding=1) writeonly buffer O { float o[]; };
layout(push_constant) uniform P { uint rows; uint columns; };
void main() { uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x; if (i >= rows || j >= columns) return;
  uint k = i * columns + j;
  if (i > 0 && j > 0 && i < rows - 1 && j < columns - 1)
    o[k] = 0.25 * (g[k - columns] + g[k + columns] + g[k - 1] + g[k + 1]) - g[k];
  else o[k] = g[k]; }
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison."""

    name: str
    kernel: object
    """What `lp.kernel` returned."""
    glsl: str
    extents: tuple[int, ...]
    """Work-items, slowest dimension first."""
    local_size: tuple[int, ...]
    """Slowest dimension first; the same on both sides."""
    arrays: tuple[np.ndarray, ...]
    """Initial contents in parameter order; the last one is the result."""
    scalars: tuple[float | int, ...]
    """lapilli's scalar arguments; they stand before the arrays in the signature."""
    push_constants: tuple[float | int, ...]
    """What the GLSL takes."""
    check: Callable[[np.ndarray, tuple[np.ndarray, ...]], bool]
    """Whether a result is right, given the initial arrays."""


def _close(
    reference: Callable[..., np.ndarray], tolerance: float
) -> Callable[[np.ndarray, tuple[np.ndarray, ...]], bool]:
    def check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
        return bool(np.allclose(result, reference(*arrays), rtol=tolerance, atol=tolerance))

    return check


def _saxpy_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.float32(2) * x + y


def _sum_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    expected = arrays[0].sum(dtype=np.float64)
    return bool(np.isclose(result.sum(dtype=np.float64), expected, rtol=1e-5))


def _matmul_reference(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
    return a @ b


def _stencil_reference(g: np.ndarray, _: np.ndarray) -> np.ndarray:
    out = g.copy()
    out[1:-1, 1:-1] = 0.25 * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]) - g[1:-1, 1:-1]
    return out


def _mandelbrot_reference(edge: int, limit: int) -> np.ndarray:
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


def _mandelbrot_check(edge: int, limit: int) -> Callable[[np.ndarray, tuple[np.ndarray, ...]], bool]:
    expected = _mandelbrot_reference(edge, limit)

    def check(result: np.ndarray, _: tuple[np.ndarray, ...]) -> bool:
        # Points whose orbit passes close to radius 2 may differ by rounding (contraction is allowed).
        return int(np.count_nonzero(np.not_equal(result, expected))) < 0.01 * expected.size

    return check


def _nbody_check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
    bodies = arrays[0].astype(np.float64)
    difference = bodies[None, :, :3] - bodies[:64, None, :3]
    inverse = ((difference**2).sum(-1) + 1e-3) ** -1.5
    expected = (difference * (inverse * bodies[None, :, 3])[..., None]).sum(1)
    return bool(np.allclose(result[:64, :3], expected, rtol=2e-3, atol=1e-2))


@dataclass(frozen=True, kw_only=True)
class _Extents:
    elements: int
    """Of saxpy and sum."""
    lanes: int
    """Work-items of sum."""
    edge: int
    """Of matmul's matrices."""
    image: int
    """Edge of mandelbrot's picture."""
    bodies: int
    grid: int
    """Edge of the stencil's grid."""


_EXTENTS = {
    "tiny": _Extents(elements=1 << 12, lanes=1 << 9, edge=32, image=32, bodies=128, grid=64),
    "default": _Extents(elements=1 << 22, lanes=1 << 14, edge=256, image=512, bodies=2048, grid=1024),
    "full": _Extents(elements=1 << 24, lanes=1 << 14, edge=1024, image=1024, bodies=4096, grid=2048),
}

Size = Literal["tiny", "default", "full"]
"""`tiny` for tests, `default` for a run of minutes, `full` for the usual sizes of these cases."""


def make_cases(size: Size) -> list[Case]:
    """Returns the six cases.  Every loop stays below the 65,535 iterations after which lavapipe 22.3 ends it."""
    rng = np.random.default_rng(0)
    extents = _EXTENTS[size]
    n, lanes, edge, image = extents.elements, extents.lanes, extents.edge, extents.image
    bodies, grid = extents.bodies, extents.grid
    limit = 256

    def random(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    return [
        Case(
            name="saxpy", kernel=saxpy, glsl=SAXPY_GLSL, extents=(n,), local_size=(256,),
            arrays=(random(n), random(n)), scalars=(2.0,), push_constants=(n, 2.0),
            check=_close(_saxpy_reference, 1e-6),
        ),
        Case(
            name="sum", kernel=partial_sums, glsl=SUM_GLSL, extents=(lanes,), local_size=(256,),
            arrays=(random(n), np.zeros(lanes, np.float32)), scalars=(), push_constants=(lanes, n),
            check=_sum_check,
        ),
        Case(
            name="matmul", kernel=matmul, glsl=MATMUL_GLSL, extents=(edge, edge), local_size=(16, 16),
            arrays=(random(edge, edge), random(edge, edge), np.zeros((edge, edge), np.float32)), scalars=(),
            push_constants=(edge, edge, edge), check=_close(_matmul_reference, 1e-3),
        ),
        Case(
            name="mandelbrot", kernel=mandelbrot, glsl=MANDELBROT_GLSL, extents=(image, image), local_size=(16, 16),
            arrays=(np.zeros((image, image), np.int32),), scalars=(limit,), push_constants=(image, image, limit),
            check=_mandelbrot_check(image, limit),
        ),
        Case(
            name="n-body", kernel=nbody, glsl=NBODY_GLSL, extents=(bodies,), local_size=(64,),
            arrays=(random(bodies, 4), np.zeros((bodies, 4), np.float32)), scalars=(), push_constants=(bodies,),
            check=_nbody_check,
        ),
        Case(
            name="stencil", kernel=stencil, glsl=STENCIL_GLSL, extents=(grid, grid), local_size=(16, 16),
            arrays=(random(grid, grid), np.zeros((grid, grid), np.float32)), scalars=(), push_constants=(grid, grid),
            check=_close(_stencil_reference, 1e-6),
        ),
    ]  # fmt: skip
