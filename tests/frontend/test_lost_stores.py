"""Stores of helpers into vectors, structs and fixed arrays: warned of where nobody sees what they change."""

from __future__ import annotations

import itertools
import warnings

import pytest

import lapilli as lp

_numbers = itertools.count()

_TEXT = """
import lapilli as lp

Matrix = lp.FixedArray[lp.f32, 2, 2]

@lp.struct
class P:
    x: lp.f32
    y: lp.f32
    v: lp.f32x3

    def xy(self) -> lp.f32:
        return self.x + self.y + self.v.x

def same(p):
    return p

def part(p: {kind}, a, n):
{body}

@lp.kernel
def {name}(p: {kind}, a: lp.Array[lp.f32], n: lp.i32):
    {call}
"""


def warned(body, kind="P", call="part(p, a, n)"):
    """Returns the texts of the warnings that a helper with a parameter `p` causes, and the kernel's name."""
    name = f"k{next(_numbers)}"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    lines = lines.replace("part", f"part_{name}")  # each helper is warned of once
    text = _TEXT.format(kind=kind, body=lines, name=name, call=call).replace("part(", f"part_{name}(")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lp.kernel_from_source(text, name=name).inspect("ir")
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


LOST = {
    "augmented": ("P", "p.x += 1.0"),
    "member_of_member": ("P", "p.v.x = 1.0"),
    "from_each_other": ("P", "p.v *= 0.5\np.x += p.v.x\np.y += p.v.y\np.x = p.y"),
    "swapped": ("P", "p.x, p.y = p.y, p.x"),
    "read_before": ("P", "x = p.x\np.x = 0.0\nreturn x"),
    "another_member_returned": ("P", "p.x += 1.0\nreturn p.y"),
    "behind_a_condition": ("P", "if n > 1:\n    p.x = 0.0\nelse:\n    p.y = 0.0\nreturn n"),
    "limited": ("P", "p.x += 1.0\nif p.x > 1.0:\n    p.x -= 1.0"),
    "in_a_loop": ("P", "for k in range(n):\n    p.x += 0.5 * p.v.x"),
    "wrapped": ("P", "p.x += 1.0\nwhile p.x > 1.0:\n    p.x -= 1.0"),
    "by_a_variable": ("P", "step = 0.1 * p.y\np.y -= step\np.x += p.y * step"),
    "after_a_return": ("P", "if n > 1:\n    return p.x\np.x = 2.0\nreturn 1.0"),
    "after_a_break": (
        "P",
        "s = 0.0\nwhile s < 9.0:\n    s += p.x\n    if n > 1:\n        p.x = 9.0\n        break\nreturn s",
    ),
    "component": ("lp.f32x3", "p[0] = 1.0"),
    "run_time_component": ("lp.f32x3", "p[n] = 1.0\nreturn n"),
    "swizzle": ("lp.f32x3", "p.xy = p.yx"),
    "element": ("Matrix", "p[0, 1] = 2.0"),
    "run_time_element": ("Matrix", "for i in range(2):\n    p[i, i] = 1.0"),
}


@pytest.mark.parametrize(("kind", "body"), LOST.values(), ids=LOST)
def test_a_store_that_nobody_sees_is_warned_of(kind, body):
    (text,) = warned(body, kind)
    assert "parameter 'p' of 'part_k" in text
    assert "return 'p' and assign the result" in text
    assert ":" in text and "^" in text


SEEN = {
    "returned": ("P", "p.x += 1.0\nreturn p"),
    "member_returned": ("P", "p.x += 1.0\nreturn p.x"),
    "one_way_returned": ("P", "p.x += 1.0\nif n > 1:\n    return 0.0\nreturn p.x"),
    "in_a_sum": ("P", "p.x += 1.0\nq = p.x * 2.0\nreturn q + 1.0"),
    "stored": ("P", "p.x += 1.0\na[0] = p.x"),
    "in_an_index": ("P", "p.x += 1.0\na[lp.i32(p.x)] = 1.0"),
    "printed": ("P", "p.x += 1.0\nprint(p.x)"),
    "passed_on": ("P", "p.x += 1.0\nsame(p)"),
    "method": ("P", "p.v.x = 1.0\nreturn p.xy()"),
    "copied": ("P", "p.x += 1.0\nq = p\nreturn q"),
    "next_round": ("P", "s = 0.0\nfor k in range(n):\n    s += p.x\n    p.x *= 0.5\nreturn s"),
    "next_round_by_another": ("P", "for k in range(n):\n    a[k] = p.x\n    p.x = p.y\n    p.y = p.x + 1.0"),
    "continue": (
        "P",
        "for k in range(n):\n    a[k] = p.x\n    if k > 2:\n        p.x = 1.0\n        continue",
    ),
    "break": ("P", "for k in range(n):\n    p.x = 2.0\n    if k > 2:\n        break\nreturn p.x"),
    "ends_a_loop": ("P", "n = 0\nwhile p.x < 9.0:\n    p.x += 1.0\n    n += 1\nreturn n"),
    "decides": ("P", "p.x += 1.0\nif p.x > 1.0:\n    a[0] = 1.0"),
    "last_of_scratch": ("P", "a[0] = p.x\np.x += 1.0\na[1] = p.x\np.x += 1.0"),
    "assigned_anew": ("P", "p = same(p)\np.x = 1.0"),
    "own_variable": ("P", "q = p\nq.x = 1.0\nreturn n"),
    "array": ("lp.f32", "a[0] = 1.0"),
    "components": ("lp.f32x3", "p[n] = 1.0\nreturn p.x"),
    "elements": ("Matrix", "p[0, 1] = 2.0\nreturn p[1, 0]"),
}


@pytest.mark.parametrize(("kind", "body"), SEEN.values(), ids=SEEN)
def test_what_somebody_sees_is_not_warned_of(kind, body):
    assert warned(body, kind) == []


def test_the_warning_names_the_line_of_the_first_store():
    (text,) = warned("x = p.x\np.y = x\np.x = 0.0")
    line = next(n for n, line in enumerate(_TEXT.splitlines(), 1) if "{body}" in line) + 1
    assert f":{line}:" in text


def test_a_kernels_own_parameter_is_left_alone():
    assert warned("return n", call="p.x += 1.0") == []
