"""Kernels that leave dimensions of their range out, as CUDA's ``k[blocks, threads]`` makes them: warned of once."""

from __future__ import annotations

import itertools
import warnings

import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect

_numbers = itertools.count()


def warned(body: str, rank: int) -> list[str]:
    """Returns the texts of the warnings of a kernel that is compiled for a range of `rank` dimensions."""
    name = f"named{next(_numbers)}"  # each kernel is warned of once
    text = (
        "def own():\n    return lp.global_id(0)\n\n"
        f"@lp.kernel\ndef {name}(x: lp.Array[lp.i32], count: lp.Array[lp.i32]):\n    {body}\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inspect(lp.kernel_from_source(text, name=name), "ir", rank=rank)
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("body", "rank", "named"),
    [
        ("x[lp.global_id(0)] += 1", 2, "dimension 0 alone and is launched over 2"),
        ("x[own()] += 1", 3, "dimension 0 alone and is launched over 3"),
    ],
)
def test_a_kernel_that_leaves_dimensions_out_is_warned_of(body: str, rank: int, named: str) -> None:
    (text,) = warned(body, rank)
    assert named in text and "k[lp.NdRange(blocks * threads, threads)]" in text
    assert "warning: " in text and "^" in text


@pytest.mark.parametrize(
    ("body", "rank"),
    [
        ("x[lp.global_id(0)] += 1", 1),
        ("x[lp.global_id(1)] += 1", 2),
        ("x[lp.global_id(1)] += 1", 3),
        ("x[lp.global_linear_id()] = lp.local_id(0)", 2),
        ("lp.atomic.add(count, lp.global_id(0), 1)", 2),
        ("x[0] = 1", 2),
    ],
)
def test_others_are_not(body: str, rank: int) -> None:
    assert warned(body, rank) == []
