"""Ranges of values: comparisons that they decide, and conversions that go by way of signed integers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

Optimise = Callable[..., str]

CONSTANTS = """
%c4 = arith.constant 4 : i32
%c255 = arith.constant 255 : i32
%c65535 = arith.constant 65535 : i32
%zero = arith.constant 0.0 : f32
%one = arith.constant 1.0 : f32
%half = arith.constant 0.5 : f32
%f255 = arith.constant 255.0 : f32
%limit = arith.constant 4294967296.0 : f32
%huge = arith.constant 3.0e38 : f32
"""


def computed(optimised: Optimise, lines: str, result: str, type_: str = "f32") -> str:
    """The operation that gives %r, or its constant; the function takes i32 %x and f32 %f."""
    text = optimised(
        f"func.func @f(%x: i32, %f: f32) -> {type_} {{ {CONSTANTS} {lines}\nfunc.return {result} : {type_}\n}}"
    )
    name = re.search(r"func.return (%\S+) :", text)
    assert name is not None
    definition = re.search(rf"{re.escape(name[1])} = (.*)", text)
    assert definition is not None, text
    return definition[1] if "constant" in definition[1] else definition[1].split()[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("%a = arith.andi %x, %c255 : i32", "arith.sitofp"),
        ("%a = arith.shrui %x, %c4 : i32", "arith.sitofp"),
        ("%b = arith.andi %x, %c65535 : i32\n%a = arith.muli %b, %c4 : i32", "arith.sitofp"),
        ("%b = arith.andi %x, %c65535 : i32\n%a = arith.addi %b, %c4 : i32", "arith.sitofp"),
        ("%b = arith.andi %x, %c255 : i32\n%a = arith.xori %b, %c65535 : i32", "arith.sitofp"),
        ("%b = arith.trunci %x : i32 to i8\n%a = arith.extui %b : i8 to i32", "arith.sitofp"),
        ("%a = arith.remui %x, %c255 : i32", "arith.sitofp"),
        ("%b = arith.trunci %x : i32 to i8\n%a = arith.extsi %b : i8 to i32", "arith.uitofp"),
        ("%b = arith.andi %x, %c65535 : i32\n%a = arith.muli %b, %b : i32", "arith.uitofp"),
        ("%b = arith.shrui %x, %c4 : i32\n%a = arith.shli %b, %c4 : i32", "arith.uitofp"),
        ("%b = arith.andi %x, %c255 : i32\n%a = arith.subi %b, %c4 : i32", "arith.uitofp"),
        ("%a = arith.addi %x, %c4 : i32", "arith.uitofp"),
    ],
)
def test_numbers_without_a_sign_bit_become_floats_as_signed_ones(
    optimised: Optimise, lines: str, expected: str
) -> None:
    assert computed(optimised, f"{lines}\n%r = arith.uitofp %a : i32 to f32", "%r") == expected


@pytest.mark.parametrize(
    ("mask", "expected"), [("%c65535", "arith.sitofp"), ("%c2147483647", "arith.uitofp")]
)
def test_sums_of_indices_may_come_around_at_32_bits(optimised: Optimise, mask: str, expected: str) -> None:
    lines = f"""%c2147483647 = arith.constant 2147483647 : i32
    %a = arith.andi %x, {mask} : i32
    %i = arith.index_cast %a : i32 to index
    %s = arith.addi %i, %i : index
    %w = arith.index_cast %s : index to i64
    %r = arith.uitofp %w : i64 to f32"""
    assert computed(optimised, lines, "%r") == expected


def test_indices_of_64_bits_are_not_taken_for_short(optimised: Optimise) -> None:
    lines = """
        %n = arith.constant 1 : index
        %i = arith.index_cast %x : i32 to index
        %j = arith.shrui %i, %n : index
        %k = arith.index_cast %j : index to i32
        %r = arith.uitofp %k : i32 to f32"""
    assert computed(optimised, lines, "%r") == "arith.uitofp"


PIXEL = "%p = arith.andi %x, %c255 : i32\n%g = arith.uitofp %p : i32 to f32\n"
CLAMPED = "%m = arith.maxnumf %f, %zero : f32\n%g = arith.minnumf %m, %f255 : f32\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"{PIXEL}%t = arith.cmpf olt, %g, %limit : f32", "true"),
        (f"{PIXEL}%t = arith.cmpf ogt, %g, %f255 : f32", "false"),
        (f"{PIXEL}%t = arith.cmpf oge, %g, %zero : f32", "true"),
        (f"{PIXEL}%t = arith.cmpf ogt, %g, %zero : f32", None),
        (f"{PIXEL}%h = arith.mulf %g, %half : f32\n%t = arith.cmpf olt, %h, %limit : f32", "true"),
        (f"{PIXEL}%h = arith.mulf %g, %half : f32\n%t = arith.cmpf oge, %h, %zero : f32", "true"),
        (f"{PIXEL}%h = arith.mulf %g, %one : f32\n%t = arith.cmpf ogt, %h, %f255 : f32", "false"),
        (f"{PIXEL}%h = arith.addf %g, %half : f32\n%t = arith.cmpf ole, %h, %f255 : f32", None),
        (f"{PIXEL}%h = arith.subf %zero, %g : f32\n%t = arith.cmpf ole, %h, %zero : f32", "true"),
        (f"{PIXEL}%h = arith.mulf %g, %huge : f32\n%t = arith.cmpf olt, %h, %limit : f32", None),
        (f"{CLAMPED}%t = arith.cmpf olt, %g, %limit : f32", "true"),
        (f"{CLAMPED}%t = arith.cmpf uge, %g, %zero : f32", "true"),
        ("%g = arith.minnumf %f, %f255 : f32\n%t = arith.cmpf olt, %g, %limit : f32", "true"),
        ("%g = arith.minnumf %f, %f255 : f32\n%t = arith.cmpf oge, %g, %zero : f32", None),
        # NaN: false for an ordered comparison as for the numbers, and not true for it.
        ("%g = math.absf %f : f32\n%t = arith.cmpf olt, %g, %zero : f32", "false"),
        ("%g = math.absf %f : f32\n%t = arith.cmpf oge, %g, %zero : f32", None),
        ("%g = math.absf %f : f32\n%t = arith.cmpf uge, %g, %zero : f32", "true"),
        ("%g = math.absf %f : f32\n%t = arith.cmpf ult, %g, %zero : f32", None),
    ],
)
def test_comparisons_with_what_lies_on_one_side(
    optimised: Optimise, lines: str, expected: str | None
) -> None:
    found = computed(optimised, lines, "%t", "i1")
    assert found == ("arith.cmpf" if expected is None else f"arith.constant {expected}")


SATURATED = """
%is_positive = arith.cmpf ogt, %g, %zero : f32
%least = arith.select %is_positive, %g, %zero : f32
%r = arith.fptoui %least : f32 to i32"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(PIXEL, "arith.fptosi"), (CLAMPED, "arith.fptosi"), ("%g = math.absf %f : f32\n", "arith.fptoui")],
)
def test_numbers_in_range_become_integers_as_they_are(optimised: Optimise, lines: str, expected: str) -> None:
    assert computed(optimised, lines + SATURATED, "%r", "i32") == expected


def test_what_may_be_negative_or_nan_keeps_its_comparison(optimised: Optimise) -> None:
    text = optimised(
        "func.func @f(%g: f32) -> i32 { %zero = arith.constant 0.0 : f32 "
        + SATURATED
        + "\nfunc.return %r : i32\n}"
    )
    assert "arith.cmpf ogt" in text and "arith.fptoui" in text
