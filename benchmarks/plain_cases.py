"""Kernels whose work-items are on their own, in lapilli and in GLSL.

GLSL is written the way its users write it: vec4 where a body is four floats, sizes as push constants.
"""

from __future__ import annotations

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


@lp.kernel
def convolution(weights: lp.In[lp.f32, 2], g: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    total = 0.0
    if i > 0 and j > 0 and i < g.shape[0] - 1 and j < g.shape[1] - 1:
        for di in range(3):
            for dj in range(3):
                total += weights[di, dj] * g[i + di - 1, j + dj - 1]
    out[i, j] = total


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
CONVOLUTION_GLSL = """
layout(set=0, binding=0) readonly buffer W { float w[9]; };
layout(set=0, binding=1) readonly buffer G { float g[]; };
layout(set=0, binding=2) writeonly buffer O { float o[]; };
layout(push_constant) uniform P { uint rows; uint columns; };
void main() { uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x; if (i >= rows || j >= columns) return;
  float total = 0.0;
  if (i > 0 && j > 0 && i < rows - 1 && j < columns - 1)
    for (uint di = 0; di < 3; di++) for (uint dj = 0; dj < 3; dj++)
      total += w[di * 3 + dj] * g[(i + di - 1) * columns + j + dj - 1];
  o[i * columns + j] = total; }
"""
