"""Scalar, fixed-array and array types as host objects."""

from __future__ import annotations

import copy
import math
import pickle
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import types as t
from lapilli.frontend.type_lookup import parse_type, type_of_dtype
from lapilli.frontend.vector_types import VecType
from lapilli.ir.errors import CompileError, FeatureNotSupportedError, InvalidError, KernelArgumentError

SCALARS = list(t.SCALAR_TYPES.values())
INTEGERS = [s for s in SCALARS if s.is_integer]


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_scalar_dtype_has_the_width_of_the_type(scalar: t.ScalarType) -> None:
    assert np.dtype(scalar) == scalar.dtype
    assert scalar.dtype.itemsize == scalar.itemsize


def test_numpy_takes_scalar_types_as_dtypes() -> None:
    assert np.zeros(2, t.f32).dtype == np.float32
    assert np.zeros(2, t.bool_).dtype == np.bool_
    assert np.zeros(2, t.u8).dtype == np.uint8


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_spelling_round_trips(scalar: t.ScalarType) -> None:
    assert parse_type(str(scalar)) is scalar
    fixed = lp.FixedArray[scalar, 3, 2]
    assert parse_type(str(fixed)) == fixed


def test_spellings() -> None:
    assert (str(t.bool_), repr(t.bool_)) == ("bool", "lp.bool_")
    assert (str(t.f32), repr(t.f32)) == ("f32", "lp.f32")
    assert repr(lp.FixedArray[t.bool_, 4]) == "lp.FixedArray[lp.bool_, 4]"
    assert str(lp.FixedArray[t.f32, 3, 3]) == "FixedArray[f32, 3, 3]"
    assert str(t.ArrayType(t.f32)) == "Array[f32]"
    assert repr(t.ArrayType(t.f32, 2, "read")) == "lp.In[lp.f32, 2]"
    assert str(t.ArrayType(t.bool_, 3, "write")) == "Out[bool, 3]"


@pytest.mark.parametrize(
    "text", ["", "f31", "FixedArray[f32]", "FixedArray[f32, 0]", "FixedArray[x, 2]", "f32]"]
)
def test_parse_type_refuses_what_is_no_type(text: str) -> None:
    with pytest.raises(InvalidError, match="names no lapilli type; expected one of bool, i8"):
        parse_type(text)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_scalar_types_stay_the_same_object_when_copied(scalar: t.ScalarType) -> None:
    assert copy.deepcopy(scalar) is scalar
    assert pickle.loads(pickle.dumps(scalar)) is scalar


