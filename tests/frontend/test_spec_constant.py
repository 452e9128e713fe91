"""Specialization ids: values as bytes, strict fit, names and symbols."""

from __future__ import annotations

import copy
import gc
import linecache
import math
import pickle
import textwrap
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import types as t
from lapilli.frontend.source import FunctionSource
from lapilli.frontend.spec_constant import SpecializationId
from lapilli.frontend.struct_types import struct
from lapilli.ir.errors import Errc, KernelArgumentError

COEFF = SpecializationId(lp.FixedArray[t.f32, 3, 3])
ANSWER = SpecializationId(t.u32, 42)


class Constants:
    ANSWER = SpecializationId(t.u32, 7)

    class Inner:
        ANSWER = SpecializationId(t.u32, 8)


def test_default_is_zero() -> None:
    assert SpecializationId(t.i32).default == 0
    assert SpecializationId(t.bool_).default is False
    assert COEFF.default.tolist() == [[0, 0, 0]] * 3


def test_default_is_converted_to_the_type() -> None:
    assert SpecializationId(t.f32, 0.1).default == float(np.float32(0.1))
    assert isinstance(SpecializationId(t.f32, 1).default, float)
    assert SpecializationId(lp.FixedArray[t.i16, 2], [1, 2]).default.tolist() == [1, 2]
    assert SpecializationId(lp.FixedArray[t.i16, 2], 1, 2).default.tolist() == [1, 2]
    assert SpecializationId(lp.FixedArray[t.i16, 2], 5).default.tolist() == [5, 5]
    assert SpecializationId(int, 3).type is t.i32


def test_default_is_a_new_array_each_time() -> None:
    COEFF.default[0, 0] = 1
    assert COEFF.default[0, 0] == 0


def test_default_that_does_not_fit_raises() -> None:
    with pytest.raises(TypeError, match="expected an integer from 0 to 255, found 256 of type int"):
        SpecializationId(t.u8, 256)
    with pytest.raises(KernelArgumentError, match="expected at most one default, found 2"):
        SpecializationId(t.u8, 1, 2)


@pytest.mark.behaviour("SC-01")
def test_members_of_a_struct_by_name() -> None:
    @struct
    class Window:
        low: t.f32
        high: t.f32 = 1.0

    assert SpecializationId(Window, high=2.0).default == Window(0.0, 2.0)
    assert SpecializationId(Window, 1.0, high=3.0).default == Window(1.0, 3.0)
    assert SpecializationId(Window, 2.0).default == Window(2.0, 1.0)
    for default in ((2.0, 3.0), ((2.0, 3.0),), (Window(2.0, 3.0),)):
        assert SpecializationId(Window, *default).default == Window(2.0, 3.0)
    with pytest.raises(KernelArgumentError, match="no member 'width'"):
        SpecializationId(Window, width=1.0)
    with pytest.raises(KernelArgumentError, match=r"by position, found keywords \(default\)"):
        SpecializationId(t.f32, default=1.0)


def test_a_vector_or_array_alone_is_the_default_of_the_first_member() -> None:
    @struct
    class Rows:
        row: lp.FixedArray[t.i32, 3]
        count: t.i32 = 7

    row = np.array([1, 2, 3])
    for default in (
        (row,),
        (row, 7),
        ((row, 7),),
        (np.array(((1, 2, 3), 7), [("row", "i4", 3), ("count", "i4")]),),
    ):
        assert SpecializationId(Rows, *default).default == Rows(row)


@pytest.mark.parametrize("name", ["type", "default", "name"])
def test_ids_are_read_only(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(ANSWER, name, 3)


@pytest.mark.parametrize("wrong", [np.float32, "f32", 3, None])
def test_type_that_is_none_raises(wrong: object) -> None:
    with pytest.raises(KernelArgumentError, match=r"expected a scalar type such as lp\.f32"):
        SpecializationId(wrong)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (t.u8, 255, b"\xff"),
        (t.i8, -128, b"\x80"),
        (t.u32, np.uint64(5), b"\x05\0\0\0"),
        (t.i32, True, b"\x01\0\0\0"),
        (t.i32, np.array(3), b"\x03\0\0\0"),
        (t.bool_, True, b"\x01"),
        (t.bool_, 0, b"\0"),
        (t.bool_, np.True_, b"\x01"),
        (t.f32, 1, np.float32(1).tobytes()),
        (t.f32, Fraction(1, 2), np.float32(0.5).tobytes()),
        (t.f32, math.inf, np.float32(np.inf).tobytes()),
        (t.f64, 0.1, np.float64(0.1).tobytes()),
        (t.f16, np.float64(0.1), np.float16(0.1).tobytes()),
        (lp.FixedArray[t.i16, 2], [1, -1], b"\x01\0\xff\xff"),
        (lp.FixedArray[t.i16, 2, 1], np.array([[1], [2]], np.int64), b"\x01\0\x02\0"),
        (lp.FixedArray[t.bool_, 3], (True, 0, np.True_), b"\x01\0\x01"),
        (lp.FixedArray[t.f32, 2], [np.float32(1), 2], np.array([1, 2], np.float32).tobytes()),
        (lp.FixedArray[t.u8, 2], 9, b"\t\t"),
    ],
)
def test_to_bytes(kind: object, value: object, expected: bytes) -> None:
    constant = SpecializationId(kind)
    assert constant.to_bytes(value) == expected
    assert constant.to_bytes(constant.from_bytes(expected)) == expected


