"""Kernels whose work-items share memory in groups, in lapilli and in GLSL: the same algorithm on both sides.

Each is made for a local size, which is also the length of its shared arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import lapilli as lp

from .case import Local

if TYPE_CHECKING:
    from lapilli.frontend.kernel import KernelFunction

BINS = 256
"""Of the histogram."""


def reduction(local: Local) -> KernelFunction:
    """Sums of work-groups: each work-item adds what is a launch apart, then the group adds in a tree."""
    size = local[0]

    @lp.kernel(local_size=local)
    def reduction(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
        part = lp.local.array(size, lp.f32)
        t = lp.local_id(0)
        total = 0.0
        for k in range(lp.global_id(0), x.size, lp.global_range(0)):
            total += x[k]
        part[t] = total
        lp.barrier()
        width = size // 2
        while width > 0:
            if t < width:
                part[t] += part[t + width]
            lp.barrier()
            width = width >> 1
        if t == 0:
            out[lp.group_id(0)] = part[0]

    return reduction


REDUCTION_GLSL = """
layout(set=0, binding=0) readonly buffer X { float x[]; };
layout(set=0, binding=1) writeonly buffer O { float o[]; };
layout(push_constant) uniform P { uint count; uint lanes; };
shared float part[LX];
void main() { uint t = gl_LocalInvocationID.x; float total = 0.0;
  for (uint k = gl_GlobalInvocationID.x; k < count; k += lanes) total += x[k];
  part[t] = total; barrier();
  for (uint width = LX / 2; width > 0; width >>= 1) { if (t < width) part[t] += part[t + width]; barrier(); }
  if (t == 0) o[gl_WorkGroupID.x] = part[0]; }
"""


def tiled_matmul(local: Local) -> KernelFunction:
    """The matrix product by square tiles in shared memory, one element a work-item."""
    tile = local[0]

    @lp.kernel(local_size=local)
    def tiled_matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
        left = lp.local.array((tile, tile), lp.f32)
        right = lp.local.array((tile, tile), lp.f32)
        i, j = lp.global_id(0), lp.global_id(1)
        ti, tj = lp.local_id(0), lp.local_id(1)
        total = 0.0
        for k0 in range(0, a.shape[1], tile):
            left[ti, tj] = a[i, k0 + tj]
            right[ti, tj] = b[k0 + ti, j]
            lp.barrier()
            for k in range(tile):
                total += left[ti, k] * right[k, tj]
            lp.barrier()
        c[i, j] = total

    return tiled_matmul


TILED_MATMUL_GLSL = """
layout(set=0, binding=0) readonly buffer A { float a[]; };
layout(set=0, binding=1) readonly buffer B { float b[]; };
layout(set=0, binding=2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint columns; uint depth; };
shared float left[LY][LX];
shared float right[LY][LX];
void main() { uint i = gl_GlobalInvocationID.y, j = gl_GlobalInvocationID.x;
  uint ti = gl_LocalInvocationID.y, tj = gl_LocalInvocationID.x; float total = 0.0;
  for (uint k0 = 0; k0 < depth; k0 += LX) {
    left[ti][tj] = a[i * depth + k0 + tj]; right[ti][tj] = b[(k0 + ti) * columns + j]; barrier();
    for (uint k = 0; k < LX; k++) total += left[ti][k] * right[k][tj];
    barrier(); }
  c[i * columns + j] = total; }
"""


def histogram(local: Local) -> KernelFunction:
    """How often each level occurs: counted by groups in shared memory, then added up; both with atomics."""
    size = local[0]

    @lp.kernel(local_size=local)
    def histogram(levels: lp.In[lp.u32], counts: lp.Array[lp.u32]):
        mine = lp.local.array(BINS, lp.u32)
        t = lp.local_id(0)
        for b in range(t, BINS, size):
            mine[b] = 0
        lp.barrier()
        for k in range(lp.global_id(0), levels.size, lp.global_range(0)):
            lp.atomic.add(mine, levels[k], lp.u32(1))
        lp.barrier()
        for b in range(t, BINS, size):
            lp.atomic.add(counts, b, mine[b])

    return histogram


HISTOGRAM_GLSL = """
layout(set=0, binding=0) readonly buffer L { uint levels[]; };
layout(set=0, binding=1) buffer C { uint counts[]; };
layout(push_constant) uniform P { uint count; uint lanes; };
shared uint mine[256];
void main() { uint t = gl_LocalInvocationID.x;
  for (uint b = t; b < 256; b += LX) mine[b] = 0;
  barrier();
  for (uint k = gl_GlobalInvocationID.x; k < count; k += lanes) atomicAdd(mine[levels[k]], 1);
  barrier();
  for (uint b = t; b < 256; b += LX) atomicAdd(counts[b], mine[b]); }
