"""Folding: exact to the last bit, and nothing that IEEE 754 or MLIR leaves open."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

Optimise = Callable[..., str]
LARGEST = 2**31 - 1
LOWEST = -(2**31)


def folded(optimised: Optimise, line: str, type_: str, parameters: str = "") -> str:
    """What `%r = line` becomes: `constant VALUE`, the name of a value, or the operation's name."""
    text = optimised(f"func.func @f({parameters}) -> {type_} {{\n{line}\nfunc.return %r : {type_}\n}}")
    match = re.search(r"func.return (%\S+) :", text)
    assert match is not None
    definition = re.search(rf"{match.group(1)} = (.*)", text)
    if definition is None:
        return match.group(1)
    found = definition.group(1)
    return found.removeprefix("arith.") if "arith.constant" in found else found.split()[0]


def binary(optimised: Optimise, op: str, a: object, b: object, type_: str) -> str:
    line = f"%a = arith.constant {a} : {type_}\n%b = arith.constant {b} : {type_}\n%r = {op} %a, %b : {type_}"
    return folded(optimised, line, type_).removesuffix(f" : {type_}").removeprefix("constant ")


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("addi", LARGEST, 1, LOWEST),
        ("subi", LOWEST, 1, LARGEST),
        ("muli", 65536, 65537, 65536),
        ("divsi", -7, 2, -3),
        ("remsi", -7, 2, -1),
        ("divui", -1, 2, LARGEST),
        ("remui", -1, 10, 5),
        ("floordivsi", -7, 2, -4),
        ("ceildivsi", -7, 2, -3),
        ("ceildivui", 7, 2, 4),
        ("andi", -2, 3, 2),
        ("ori", -8, 3, -5),
        ("xori", -1, 5, -6),
        ("shli", 1, 31, LOWEST),
        ("shrsi", -8, 1, -4),
        ("shrui", -8, 1, 2147483644),
        ("minsi", -1, 1, -1),
        ("minui", -1, 1, 1),
        ("maxsi", -1, 1, 1),
        ("maxui", -1, 1, -1),
    ],
)
@pytest.mark.parametrize("type_", ["i32", "index"])
def test_integers(optimised: Optimise, op: str, a: int, b: int, expected: int, type_: str) -> None:
    assert binary(optimised, f"arith.{op}", a, b, type_) == str(expected)


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("divsi", 1, 0),
        ("divui", 1, 0),
        ("remsi", 1, 0),
        ("divsi", LOWEST, -1),
        ("remsi", LOWEST, -1),
        ("floordivsi", LOWEST, -1),
        ("shli", 1, 32),
        ("shrui", 1, -1),
    ],
)
def test_undefined_results_are_left_alone(optimised: Optimise, op: str, a: int, b: int) -> None:
    assert binary(optimised, f"arith.{op}", a, b, "i32") == f"arith.{op}"


@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf"])
@pytest.mark.parametrize(("type_", "scalar"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_floats_are_folded_in_their_own_precision(
    optimised: Optimise, op: str, type_: str, scalar: type[np.floating]
) -> None:
    a, b = scalar(0.1), scalar(3.3)
    expected = {"addf": a + b, "subf": a - b, "mulf": a * b, "divf": a / b}[op]
    found = binary(optimised, f"arith.{op}", repr(float(a)), repr(float(b)), type_)
    assert scalar(float(found)) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("0.1 : f64", np.float32(0.1)), ("1.0e39 : f64", np.float32(np.inf))]
)
def test_truncf_rounds_once(optimised: Optimise, value: str, expected: np.float32) -> None:
    found = folded(optimised, f"%a = arith.constant {value}\n%r = arith.truncf %a : f64 to f32", "f32")
    spelled = found.split()[1]
    number = np.inf if spelled.lower() == "0x7f800000" else float(spelled)
    assert np.float32(number) == expected


