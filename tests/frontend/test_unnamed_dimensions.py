"""Kernels that leave dimensions of their range out, as CUDA's ``k[blocks, threads]`` makes them: warned of once."""

from __future__ import annotations

import itertools
import warnings

import pytest

import lapilli as lp

_numbers = itertools.count()
_OF_DIMENSION_0 = "x[own()] += 1"


def warned(body: str, range_: object) -> list[str]:
    """Returns the texts of the warnings of a kernel that is launched over a range."""
    name = f"named{next(_numbers)}"  # each kernel is warned of once
    text = (
        "def own():\n    return lp.global_id(0)\n\n"
        f"@lp.kernel\ndef {name}(x: lp.Array[lp.i32], count: lp.Array[lp.i32]):\n    {body}\n"
    )
    kernel = lp.kernel_from_source(text, name=name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            kernel[range_](lp.zeros(64, lp.i32), lp.zeros(64, lp.i32)).wait()
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.device
@pytest.mark.parametrize("range_", [(4, 2), (4, 1, 2)])
def test_a_kernel_that_leaves_dimensions_out_is_warned_of(range_: tuple[int, ...]) -> None:
    (text,) = warned(_OF_DIMENSION_0, range_)
    assert f"names dimension 0 alone and is launched over {len(range_)}" in text
    assert "k[lp.NdRange(blocks * threads, threads)]" in text
    assert "warning: " in text and "^" in text


@pytest.mark.device
@pytest.mark.parametrize(
    ("body", "range_"),
    [
        (_OF_DIMENSION_0, 4),
        (_OF_DIMENSION_0, (4, 1)),
        (_OF_DIMENSION_0, lp.NdRange((4, 4), (2, 2))),
        ("x[lp.global_id(1)] += 1", (2, 4)),
        ("x[lp.global_linear_id()] = lp.local_id(0)", (4, 2)),
        ("lp.atomic.add(count, lp.global_id(0), 1)", (4, 2)),
        ("x[0] = 1", (4, 2)),
    ],
)
def test_others_are_not(body: str, range_: object) -> None:
    assert warned(body, range_) == []
