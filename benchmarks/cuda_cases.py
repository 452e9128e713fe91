"""Cases of the comparison with CUDA: sizes that fill a large GPU, and the same kernels in CUDA C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import plain_cases as plain
from . import references, register_matmul
from . import vector_cases as vectors
from .case import Case, Local, Stage, range_case

if TYPE_CHECKING:
    from lapilli.frontend.kernel import KernelFunction

SOURCE = r"""
extern "C" __global__ void saxpy(unsigned n, float a, const float* __restrict__ x, float* y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
extern "C" __global__ void saxpy4(unsigned n, float a, const float4* __restrict__ x, float4* y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  float4 u = x[i], v = y[i];
  y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w); }
extern "C" __global__ void matmul(unsigned n, const float* __restrict__ a, const float* __restrict__ b, float* c) {
  unsigned j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float total = 0; for (unsigned k = 0; k < n; k++) total += a[i * n + k] * b[k * n + j];
  c[i * n + j] = total; }
#define ADD_BODY(q) { float4 o = q; float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z; \
  float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), w = o.w * r * r * r; \
  fx += dx * w; fy += dy * w; fz += dz * w; }
extern "C" __global__ void nbody(unsigned n, const float4* __restrict__ p, float4* f) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  float4 me = p[i]; float fx = 0, fy = 0, fz = 0;
  for (unsigned k = 0; k < n; k++) ADD_BODY(p[k])
  f[i] = make_float4(fx, fy, fz, 0); }
extern "C" __global__ void tiled_nbody(unsigned n, const float4* __restrict__ p, float4* f) {
  __shared__ float4 tile[256];
  unsigned i = blockIdx.x * 256 + threadIdx.x; float4 me = p[i]; float fx = 0, fy = 0, fz = 0;
  for (unsigned start = 0; start < n; start += 256) {
    tile[threadIdx.x] = p[start + threadIdx.x]; __syncthreads();
    for (int k = 0; k < 256; k++) ADD_BODY(tile[k])
    __syncthreads(); }
  f[i] = make_float4(fx, fy, fz, 0); }
extern "C" __global__ void increment(float* x) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = x[i] + 1.0f; }
"""
"""Written as their users write them; contraction is nvcc's default, as it is GLSL's and lapilli's."""


@dataclass(frozen=True, kw_only=True)
class CudaLaunch:
    """How CUDA C does a case."""

    kernel: str
    scalars: tuple[int | float, ...] = ()
    """Before the pointers: u32 where int, f32 where float."""
    scalars_last: bool = False
    blocks: tuple[tuple[int, int], ...]
    """Block sizes to try, as (x, y)."""
    threads: tuple[int, int]
    """As (x, y)."""
    source: str = SOURCE


@dataclass(frozen=True, kw_only=True)
class CudaCase:
    """One case of the comparison."""

    case: Case
    cuda: CudaLaunch
    work: float
    """What a launch does, in `unit` times seconds."""
    unit: str


_LINES = ((128, 1), (256, 1), (512, 1), (1024, 1))
_PLANES = ((16, 16), (32, 8), (32, 32), (64, 4))


