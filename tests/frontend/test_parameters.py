"""The parameters of a function are those that `inspect.signature` gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from lapilli.frontend.struct_types import parameters_of


def none(): ...
def plain(a, b=1, c=None): ...
def positional(a, b=2, /, c=3): ...
def keyword(a, *, b, c=3, d): ...
def variadic(a, b=1, *rest, c, d=4, **others): ...
def others(**others): ...


def with_variables(a, *, b=1):
    c = a
    return c + b


class Outer:
    @staticmethod
    def private(__a, *__b, __c=3): ...


@pytest.mark.parametrize(
    "function", [none, plain, positional, keyword, variadic, others, with_variables, Outer.private]
)
def test_parameters_are_those_of_the_signature(function: Callable[..., object]) -> None:
    expected = tuple(inspect.signature(function).parameters.values())
    assert parameters_of(function) == expected  # pyright: ignore[reportArgumentType]