def test_to_bytes_is_in_c_order() -> None:
    value = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert COEFF.to_bytes(np.asfortranarray(value)) == value.tobytes()
    assert COEFF.to_bytes(value[:, ::-1]) == np.ascontiguousarray(value[:, ::-1]).tobytes()
    assert COEFF.from_bytes(value.tobytes()).tolist() == value.tolist()


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (t.u8, -1, "expected an integer from 0 to 255, found -1 of type int"),
        (t.i8, 128, "expected an integer from -128 to 127, found 128 of type int"),
        (t.i32, 2**31, "expected an integer from -2147483648 to 2147483647, found 2147483648"),
        (t.i32, 2.0, "expected an integer from .* found 2.0 of type float"),
        (t.i32, math.nan, "found nan of type float"),
        (t.i32, np.float32(1), "of type float32"),
        (t.i32, "1", "found '1' of type str"),
        (t.u32, None, "found None of type NoneType"),
        (t.bool_, 2, "expected True or False, found 2 of type int"),
        (t.bool_, 1.0, "expected True or False, found 1.0 of type float"),
        (t.f32, "1", "expected a number that its range holds, found '1' of type str"),
        (t.f32, 1j, "found 1j of type complex"),
        (t.f32, float, "found <class 'float'> of type type"),
        (lp.FixedArray[t.f32, 2], int, "found <class 'int'> of type type"),
        (t.f32, 1e39, "expected a number that its range holds, found 1e[+]39 of type float"),
        (t.f32, 10**400, "expected a number that its range holds, found 1000"),
        (t.f16, 70000, "expected a number that its range holds, found 70000 of type int"),
        (t.f32, [1.0], "of type list"),
        (t.f32, np.zeros(1), "of type ndarray"),
        (lp.FixedArray[t.f32, 3], [1, 2], r"expected a value of shape \(3,\), found shape \(2,\)"),
        (lp.FixedArray[t.f32, 2, 2], [1, 2, 3, 4], r"expected a value of shape \(2, 2\), found shape \(4,\)"),
        (lp.FixedArray[t.f32, 2, 2], [[1, 2], [3]], "found a ragged sequence"),
        (lp.FixedArray[t.f32, 2], [], r"found shape \(0,\)"),
        (lp.FixedArray[t.f32, 2, 2], np.zeros((2, 3)), r"found shape \(2, 3\)"),
        (lp.FixedArray[t.u8, 2, 2], [[1, 2], [3, 256]], r"'\w*VICTIM'\[1, 1\].*found 256"),
        (lp.FixedArray[t.i32, 2], np.zeros(2), r"\[0\] has type lp.i32: .* of type float64"),
        (lp.FixedArray[t.f32, 2], "ab", "found 'ab' of type str"),
    ],
)
def test_to_bytes_refuses_what_does_not_fit(kind: object, value: object, message: str) -> None:
    VICTIM = SpecializationId(kind)
    with pytest.raises(KernelArgumentError, match=message) as caught:
        VICTIM.to_bytes(value)
    assert "specialization constant 'VICTIM'" in str(caught.value)
    assert (caught.value.errc, caught.value.code) == (Errc.KERNEL_ARGUMENT, "LP3010")


def test_from_bytes_of_the_wrong_size_raises() -> None:
    with pytest.raises(KernelArgumentError, match=r"'ANSWER' has type lp\.u32: expected 4 bytes, found 3"):
        ANSWER.from_bytes(b"abc")


