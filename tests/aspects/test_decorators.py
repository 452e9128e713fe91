"""The decorators of attributes: any order, new objects, checked at once, and what the IR gets of them."""

from __future__ import annotations

import itertools

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.function_attributes import FunctionAttributes, attributes_of
from lapilli.ir.dialects import aspect
from lapilli.ir.target_env import TargetEnv


def body(out: lp.Out[lp.f32]):
    out[lp.global_id(0)] = 1.0


DECORATORS = [
    lp.kernel,
    lp.device_has(lp.Aspect.FP64, lp.Aspect.FP16),
    lp.uses_aspects(lp.Aspect.ATOMIC64),
    lp.reqd_work_group_size(4),
    lp.reqd_sub_group_size(16),
    lp.work_group_size_hint(8),
]
WANTED = FunctionAttributes(
    device_has=frozenset({5, 6}),
    uses_aspects=frozenset({28}),
    reqd_work_group_size=(4,),
    reqd_sub_group_size=16,
    work_group_size_hint=(8,),
)


@pytest.mark.parametrize("order", [*itertools.permutations(range(6))][::31])
def test_any_order_and_plain_calls(order):
    made = body
    for index in order:
        made = DECORATORS[index](made)
    assert attributes_of(made) == WANTED
    assert attributes_of(body) == FunctionAttributes()


def test_each_returns_a_new_object():
    kernel = lp.kernel(body)
    sized = lp.reqd_work_group_size(4)(kernel)
    assert sized is not kernel and type(sized) is type(kernel)
    assert attributes_of(kernel).reqd_work_group_size is None
    assert sized.name == kernel.name and sized.signature == kernel.signature
    assert sized.compiled is not kernel.compiled and sized[4] is not kernel[4]


def test_a_copy_of_a_function_works_like_it():
    def helper(x, *, y=3):
        """Says so."""
        return x + y

    copy = lp.device_has()(helper)
    assert copy is not helper and copy(1) == 4 and copy.__doc__ == "Says so."
    assert copy.__qualname__ == helper.__qualname__ and copy.__module__ == helper.__module__


@pytest.mark.behaviour("ASP-01", "ASP-09", "ASP-10", "REQ-05")
def test_the_ir_carries_the_attributes():
    kernel = body
    for decorate in DECORATORS:
        kernel = decorate(kernel)
    (function,) = build_module([kernel]).body.ops
    assert aspect.declared(function) == {5, 6} and aspect.used(function) == {28}
    assert aspect.reqd_work_group_size(function) == (4,) and aspect.reqd_sub_group_size(function) == 16
    text = str(function)
    assert "aspect.declared = [5 : i32, 6 : i32]" in text and "aspect.used = [28 : i32]" in text


@pytest.mark.behaviour("ASP-01")
def test_an_empty_list_is_kept():
    (function,) = build_module([lp.kernel(lp.device_has()(body))]).body.ops
    assert aspect.declared(function) == frozenset()
    (plain,) = build_module([lp.kernel(body)]).body.ops
    assert aspect.declared(plain) is None


@pytest.mark.behaviour("ASP-02", "ASP-07")
def test_structs_say_what_they_use():
    @lp.uses_aspects(lp.Aspect.FP64, lp.Aspect.ATOMIC64)
    @lp.struct
    class Above:
        x: lp.f32 = 2.0

    @lp.struct
    @lp.uses_aspects(lp.Aspect.FP16)
    class Below:
        x: lp.f32

    @lp.kernel
    def arrays(a: lp.Array[Above], b: lp.Array[Below]):
        a[0].x = b[0].x

    module = build_module([arrays])
    assert aspect.types_that_use_aspects(module) == {"Above": {6, 28}, "Below": {5}}
    assert Above().x == 2.0 and Above(3) == Above(3.0) and Above.dtype == Below.dtype

    @lp.kernel
    def values(out: lp.Out[lp.f32]):
        out[0] = Above(1.0).x

    from lapilli.passes.aspect_usage import kernel_aspects

    built = build_module([values])
    (function,) = (op for op in built.body.ops if op.name == "func.func")
    assert [use.aspect for use in kernel_aspects(function)] == [6, 28]

    def of_parameter(value: Above) -> lp.f32:
        return value.x

    @lp.kernel
    def through_a_helper(out: lp.Out[lp.f32]):
        out[0] = of_parameter(Above(1.0))

    constant = lp.SpecializationId(Above, 1.0)

    @lp.kernel
    def of_a_constant(out: lp.Out[lp.f32]):
        out[0] = constant.x

    @lp.kernel
    def of_a_spec_parameter(out: lp.Out[lp.f32], *, given: lp.Spec[Above]):
        out[0] = given.x

    for kernel in (
        values,
        through_a_helper,
        of_a_constant,
        of_a_spec_parameter,
    ):  # also where the optimiser leaves nothing of the struct
        (image,) = compile_kernels([kernel], TargetEnv())
        assert image.requirements.aspects == (6, 28)