@pytest.mark.parametrize(
    ("line", "type_", "expected"),
    [
        ("%c = arith.constant 0 : i32\n%r = arith.addi %x, %c : i32", "i32", "%x"),
        ("%c = arith.constant 0 : i32\n%r = arith.addi %c, %x : i32", "i32", "%x"),
        ("%c = arith.constant 1 : i32\n%r = arith.muli %x, %c : i32", "i32", "%x"),
        ("%c = arith.constant 0 : i32\n%r = arith.muli %x, %c : i32", "i32", "constant 0 : i32"),
        ("%c = arith.constant 1 : i32\n%r = arith.divsi %x, %c : i32", "i32", "%x"),
        ("%c = arith.constant 0 : i32\n%r = arith.subi %c, %x : i32", "i32", "arith.subi"),
        ("%r = arith.subi %x, %x : i32", "i32", "constant 0 : i32"),
        ("%r = arith.andi %x, %x : i32", "i32", "%x"),
        ("%c = arith.constant 1.0 : f32\n%r = arith.mulf %f, %c : f32", "f32", "%f"),
        ("%c = arith.constant 0.0 : f32\n%r = arith.addf %f, %c : f32", "f32", "arith.addf"),
        ("%c = arith.constant -0.0 : f32\n%r = arith.addf %f, %c : f32", "f32", "%f"),
        ("%c = arith.constant 0.0 : f32\n%r = arith.subf %f, %c : f32", "f32", "%f"),
        ("%c = arith.constant 0.0 : f32\n%r = arith.mulf %f, %c : f32", "f32", "arith.mulf"),
        ("%r = arith.subf %f, %f : f32", "f32", "arith.subf"),
        ("%n = arith.negf %f : f32\n%r = arith.negf %n : f32", "f32", "%f"),
        ("%w = arith.extsi %x : i32 to i64\n%r = arith.trunci %w : i64 to i32", "i32", "%x"),
        ("%w = arith.index_cast %x : i32 to index\n%r = arith.index_cast %w : index to i32", "i32", "%x"),
        ("%r = arith.select %p, %x, %x : i32", "i32", "%x"),
        ("%c = arith.constant true\n%r = arith.select %c, %x, %y : i32", "i32", "%x"),
        ("%c = arith.constant false\n%r = arith.select %c, %x, %y : i32", "i32", "%y"),
        (
            "%t = arith.constant true\n%u = arith.constant false\n%r = arith.select %p, %t, %u : i1",
            "i1",
            "%p",
        ),
        ("%r = arith.cmpi sle, %x, %x : i32", "i1", "constant true"),
        ("%r = arith.cmpi ult, %x, %x : i32", "i1", "constant false"),
        ("%r = arith.cmpf oeq, %f, %f : f32", "i1", "arith.cmpf"),
        ("%r = arith.bitcast %x : i32 to i32", "i32", "%x"),
    ],
)
def test_identities(optimised: Optimise, line: str, type_: str, expected: str) -> None:
    assert folded(optimised, line, type_, "%x : i32, %y : i32, %f : f32, %p : i1") == expected


def test_a_pair_of_casts_that_loses_bits_stays(optimised: Optimise) -> None:
    line = "%n = arith.index_cast %x : i64 to index\n%r = arith.index_cast %n : index to i64"
    assert folded(optimised, line, "i64", "%x : i64") == "arith.index_cast"


@pytest.mark.parametrize(
    ("wide", "expected"), [("", "%x"), (" attributes {gpu.kernel, kernel.wide}", "arith.index_cast")]
)
def test_indices_of_64_bits_lose_bits_too(optimised: Optimise, wide: str, expected: str) -> None:
    """In modules with a kernel whose ids have as many; elsewhere an index has 32."""
    text = f"""
    func.func @k(){wide} {{
      func.return
    }}
    func.func @f(%x : index) -> index {{
      %n = arith.index_cast %x : index to i32
      %r = arith.index_cast %n : i32 to index
      func.return %r : index
    }}"""
    made = optimised(text)
    assert ("arith.index_cast" if "arith.index_cast" in made else "%x") == expected


@pytest.mark.parametrize(
    ("predicate", "expected"), [("slt", "true"), ("ult", "false"), ("ne", "true"), ("uge", "true")]
)
def test_cmpi(optimised: Optimise, predicate: str, expected: str) -> None:
    constants = "%a = arith.constant -1 : i32\n%b = arith.constant 1 : i32\n"
    line = f"{constants}%r = arith.cmpi {predicate}, %a, %b : i32"
    assert folded(optimised, line, "i1") == f"constant {expected}"


@pytest.mark.parametrize(
    ("line", "type_", "expected"),
    [
        ("%a = arith.constant -1 : i8\n%r = arith.extui %a : i8 to i32", "i32", "constant 255 : i32"),
        ("%a = arith.constant -1 : i8\n%r = arith.extsi %a : i8 to i32", "i32", "constant -1 : i32"),
        ("%a = arith.constant true\n%r = arith.extui %a : i1 to i32", "i32", "constant 1 : i32"),
        ("%a = arith.constant 300 : i32\n%r = arith.trunci %a : i32 to i8", "i8", "constant 44 : i8"),
        (
            "%a = arith.constant -1 : i8\n%r = arith.uitofp %a : i8 to f32",
            "f32",
            "constant 2.550000e+02 : f32",
        ),
        ("%a = arith.constant 2.9 : f32\n%r = arith.fptosi %a : f32 to i32", "i32", "constant 2 : i32"),
        ("%a = arith.constant 300.0 : f32\n%r = arith.fptosi %a : f32 to i8", "i8", "arith.fptosi"),
        (
            "%a = arith.constant 1.0 : f32\n%r = arith.bitcast %a : f32 to i32",
            "i32",
            "constant 1065353216 : i32",
        ),
        ("%a = arith.constant 2.5 : f32\n%r = math.roundeven %a : f32", "f32", "constant 2.000000e+00 : f32"),
        ("%a = arith.constant 2.0 : f32\n%r = math.sin %a : f32", "f32", "math.sin"),
    ],
)
def test_conversions_of_constants(optimised: Optimise, line: str, type_: str, expected: str) -> None:
    assert folded(optimised, line, type_) == expected
