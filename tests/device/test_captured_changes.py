"""What a kernel captured is bound anew, or changed in place, between two launches: the next one sees it."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

KIND = lp.i32
FUNCTION = math.sqrt
WEIGHTS = (np.array([1, 2], np.int32), 5)


class Small:
    SIZE = 3


class Large:
    SIZE = 30


Sizes = Small
settings = types.ModuleType("settings")
settings.KIND, settings.SIZE = lp.i32, 4  # pyright: ignore[reportAttributeAccessIssue]
other_settings = types.ModuleType("other_settings")
other_settings.KIND, other_settings.SIZE = lp.f32, 40  # pyright: ignore[reportAttributeAccessIssue]


def scaled(x, by=2, *, plus=1):
    return x * by + plus


def annotated(x: KIND):
    return x / 2


@lp.kernel
def with_defaults(out: lp.Out[lp.f32]):
    out[0] = scaled(10)


@lp.kernel
def with_a_type(out: lp.Out[lp.f32]):
    out[0] = KIND(2.5)


@lp.kernel
def with_a_function(out: lp.Out[lp.f32]):
    out[0] = FUNCTION(16.0)


@lp.kernel
def with_a_class(out: lp.Out[lp.f32]):
    out[0] = Sizes.SIZE


@lp.kernel
def with_a_module(out: lp.Out[lp.f32]):
    out[0] = settings.KIND(0.5) + settings.SIZE


@lp.kernel
def with_nested_data(out: lp.Out[lp.f32]):
    out[0] = WEIGHTS[0][1] + WEIGHTS[1]


@lp.kernel
def with_an_annotation(out: lp.Out[lp.f32]):
    out[0] = annotated(5.0)


def result(kernel, device):
    out = lp.zeros(1, device=device)
    kernel[1](out)
    return out.numpy()[0]


def test_defaults_of_a_helper(device, monkeypatch):
    assert result(with_defaults, device) == 21
    monkeypatch.setattr(scaled, "__defaults__", (3,))
    assert result(with_defaults, device) == 31
    monkeypatch.setitem(scaled.__kwdefaults__, "plus", 5)
    assert result(with_defaults, device) == 35


def test_code_of_a_helper_that_is_replaced_in_place(device, monkeypatch):
    def edited(x, by=2, *, plus=1):
        return x * by - plus

    assert result(with_defaults, device) == 21
    monkeypatch.setattr(scaled, "__code__", edited.__code__)
    assert result(with_defaults, device) == 19


def test_names_of_types_functions_classes_and_modules(device, monkeypatch):
    for kernel, name, first, second, expected in (
        (with_a_type, "KIND", KIND, lp.f32, (2, 2.5)),
        (with_a_function, "FUNCTION", FUNCTION, math.log2, (4, 4)),
        (with_a_function, "FUNCTION", FUNCTION, lp.math.rsqrt, (4, 0.25)),
        (with_a_class, "Sizes", Sizes, Large, (3, 30)),
        (with_a_module, "settings", settings, other_settings, (4, 40.5)),
        (with_an_annotation, "KIND", lp.f64, lp.f32, (2.5, 2.5)),
    ):
        if first is lp.f64 and not device.has(lp.Aspect.FP64):
            continue
        found = []
        for value in (first, second):
            monkeypatch.setitem(globals(), name, value)
            found.append(result(kernel, device))
        assert tuple(found) == expected, kernel.name
        monkeypatch.undo()


def test_an_array_in_a_tuple_that_is_changed_in_place(device):
    assert result(with_nested_data, device) == 7
    WEIGHTS[0][1] = 20
    try:
        assert result(with_nested_data, device) == 25
    finally:
        WEIGHTS[0][1] = 2


def test_nothing_is_compiled_again_where_nothing_changed(device, monkeypatch):
    result(with_nested_data, device)
    result(with_defaults, device)
    monkeypatch.setitem(globals(), "WEIGHTS", (WEIGHTS[0].copy(), 5))
    monkeypatch.setattr(scaled, "__defaults__", (int("2"),))
    with lp.trace() as t:
        assert result(with_nested_data, device) == 7
        assert result(with_defaults, device) == 21
    assert t.count("compile") == 0
