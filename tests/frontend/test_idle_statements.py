"""What does nothing and is warned of: functions that are not called, comparisons that look like stores, a launch's size
at a helper."""

from __future__ import annotations

import itertools
import warnings

import pytest

import lapilli as lp

_numbers = itertools.count()


def warned(body: str) -> list[str]:
    """Returns the texts of the warnings that a kernel of these lines causes."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    name = f"k{next(_numbers)}"  # each kernel is warned of once
    text = (
        f"def part(a):\n    return a\n\n@lp.kernel(local_size=4)\ndef {name}(x: lp.Array[lp.f32]):\n{lines}"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lp.kernel_from_source(text, name=name).inspect("ir")
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("lp.barrier", "'lp.barrier' does nothing unless it is called; write lp.barrier(…)"),
        ("part", "'part' does nothing unless it is called; write part(…)"),
        ("for k in lp.static_range(3):\n    lp.barrier", "'lp.barrier' does nothing"),
        ("x[0] == 1.0", "a comparison by itself does nothing; write x[0] = … to store"),
    ],
)
def test_a_statement_that_does_nothing_is_warned_of(body: str, message: str) -> None:
    (text,) = warned(body)
    assert message in text and "warning: " in text and "^" in text


@pytest.mark.parametrize(
    "body", ["lp.barrier()", '"""What it does."""', "...", "x[0] < 1.0", "x[0]", "part(x[0])", "(n := 3)"]
)
def test_other_statements_are_not(body: str) -> None:
    assert warned(body) == []


def test_a_work_group_size_of_a_helper_is_warned_of() -> None:
    text = """@lp.reqd_work_group_size(4, 2)
def part(a):
    return a

@lp.kernel
def sized_part(x: lp.Array[lp.f32]):
    x[0] = part(x[0]) + part(x[1])
"""
    with pytest.warns(lp.KernelWarning) as caught:
        lp.kernel_from_source(text, name="sized_part").inspect("ir")
    (warning,) = caught
    message = (
        "@lp.reqd_work_group_size(4, 2) does nothing on the helper 'part'; put it on the kernels that call it"
    )
    assert message in str(warning.message)