def test_leaves_are_the_scalars_in_c_order() -> None:
    assert [(leaf.dtype, leaf.offset_bytes, leaf.size_bytes) for leaf in ANSWER.leaves] == [(t.u32, 0, 4)]
    assert [leaf.offset_bytes for leaf in COEFF.leaves] == list(range(0, 36, 4))
    assert [leaf.size_bytes for leaf in SpecializationId(lp.FixedArray[t.bool_, 2]).leaves] == [1, 1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_ids_cannot_be_copied(copied: object) -> None:
    with pytest.raises(TypeError, match="specialization constant 'ANSWER' cannot be copied or pickled"):
        copied(ANSWER)  # type: ignore[operator]


def test_ids_are_equal_by_identity() -> None:
    first, second = SpecializationId(t.u32, 1), SpecializationId(t.u32, 1)
    assert first != second
    assert len({first, second, first}) == 2


def test_names_and_symbols_of_module_and_class_ids() -> None:
    assert (ANSWER.name, ANSWER.symbol) == ("ANSWER", f"{__name__}.ANSWER")
    assert (Constants.ANSWER.name, Constants.ANSWER.symbol) == ("ANSWER", f"{__name__}.Constants.ANSWER")
    assert Constants.Inner.ANSWER.symbol == f"{__name__}.Constants.Inner.ANSWER"


def test_id_in_two_scopes_keeps_its_first_name() -> None:
    class Alias:
        OTHER = ANSWER

    assert Alias.OTHER.name == "ANSWER"


def test_local_id_has_the_name_of_the_variable_that_it_is_assigned_to() -> None:
    TILE: object = SpecializationId(t.u32, 16)
    assert isinstance(TILE, SpecializationId)
    scope = test_local_id_has_the_name_of_the_variable_that_it_is_assigned_to.__qualname__
    assert (TILE.name, TILE.symbol) == ("TILE", f"{__name__}.{scope}.<locals>.TILE")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("try: made = lp.SpecializationId(t.u32, 16)", "made"),
        ("finally: made: object = SpecializationId(t.u32)", "made"),
        ("try: made = list(x for x in [SpecializationId(type=t.u32)])[0]", "<line 3>"),
    ],
)
def test_id_on_the_line_of_a_try_has_the_name_of_its_variable(line: str, name: str) -> None:
    before, after = ("try: pass", "") if line.startswith("finally") else ("", "finally: pass")
    lines = [
        f"{text}\n"
        for text in ("def make():", f"    {before}", f"    {line}", f"    {after}", "    return made")
    ]
    linecache.cache["<lines of a try>"] = (len("".join(lines)), None, lines, "<lines of a try>")
    namespace: dict[str, Any] = {"t": t, "lp": lp, "SpecializationId": SpecializationId, "__name__": __name__}
    exec(compile("".join(lines), "<lines of a try>", "exec"), namespace)
    assert namespace["make"]().name == name


def test_id_without_a_name_learns_it_from_the_kernel_that_captures_it() -> None:
    (TILE,) = (SpecializationId(t.u32, 16),)

    def kernel() -> object:
        return TILE

    assert TILE.name.startswith("<line ")
    assert FunctionSource.of(kernel).resolve("TILE") is TILE
    scope = test_id_without_a_name_learns_it_from_the_kernel_that_captures_it.__qualname__
    assert (TILE.name, TILE.symbol) == ("TILE", f"{__name__}.{scope}.<locals>.TILE")


def test_name_does_not_change_once_the_symbol_is_read() -> None:
    (TILE,) = (SpecializationId(t.u32, 16),)
    symbol = TILE.symbol
    TILE.suggest_name("LATER")
    assert (TILE.symbol, TILE.name) == (symbol, symbol.rpartition(".")[2])


def test_misfit_default_names_the_constant() -> None:
    with pytest.raises(KernelArgumentError, match="specialization constant 'WIDTH' has type"):
        WIDTH = SpecializationId(t.u8, -1)  # noqa: F841


def test_anonymous_ids_have_distinct_symbols() -> None:
    ids = [SpecializationId(t.u32) for _ in range(3)]
    symbols = [i.symbol for i in ids]
    assert len(set(symbols)) == 3
    assert symbols == [i.symbol for i in ids]
    assert symbols[1] == f"{symbols[0]}~2"


def test_symbol_is_free_again_when_its_id_is_gone() -> None:
    def make() -> SpecializationId:
        constant = SpecializationId(t.u32)
        constant.suggest_name("REUSED")
        return constant

    first = make()
    symbol = first.symbol
    second = make()
    assert second.symbol != symbol
    del first
    gc.collect()
    assert make().symbol == symbol


def test_ids_of_one_name_in_many_modules_are_distinct() -> None:
    modules: list[ModuleType] = []
    for number in range(10):
        module = ModuleType(f"spec_module_{number}")
        text = "from lapilli.frontend.spec_constant import SpecializationId as S\nSAME = S(int, 1)\n"
        exec(textwrap.dedent(text), module.__dict__)
        modules.append(module)
    assert {m.SAME.symbol for m in modules} == {f"spec_module_{n}.SAME" for n in range(10)}
