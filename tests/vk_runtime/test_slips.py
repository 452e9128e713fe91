"""Small slips on the host: each is answered with what to write."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Pair:
    x: lp.f32
    y: lp.i32


@lp.kernel
def scale(a: lp.f32, n: lp.i8, x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= a + n


@lp.kernel
def put(p: Pair, x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = p.x


SLIPS = {
    "text_of_a_file": (
        lambda x: lp.Queue(context=b"x" * 100_000),
        lp.InvalidError,
        r"(?s)\A.{900,1000} … \([\d,]+ characters left out\) … .{900,1000}\Z",
    ),
    "nd_range_without_groups": (lambda x: lp.NdRange(32), lp.NdRangeError, r"lp\.NdRange\(32, 64\)"),
    "nd_range_of_numbers": (lambda x: lp.NdRange(32, 8, 2), lp.NdRangeError, r"lp\.NdRange\(\(64, 64\), "),
    "on_without_queue": (lambda x: scale[8].on()(1.0, 1, x), lp.InvalidError, r"\.on\(None, wait=events\)"),
    "float_of_an_array": (lambda x: float(x), lp.InvalidError, r"float\(a\.numpy\(\)\[0\]\)"),
    "round_of_an_array": (lambda x: round(x, 2), lp.InvalidError, r"shape \(8,\)"),
    "two_ranges": (lambda x: scale[8][4](1.0, 1, x), lp.InvalidError, r"scale\[rows, columns\]"),
    "arguments_for_on": (
        lambda x: scale[8].on(lp.Queue(), 1.0, 1, x),
        lp.InvalidError,
        r"\.on\(queue\)\(…\)",
    ),
    "on_before_the_range": (lambda x: scale.on(lp.Queue()), AttributeError, r"scale\[n\]\.on\(…\)"),
    "launch": (lambda x: scale.launch(1.0, 1, x), AttributeError, r"scale\[n\]\(…\)"),
    "no_range": (lambda x: scale(1.0, 1, x), lp.InvalidError, r"scale\[n\]\(…\)"),
    "list": (lambda x: scale[3](1.0, 1, [1, 2]), lp.KernelArgumentError, r"lp\.asarray\(…, lp\.f32\)"),
    "number": (lambda x: scale[1](1.0, 1, 2.5), lp.KernelArgumentError, r"lp\.asarray\(\[2\.5\], lp\.f32\)"),
    "f64": (lambda x: scale[1](1.0, 1, np.ones(3)), lp.KernelArgumentError, r"lp\.asarray\(…, lp\.f32\)"),
    "rank": (lambda x: scale[1](1.0, 1, lp.zeros((2, 2))), lp.KernelArgumentError, r"reshape\(…\)"),
    "bool": (lambda x: scale[1](True, 1, x), lp.KernelArgumentError, "write 1, or declare"),
    "float": (lambda x: scale[1](1.0, 1.0, x), lp.KernelArgumentError, r"int\(x\) or round\(x\)"),
    "array": (lambda x: scale[1](x, 1, x), lp.KernelArgumentError, r"lp\.Array\[lp\.f32\]"),
    "too_large": (lambda x: scale[1](10**400, 1, x), lp.KernelArgumentError, "1329 bits"),
    "out_of_range": (lambda x: scale[1](1.0, 200, x), lp.KernelArgumentError, "-128 … 127"),
    "behind_a_struct": (
        lambda x: put[1](Pair(1, 2), lp.zeros(1, lp.i32)),
        lp.KernelArgumentError,
        r"\(2 of 2\)",
    ),
    "device": (lambda x: lp.device(3), lp.InvalidError, "selector"),
    "source": (lambda x: lp.kernel_from_source(3), lp.InvalidError, "as a text"),
    "array_called": (lambda x: lp.Array(), lp.InvalidError, r"lp\.asarray\(x\)"),
    "plus": (lambda x: x + 1, lp.InvalidError, r"no operator \+ on the host"),
    "plus_in_front": (lambda x: 2.0 + x, lp.InvalidError, r"a\.numpy\(\)"),
    "two_arrays": (lambda x: x * x, lp.InvalidError, r"compute in a kernel"),
    "minus": (lambda x: -x, lp.InvalidError, "no operator -"),
    "less": (lambda x: x < 3, lp.InvalidError, "no operator <"),
}


@pytest.mark.parametrize(("slip", "error", "advice"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_answered_with_what_to_write(slip, error, advice):
    with pytest.raises(error, match=advice):
        slip(lp.zeros(8))


def test_arrays_of_others_take_their_own_copy():
    x, one = lp.ones(3), np.ones(3, np.float32)
    for result in (x + one, one + x, np.float32(1) + x, x + np.float32(1)):
        np.testing.assert_array_equal(result, [2, 2, 2])
    assert x == x and x != lp.ones(3)
    assert len({x, x}) == 1
