"""Damaged IR text: nothing but our errors, and no hang."""

from __future__ import annotations

import contextlib
import random
import re
from pathlib import Path

import pytest

from lapilli.ir.errors import Error
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module

ROOT = Path(__file__).parents[1]
TEXTS = [
    path.read_text("utf-8")
    for path in sorted([*ROOT.glob("golden/**/*.mlir"), *ROOT.glob("filecheck/*.mlir")])
]
WORDS = [
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    '"',
    "%",
    "@",
    "#",
    "!",
    "^",
    ":",
    "-9999999999999999999999",
    "1e999",
    "0x",
    "i0",
    "i99999999",
    "\x00",
    "é",
    "memref<?x",
    "vector<0xf32>",
    "tensor<*xf32>",
    "loc(unknown)",
    "!spirv.struct<",
    "array<i32:",
    "dense<",
    "f128",
    "4294967296",
    "-1",
]


def _damaged(text: str, chance: random.Random) -> str:
    """Returns a text with a few places changed."""
    for _ in range(chance.randint(1, 5)):
        place, lines = chance.randrange(len(text)), text.splitlines(keepends=True)
        words, row = re.findall(r"[\w.]+", text) or ["x"], chance.randrange(len(lines))
        text = chance.choice((
            text[:place] + text[place + chance.randint(1, 20) :],
            text[:place] + chance.choice(WORDS) + text[place:],
            text[:place] + text[place : place + 100] + text[place:],
            "".join([*lines[:row], *lines[row + 1 :]]),
            "".join([*lines[row:], *lines[:row]]),
            text.replace(chance.choice(words), chance.choice(words), chance.choice((1, -1))),
        )) or "x"  # fmt: skip
    return text


@pytest.mark.parametrize("seed", range(8))
def test_damaged_text_raises_our_errors_only(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        text = _damaged(chance.choice(TEXTS), chance)
        with contextlib.suppress(Error):
            verify_module(parse_module(text).module)


def test_a_function_without_its_type() -> None:
    text = """
    "gpu.module"() <{sym_name = "m"}> ({
      "gpu.func"() <{gpu.module = () -> (), kernel}> ({ "gpu.return"() : () -> () }) {sym_name = "k"} : () -> ()
    }) : () -> ()
    """
    with pytest.raises(Error, match="property 'function_type' expected"):
        verify_module(parse_module(text).module)


def test_a_constant_of_too_many_scalars() -> None:
    text = (
        "spec_constant.declare @c : !spirv.array<4000000000 x !spirv.array<4000000000 x f32>> = [0.0 : f32]"
    )
    with pytest.raises(Error, match="made of more than"):
        verify_module(parse_module(text).module)


@pytest.mark.parametrize("kind", ["f80", "f128"])
def test_floats_that_xdsl_cannot_print(kind: str) -> None:
    with pytest.raises(Error, match=f"{kind} is not supported; floats are"):
        parse_module(f"func.func @f() attributes {{gpu.kernel = 1.0 : {kind}}} {{ return }}")


@pytest.mark.parametrize("nested", ["(" * 3000, "tensor<" * 2000, "[" * 3000, 'module { "x.y"() ({' * 800])
def test_deep_nesting(nested: str) -> None:
    with pytest.raises(Error):
        parse_module(f"func.func @f() attributes {{a = {nested}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%", "1:1: error: Expected suffix identifier after %"),
        ("module {\n  #! = 1\n}", "2:3: error: Expected suffix identifier after #"),
        (
            "func.func @f() attributes {x = dense<0> : vector<100000x100000xi32>} { return }",
            "1:43: error: a constant has at most 1048576 elements, found 10000000000; pass them as an array",
        ),
    ],
)
def test_what_xdsl_would_not_say(text: str, message: str) -> None:
    with pytest.raises(Error, match=re.escape(message)):
        parse_module(text)
