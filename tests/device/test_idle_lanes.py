"""Loops that work-items leave by what they have stored, in work-groups whose rows do not fill sub-groups.

Lanes without a work-item store nothing, and ran such a loop for ever on lavapipe 22.3, which then cut all other loops
of the sub-group short without a word.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

START = (np.arange(48, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32)
"""Numbers of 32 bits with little in common."""
GLSL = """#version 450
layout(local_size_x_id = 7) in;
layout(binding = 0) buffer B { uint x[]; };
bool goes_on(uint i) { x[i] = x[i] * 5 + 1; return (x[i] >> 3) % 2 == 0; }
void main() { while (goes_on(gl_GlobalInvocationID.x)) while (goes_on(gl_GlobalInvocationID.x)) {} }
"""


@lp.func
def goes_on(x: lp.Array[lp.u32], i: lp.i32) -> lp.bool_:
    x[i] = x[i] * 5 + 1
    return (x[i] >> 3) % 2 == 0


@lp.kernel
def nested(x: lp.Array[lp.u32]):
    i = lp.global_id(0)
    while goes_on(x, i):
        while goes_on(x, i):
            pass


@lp.kernel
def consecutive(x: lp.Array[lp.u32]):
    i = lp.global_id(0)
    while goes_on(x, i):
        pass
    while goes_on(x, i):
        pass


@lp.kernel
def rows(x: lp.Array[lp.u32, 2]):
    r, c = lp.global_id(0), lp.global_id(1)
    for _ in range(2):
        while True:
            x[r, c] = x[r, c] * 5 + 1
            if (x[r, c] >> 3) % 2 == 1:
                break


@lp.kernel(local_size=3)
def together(x: lp.Array[lp.u32]):
    shared = lp.local.array(3, lp.u32)
    i, t = lp.global_id(0), lp.local_id(0)
    while goes_on(x, i):
        pass
    shared[t] = x[i]
    lp.barrier()
    x[i] = shared[2 - t]
    lp.barrier()
    while goes_on(x, i):
        pass


def _leaves_loop(number: int) -> int:
    while True:
        number = (number * 5 + 1) & 0xFFFFFFFF
        if number >> 3 & 1:
            return number


def _leaves_nest(number: int) -> int:
    while True:
        number = (number * 5 + 1) & 0xFFFFFFFF
        if number >> 3 & 1:
            return number
        number = _leaves_loop(number)


def _leaves_two(number: int) -> int:
    return _leaves_loop(_leaves_loop(number))


def _expected(function: Callable[[int], int]) -> list[int]:
    return [function(int(number)) for number in START]


@pytest.mark.parametrize("local", [1, 2, 3, 4, 6, 8, 12, 24])
def test_local_sizes(local: int, device: lp.Device) -> None:
    for kernel, function in ((nested, _leaves_nest), (consecutive, _leaves_two)):
        x = lp.asarray(START, device=device)
        kernel[lp.NdRange(START.size, local)](x)
        assert x.numpy().tolist() == _expected(function)


@pytest.mark.parametrize("local", [(4, 4), (2, 1), (12, 2)])
def test_rows_of_work_groups(local: tuple[int, int], device: lp.Device) -> None:
    x = lp.asarray(START.reshape(12, 4), device=device)
    rows[lp.NdRange((12, 4), local)](x)
    assert x.numpy().reshape(-1).tolist() == _expected(_leaves_two)


def test_barriers_between_loops(device: lp.Device) -> None:
    x = lp.asarray(START, device=device)
    together[START.size](x)
    swapped = np.uint32([_leaves_loop(int(number)) for number in START]).reshape(-1, 3)[:, ::-1].reshape(-1)
    assert x.numpy().tolist() == [_leaves_loop(int(number)) for number in swapped]


@pytest.mark.native_only("compiles another language")
@pytest.mark.parametrize("local", [1, 3, 4, 8])
def test_loops_of_glsl(local: int, device: lp.Device) -> None:
    if not device.ext_oneapi_can_compile(lp.SourceLanguage.GLSL):
        pytest.skip("glslang is not installed")
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL)
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    x = lp.asarray(START, device=device)
    lp.Queue(device, context=context).parallel_for(lp.NdRange(START.size, local), kernel, x)
    assert x.numpy().tolist() == _expected(_leaves_nest)
