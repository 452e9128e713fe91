"""Lengths of shared and private arrays: what they are computed from is looked at once."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.errors import CompileError

DOUBLINGS = 40


def _doubling(length: str, first: str = "S") -> lp.Kernel:
    text = f"import lapilli as lp\n@lp.kernel\ndef k(out: lp.Out[lp.i32], *, S: lp.Spec[{length}] = 4):\n"
    text += f"    n = {first}\n" + "    n = (n + n) // 2\n" * DOUBLINGS
    return lp.kernel_from_source(
        text + "    t = lp.private.array(n, lp.i32)\n    t[0] = 1\n    out[0] = t[0]\n"
    )


def test_a_length_that_is_doubled_often_is_compiled() -> None:
    # Each line leads to the one before in two ways: 2**40 ways to the constant.
    compile_kernels([_doubling("lp.i32")])


def test_what_cannot_be_a_length_is_found_as_deep() -> None:
    with pytest.raises(CompileError, match="known before the kernel runs"):
        compile_kernels([_doubling("lp.i64", "lp.i32(S) + lp.i32(lp.global_id(0))")])
