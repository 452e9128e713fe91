"""Sums that begin with a bare literal and take the 8 or 16 bits of what a loop adds: warned of, and nothing else is."""

from __future__ import annotations

import itertools
import warnings

import pytest

import lapilli as lp

_numbers = itertools.count()


def warned(body, element):
    """Returns the texts of the warnings that a kernel with an array `x` of `element` causes."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    name = f"k{next(_numbers)}"  # each kernel is warned of once
    text = (
        f"def part(x):\n    s = 0\n    for v in range(4):\n        s += x[v]\n    return s\n\n"
        f"@lp.kernel\ndef {name}(x: lp.In[lp.{element}], y: lp.Out[lp.f32]):\n{lines}    y[0] = lp.f32(s)\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lp.kernel_from_source(text, name=name).inspect("ir")
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


NARROW = {
    "augmented": "s = 0\nfor k in range(x.size):\n    s += x[k]",
    "spelled_out": "s, n = 0, 1\nfor k in range(x.size):\n    s = x[k] + s",
    "while": "s = 0\nk = 0\nwhile k < x.size:\n    s = s - x[k] * x[k]\n    k += 1",
    "deep": "s = 0\nfor k in range(x.size):\n    if x[k] > 1:\n        for j in range(k):\n            s += x[j]",
}


@pytest.mark.parametrize("body", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize(
    ("element", "wide"), [("u8", "i32"), ("i16", "i32"), ("f16", "f32"), ("bf16", "f32")]
)
def test_a_narrow_sum_is_warned_of(body, element, wide):
    (text,) = warned(body, element)
    assert "variable 's' of 'k" in text and f"is an lp.{element}" in text
    assert f"write s: lp.{wide} = 0" in text
    assert "warning: " in text and "^" in text


def test_a_helper_is_warned_of_too():
    (text,) = warned("s = part(x)", "u8")
    assert "variable 's' of 'part'" in text


WANTED = {
    "declared": "s: lp.u8 = 0\nfor k in range(x.size):\n    s += x[k]",
    "typed_start": "s = lp.u8(0)\nfor k in range(x.size):\n    s += x[k]",
    "converted": "s = 0\nfor k in range(x.size):\n    s += lp.u8(x[k])",
    "widened": "s = 0\nfor k in range(x.size):\n    s += lp.i32(x[k])",
    "an_element": "s = x[0]\nfor k in range(x.size):\n    s += x[k]",
    "largest": "s = 0\nfor k in range(x.size):\n    s = max(s, x[k])",
    "last": "s = 0\nfor k in range(x.size):\n    s = x[k]",
    "bits": "s = 0\nfor k in range(x.size):\n    s |= x[k]\n    s ^= x[k] << 1",
    "count": "s = 0\nfor k in range(x.size):\n    s += 1",
    "mean": "s = 0\nfor k in range(9):\n    s += x[k] // 9",
    "scaled": "s = 0\nfor k in range(9):\n    s = s + (x[k] >> 4)",
    "ones": "s = 0\nfor k in range(8):\n    s += x[k] & 1",
    "no_loop": "s = 0\ns += x[0]\ns += x[1]",
    "mixed": "s = 0\nfor k in range(x.size):\n    s += x[k]\n    s = x[k]",
}


@pytest.mark.parametrize("body", WANTED.values(), ids=WANTED)
def test_what_is_meant_is_not(body):
    assert not warned(body, "u8")


def test_nor_a_product_of_floats():
    assert not warned("s = 1.0\nfor k in range(x.size):\n    s *= x[k]", "f16")
    assert warned("s = 1\nfor k in range(x.size):\n    s *= x[k]", "i16")


@pytest.mark.parametrize("element", ["i32", "f32"])
def test_nor_what_is_wide(element):
    assert not warned(NARROW["augmented"], element)