"""


def scan_blocks(local: Local) -> KernelFunction:
    """Prefix sums inside of each work-group's block (Hillis and Steele), and the blocks' totals."""
    size = local[0]

    @lp.kernel(local_size=local)
    def scan_blocks(x: lp.In[lp.f32], totals: lp.Out[lp.f32], out: lp.Out[lp.f32]):
        part = lp.local.array(size, lp.f32)
        i, t = lp.global_id(0), lp.local_id(0)
        value = x[i]
        part[t] = value
        lp.barrier()
        reach = 1
        while reach < size:
            before = part[t - reach] if t >= reach else 0.0
            lp.barrier()
            value += before
            part[t] = value
            lp.barrier()
            reach = reach << 1
        out[i] = value
        if t == size - 1:
            totals[lp.group_id(0)] = value

    return scan_blocks


def scan_totals(local: Local) -> KernelFunction:
    """Prefix sums of the blocks' totals, in place, by one work-group that goes over them."""
    size = local[0]

    @lp.kernel(local_size=local)
    def scan_totals(totals: lp.Array[lp.f32], blocks: lp.Array[lp.f32]):
        part = lp.local.array(size, lp.f32)
        t = lp.local_id(0)
        carry = 0.0
        for start in range(0, blocks.size // size, size):
            value = totals[start + t]
            part[t] = value
            lp.barrier()
            reach = 1
            while reach < size:
                before = part[t - reach] if t >= reach else 0.0
                lp.barrier()
                value += before
                part[t] = value
                lp.barrier()
                reach = reach << 1
            totals[start + t] = value + carry
            carry += part[size - 1]
            lp.barrier()

    return scan_totals


def add_totals(local: Local) -> KernelFunction:
    """Adds to each block what all blocks before it sum up to."""

    @lp.kernel(local_size=local)
    def add_totals(totals: lp.In[lp.f32], out: lp.Array[lp.f32]):
        block = lp.group_id(0)
        if block > 0:
            out[lp.global_id(0)] += totals[block - 1]

    return add_totals


_SCAN_GLSL = """
    for (uint reach = 1; reach < LX; reach <<= 1) {
      float before = t >= reach ? part[t - reach] : 0.0; barrier(); value += before; part[t] = value; barrier(); }
"""
SCAN_BLOCKS_GLSL = (
    """
layout(set=0, binding=0) readonly buffer X { float x[]; };
layout(set=0, binding=1) writeonly buffer T { float totals[]; };
layout(set=0, binding=2) writeonly buffer O { float o[]; };
shared float part[LX];
void main() { uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x;
  float value = x[i]; part[t] = value; barrier();"""
    + _SCAN_GLSL
    + """
  o[i] = value; if (t == LX - 1) totals[gl_WorkGroupID.x] = value; }
"""
)
SCAN_TOTALS_GLSL = (
    """
layout(set=0, binding=0) buffer T { float totals[]; };
layout(set=0, binding=1) buffer B { float blocks[]; };
shared float part[LX];
void main() { uint t = gl_LocalInvocationID.x; float carry = 0.0;
  for (uint start = 0; start < blocks.length() / LX; start += LX) {
    float value = totals[start + t]; part[t] = value; barrier();"""
    + _SCAN_GLSL
    + """
    totals[start + t] = value + carry; carry += part[LX - 1]; barrier(); } }
"""
)
ADD_TOTALS_GLSL = """
layout(set=0, binding=0) readonly buffer T { float totals[]; };
layout(set=0, binding=1) buffer O { float o[]; };
void main() { uint block = gl_WorkGroupID.x; if (block > 0) o[gl_GlobalInvocationID.x] += totals[block - 1]; }
"""