def make_cuda_cases(*, small: bool) -> list[CudaCase]:
    """Returns the cases; small ones only show that they work."""
    rng = np.random.default_rng(0)
    n, edge, bodies, wide = (1 << 14, 64, 512, 256) if small else (1 << 28, 4096, 65536, 4096)
    x, y = (rng.random(n, dtype=np.float32) for _ in range(2))
    a, b = (rng.random((wide, wide), dtype=np.float32) for _ in range(2))
    p = rng.random((bodies, 4), dtype=np.float32)
    square = np.ascontiguousarray(a[:edge, :edge]), np.ascontiguousarray(b[:edge, :edge])
    forces = np.zeros((bodies, 4), np.float32)
    saxpy_check = references.close(references.saxpy_reference, 1e-6)
    product_check = references.close(references.matmul_reference, 1e-3)
    four = (n // 4, 4)
    return [
        CudaCase(
            case=range_case("saxpy", plain.saxpy, plain.SAXPY_GLSL, (n,), (x, y), saxpy_check,
                            scalars=(2.0,), push_constants=(n, 2.0)),
            cuda=CudaLaunch(kernel="saxpy", scalars=(n, 2.0), blocks=_LINES, threads=(n, 1)),
            work=12e-9 * n, unit="GB/s",
        ),
        CudaCase(
            case=range_case("saxpy, vec4", vectors.saxpy4, vectors.SAXPY4_GLSL, (n // 4,),
                            (x.reshape(four), y.reshape(four)), saxpy_check,
                            scalars=(2.0,), push_constants=(n // 4, 2.0), vec4=(0, 1)),
            cuda=CudaLaunch(kernel="saxpy4", scalars=(n // 4, 2.0), blocks=_LINES, threads=(n // 4, 1)),
            work=12e-9 * n, unit="GB/s",
        ),
        CudaCase(
            case=range_case("n-body", vectors.nbody, plain.NBODY_GLSL, (bodies,), (p, forces),
                            references.nbody_check, push_constants=(bodies,), vec4=(0, 1)),
            cuda=CudaLaunch(kernel="nbody", scalars=(bodies,), blocks=_LINES, threads=(bodies, 1)),
            work=1e-9 * bodies**2, unit="G interactions/s",
        ),
        CudaCase(
            case=_grouped("n-body, tiled", vectors.tiled_nbody, vectors.TILED_NBODY_GLSL, (bodies,), ((256,),),
                          (p, forces), (0, 1), references.nbody_check, (bodies,)),
            cuda=CudaLaunch(kernel="tiled_nbody", scalars=(bodies,), blocks=((256, 1),), threads=(bodies, 1)),
            work=1e-9 * bodies**2, unit="G interactions/s",
        ),
        CudaCase(
            case=range_case("matmul, naive", plain.matmul, plain.MATMUL_GLSL, (edge, edge),
                            (*square, np.zeros((edge, edge), np.float32)), product_check,
                            push_constants=(edge, edge, edge)),
            cuda=CudaLaunch(kernel="matmul", scalars=(edge,), blocks=_PLANES, threads=(edge, edge)),
            work=2e-12 * edge**3, unit="TFLOP/s",
        ),
        _register_matmul(a, b),
    ]  # fmt: skip


def _register_matmul(a: np.ndarray, b: np.ndarray) -> CudaCase:
    edge = len(a)
    shape = (edge, edge // 4, 4)
    return CudaCase(
        case=_grouped(
            "matmul, tiled in registers",
            lambda _: register_matmul.register_matmul,
            register_matmul.GLSL,
            (edge // 8, edge // 8),
            (register_matmul.GROUP,),
            (a.reshape(shape), b.reshape(shape), np.zeros(shape, np.float32)),
            (0, 1, 2),
            references.close(_vector_product, 1e-3),
            (edge // 4, edge // 4),
        ),
        cuda=CudaLaunch(
            kernel="register_matmul",
            scalars=(edge // 4, edge // 4),
            scalars_last=True,
            blocks=((16, 16),),
            threads=(edge // 8, edge // 8),
            source=register_matmul.CUDA,
        ),
        work=2e-12 * edge**3,
        unit="TFLOP/s",
    )


def _vector_product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    edge = len(a)
    return (a.reshape(edge, edge) @ b.reshape(edge, edge)).reshape(c.shape)


def _grouped(
    name: str,
    kernel: Callable[[Local], KernelFunction],
    glsl: str,
    extents: tuple[int, ...],
    local_sizes: tuple[Local, ...],
    arrays: Sequence[np.ndarray],
    vec4: tuple[int, ...],
    check: references.Check,
    push_constants: tuple[int, ...],
) -> Case:
    stage = Stage(
        kernel=kernel,
        glsl=glsl,
        extents=lambda _: extents,
        arrays=tuple(range(len(arrays))),
        push_constants=push_constants,
    )
    return Case(
        name=name,
        stages=(stage,),
        local_sizes=local_sizes,
        works_in_groups=True,
        arrays=tuple(arrays),
        vec4=vec4,
        check=check,
    )
