"""Warnings of arguments and results that are very many numbers."""

from __future__ import annotations

import warnings

import pytest

import lapilli as lp

Large = lp.FixedArray[lp.f32, 10, 30]
Small = lp.FixedArray[lp.f32, 16, 16]


@lp.struct
class Several:
    first: Small
    second: Small


def made(x: lp.f32) -> Large:
    result = Large()
    result[0, 0] = x
    return result


def plain(x: lp.f32) -> Small:
    result = Small()
    result[0, 0] = x
    return result


def kernels() -> dict[str, lp.Kernel]:
    """Makes kernels that are gone with a test: others build all that the program has, and let no warning pass."""

    @lp.kernel
    def takes_large(a: Large, x: lp.Array[lp.f32]):
        x[0] = a[3, 4]

    @lp.kernel
    def takes_struct(s: Several, x: lp.Array[lp.f32]):
        x[0] = s.first[3, 4]

    @lp.kernel
    def calls(x: lp.Array[lp.f32]):
        x[0] = made(x[1])[3, 4]

    @lp.kernel
    def takes_small(a: Small, x: lp.Array[lp.f32], e: lp.Array[Large]):
        x[0] = a[3, 4] + plain(x[1])[2, 2] + e[1][3, 4]

    return {kernel.name: kernel for kernel in (takes_large, takes_struct, calls, takes_small)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("takes_large", r":\d+:21: .*'a' of kernel 'takes_large' is 300 numbers.*lp.In\[lp.f32, 2\]"),
        ("takes_struct", r"'s' of kernel 'takes_struct' is 512 numbers.*lp.In\[Several\]"),
        ("calls", r"'made' returns 300 numbers.*lp.private.array"),
    ],
)
def test_many_numbers_are_warned_of(name, message):
    with pytest.warns(lp.KernelWarning, match=f"(?s){message}"):
        kernels()[name].inspect("ir")


def test_few_numbers_and_elements_of_arrays_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels()["takes_small"].inspect("ir")
