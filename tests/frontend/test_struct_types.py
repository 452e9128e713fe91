"""Vector and struct types on the host: layout, construction, comparison, mistakes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.struct_types import StructType, scalar_leaves, value_type_of
from lapilli.frontend.type_lookup import parse_type
from lapilli.vk_runtime.composite_dtypes import composite_dtype, composite_spelling


@lp.struct
class Inner:
    v: lp.f32x3
    flag: lp.bool_


@lp.struct
class Outer:
    small: lp.u8
    inner: Inner
    big: lp.f64 = 1.5
    rows: lp.FixedArray[lp.i16, 2, 3]


def struct_type(cls: type) -> StructType:
    found = value_type_of(cls)
    assert isinstance(found, StructType)
    return found


def test_vector_types() -> None:
    assert (
        lp.Vec[lp.f32, 4] == lp.f32x4
        and repr(lp.f32x4) == "lp.f32x4"
        and hash(lp.f32x4) == hash(lp.Vec[float, 4])
    )
    assert parse_type("Vec[u8, 3]") == lp.u8x3 == pickle.loads(pickle.dumps(lp.u8x3))
    assert np.dtype(lp.f32x2) == np.dtype(("<f4", (2,)))
    assert lp.i32x3(1, 2, 3).tolist() == [1, 2, 3] and lp.boolx2().tolist() == [False, False]
    assert lp.f32x4(2).tolist() == [2] * 4 and lp.f32x2([1, 2]).dtype == np.float32
    with pytest.raises(
        lp.KernelArgumentError, match=r"lp.f32x3: expected a value of shape \(3,\), found shape \(2,\)"
    ):
        lp.f32x3(1, 2)


@pytest.mark.parametrize("parameters", [(lp.f32, 5), (lp.f32, 0), (lp.f32,), ("f32", 2), (lp.f32, True)])
def test_no_other_vector_types(parameters: tuple[object, ...]) -> None:
    with pytest.raises(lp.CompileError, match="1, 2, 3, 4, 8 or 16 components"):
        lp.Vec[parameters]


def test_layout_is_that_of_c() -> None:
    outer = np.dtype(
        {
            "names": ["small", "inner", "big", "rows"],
            "formats": ["u1", Inner.dtype, "f8", ("i2", (2, 3))],
            "offsets": [0, 4, 24, 32],
            "itemsize": 48,
        }
    )
    aligned = np.dtype([("v", "f4", (3,)), ("flag", "?")], align=True)
    assert Inner.dtype == aligned and Inner.dtype.itemsize == 16
    assert Outer.dtype == outer
    paths = [path for path, _, _ in scalar_leaves(struct_type(Outer))]
    assert paths[:5] == [".small", ".inner.v.x", ".inner.v.y", ".inner.v.z", ".inner.flag"]
    assert paths[-1] == ".rows[1, 2]"


def test_spelling_is_the_layout() -> None:
    spelling = struct_type(Outer).spelling
    assert spelling == (
        "{small: u8 @0, inner: {v: f32[3] @0, flag: bool @12; 16} @4, big: f64 @24, rows: i16[2, 3] @32; 48}"
    )
    assert composite_dtype(spelling) == Outer.dtype and composite_spelling(Outer.dtype) == spelling


@pytest.mark.parametrize(
    "spelling",
    [
        "Vec[f32, 5]",
        "Vec[f32, 2",
        "{",
        "{x: f32 @0}",
        "{x: f32 @9; 4}",
        "{x: f33 @0; 4}",
        "{" * 99,
        "{x: f32 @0; 4} ",
    ],
)
def test_damaged_spellings(spelling: str) -> None:
    with pytest.raises(lp.InvalidError, match="is no element type"):
        composite_dtype(spelling)


def test_construction_equality_and_repr() -> None:
    value = Outer(1, Inner((1, 2, 3)), rows=np.ones((2, 3), np.int16))
    assert value.big == 1.5 and value.small.dtype == np.uint8 and not value.inner.flag
    assert value == Outer(1, Inner([1, 2, 3], False), 1.5, [[1] * 3] * 2) != Outer()
    assert repr(Inner((1, 2, 3), True)) == "Inner(v=[1.0, 2.0, 3.0], flag=True)"
    assert (Inner() == 3) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1, 2, 3), {}, "has 2 members"),
        ((), {"w": 1}, "has no member 'w'; it has v, flag"),
        (((1, 2, 3),), {"v": 1}, "member 'v' is given twice"),
        ((), {"flag": 3}, "'Inner.flag' has type lp.bool_: expected True or False"),
        ((), {"v": (1, 2)}, r"'Inner.v' has type lp.f32x3: expected a value of shape"),
    ],
)
def test_wrong_members(args: tuple[object, ...], kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(lp.KernelArgumentError, match=message):
        Inner(*args, **kwargs)


def define(annotation: object, **options: int) -> type:
    return lp.struct(**options)(type("S", (), {"__annotations__": {"a": annotation}}))


def test_wrong_structs() -> None:
    with pytest.raises(lp.CompileError, match="member 'a' of struct 'S': expected a scalar"):
        define(str)
    with pytest.raises(lp.CompileError, match="power of two"):
        define(lp.f32, align=12)
    with pytest.raises(lp.CompileError, match="power of two"):
        lp.Aligned[lp.f32, 0]
    with pytest.raises(lp.CompileError, match="cannot be evaluated: NameError"):
        define("nothing_of_that_name")
    with pytest.raises(lp.CompileError, match="has no members"):
        lp.struct(type("S", (), {}))
    assert define(lp.u8, align=8).dtype.itemsize == 8


@lp.struct
class Base:
    a: lp.u8
    b: lp.f32 = 1.5


@lp.struct
class Derived(Base):
    c: lp.f32x2
    d: lp.u8 = 3


def test_members_of_a_base_come_first_and_where_they_were() -> None:
    dtype = struct_type(Derived).dtype
    assert dtype.names == ("a", "b", "c", "d")
    assert [dtype.fields[name][1] for name in dtype.names] == [0, 4, 8, 16]
    assert dtype.itemsize == 20
    assert repr(Derived(7, d=9)) == "Derived(a=7, b=1.5, c=[0.0, 0.0], d=9)"
    assert isinstance(Derived(), Base)
    with pytest.raises(lp.CompileError, match="member 'a' of struct 'Twice' is a member of 'Base' already"):
        lp.struct(type("Twice", (Base,), {"__annotations__": {"a": lp.i32}}))
    other = lp.struct(type("Other", (), {"__annotations__": {"z": lp.i32}}))
    with pytest.raises(lp.CompileError, match="'Both' inherits from the structs 'Base' and 'Other'"):
        lp.struct(type("Both", (Base, other), {}))


def test_a_class_keeps_its_own_equality_and_repr() -> None:
    @lp.struct
    class Near:
        x: lp.f32

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Near) and abs(self.x - other.x) < 0.5

        def __repr__(self) -> str:
            return "near"

    assert Near(1.0) == Near(1.25)
    assert Near(1.0) != Near(2.0)
    assert repr(Near(1.0)) == "near"


@pytest.mark.parametrize("name", ["no_module_has_this_name", "__main__", __name__])
def test_members_of_text_that_is_executed(name: str) -> None:
    text = """
