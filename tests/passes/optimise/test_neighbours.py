"""Positions of neighbours: one sum from the element that they lie around."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

Optimise = Callable[..., str]


def loads(*places: str) -> str:
    """A function that loads at these indices, each of `i`, `j`, `k`, a number, or a sum of the two: `i+1 j k-2`."""
    lines = [f"%{n}i = arith.index_cast %{n} : index to i32" for n in "ijk"]
    for number, place in enumerate(places):
        names = [_index(lines, part, f"%x{number}_{d}") for d, part in enumerate(place.split())]
        lines.append(f"%v{number} = memref.load %a[{', '.join(names)}] : memref<?x?x?xf32>")
        lines.append(f"memref.store %v{number}, %o[%i] : memref<?xf32>")
    body = "\n".join(lines)
    return (
        "func.func @f(%a: memref<?x?x?xf32>, %o: memref<?xf32>, %i: index, %j: index, %k: index) {\n"
        f"{body}\nfunc.return\n}}"
    )


def _index(lines: list[str], part: str, name: str) -> str:
    match = re.fullmatch(r"(\w)(?:([+-])(\d+))?", part)
    assert match is not None
    value, sign, number = match.groups()
    if value.isdigit():
        lines.append(f"{name} = arith.constant {value} : index")
    elif sign is None:
        return f"%{value}"
    else:
        lines.append(f"{name}c = arith.constant {number} : i32")
        lines.append(f"{name}s = arith.{'addi' if sign == '+' else 'subi'} %{value}i, {name}c : i32")
        lines.append(f"{name} = arith.index_cast {name}s : i32 to index")
    return name


def products(text: str) -> int:
    return text.count("arith.muli")


def test_a_stencil_has_the_products_of_its_centre_and_of_the_distance_of_planes(optimised: Optimise) -> None:
    text = optimised(loads("i j k", "i-1 j k", "i+1 j k", "i j-1 k", "i j+1 k", "i j k-1", "i j k+1"))
    assert products(text) == 3
    assert text.count("arith.addi") + text.count("arith.subi") == 2 + 6


def test_planes_of_constant_numbers_are_neighbours(optimised: Optimise) -> None:
    assert products(optimised(loads("0 j k", "1 j k", "2 j k"))) == 3  # the row; rows * columns; twice that


def test_neighbours_in_a_row_and_elements_without_neighbours_stay(optimised: Optimise) -> None:
    assert products(optimised(loads("i+1 j k", "i+1 j k+1"))) == 2
    assert products(optimised(loads("i+1 j k"))) == 2


@pytest.mark.device
def test_neighbours_are_found(device: lp.Device) -> None:
    @lp.kernel
    def around(a: lp.In[lp.i32, 3], out: lp.Out[lp.i32, 3], diagonal: lp.Array[lp.i32, 3]):
        i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
        d, h, w = a.shape
        out[i, j, k] = -1
        diagonal[i, j, k] = a[0, j, k] + 2 * a[1, j, k] + 5 * a[d - 1, j, k]
        if 1 < i < d - 2 and 1 < j < h - 2 and 1 < k < w - 2:
            out[i, j, k] = a[i - 2, j, k] + 3 * a[i, j + 1, k] + 7 * a[i, j, k - 2] + 11 * a[2 + i, j - 1, k]
            for s in range(1, 3):
                diagonal[i, j, k] += a[i - s, j + s - 1, k + 2] - 13 * a[i - s + 1, j + s, (k + 1) - 3]

    shape = (7, 9, 11)
    a = np.random.default_rng(5).integers(-999, 999, shape).astype(np.int32)
    outs = [lp.zeros(shape, lp.i32, device=device) for _ in range(2)]
    around[shape](lp.asarray(a, device=device), *outs)
    i, j, k = np.mgrid[2 : shape[0] - 2, 2 : shape[1] - 2, 2 : shape[2] - 2]
    out = np.full(shape, -1, np.int32)
    out[i, j, k] = a[i - 2, j, k] + 3 * a[i, j + 1, k] + 7 * a[i, j, k - 2] + 11 * a[i + 2, j - 1, k]
    diagonal = np.broadcast_to(a[0] + 2 * a[1] + 5 * a[-1], shape).copy()
    for s in range(1, 3):
        diagonal[i, j, k] += a[i - s, j + s - 1, k + 2] - 13 * a[i - s + 1, j + s, k - 2]
    np.testing.assert_array_equal(outs[0].numpy(), out)
    np.testing.assert_array_equal(outs[1].numpy(), diagonal)
