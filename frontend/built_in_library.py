"""The code of the built-in kernels, as a translation unit that no program sees: `built_in_images` compiles it.

Arguments and launch ranges are told in ``docs/kernel-bundles.md``.  The kernels of one work-group take the array
in strides of its size and carry the sum along, so their result does not depend on the device; with several
work-groups each does the same.
"""

# pyright: basic, reportInvalidTypeForm=false, reportReturnType=false
# The annotations name a type that is a parameter, which type checkers do not know.

from __future__ import annotations

import lapilli as lp

from ..vk_runtime.built_in_kernels import ELEMENT_TYPES, WORK_GROUP_SIZE
from .kernel import KernelFunction

lp.compile_options(device_code_split="per_kernel")


def _kernels_of(T: type, spelling: str) -> list[KernelFunction]:
    """Returns the kernels for one element type."""
    return [*_by_element(T, spelling), *_by_work_group(T, spelling)]


def _by_element(T: type, spelling: str) -> list[KernelFunction]:
    """Returns the kernels whose work-items do not work together."""

    @lp.kernel(name=f"fill_{spelling}")
    def fill(out: lp.Out[T], value: T):
        i = lp.global_id(0)
        if i < out.size:
            out[i] = value

    @lp.kernel(name=f"copy_{spelling}")
    def copy(source: lp.In[T], out: lp.Out[T]):
        i = lp.global_id(0)
        if i < min(source.size, out.size):
            out[i] = source[i]

    @lp.kernel(name=f"iota_{spelling}")
    def iota(out: lp.Out[T], start: T, step: T):
        i = lp.global_id(0)
        if i < out.size:
            out[i] = start + T(i) * step

    @lp.kernel(name=f"transpose_{spelling}")
    def transpose(source: lp.In[T, 2], out: lp.Out[T, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        if i < min(source.shape[0], out.shape[1]) and j < min(source.shape[1], out.shape[0]):
            out[j, i] = source[i, j]

    @lp.kernel(name=f"histogram_{spelling}")
    def histogram(source: lp.In[T], counts: lp.Array[lp.u32], low: T, high: T):
        i = lp.global_id(0)
        if i < source.size:
            value = source[i]
            if low <= value and value <= high and low < high:
                part = (lp.f32(value) - lp.f32(low)) / (lp.f32(high) - lp.f32(low))
                bin_ = min(lp.i32(part * lp.f32(counts.size)), counts.size - 1)
                lp.atomic.add(counts, bin_, lp.u32(1))

    return [fill, copy, iota, transpose, histogram]


def _by_work_group(T: type, spelling: str) -> list[KernelFunction]:
    """Returns the kernels of which one work-group goes through the array."""

    @lp.reqd_work_group_size(WORK_GROUP_SIZE)
    @lp.kernel(name=f"reduce_{spelling}")
    def reduce(source: lp.In[T], out: lp.Out[T]):
        lane = lp.local_id(0)
        total = T(0)
        for first in range(0, source.size, WORK_GROUP_SIZE):
            if first + lane < source.size:
                total += source[first + lane]
        total = lp.group.reduce(total, "add")
        if lane == 0:
            out[0] = total

    @lp.reqd_work_group_size(WORK_GROUP_SIZE)
    @lp.kernel(name=f"inclusive_scan_{spelling}")
    def inclusive_scan(source: lp.In[T], out: lp.Out[T]):
        lane = lp.local_id(0)
        before = T(0)
        for first in range(0, source.size, WORK_GROUP_SIZE):
            i = first + lane
            value = source[i] if i < source.size else T(0)
            upto = lp.group.inclusive_scan(value, "add")
            if i < min(source.size, out.size):
                out[i] = before + upto
            before += lp.group.broadcast(upto, WORK_GROUP_SIZE - 1)

    @lp.reqd_work_group_size(WORK_GROUP_SIZE)
    @lp.kernel(name=f"exclusive_scan_{spelling}")
    def exclusive_scan(source: lp.In[T], out: lp.Out[T]):
        lane = lp.local_id(0)
        before = T(0)
        for first in range(0, source.size, WORK_GROUP_SIZE):
            i = first + lane
            value = source[i] if i < source.size else T(0)
            below = lp.group.exclusive_scan(value, "add")
            if i < min(source.size, out.size):
                out[i] = before + below
            before += lp.group.broadcast(below + value, WORK_GROUP_SIZE - 1)

    return [reduce, inclusive_scan, exclusive_scan]


KERNELS = tuple(
    kernel for spelling in ELEMENT_TYPES for kernel in _kernels_of(getattr(lp, spelling), spelling)
)
"""Every kernel, under the name of its id."""
