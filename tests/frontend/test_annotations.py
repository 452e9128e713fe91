"""Signatures of kernels: what annotations mean, and every mistake with its place."""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import types as t
from lapilli.frontend.annotations import In, Out, enclosing_names, resolve_signature
from lapilli.frontend.signature import NO_DEFAULT, ParameterSpec
from lapilli.ir.errors import CompileError, InvalidError


class Array:
    """Stands for the runtime's class, which this folder knows only by its mark."""

    __lapilli_annotation__ = "array"

    def __class_getitem__(cls, parameters: object) -> types.GenericAlias:
        return types.GenericAlias(cls, parameters)


Load = Callable[..., types.FunctionType]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Imports a text that defines `k`, without evaluating its annotations under PEP 563."""

    def load_text(text: str, *, future: bool = False) -> types.FunctionType:
        path = tmp_path / "sample.py"
        head = "from __future__ import annotations\n" if future else ""
        path.write_text(head + textwrap.dedent(text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("sample", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        module.__dict__.update(
            {name: getattr(lp, name) for name in ("f32", "i32", "u8", "bool_", "f64", "FixedArray")},
            Array=Array,
            In=In,
            Out=Out,
            np=np,
        )
        linecache.clearcache()
        spec.loader.exec_module(module)
        return module.k

    return load_text


def types_of(function: types.FunctionType) -> list[str]:
    return [str(p.type) for p in resolve_signature(function).parameters]


@pytest.mark.parametrize("future", [False, True])
def test_every_kind_of_parameter(load: Load, future: bool) -> None:
    function = load(
        "def k(a: f32, b: bool_, c: int, d: float, e: bool, x: Array[f32], y: In[u8, 2], "
        "z: Out[float, 3]) -> None: pass",
        future=future,
    )
    expected = ["f32", "bool", "i32", "f32", "bool", "Array[f32]", "In[u8, 2]", "Out[f32, 3]"]
    assert types_of(function) == expected


@pytest.mark.parametrize("future", [False, True])
def test_quoted_annotations(load: Load, future: bool) -> None:
    assert types_of(load("def k(a: ' f32', x: \"In[f32, 2]\"): pass", future=future)) == ["f32", "In[f32, 2]"]


def test_access_follows_the_annotation(load: Load) -> None:
    parameters = resolve_signature(load("def k(x: Array[f32], y: In[f32], z: Out[f32]): pass")).parameters
    assert [p.type.access for p in parameters if isinstance(p.type, t.ArrayType)] == [
        "read_write",
        "read",
        "write",
    ]


def test_defaults_and_kinds(load: Load) -> None:
    signature = resolve_signature(load("def k(a: i32, /, b: f32 = 2, *, c: bool_ = True): pass"))
    assert signature.parameters == (
        ParameterSpec(name="a", type=t.i32, positional_only=True),
        ParameterSpec(name="b", type=t.f32, default=np.float32(2)),
        ParameterSpec(name="c", type=t.bool_, default=np.True_, keyword_only=True),
    )
    assert isinstance(signature.parameters[1].default, np.float32)
    assert signature.parameters[0].default is NO_DEFAULT
    assert (signature.positional_names, signature.keyword_names) == (("a", "b"), ("b", "c"))
    assert str(signature) == "(a: i32, b: f32, *, c: bool)"


def test_string_annotations_see_local_names_that_are_not_captured() -> None:
    element = t.f64
    alias = Array

    def k(x: alias[element, 2]) -> None: ...  # type: ignore[valid-type]

    names = enclosing_names(k, inspect.currentframe())
    assert [str(p.type) for p in resolve_signature(k, names).parameters] == ["Array[f64, 2]"]
    with pytest.raises(CompileError, match="cannot be evaluated: NameError: name 'alias' is not defined"):
        resolve_signature(k)


def test_string_annotations_see_every_enclosing_scope() -> None:
    outermost = t.u8

    def make() -> types.FunctionType:
        class Holder:
            inner = t.i16

            def k(a: outermost, b: inner) -> None: ...  # type: ignore[name-defined]

            names = enclosing_names(k, inspect.currentframe())  # type: ignore[arg-type]

        return Holder.k, Holder.names  # type: ignore[return-value]

    function, names = make()
    assert [str(p.type) for p in resolve_signature(function, names).parameters] == ["u8", "i16"]


def test_callers_that_do_not_enclose_the_kernel_lend_no_names() -> None:
    def k(a: hidden) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def unrelated() -> dict[str, object]:
        hidden = t.f32
        assert hidden
        return enclosing_names(k, inspect.currentframe())

    assert "hidden" not in unrelated()


def test_captured_names_win_over_local_ones() -> None:
    element = t.f64

    def k(a: element) -> None:  # type: ignore[valid-type]
        print(element)

    assert [str(p.type) for p in resolve_signature(k, {"element": t.u8}).parameters] == ["f64"]


@pytest.mark.parametrize(
    ("text", "code", "message", "caret"),
    [
        ("def k(a): pass", "LP2010", "parameter 'a' has no annotation", "a"),
        ("def k(b: f32, *a: f32): pass", "LP2013", "a kernel takes no *a", "a: f32"),
        ("def k(**a: f32): pass", "LP2013", "a kernel takes no **a", "a: f32"),
        ("def k(a: 'nope'): pass", "LP2011", "'nope' of 'a' cannot be evaluated: NameError", "a: 'nope'"),
        ("def k(a: 'f32['): pass", "LP2011", "cannot be evaluated: SyntaxError", "a: 'f32['"),
        ("def k(a: 'FixedArray[f32, 0]'): pass", "LP2018", "at least 1; found 0", "a: 'FixedArray[f32, 0]'"),
        ("def k(a: np.float32): pass", "LP2012", "found the class numpy.float32", "a: np.float32"),
        ("def k(a: 3): pass", "LP2012", "found 3 of type int", "a: 3"),
        ("def k(a: None): pass", "LP2012", "found None of type NoneType", "a: None"),
        ("def k(a: str): pass", "LP2012", "found the class builtins.str", "a: str"),
        ("def k(a: np.ndarray): pass", "LP2012", "found the class numpy.ndarray", "a: np.ndarray"),
        ("def k(a: list[f32]): pass", "LP2012", "found list[lp.f32]", "a: list[f32]"),
        (
            "def k(a: In[In[f32]]): pass",
            "LP2014",
            "no scalar, vector, struct or fixed array",
            "a: In[In[f32]]",
        ),
        ("def k(a: Array): pass", "LP2014", "'a': lp.Array without an element type", "a: Array"),
        ("def k(a: In): pass", "LP2014", "'a': lp.In without an element type", "a: In"),
        ("def k(a: Out[np.int8]): pass", "LP2014", "found the class numpy.int8", "a: Out[np.int8]"),
        ("def k(a: In[f32, 0]): pass", "LP2014", "takes ndim from 1 to 8; found 0", "a: In[f32, 0]"),
        ("def k(a: In[f32, 9]): pass", "LP2014", "takes ndim from 1 to 8; found 9", "a: In[f32, 9]"),
        ("def k(a: In[f32, True]): pass", "LP2014", "found True", "a: In[f32, True]"),
        ("def k(a: In[f32, 2, 2]): pass", "LP2014", "found 2, 2", "a: In[f32, 2, 2]"),
        ("def k(a: In[f32, 'x']): pass", "LP2014", "found 'x'", "a: In[f32, 'x']"),
        ("def k(a: In[f32] = None): pass", "LP2015", "array parameter 'a' has a default", "a: In[f32]"),
        ("def k(a: u8 = 256): pass", "LP2015", "the default of 'a' has type lp.u8", "a: u8"),
        ("def k(a: i32 = 1.5): pass", "LP2015", "found 1.5 of type float", "a: i32"),
        ("def k(a: f32) -> f32: pass", "LP2016", "expected None", "f32"),
        ("def k(a: f32) -> 'nope': pass", "LP2011", "'nope' of 'return' cannot be evaluated", "'nope'"),
    ],
)
def test_mistakes_point_at_the_parameter(load: Load, text: str, code: str, message: str, caret: str) -> None:
    function = load("\n" + text)
    with pytest.raises(CompileError) as caught:
        resolve_signature(function)
    error = caught.value
    assert error.code == code
    assert message in str(error)
    head, line, carets, *_ = str(error).splitlines()
    assert line == f"    {text}"
    assert error.location is not None and head.startswith(f"{function.__code__.co_filename}:2:")
    column = error.location.column
    assert carets == " " * (4 + column - 1) + "^" * len(caret)
    assert text[column - 1 :].startswith(caret)


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ("def k(a): pass", "help: write a: lp.f32 for a scalar, a: lp.Array[lp.f32] for an array"),
        ("def k(a: np.float32): pass", "help: write lp.f32"),
        ("def k(a: np.dtype('u1')): pass", "help: write lp.u8"),
        ("def k(a: np.complex64): pass", "help: use a scalar type such as lp.f32"),
        ("def k(a: np.ndarray): pass", "help: write a: lp.Array[lp.f32] and pass lp.asarray(…)"),
        ("def k(a: 'later'): pass", "help: every name in it must be defined before the kernel"),
    ],
)
def test_mistakes_say_what_to_do(load: Load, text: str, help_text: str) -> None:
    with pytest.raises(CompileError) as caught:
        resolve_signature(load(text))
    assert help_text in str(caught.value)


def test_mistake_without_source_text_has_a_location() -> None:
    variables: dict[str, types.FunctionType] = {}
    exec("def k(a): pass", variables)
    with pytest.raises(CompileError, match="<string>:1:1: error: parameter 'a' has no annotation"):
        resolve_signature(variables["k"])


@pytest.mark.parametrize("annotation", [In, Out])
def test_annotations_are_not_called(annotation: type) -> None:
    with pytest.raises(InvalidError, match="is only an annotation"):
        annotation(3)


def test_annotated_types_are_their_types(load: Load) -> None:
    function = load(
        """
        from typing import Annotated
        Metres = Annotated[f32, "metres"]
        def k(a: Metres, b: Annotated[i32, 1, 2], c: In[Metres], d: "Annotated[u8, 3]"): pass
        """
    )
    assert types_of(function) == ["f32", "i32", "In[f32]", "u8"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type statements are newer")
def test_type_statements_are_what_they_stand_for(load: Load) -> None:
    function = load(
        """
        type Real = f32
        type Number = Real
        type Numbers = In[Number, 2]
        def k(a: Number, b: Numbers): pass
        """
    )
    assert types_of(function) == ["f32", "In[f32, 2]"]


@pytest.mark.parametrize("value", ["itself", "Annotated of itself", "missing"])
def test_aliases_of_nothing_are_no_types(load: Load, value: str) -> None:
    class TypeAliasType:  # as Python 3.12 calls what a type statement makes
        @property
        def __value__(self) -> object:
            if value == "missing":
                raise NameError("name 'Missing' is not defined")
            return self if value == "itself" else Annotated[self, 1]

    function = load("def k(a): pass")
    function.__annotations__["a"] = TypeAliasType()
    with pytest.raises(CompileError, match="'a'") as caught:
        resolve_signature(function)
    assert caught.value.code == "LP2012"


@pytest.mark.skipif(
    sys.version_info < (3, 14), reason="older Pythons raise NameError before lapilli is asked"
)
@pytest.mark.parametrize("annotation", ["Missing", "Array[Missing]", "In[Missing, 2]"])
def test_a_name_that_does_not_exist_yet(load: Load, annotation: str) -> None:
    with pytest.raises(CompileError, match="'Missing' of 'a' cannot be evaluated: NameError") as caught:
        resolve_signature(load(f"def k(a: {annotation}): pass"))
    assert caught.value.code == "LP2011"
