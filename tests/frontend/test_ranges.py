"""Launch ranges: what is taken and every refusal."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from lapilli.frontend.ranges import (
    LaunchRange,
    NdRange,
    Range,
    launch_range,
    normalise_local_size,
    normalise_range,
)
from lapilli.ir.errors import Errc, NdRangeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, (7,)),
        (0, (0,)),
        (np.int64(7), (7,)),
        ((3, 4), (3, 4)),
        ([3, 4, 5], (3, 4, 5)),
        (Range(3, 4), (3, 4)),
        ((np.uint8(3), 0), (3, 0)),
        (2**31 - 1, (2**31 - 1,)),
    ],
)
def test_normalise_range(value: object, expected: tuple[int, ...]) -> None:
    extents = normalise_range(value)
    assert extents == expected
    assert all(type(extent) is int for extent in extents)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "range -1: expected 0 or more, found -1 in dimension 0"),
        ((4, -2), r"range \(4, -2\): expected 0 or more, found -2 in dimension 1"),
        (1.0, "expected an integer or a tuple of 1 to 3 integers, found 1.0 of type float"),
        (2.0, "found 2.0 of type float; // divides to an integer"),
        (range(3), r"range range\(0, 3\): expected the number of work-items, found a range; write 3"),
        (range(1, 3), "found a range; write n, from which kernels compute"),
        (range(2**64), "found a range; write 18446744073709551616"),
        (range(-2), "found a range; write 0"),
        (slice(0, 3), "a range starts at 0 and has no steps"),
        (np.ones(3), r"a work-item for each element is x\.size, or x\.shape"),
        (True, "found True of type bool"),
        (np.True_, "of type bool"),
        ((4, 2.5), r"range \(4, 2.5\): .* found 2.5 of type float"),
        ("4", "found '4' of type str"),
        (None, "found None of type NoneType"),
        ((), r"range \(\): expected 1 to 3 dimensions, found 0"),
        ((1, 2, 3, 4), "expected 1 to 3 dimensions, found 4"),
        (((1, 2), 3), "found .1, 2. of type tuple"),
        (
            2**31,
            r"expected fewer than 2\*\*31 work-items, found 2147483648; launch it in parts, or .*index=lp.i64",
        ),
        ((2**16, 2**16), "found 4294967296"),
        ((2**31, 0), "found 2147483648"),
    ],
)
def test_normalise_range_refuses(value: object, message: str) -> None:
    with pytest.raises(NdRangeError, match=message) as caught:
        normalise_range(value)
    assert isinstance(caught.value, ValueError)
    assert caught.value.errc is Errc.ND_RANGE


def test_limit_follows_the_index_type() -> None:
    assert normalise_range(2**40, limit=2**63) == (2**40,)
    with pytest.raises(NdRangeError, match=r"fewer than 2\*\*63"):
        normalise_range(2**63, limit=2**63)


@pytest.mark.parametrize("value", [0, (8, 0), -1, 1.5, (), (1, 1, 1, 1), True])
def test_local_size_refuses(value: object) -> None:
    with pytest.raises(NdRangeError, match="local range"):
        normalise_local_size(value)


def test_an_nd_range_has_the_getters_of_sycl() -> None:
    found = NdRange((4, 6), [2, 3])  # type: ignore[arg-type]
    assert found.get_global_range() == found.global_range == Range(4, 6)
    assert found.get_local_range() == found.local_range == Range(2, 3)
    assert found.get_group_range() == found.group_range == Range(2, 2)
    assert NdRange(64, 16).group_range == (4,)
    assert (by_name := NdRange(global_=64, local_=16)) == NdRange(64, 16)
    assert (by_name.global_, by_name.local_) == (64, 16)
    with pytest.raises(NdRangeError, match="rounded up it is 12"):
        NdRange(10, 4).get_group_range()


def test_launch_range() -> None:
    assert launch_range((4, 6)) == LaunchRange((4, 6))
    assert launch_range(NdRange(64, 16)) == LaunchRange((64,), (16,))
    assert launch_range(NdRange((4, 6), (2, 3))) == LaunchRange((4, 6), (2, 3))
    assert launch_range(NdRange(0, 16)) == LaunchRange((0,), (16,))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (NdRange(10, 4), "range 10 is no multiple of the local size 4; rounded up it is 12"),
        (NdRange(4, 32), "rounded up it is 32; a range counts work-items, not work-groups"),
        (
            ((4,), (32,)),
            r"found two tuples; work-items in all and of a work-group are lp\.NdRange\(global_, local_\)",
        ),
        (NdRange((4, 7), (2, 3)), r"range \(4, 7\) is no multiple .* \(2, 3\); rounded up it is \(4, 9\)"),
        (NdRange(8, 0), "local range 0: expected 1 or more, found 0 in dimension 0"),
        (NdRange((8, 8), 8), r"global range \(8, 8\) has 2 dimensions, local range \(8,\) has 1"),
        (NdRange(-8, 8), "global range -8: expected 0 or more"),
    ],
)
def test_nd_range_refuses_when_it_is_checked(value: NdRange, message: str) -> None:
    with pytest.raises(NdRangeError, match=message):
        launch_range(value)


def test_range_is_a_tuple_with_sycl_names() -> None:
    assert Range(3, 4).size == 12
    assert Range(3, 4).get(1) == 4
    assert Range(3, 4) == (3, 4)
    assert repr(Range(3, 4)) == "lp.Range(3, 4)"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_of_ranges_are_equal(copied: Callable[[object], object]) -> None:
    for value in (Range(2, 3), Range(4), NdRange((4, 4), (2, 2))):
        assert copied(value) == value
        assert repr(copied(value)) == repr(value)


def test_parts_of_a_wrong_range_are_refused() -> None:
    with pytest.raises(NdRangeError, match="global range -4: expected 0 or more"):
        _ = NdRange(-4, 2).global_range
    with pytest.raises(NdRangeError, match="local range 0: expected 1 or more"):
        NdRange(4, 0).get_local_range()
    assert NdRange(2**40, 2).group_range == (2**39,)  # index=lp.i64
