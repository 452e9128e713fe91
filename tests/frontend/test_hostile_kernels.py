"""Kernels that ask for too much: an error at the place, in time, and nothing else."""

from __future__ import annotations

import pytest

import lapilli as lp

HUGE = 10**6000
DIGITS = f"0x{'f' * 20000}"


@lp.kernel
def captures(x: lp.Array[lp.i32]):
    x[0] = HUGE % 7


def test_a_huge_captured_integer():
    with pytest.raises(lp.CompileError, match="captured integer 'HUGE' is too large"):
        captures.inspect("ir")


@pytest.mark.parametrize(
    "body",
    [
        f"x[0] = {DIGITS}",
        f"x[{DIGITS}] = 1",
        f"x[0] = 1 << {DIGITS}",
        f"x[0] = x[0] ** {DIGITS}",
        f"x[0] = lp.global_id({DIGITS})",
        f"x[0] = (1, 2)[{DIGITS}]",
        f"print({DIGITS})",
        f"t = lp.private.array({DIGITS}, lp.f32)",
        f"for i in range({DIGITS}):\n        x[0] = i",
        "x[0] = 9**9**9",
        "x[0] = 1 << 10**9",
        "t = lp.private.array((2**20, 2**20), lp.f32)",
        "t = lp.private.array((2**31 - 1, 2), lp.f32)",
        "for i in lp.static_range(10**12):\n        x[0] = i",
        "x[0] = '\ud800'",
        "x[0] = 1\0",
        f"x[0] = int({'not ' * 20_000}x[1])",
    ],
)
def test_what_is_too_much_is_refused(body: str):
    with pytest.raises(lp.CompileError):
        lp.kernel_from_source(f"@lp.kernel\ndef k(x: lp.Array[lp.i32]):\n    {body}\n").inspect("ir")


def test_values_of_too_many_numbers():
    with pytest.raises(lp.CompileError, match=r"at most 65536 numbers, found lp\.FixedArray of 268435456"):
        lp.FixedArray[lp.f32, 2**28]
    with pytest.raises(lp.CompileError, match="'Twice' is made of 80000 numbers"):

        @lp.struct
        class Twice:  # pyright: ignore[reportUnusedClass]
            first: lp.FixedArray[lp.f32, 200, 200]
            second: lp.FixedArray[lp.f32, 40000]


@pytest.mark.parametrize(
    "body",
    [
        f"x[0] = {'(' * 150}1{')' * 150}",
        f"x[0] = {' + '.join(['x[1]'] * 1500)}",
        f"x[0] = {'-' * 1000}x[1]",
        f"x[0] = int(float(0x{'f' * 1000}) > 0.0)",
        f"x[0] = int({' and '.join(['x[1]'] * 100)})",
    ],
)
def test_what_is_only_long_compiles(body: str):
    made = lp.kernel_from_source(f"@lp.kernel\ndef k(x: lp.Array[lp.i32]):\n    {body}\n")
    assert "OpStore" in str(made.inspect("spirv"))


def test_arguments_of_more_numbers_than_a_block_has_members():
    kernel = lp.kernel_from_source(
        """
@lp.kernel
def k(v: lp.FixedArray[lp.f32, 16384], x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = v[i]
"""
    )
    warned = pytest.warns(lp.KernelWarning, match="'v' of kernel 'k' is 16384 numbers")
    with (
        warned,
        pytest.raises(lp.BuildError, match=r"'k' uses are 16,3\d\d numbers; expected at most 16,383"),
    ):
        kernel.inspect("spirv")
