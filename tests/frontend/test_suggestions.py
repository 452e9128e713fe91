"""What messages say to write instead of names that other systems have."""

# pyright: reportArgumentType=false

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("lp.cast(x[0], lp.i32)", "write the type's name: lp.i32(x); lp.bitcast(x, lp.i32) keeps the bits"),
        ("lp.grid_dim(0)", "write lp.group_range(d)"),
        ("lp.selp(x[0] > 0.0, 1, 2)", "write lp.select(condition, if_true, if_false)"),
        ("lp.syncthreads_or(x[0] > 0.0)", "write lp.group.any(c)"),
        ("lp.syncthreads_count(x[0] > 0.0)", 'write lp.group.reduce(lp.i32(c), "add")'),
        ("lp.warp.shfl(x[0], 1)", "write lp.sub_group.shuffle(v, lane), and its kin"),
        ("lp.Matrix([[1.0]])", "write lp.FixedArray[lp.f32, 2, 2](1, 0, 0, 1)"),
        ("lp.math.lerp(x[0], x[1], 0.5)", "write lp.math.mix(a, b, t)"),
        ("lp.math.inversesqrt(x[0])", "write lp.math.rsqrt(x)"),
        ("lp.group.barrier()", "write lp.barrier()"),
        ("lp.group.scan(x[0])", 'write lp.group.inclusive_scan(v, "add")'),
        ("lp.group.size()", "write lp.local_range(d)"),
        ("x[0][1]", "of an array of more dimensions, lp.Array[dtype, 2], an element is x[i, j]"),
    ],
)
def test_message_says_what_to_write(written: str, instead: str) -> None:
    kernel = lp.kernel_from_source(f"@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    v = {written}\n")
    with pytest.raises(lp.CompileError) as caught:
        build_module([kernel])
    assert instead in str(caught.value)


@pytest.mark.parametrize(
    ("written", "stands_for"),
    [
        ("lp.group.reduce(lp.i32(x[i] > 1.0), 'add')", 2),
        ("lp.math.mix(1.0, 2.0, 0.5)", 1.5),
        ("lp.FixedArray[lp.f32, 2, 2](1, 0, 0, 4)[1, 1]", 4),
        ("v - 2.0 * lp.math.dot(v, n) * n", -1),
    ],
)
def test_what_is_suggested_works(written: str, stands_for: float) -> None:
    result = f"({written}).x" if "dot" in written else written
    kernel = lp.kernel_from_source(
        "@lp.kernel(local_size=4)\ndef k(x: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        f"    v = lp.f32x2(1, 0)\n    n = lp.f32x2(1, 0)\n    r = lp.f32({result})\n    x[i] = r\n"
    )
    x = lp.asarray([0.0, 1.0, 2.0, 3.0], lp.f32)
    kernel[4](x)
    assert x.numpy()[0] == stands_for
