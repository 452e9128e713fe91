"""Numbers and sequences become elements only where the element type holds them."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.dtypes import spelling_of
from lapilli.vk_runtime.host_data import element, host_array


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        (float("nan"), "i32"),
        (float("inf"), "u8"),
        (1e300, "f32"),
        (70000, "f16"),
        (1e39, "bf16"),
        (-1, "u32"),
        (300, "u8"),
        (5, "bool"),
        (0.5, "bool"),
        (2**63, "i64"),
        (2**64, "u64"),
        (1.5, "i32"),
    ],
)
def test_a_number_that_does_not_fit(value, spelling):
    with pytest.raises(lp.InvalidError, match=f"does not fit {spelling}: expected"):
        element(value, spelling)
    with pytest.raises(lp.InvalidError, match=f"does not fit {spelling}: expected"):
        host_array([[0, value]], spelling, "test")


@pytest.mark.parametrize("value", ["1", None, 1j, b"1", object(), [1, [2]], 2**2000, np.datetime64("2020")])
def test_what_is_no_number(value):
    with pytest.raises(lp.InvalidError, match=r"expected one number for an array of f64; found"):
        element(value, "f64")
    with pytest.raises(lp.InvalidError, match=r"test: expected an array or a nested sequence of numbers"):
        host_array([value, value], "f64", "test")


@pytest.mark.parametrize(
    ("value", "spelling", "expected"),
    [
        (2.0, "i32", 2),
        (True, "f32", 1.0),
        (2**100, "f32", np.float32(2.0**100)),
        (float("inf"), "f16", float("inf")),
        (2**53 + 1, "i64", 2**53 + 1),
        (2**64 - 1, "u64", 2**64 - 1),
        (1, "bool", True),
        (np.float64(0.1), "f32", np.float32(0.1)),
    ],
)
def test_a_number_that_fits(value, spelling, expected):
    assert element(value, spelling)[()] == expected
    assert host_array([value], spelling, "test").tolist() == [expected]


def test_an_empty_sequence_fits_everything():
    assert host_array([[], []], "i8", "test").dtype == np.int8


def test_a_long_sequence_is_shown_in_short():
    with pytest.raises(lp.InvalidError) as caught:
        host_array([1.5] * 10**6, "i32", "test")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("dtype", [None, "f4,,,", [("a", "f4"), ("a", "f4")], "", 3, "a\0b"])
def test_what_is_no_dtype(dtype):
    with pytest.raises(lp.InvalidError, match="expected one of bool, i8"):
        spelling_of(dtype)


@pytest.mark.parametrize("is_nested", [False, True])
def test_masked_elements_are_refused(is_nested: bool) -> None:
    """NumPy's own functions hand on what lies under the mask."""
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], np.float32, mask=[[0, 1], [1, 0]])
    given = masked if is_nested else masked[0]
    count = f"{1 + is_nested} of {given.size} elements are masked"
    x = lp.zeros(given.shape)
    copies = (
        lambda: lp.asarray(given),
        lambda: lp.asarray(given, lp.f32),
        lambda: x.copy_from(given),
        lambda: x.device.default_queue.copy(given, x),
    )
    for copy in copies:
        with pytest.raises(lp.InvalidError, match=rf"{count}.*x\.filled\(value\)"):
            copy()
    np.testing.assert_array_equal(lp.asarray(given.filled(7)).numpy(), given.filled(7))
    whole = np.ma.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(lp.asarray(whole).numpy(), [1, 2])
