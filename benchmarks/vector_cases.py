"""Kernels on vectors of four: what a user writes who knows that the data comes in fours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lapilli as lp

from .case import Local

if TYPE_CHECKING:
    from lapilli.frontend.kernel import KernelFunction


@lp.kernel
def saxpy4(a: lp.f32, x: lp.In[lp.f32x4], y: lp.Array[lp.f32x4]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


SAXPY4_GLSL = """
layout(set=0, binding=0) readonly buffer X { vec4 x[]; };
layout(set=0, binding=1) buffer Y { vec4 y[]; };
layout(push_constant) uniform P { uint n; float a; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < n) y[i] = a * x[i] + y[i]; }
"""


@lp.kernel
def nbody(bodies: lp.In[lp.f32x4], forces: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    me = bodies[i].xyz
    force = lp.f32x3(0.0)
    for k in range(len(bodies)):
        body = bodies[k]
        d = body.xyz - me
        inverse = lp.math.rsqrt(lp.math.dot(d, d) + 1e-3)
        force += d * (body.w * inverse * inverse * inverse)
    forces[i] = lp.f32x4(force.x, force.y, force.z, 0.0)


def tiled_nbody(local: Local) -> KernelFunction:
    """All forces; a work-group takes the bodies through shared memory, as many at once as it has work-items."""
    size = local[0]

    @lp.kernel(local_size=local)
    def tiled_nbody(bodies: lp.In[lp.f32x4], forces: lp.Out[lp.f32x4]):
        tile = lp.local.array(size, lp.f32x4)
        i, t = lp.global_id(0), lp.local_id(0)
        me = bodies[i].xyz
        force = lp.f32x3(0.0)
        for start in range(0, len(bodies), size):
            tile[t] = bodies[start + t]
            lp.barrier()
            for k in range(size):
                body = tile[k]
                d = body.xyz - me
                inverse = lp.math.rsqrt(lp.math.dot(d, d) + 1e-3)
                force += d * (body.w * inverse * inverse * inverse)
            lp.barrier()
        forces[i] = lp.f32x4(force.x, force.y, force.z, 0.0)

    return tiled_nbody


TILED_NBODY_GLSL = """
layout(set=0, binding=0) readonly buffer B { vec4 p[]; };
layout(set=0, binding=1) writeonly buffer F { vec4 f[]; };
layout(push_constant) uniform P { uint n; };
shared vec4 tile[LX];
void main() { uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x; vec3 me = p[i].xyz, s = vec3(0);
  for (uint start = 0; start < n; start += LX) { tile[t] = p[start + t]; barrier();
    for (uint k = 0; k < LX; k++) { vec3 d = tile[k].xyz - me; float r = inversesqrt(dot(d, d) + 1e-3);
      s += d * (tile[k].w * r * r * r); }
    barrier(); }
  f[i] = vec4(s, 0); }
"""
