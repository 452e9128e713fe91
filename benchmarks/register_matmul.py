"""The f32 matrix product by tiles in shared memory and registers, in lapilli, GLSL and CUDA C: the same algorithm.

A work-group of 16 × 16 computes a tile of 128 × 128, a work-item 8 × 8 of it in registers: rows 4·y … and
64 + 4·y …, columns likewise, so that what neighbours read is side by side.  Tiles of A (transposed) and B come in steps
of 16 along the inner dimension; half of the work-items load A, half B, each four vectors of four.  Two buffers take
turns: while one is multiplied the next is on its way, and one barrier a step is enough.
"""

from __future__ import annotations

import lapilli as lp

TILE = 128
"""Edge of a work-group's tile; what the edges of the matrices are multiples of."""
DEPTH = 16
"""Inner extent of a step, which the inner extent of the matrices is a multiple of."""
GROUP = (16, 16)
_V = TILE // 4
"""Vectors of a tile's row."""


@lp.kernel(local_size=GROUP)
def register_matmul(a: lp.In[lp.f32x4, 2], b: lp.In[lp.f32x4, 2], c: lp.Out[lp.f32x4, 2]):
    left = lp.local.array((2, DEPTH, _V), lp.f32x4)
    right = lp.local.array((2, DEPTH, _V), lp.f32x4)
    total = lp.private.array((8, 2), lp.f32x4)
    y, x = lp.local_id(0), lp.local_id(1)
    t = y * 16 + x
    loads_left = t < 128
    s = t & 127
    row, column = lp.group_id(0) * TILE, lp.group_id(1) * _V
    steps = a.shape[1] * 4 // DEPTH
    for i in lp.static_range(8):
        for j in lp.static_range(2):
            total[i, j] = lp.f32x4(0.0)

    v0, v1, v2, v3 = _load(a, b, loads_left, row, column, s, 0)
    _store(left, right, loads_left, s, 0, v0, v1, v2, v3)
    lp.barrier()
    for step in range(steps):
        now = step & 1
        v0, v1, v2, v3 = _load(a, b, loads_left, row, column, s, min(step + 1, steps - 1))
        for k in lp.static_range(DEPTH):
            upper, lower = left[now, k, y], left[now, k, 16 + y]
            near, far = right[now, k, x], right[now, k, 16 + x]
            for i in lp.static_range(4):
                total[i, 0] += upper[i] * near
                total[i, 1] += upper[i] * far
                total[4 + i, 0] += lower[i] * near
                total[4 + i, 1] += lower[i] * far
        _store(left, right, loads_left, s, 1 - now, v0, v1, v2, v3)
        lp.barrier()

    for i in lp.static_range(4):
        for j in lp.static_range(2):
            c[row + y * 4 + i, column + j * 16 + x] = total[i, j]
            c[row + 64 + y * 4 + i, column + j * 16 + x] = total[4 + i, j]


