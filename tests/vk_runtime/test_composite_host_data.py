"""Host values that go into arrays of vectors and structs are checked like those of numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

import lapilli as lp


@lp.struct
class Item:
    key: lp.i32
    weight: lp.f32x2


def test_sequences_of_vectors(device):
    array = lp.asarray([[1, 2], [3, 4]], dtype=lp.i32x2, device=device)
    assert array.shape == (2,)
    np.testing.assert_array_equal(array.copy_from([[5, 6], [7, 8]]).numpy(), [[5, 6], [7, 8]])
    assert array.copy_from(array) is array
    np.testing.assert_array_equal(array.fill([1, 2]).numpy(), [[1, 2], [1, 2]])


def test_fixed_arrays(device):
    matrix, host = lp.FixedArray[lp.i32, 2, 3], np.arange(24, dtype=np.int32).reshape(2, 2, 2, 3)
    array = lp.asarray(host, matrix, device=device)
    assert array.shape == (2, 2) and array.signature == "Array[FixedArray[i32, 2, 3], 2]"
    assert array.dtype == matrix.dtype and array.nbytes == host.nbytes
    np.testing.assert_array_equal(array.reshape(4).numpy(), host.reshape(4, 2, 3))
    np.testing.assert_array_equal(array.fill(host[1, 1]).numpy()[0, 1], host[1, 1])
    assert (
        not lp.zeros_like(array).numpy().any() and lp.ones(3, matrix.dtype, device=device).numpy().sum() == 18
    )
    same = [lp.zeros(2, t, device=device).signature for t in (lp.FixedArray[lp.i32, 4], "FixedArray[i32, 4]")]
    assert same == ["Array[Vec[i32, 4]]"] * 2  # NumPy has one dtype for both


def test_fixed_arrays_that_do_not_fit(device):
    matrix = lp.FixedArray[lp.i32, 2, 3]
    with pytest.raises(lp.InvalidError, match=r"takes host shape \(n, 2, 3\); found \(2, 3\)"):
        lp.asarray(np.zeros((2, 3), np.int32), matrix, device=device)
    with pytest.raises(lp.InvalidError, match="one number or 2 × 3"):
        lp.full(2, [1, 2], matrix, device=device)
    for text in (
        "FixedArray[i32]",
        "FixedArray[i32, 0]",
        "FixedArray[i33, 2]",
        "FixedArray[i32, 2",
        "FixedArray[",
        "FixedArray[{x: f32 @0; 4}]",
        "FixedArray[{x: f32 @0; 4}, 0]",
        "FixedArray[{x: f32 @0; 4, 2]",
        "Vec[{x: f32 @0; 4}, 2]",
    ):
        with pytest.raises(lp.InvalidError, match="is no element type of an array"):
            lp.zeros(1, text, device=device)
    pairs = np.dtype((Item.dtype, (2,)))
    assert lp.zeros(1, pairs, device=device).dtype == pairs


@pytest.mark.parametrize("values", [[[1.5, 2]], [[1 << 31, 0]], [["a", "b"]], [[1, 2], [3]]])
def test_sequences_that_do_not_fit(device, values):
    with pytest.raises(lp.InvalidError):
        lp.asarray(values, dtype=lp.i32x2, device=device)
    with pytest.raises(lp.InvalidError):
        lp.zeros(1, lp.i32x2, device=device).copy_from(values)


def test_records(device):
    array = lp.asarray([(1, (2, 3)), (4, (5, 6))], dtype=Item, device=device)
    np.testing.assert_array_equal(array.numpy()["key"], [1, 4])
    swapped = array.numpy().astype(Item.dtype.newbyteorder(">"))
    np.testing.assert_array_equal(array.copy_from(swapped).numpy()["weight"], [[2, 3], [5, 6]])
    with pytest.raises(lp.InvalidError):
        array.copy_from([("a", (2, 3)), (4, (5, 6))])


class Loose(NamedTuple):
    key: float
    weight: tuple[float, float]


@pytest.mark.parametrize(
    "make", [tuple, lambda item: Loose(*item), lambda item: Loose(item[0], list(item[1]))]
)
@pytest.mark.parametrize(
    ("item", "member"),
    [
        ((1.5, (2, 3)), "key"),
        ((2.0**31, (2, 3)), "key"),
        ((1, (1e300, 3)), "weight"),
        ((math.nan, (1, 2)), "key"),
    ],
)
def test_records_hold_what_their_members_hold(device, make, item, member):
    with pytest.raises(lp.InvalidError, match=f"member '{member}': .* does not fit|cannot|out of bounds"):
        lp.asarray([make((1, (2, 3))), make(item)], dtype=Item, device=device)
    if make is not tuple:
        with pytest.raises(lp.InvalidError, match=f"member '{member}'"):
            lp.full(2, make(item), Item, device=device)


@lp.struct
class Outer:
    item: Item
    flag: lp.bool_


def test_records_in_records(device):
    found = lp.asarray([[((1.0, (2, 3)), True), ((4, (5, 6)), 0)]], dtype=Outer, device=device)
    assert found.shape == (1, 2) and found.numpy()["item"]["key"].tolist() == [[1, 4]]
    with pytest.raises(lp.InvalidError, match=r"member 'key': \[1.0, 0.5\] does not fit i32"):
        lp.asarray([((1, (2, 3)), True), ((0.5, (5, 6)), False)], dtype=Outer, device=device)
    with pytest.raises(lp.InvalidError, match=r"member 'flag': .* expected True or False"):
        lp.asarray([((1, (2, 3)), 2)], dtype=Outer, device=device)


def test_integers_of_64_bits_stay_what_they_are(device) -> None:
    pairs = np.dtype([("a", "<i4"), ("b", "<u8")])
    assert lp.asarray([2**63 + 1, 1], lp.u64, device=device).numpy().tolist() == [2**63 + 1, 1]
    assert lp.asarray([2**64 - 1, 1], lp.u64, device=device).numpy().tolist() == [2**64 - 1, 1]
    found = lp.asarray([(1, 2**64 - 1), (2, 1)], pairs, device=device).numpy()
    assert found.tolist() == [(1, 2**64 - 1), (2, 1)]
    with pytest.raises(lp.InvalidError, match="u64"):
        lp.asarray([2**63 + 1, -1], lp.u64, device=device)


def test_one_number_stands_for_all_elements_of_a_member(device) -> None:
    dtype = np.dtype([("a", "<f4"), ("v", "<i4", (3,))])
    found = lp.asarray([(1.0, (1, 2, 3)), (2.0, 5)], dtype, device=device).numpy()
    assert found["v"].tolist() == [[1, 2, 3], [5, 5, 5]]
    with pytest.raises(lp.InvalidError, match="member 'v'"):
        lp.asarray([(1.0, (1, 2, 3)), (2.0, 1.5)], dtype, device=device)


def test_what_a_member_does_not_hold_is_refused_wherever_it_stands(device) -> None:
    pair = np.dtype([("a", "<i4"), ("b", "<u4")])
    pairs = np.dtype([("s", pair, (2,)), ("c", "<i4")])
    for value, dtype in (
        ([([(1.5, 1), (2, 2)], 2)], pairs),
        ([(1.5, 1), np.array((2, 3), pair)[()]], pair),
        ([(Fraction(3, 2), 1)], pair),
        ([("7", 1)], pair),
    ):
        with pytest.raises(lp.InvalidError, match="member 'a'"):
            lp.asarray(value, dtype, device=device)
