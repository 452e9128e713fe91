"""``@lp.kernel``, ``k[n]``, and how arguments reach parameters."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

from lapilli.frontend import types as t
from lapilli.frontend.annotations import In, Out
from lapilli.frontend.arguments import bind_arguments
from lapilli.frontend.definition import KernelOptions
from lapilli.frontend.kernel import KernelFunction, LaunchConfiguration, kernel
from lapilli.frontend.kernel_from_source import kernel_from_source
from lapilli.frontend.ranges import NdRange, Range
from lapilli.frontend.source import func
from lapilli.frontend.spec_constant import SpecializationId
from lapilli.ir.errors import CompileError, InvalidError, KernelArgumentError, NdRangeError

FACTOR = SpecializationId(t.f32, 2.0)


@kernel
def scale(a: t.f32, x: In[t.f32], y: Out[t.f32]) -> None:
    """Scales x."""
    y[0] = a * x[0]


@kernel(name="other", local_size=(8, 8), index=t.i64, contract=False, math_accuracy="high", opt_level=2)
def named(x: Out[t.f32]) -> None: ...


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Replaces the composition root by one that records."""
    recorded: list[tuple[Any, ...]] = []
    import lapilli.frontend

    for name in ("launch", "inspection"):
        root = types.ModuleType(f"lapilli.frontend.{name}")
        root.launch = lambda *args: recorded.append(args)  # type: ignore[attr-defined]
        root.inspect = lambda kernel, stage: f"{kernel.name} as {stage}"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, root.__name__, root)
        monkeypatch.setattr(lapilli.frontend, name, root, raising=False)
    # It keeps what it has imported: another test's real one, or this one's for the tests behind.
    launching = sys.modules["lapilli.frontend.launch"]
    monkeypatch.setattr(sys.modules["lapilli.frontend.kernel"], "_launching", lambda: launching)
    return recorded


def test_kernel_looks_like_its_function() -> None:
    assert isinstance(scale, KernelFunction)
    assert (scale.__name__, scale.__doc__, scale.__module__) == ("scale", "Scales x.", __name__)
    assert scale.__wrapped__ is scale.function
    assert (scale.name, scale.qualified_name) == ("scale", f"{__name__}.scale")
    assert [p.name for p in scale.signature.parameters] == ["a", "x", "y"]
    assert repr(scale) == "<lp.kernel scale(a: f32, x: In[f32], y: Out[f32])>"
    assert scale.options == KernelOptions()


def test_is_pickled_by_its_name_and_is_its_own_copy() -> None:
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert copy.copy(scale) is scale and copy.deepcopy([scale])[0] is scale

    @kernel
    def nested(x: Out[t.f32]) -> None: ...

    with pytest.raises((pickle.PicklingError, AttributeError), match="nested"):  # which one depends on Python
        pickle.dumps(nested)


def test_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(scale)  # type: ignore[call-overload]


def test_a_configuration_shows_what_was_asked_for() -> None:
    assert repr(scale[8]) == f"<{scale!r} over 8; call it>"
    assert repr(scale[8].spec({"a": 2})) == f"<{scale!r} over 8, spec={{'a': 2}}; call it>"


def test_options() -> None:
    assert (named.name, named.qualified_name) == ("other", f"{__name__}.named")
    assert named.options == KernelOptions(
        name="other", local_size=(8, 8), index=t.i64, contract=False, math_accuracy="high", opt_level=2
    )
    assert KernelOptions.checked(local_size=64).local_size == (64,)


def test_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="localsize"):
        kernel(localsize=8)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name": ""},
            r"@lp.kernel\(name=…\): expected a Unicode text that is not empty and has no NUL, found ''",
        ),
        ({"name": 3}, "expected a Unicode text that is not empty and has no NUL, found 3"),
        ({"index": t.u32}, "expected lp.i32 or lp.i64, found lp.u32"),
        ({"contract": 1}, "expected True or False, found 1"),
        ({"opt_level": 3}, "expected 0, 1 or 2, found 3"),
        ({"opt_level": True}, "expected 0, 1 or 2, found True"),
        ({"math_accuracy": "low"}, 'expected "high" or a mapping from function name to accuracy, found'),
    ],
)
def test_option_values_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message) as caught:
        kernel(**options)
    assert caught.value.code == "LP1004"