def test_types_are_equal_and_hashed_by_content() -> None:
    assert lp.FixedArray[t.f32, 3] == lp.FixedArray[t.f32, 3]
    assert len({lp.FixedArray[t.f32, 3], lp.FixedArray[t.f32, 3], lp.FixedArray[t.f32, 4]}) == 2
    assert t.f32 != t.i32


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
def test_integer_conversion_keeps_the_low_bits(scalar: t.ScalarType) -> None:
    for value in (0, 1, -1, 300, -300, 2**63, -(2**63), scalar.maximum, scalar.minimum, scalar.maximum + 1):
        expected = int.from_bytes(
            (value & (2**scalar.bits - 1)).to_bytes(8, "little")[: scalar.bits // 8],
            "little",
            signed=scalar.is_signed,
        )
        assert scalar(value) == expected
        assert type(scalar(value)) is scalar.dtype.type


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
def test_float_conversion_truncates_and_saturates(scalar: t.ScalarType) -> None:
    assert scalar(3.9) == 3
    assert scalar(-0.9) == 0
    assert scalar(1e30) == scalar.maximum == scalar(math.inf)
    assert scalar(-1e30) == scalar.minimum == scalar(-math.inf)
    assert scalar(math.nan) == 0


def test_scalar_conversion_gives_numpy_scalars() -> None:
    assert isinstance(t.f32(1), np.float32)
    assert isinstance(t.bool_(2), np.bool_)
    assert t.f32(np.array(2.5)) == 2.5
    assert t.f16(np.int8(3)) == 3
    assert t.i32() == 0


@pytest.mark.parametrize("value", ["1", b"1", None, 1j, [1], np.zeros(2)])
def test_scalar_conversion_refuses_what_is_no_number(value: object) -> None:
    with pytest.raises(InvalidError, match=r"lp\.f32\(…\) converts a number; found"):
        t.f32(value)


@pytest.mark.parametrize("scalar", [t.f16, t.f32, t.f64])
def test_what_no_float_reaches_is_infinite_without_a_warning(scalar: t.ScalarType) -> None:
    assert scalar(10**400) == np.inf
    assert scalar(-(10**400)) == -np.inf
    if scalar is not t.f64:
        assert scalar(1e300) == scalar(np.float64(1e300)) == np.inf


def test_bf16_uses_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert t.bf16.dtype == ml_dtypes.bfloat16
    assert float(t.bf16(1.5)) == 1.5


def test_bf16_without_ml_dtypes_is_its_bits_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bf16 = t.ScalarType("bf16", "float", 16)
    assert bf16.dtype == np.uint16
    with pytest.raises(FeatureNotSupportedError, match=r"pip install 'lapilli\[bf16\]'"):
        bf16(1.0)


def test_fixed_array_sizes() -> None:
    fixed = lp.FixedArray[t.f64, 3, 5]
    assert (fixed.size, fixed.nbytes, fixed.ndim, fixed.shape) == (15, 120, 2, (3, 5))
    assert np.zeros(2, fixed.dtype).shape == (2, 3, 5)
    assert lp.FixedArray[int, 2].element is t.i32


def test_fixed_array_values() -> None:
    fixed = lp.FixedArray[t.f32, 2, 2]
    assert fixed().tolist() == [[0, 0], [0, 0]]
    assert fixed(1.5).tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert fixed([[1, 2], [3, 4]]).tolist() == fixed([1, 2], (3, 4)).tolist() == [[1, 2], [3, 4]]
    assert fixed([[1, 2], [3, 4]]).dtype == np.float32
    with pytest.raises(KernelArgumentError, match=r"expected a value of shape \(2, 2\), found shape \(3,\)"):
        fixed([1, 2, 3])


@lp.struct
class Pair:
    a: lp.f32
    b: lp.i32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((t.f32, 0), "the lengths of lp.FixedArray are at least 1; found 0"),
        ((t.f32, 2, -1), "the lengths of lp.FixedArray are at least 1; found -1"),
        ((t.f32, 1.5), "the lengths of lp.FixedArray are integers; found 1.5 of type float"),
        ((t.f32, True), "the lengths of lp.FixedArray are integers; found True of type bool"),
        (t.f32, r"lp.FixedArray\[lp.f32\] has no length; write lp.FixedArray\[lp.f32, n\]"),
        (
            (np.float32, 3),
            "the element is a number, vector, struct or fixed array, such as lp.f32; found <class 'numpy.float32'>",
        ),
        (Pair, r"lp.FixedArray\[Pair\] has no length; write lp.FixedArray\[Pair, n\]"),
        ((Pair, 1 << 16), r"at most 65536 numbers, found lp.FixedArray of 131072; .*: lp.Array\[Pair\]"),
        ((VecType(t.f32, 4), 200, 100), r"at most 65536 numbers, found lp.FixedArray of 80000"),
    ],
)
def test_fixed_array_refuses(parameters: object, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        lp.FixedArray[parameters]  # pyright: ignore[reportUnusedExpression]
    assert caught.value.code == "LP2018"


def test_fixed_arrays_of_fixed_arrays_have_more_dimensions() -> None:
    assert lp.FixedArray[lp.FixedArray[lp.f32, 3], 2] == lp.FixedArray[lp.f32, 2, 3]
    pairs = lp.FixedArray[Pair, 3]
    assert lp.FixedArray[pairs, 2] == lp.FixedArray[Pair, 2, 3]
    assert repr(lp.FixedArray[pairs, 2]) == "lp.FixedArray[Pair, 2, 3]"
    assert lp.FixedArray[lp.FixedArray[lp.f32x2, 3], 4].dtype == np.dtype((np.float32, (4, 3, 2)))


def test_values_of_fixed_arrays_of_vectors() -> None:
    points = lp.FixedArray[lp.f32x3, 2]
    assert points().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert points(1).tolist() == points((1, 1, 1), np.ones(3)).tolist() == [[1, 1, 1], [1, 1, 1]]
    with pytest.raises(KernelArgumentError, match=r"f32x3, 2\]: .* shape \(2, 3\), found shape \(3,\)"):
        points([1, 2, 3])


@lp.struct
class Mixed:
    """Padding behind `a`, a default, and an array inside."""

    a: lp.u8
    b: lp.i32x2 = (3, 4)
    c: lp.FixedArray[lp.f32, 2]


def test_values_of_fixed_arrays_of_structs() -> None:
    kind = lp.FixedArray[Mixed, 2]
    assert kind.dtype == np.dtype((Mixed.dtype, (2,)))
    assert kind()["b"].tolist() == [[3, 4], [3, 4]]
    records = np.array([(1, (5, 6), (7, 8)), (2, (3, 4), (0, 0))], Mixed.dtype)
    for given in (
        [Mixed(1, (5, 6), (7, 8)), Mixed(2)],
        [(1, (5, 6), [7, 8]), records[1]],
        records,
        records[::-1][::-1],
    ):
        np.testing.assert_array_equal(kind(given), records)
    np.testing.assert_array_equal(kind(*records), records)
    assert kind(records) is not records
    with pytest.raises(KernelArgumentError, match=r"expected 2 elements of type Mixed, found \[Mixed"):
        kind([Mixed()])
    with pytest.raises(
        KernelArgumentError, match=r"value\[1\] has type Mixed: expected an instance of it, found 3"
    ):
        kind([Mixed(), 3])
    with pytest.raises(KernelArgumentError, match=r"'Mixed.a' has type lp.u8: .* found 256"):
        kind([Mixed(), (256, (0, 0), (0, 0))])


def test_structs_with_fixed_arrays_of_structs() -> None:
    @lp.struct
    class Outer:
        first: lp.u8
        items: lp.FixedArray[Mixed, 2]
        points: lp.FixedArray[lp.f32x3, 2]

    assert Outer.dtype.fields["items"][1:] == (4,)
    assert (Outer.dtype.fields["points"][1], Outer.dtype.itemsize) == (4 + 2 * 20, 44 + 24)
    one, other = Outer(1, [Mixed(1), Mixed(2)]), Outer(1, [Mixed(1), Mixed(3)])
    assert one != other
    assert one == Outer(*(getattr(one, name) for name in Outer.dtype.names))
    assert Outer().items["b"].tolist() == [[3, 4], [3, 4]]
    assert one.items["a"].tolist() == [1, 2]


def test_fixed_array_is_not_called() -> None:
    with pytest.raises(InvalidError, match=r"lp\.FixedArray is not called"):
        lp.FixedArray(3)


def test_type_of_dtype() -> None:
    assert type_of_dtype(np.float32) is t.f32
    assert type_of_dtype("u1") is t.u8
    assert type_of_dtype(t.i64) is t.i64
    assert type_of_dtype(bool) is t.bool_
    with pytest.raises(InvalidError, match="no lapilli type has dtype complex64"):
        type_of_dtype(np.complex64)
    with pytest.raises(InvalidError, match="is no dtype; expected a lapilli type"):
        type_of_dtype("nonsense")