def _load(a, b, loads_left, row, column, s, step):  # pyright: ignore
    """Returns four vectors of the next step: 4 × 4 elements of A, or four rows of B."""
    if loads_left:
        i, k = row + (s >> 2) * 4, step * (DEPTH // 4) + (s & 3)
        return a[i, k], a[i + 1, k], a[i + 2, k], a[i + 3, k]
    i, j = step * DEPTH + (s >> 5), column + (s & 31)
    return b[i, j], b[i + 4, j], b[i + 8, j], b[i + 12, j]


def _store(left, right, loads_left, s, buffer, v0, v1, v2, v3):  # pyright: ignore
    """Puts what `_load` returned into a buffer, A transposed."""
    if loads_left:
        for k in lp.static_range(4):
            left[buffer, (s & 3) * 4 + k, s >> 2] = lp.f32x4(v0[k], v1[k], v2[k], v3[k])
    else:
        right[buffer, s >> 5, s & 31] = v0
        right[buffer, (s >> 5) + 4, s & 31] = v1
        right[buffer, (s >> 5) + 8, s & 31] = v2
        right[buffer, (s >> 5) + 12, s & 31] = v3


_LOAD_C = """
#define LOAD(step) if (t < 128u) { uint i = row + (s >> 2) * 4u, k = (step) * 4u + (s & 3u), at = i * depth + k; \\
    v0 = a[at]; v1 = a[at + depth]; v2 = a[at + 2u * depth]; v3 = a[at + 3u * depth]; } \\
  else { uint at = ((step) * 16u + (s >> 5)) * columns + column + (s & 31u); \\
    v0 = b[at]; v1 = b[at + 4u * columns]; v2 = b[at + 8u * columns]; v3 = b[at + 12u * columns]; }
#define STORE(buf) if (t < 128u) { uint at = ((buf) * 16u + (s & 3u) * 4u) * 32u + (s >> 2); \\
    left[at] = VEC4(v0.x, v1.x, v2.x, v3.x); left[at + 32u] = VEC4(v0.y, v1.y, v2.y, v3.y); \\
    left[at + 64u] = VEC4(v0.z, v1.z, v2.z, v3.z); left[at + 96u] = VEC4(v0.w, v1.w, v2.w, v3.w); } \\
  else { uint at = ((buf) * 16u + (s >> 5)) * 32u + (s & 31u); \\
    right[at] = v0; right[at + 128u] = v1; right[at + 256u] = v2; right[at + 384u] = v3; }
"""
"""The same text in GLSL and CUDA C."""
_MULTIPLY_C = """
  LOAD(0u) STORE(0u) BARRIER;
  for (uint step = 0u; step < steps; step++) {
    uint now = step & 1u;
    LOAD(min(step + 1u, steps - 1u))
    UNROLL for (uint k = 0u; k < 16u; k++) { uint at = (now * 16u + k) * 32u;
      vec4 upper = left[at + y], lower = left[at + 16u + y], near = right[at + x], far = right[at + 16u + x];
      ROW(0, upper.x) ROW(1, upper.y) ROW(2, upper.z) ROW(3, upper.w)
      ROW(4, lower.x) ROW(5, lower.y) ROW(6, lower.z) ROW(7, lower.w) }
    STORE(1u - now) BARRIER; }
  UNROLL for (uint i = 0u; i < 4u; i++) { uint at = (row + y * 4u + i) * columns + column + x;
    c[at] = total[2u * i]; c[at + 16u] = total[2u * i + 1u];
    at += 64u * columns; c[at] = total[8u + 2u * i]; c[at + 16u] = total[9u + 2u * i]; }
}
"""

GLSL = (
    """
layout(set=0, binding=0) readonly buffer A { vec4 a[]; };
layout(set=0, binding=1) readonly buffer B { vec4 b[]; };
layout(set=0, binding=2) writeonly buffer C { vec4 c[]; };
layout(push_constant) uniform P { uint depth; uint columns; };
shared vec4 left[1024];
shared vec4 right[1024];
#define VEC4 vec4
#define BARRIER barrier()
#define UNROLL
#define ROW(i, v) total[2 * i] += v * near; total[2 * i + 1] += v * far;
"""
    + _LOAD_C
    + """
void main() { uint y = gl_LocalInvocationID.y, x = gl_LocalInvocationID.x, t = y * 16u + x, s = t & 127u;
  uint row = gl_WorkGroupID.y * 128u, column = gl_WorkGroupID.x * 32u, steps = depth / 4u;
  vec4 total[16], v0, v1, v2, v3; for (int i = 0; i < 16; i++) total[i] = vec4(0);
"""
    + _MULTIPLY_C
)
"""Push constants: inner extent and columns, both in vectors of four."""

CUDA = (
    """
typedef unsigned uint;
typedef float4 vec4;
#define VEC4 make_float4
#define BARRIER __syncthreads()
#define UNROLL _Pragma("unroll")
#define ADD(t, s, q) t.x += s * q.x; t.y += s * q.y; t.z += s * q.z; t.w += s * q.w;
#define ROW(i, v) ADD(total[2 * i], v, near) ADD(total[2 * i + 1], v, far)
"""
    + _LOAD_C
    + """
extern "C" __global__ void __launch_bounds__(256) register_matmul(
    const vec4* __restrict__ a, const vec4* __restrict__ b, vec4* __restrict__ c, uint depth, uint columns) {
  __shared__ vec4 left[1024]; __shared__ vec4 right[1024];
  uint y = threadIdx.y, x = threadIdx.x, t = y * 16u + x, s = t & 127u;
  uint row = blockIdx.y * 128u, column = blockIdx.x * 32u, steps = depth / 4u;
  vec4 total[16], v0, v1, v2, v3;
  UNROLL for (int i = 0; i < 16; i++) total[i] = make_float4(0, 0, 0, 0);
"""
    + _MULTIPLY_C
)