from __future__ import annotations
import lapilli as lp
Own = lp.f32x2
def make():
    Near = lp.i32
    @lp.struct
    class Here:
        a: Own
        b: Near
    return Here
"""
    names: dict[str, object] = {"__name__": name}
    exec(compile(text, "executed", "exec", dont_inherit=True), names)
    made = names["make"]
    assert callable(made)
    assert struct_type(made()).dtype.names == ("a", "b")


@lp.struct
class Quoted:
    """Under PEP 563, the quotes are part of the text."""

    a: "lp.f32"  # noqa: UP037 - in quotes on purpose
    b: "lp.FixedArray[lp.i32, 2]" = (1, 2)  # noqa: UP037 - in quotes on purpose
    c: "lp.Aligned[lp.f32x3, 16]"  # noqa: UP037 - in quotes on purpose


def test_members_whose_annotations_are_quoted_under_pep_563() -> None:
    assert Quoted.__annotations__["a"] in ("'lp.f32'", '"lp.f32"')
    assert struct_type(Quoted).dtype == np.dtype(
        {
            "names": ["a", "b", "c"],
            "formats": ["<f4", ("<i4", 2), ("<f4", 3)],
            "offsets": [0, 4, 16],
            "itemsize": 32,
        }
    )
    assert Quoted().b.tolist() == [1, 2]


def test_a_struct_in_itself_is_refused_with_what_to_write() -> None:
    with pytest.raises(lp.CompileError, match="names the struct itself, which has no end; keep its index"):

        @lp.struct
        class Node:  # pyright: ignore[reportUnusedClass]
            following: Node