@pytest.mark.parametrize("size", [0, (8, 0), (1, 1, 1, 1), 1.5])
def test_local_size_option_is_checked(size: object) -> None:
    with pytest.raises(NdRangeError, match="local_size"):
        kernel(local_size=size)  # type: ignore[call-overload]


def test_signature_is_checked_at_decoration() -> None:
    with pytest.raises(CompileError, match="parameter 'a' has no annotation") as caught:

        @kernel
        def bad(a):  # type: ignore[no-untyped-def]
            ...

    assert caught.value.location is not None
    assert caught.value.location.function.endswith("<locals>.bad")


def test_decorator_sees_local_names() -> None:
    element = t.u8

    @kernel
    def bare(a: element) -> None: ...  # type: ignore[valid-type]

    @kernel(name="x")
    def called(a: element) -> None: ...  # type: ignore[valid-type]

    assert [k.signature.parameters[0].type for k in (bare, called)] == [t.u8, t.u8]


@pytest.mark.parametrize("wrong", [3, len, int, "scale"])
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    with pytest.raises(CompileError, match="expected a function written with def"):
        kernel(wrong)


def test_lambda_is_refused() -> None:
    with pytest.raises(CompileError, match="is a lambda"):
        kernel(lambda: None)


def test_func_returns_its_function() -> None:
    def helper(x: float) -> float:
        return x

    assert func(helper) is helper
    with pytest.raises(CompileError, match="expected a function written with def"):
        func(len)


def test_launch_without_a_range_says_how() -> None:
    with pytest.raises(InvalidError, match=r"expected the number of work-items, scale\[n\]\(…\)") as caught:
        scale(1.0)
    assert caught.value.code == "LP1002"


def test_brackets_only_store() -> None:
    for value in (-1, "nonsense", None, (1, 2, 3, 4)):
        assert scale[value].range is value


def test_launch_goes_to_the_composition_root(launches: list[tuple[Any, ...]]) -> None:
    kernel_function = kernel(scale.function)
    queue, first, second = object(), object(), object()
    configuration = kernel_function[5].on(queue, wait=[first]).spec({FACTOR: 1.0}).spec({FACTOR: 3.0})
    configuration.on(queue, wait=(second,))(1.0, "x", y="y")
    ((found, launched, args, kwargs),) = launches
    assert found is kernel_function
    assert isinstance(launched, LaunchConfiguration)
    assert (launched.range, launched.queue, launched.wait_events) == (5, queue, (first, second))
    assert launched.spec_values == {FACTOR: 3.0}
    assert (args, kwargs) == ((1.0, "x"), {"y": "y"})


def test_configurations_can_be_kept(launches: list[tuple[Any, ...]]) -> None:
    plain = kernel(scale.function)[5]
    plain.spec({FACTOR: 1.0})
    plain.on(object())
    assert (plain.queue, plain.wait_events, plain.spec_values) == (None, (), None)


def test_equal_ranges_are_one_configuration(launches: list[tuple[Any, ...]]) -> None:
    k = kernel(scale.function)
    for make in (
        lambda: 1000 + len(launches),
        lambda: (3, 4),
        lambda: NdRange(1000, 10),
        lambda: NdRange((8, 8), (4, 4)),
    ):
        assert k[make()] is k[make()]
    assert k[(8, 4)] is not k[NdRange(8, 4)]
    assert k[Range(3, 4)] is k[3, 4]
    for value in (True, 1.0, (True, 1), NdRange(1, True), NdRange((1.0,), 1), [1]):  # type: ignore[arg-type]
        k[1], k[1, 1], k[NdRange(1, 1)]
        assert k[value].range is value


def test_spec_takes_a_mapping() -> None:
    with pytest.raises(KernelArgumentError, match=r"kernel 'scale': .spec\(…\) expects a mapping"):
        scale[1].spec([(FACTOR, 1.0)])  # type: ignore[arg-type]


def test_spec_by_name_says_where_the_value_goes() -> None:
    with pytest.raises(KernelArgumentError, match=r"found N=3; .* scale\[…\]\(…, N=3\)"):
        scale[1].spec(N=3)  # type: ignore[call-arg]


def test_inspect(launches: list[tuple[Any, ...]]) -> None:
    assert scale.inspect("python").startswith("@kernel\ndef scale(a: t.f32")
    assert scale.inspect("ir") == "scale as ir"
    with pytest.raises(InvalidError, match=r"expected a stage of python, ir, split, .* found 'llvm'"):
        scale.inspect("llvm")  # type: ignore[arg-type]
    assert str(scale).startswith("kernel scale(a: f32, x: In[f32], y: Out[f32])\n@kernel\ndef scale")