def test_a_struct_is_copied_too():
    @lp.struct
    class Plain:
        x: lp.f32 = 1.5

    marked = lp.uses_aspects(lp.Aspect.FP64)(Plain)
    assert marked is not Plain and marked().x == 1.5
    module = build_module(
        [
            lp.kernel_from_source(
                "@lp.kernel\ndef k(a: lp.Array[Plain]):\n    a[0].x = 1.0\n", namespace={"Plain": Plain}
            )
        ]
    )
    assert aspect.types_that_use_aspects(module) == {}


@pytest.mark.parametrize("sizes", [(1,), (2**40,), (8, 8), (2**32, 1, 1)])
def test_sizes_of_any_size(sizes):
    assert attributes_of(lp.reqd_work_group_size(*sizes)(body)).reqd_work_group_size == sizes


@pytest.mark.behaviour("REQ-05")
@pytest.mark.parametrize(
    "sizes", [(), (1, 1, 1, 1), (0,), (-1,), (1.5,), ("8",), (True,), ((8, 8),), (None,)]
)
@pytest.mark.parametrize("decorator", [lp.reqd_work_group_size, lp.work_group_size_hint])
def test_what_is_no_work_group_size(decorator, sizes):
    with pytest.raises(lp.InvalidError):
        decorator(*sizes)


@pytest.mark.parametrize("size", [0, -4, 1.0, "primary", None, True, 2**31])
def test_what_is_no_sub_group_size(size):
    with pytest.raises(lp.InvalidError):
        lp.reqd_sub_group_size(size)
    with pytest.raises(lp.InvalidError, match=r"write lp\.SubGroupSize\.PRIMARY"):
        lp.reqd_sub_group_size("primary")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("aspects", [("fp64",), (6,), (None,), ([lp.Aspect.FP64],)])
@pytest.mark.parametrize("decorator", [lp.device_has, lp.uses_aspects])
def test_what_is_no_aspect(decorator, aspects):
    with pytest.raises(lp.InvalidError, match=decorator.__name__):
        decorator(*aspects)


def test_contradictions_are_refused_and_repetitions_are_not():
    once = lp.reqd_work_group_size(8)(body)
    assert attributes_of(lp.reqd_work_group_size(8)(once)).reqd_work_group_size == (8,)
    with pytest.raises(lp.InvalidError, match="twice"):
        lp.reqd_work_group_size(16)(once)
    with pytest.raises(lp.InvalidError, match="twice"):
        lp.reqd_sub_group_size(8)(lp.reqd_sub_group_size(lp.SubGroupSize.PRIMARY)(body))


@pytest.mark.parametrize("thing", [3, "k", lambda: None, len])
def test_what_cannot_be_decorated(thing):
    with pytest.raises(lp.CompileError):
        lp.device_has()(thing)


def test_a_class_takes_only_uses_aspects():
    with pytest.raises(lp.InvalidError, match="class"):
        lp.device_has()(int)


@pytest.mark.behaviour("EXT-05")
@pytest.mark.parametrize("is_above", [False, True])
def test_an_exported_function_has_no_work_group_size(is_above):
    def scaled(x: lp.f32) -> lp.f32:
        return x * 2.0

    def declared(x: lp.f32) -> lp.f32: ...

    sized = lp.reqd_work_group_size(8)
    for export, function in ((lp.external, scaled), (lp.external("s"), scaled), (lp.extern("d"), declared)):
        with pytest.raises(
            lp.CompileError, match="reqd_work_group_size is not allowed on the external"
        ) as caught:
            sized(export(function)) if is_above else export(sized(function))
        assert caught.value.errc is lp.Errc.BUILD and caught.value.code == "LP2083"
        assert "def " + function.__name__ in str(caught.value)


@pytest.mark.parametrize("is_above", [False, True])
def test_exported_functions_take_the_other_attributes(is_above):
    def scaled(x: lp.f32) -> lp.f32:
        return x * 2.0

    made = scaled
    decorators = [lp.device_has(lp.Aspect.FP64), lp.reqd_sub_group_size(8), lp.uses_aspects(lp.Aspect.FP16)]
    for decorate in [lp.external("s"), *decorators] if is_above else [*decorators, lp.external("s")]:
        made = decorate(made)
    assert type(made) is type(lp.external(scaled)) and made.symbol == "s" and made(2.0) == 4.0
    wanted = FunctionAttributes(device_has=frozenset({6}), reqd_sub_group_size=8, uses_aspects=frozenset({5}))
    assert attributes_of(made) == wanted
