"""Names of arrays that are exchanged: what a name means is known when a kernel is compiled, or it is refused."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels


@lp.kernel
def each_round(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    for k in range(n):
        x, y = y, x
        x[0] += k  # of the one array, then of the other


@lp.kernel
def at_the_end(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    for _ in range(n):
        for k in range(n):
            x[k] += 1.0
        x, y = y, x


def exchanging(x, y, n):
    for k in range(n):
        x, y = y, x
        x[0] += k


@lp.kernel
def in_a_helper(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    exchanging(x, y, n)


@pytest.mark.parametrize("kernel", [each_round, at_the_end, in_a_helper], ids=lambda kernel: kernel.name)
def test_a_loop_whose_next_round_means_the_other_array_is_refused(kernel: lp.Kernel):
    with pytest.raises(lp.CompileError, match="names the array 'x' before the loop and 'y' after a round"):
        compile_kernels([kernel])