@kernel
def mixed(a: t.f32, /, b: t.f32, c: t.f32 = 3, *, d: t.f32 = 4) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        ((1, 2), {}, (1, 2, 3, 4)),
        ((1,), {"b": 2, "d": 5}, (1, 2, 3, 5)),
        ((1, 2, 6), {}, (1, 2, 6, 4)),
    ],
)
def test_bind_arguments(args: tuple[object, ...], kwargs: dict[str, object], expected: object) -> None:
    assert bind_arguments(mixed.signature, args, kwargs, "mixed") == expected


def test_bound_default_has_the_type_of_the_parameter() -> None:
    assert isinstance(bind_arguments(mixed.signature, (1, 2), {}, "mixed")[2], np.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "message"),
    [
        ((1,), {}, "LP3001", r"kernel 'mixed': expected a value for parameter 'b' \(lp.f32\), found none"),
        ((), {}, "LP3001", r"parameters 'a' \(lp.f32\), 'b' \(lp.f32\), found none"),
        ((1, 2, 3, 4), {}, "LP3002", "kernel 'mixed': expected at most 3 positional arguments, found 4"),
        ((1, 2), {"e": 1}, "LP3003", "kernel 'mixed': there is no parameter 'e'"),
        ((), {"a": 1, "b": 2}, "LP3003", "parameter 'a' is positional-only; found it by name"),
        ((1, 2), {"b": 2}, "LP3004", "parameter 'b': expected one value, found two"),
    ],
)
def test_bind_arguments_refuses(
    args: tuple[object, ...], kwargs: dict[str, object], code: str, message: str
) -> None:
    with pytest.raises(KernelArgumentError, match=message) as caught:
        bind_arguments(mixed.signature, args, kwargs, "mixed")
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == code
    assert "its parameters are (a: f32, b: f32, c: f32, *, d: f32)" in str(caught.value)


def test_unknown_argument_suggests_a_name() -> None:
    @kernel
    def k(factor: t.f32) -> None: ...

    with pytest.raises(KernelArgumentError, match="there is no parameter 'facter'; did you mean 'factor'"):
        bind_arguments(k.signature, (), {"facter": 1}, "k")


FROM_SOURCE = """
    from lapilli.frontend.kernel import kernel
    @kernel
    def k(a: T) -> None:
        pass
"""


def test_kernel_from_source() -> None:
    made = kernel_from_source(FROM_SOURCE, namespace={"T": t.u16})
    assert made.signature.parameters[0].type is t.u16
    assert made.source.text.startswith("@kernel\ndef k(a: T)")
    assert made.qualified_name == f"{__name__}.k"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 1", None, "expected a text with one @lp.kernel function, found none"),
        (FROM_SOURCE + FROM_SOURCE.replace("k(", "j("), None, "found j, k; choose one with name="),
        (FROM_SOURCE, "j", "expected a kernel 'j' in the text, found k"),
        ("def k(): pass", "k", "'k' is a function without a mark; write @lp.kernel above it"),
    ],
)
def test_kernel_from_source_needs_the_kernel(text: str, name: str | None, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        kernel_from_source(text, name=name, namespace={"T": t.u16})


def test_kernel_from_source_reports_syntax_errors() -> None:
    with pytest.raises(CompileError, match=r"<lapilli source \w+>:2:9: error: ") as caught:
        kernel_from_source("x = 1\ndef k(a:): pass\n")
    assert "    def k(a:): pass" in str(caught.value)
    assert caught.value.code == "LP2005"


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", 3])
def test_a_name_that_no_entry_point_can_have(name):
    with pytest.raises(InvalidError, match=r"@lp.kernel\(name=…\): expected a Unicode text"):
        kernel(name=name)


def test_a_kernel_under_the_decorator_of_a_method() -> None:
    with pytest.raises(
        CompileError, match=r"found the staticmethod '.*inside'\n.*write @staticmethod above"
    ) as caught:

        @kernel
        @staticmethod
        def inside() -> None: ...

    assert caught.value.location is not None and caught.value.location.file == __file__
    with pytest.raises(CompileError, match=r"found the classmethod '.*inside'\n.*make it a @staticmethod"):

        @kernel
        @classmethod
        def inside(cls) -> None: ...
