"""MLIR text changed in what it says: names exchanged, functions twice, other types, huge numbers, lines elsewhere.

Most of it still parses, and some of it verifies, so the changes get into passes and lowering.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from lapilli.frontend.mlir_source import LABEL
from lapilli.frontend.source_images import prepare
from lapilli.ir.errors import Error
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.pipeline import analyse, lower_image
from lapilli.spirv.build_image import build_image

from .upstream_affine import AFFINE
from .upstream_arithmetic import ARITHMETIC
from .upstream_kernels import kernel_text
from .upstream_memory import MEMORY
from .upstream_symbols import NEWER, SYMBOLS
from .upstream_transfers import TRANSFERS
from .upstream_vectors import VECTORS

TESTS = Path(__file__).parents[1]
HUGE = (
    "0",
    "-1",
    "1",
    "7",
    "255",
    "65536",
    "1048577",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "1" + "0" * 30,
)
TYPES = ("i1", "i8", "i16", "i32", "i64", "index", "f16", "bf16", "f32", "f64", "i24", "i128", "f80", "none",
         "vector<4xf32>", "vector<3x2xi32>", "vector<1000000xf32>", "vector<[4]xf32>", "memref<?xf32>",
         "memref<4xi32>", "memref<?x?xf64>", "memref<1000000000000xf32>", "memref<f32>", "tensor<4xf32>",
         "tuple<i32, f32>", "complex<f32>", "memref<?xf32, 3>", "memref<4x4xf32, strided<[1, 4], offset: 2>>",
         "memref<16xf32, #gpu.address_space<workgroup>>")  # fmt: skip
_TYPE = re.compile(r"\b(?:i\d+|index|b?f\d+|vector<[^<>]*>|memref<[^<>]*>)")
_VALUE = re.compile(r"%[\w$.]+")
_NUMBER = re.compile(r"(?<![\w%.@#])-?\d+(?![\w.x])")
_OPERATION = re.compile(
    r"\b(?:arith|math|scf|memref|vector|gpu|affine|cf|func|kernel|spirv|aspect|spec_constant)\.\w+"
)
_SYMBOL = re.compile(r"@[\w$.]+")
_EXTENT = re.compile(r"(?<=[<x])\d+(?=x)")
_WORD = re.compile(
    r"\b(?:eq|ne|[su][lg][te]|o[lg][te]|add\w?|mul\w?|min\w*|max\w*|true|false|dense|to|step|else|workgroup)\b"
)


@cache
def texts() -> tuple[str, ...]:
    """Returns the modules to change: of upstream's dialects, of our front end, of our dialects."""
    cases = {**AFFINE, **ARITHMETIC, **MEMORY, **SYMBOLS, **NEWER, **TRANSFERS, **VECTORS}
    found = [kernel_text(f"k{n}", case) for n, case in enumerate(cases.values())]
    for folder in ("golden/frontend", "filecheck", "golden/spirv"):
        found += [path.read_text("utf-8") for path in sorted((TESTS / folder).glob("*.mlir"))]
    return tuple(found)


def _replaced(pattern: re.Pattern[str], choose: Callable[[random.Random, list[str]], str]):
    """Returns a change of one place that a pattern finds, or of all that are alike."""

    def change(text: str, pick: random.Random) -> str:
        places = list(pattern.finditer(text))
        if not places:
            return text
        place = pick.choice(places)
        new = choose(pick, [other.group() for other in places])
        if pick.random() < 0.2:
            return text.replace(place.group(), new)
        return text[: place.start()] + new + text[place.end() :]

    return change


def _any_other(pick: random.Random, found: list[str]) -> str:
    return pick.choice(found)


def _lines(text: str, pick: random.Random) -> str:
    """A line is gone, twice, or elsewhere."""
    lines = text.splitlines()
    row = lines.pop(pick.randrange(len(lines)))
    for _ in range(pick.randrange(3)):
        lines.insert(pick.randrange(len(lines) + 1), row)
    return "\n".join(lines) + "\n"


def _block_twice(text: str, pick: random.Random) -> str:
    """What stands in a pair of braces is there twice: functions with one name, loops in a row, branches."""
    starts = [place.start() for place in re.finditer(r"^[ \t]*[^\n{]*\{", text, re.MULTILINE)]
    if not starts:
        return text
    start = pick.choice(starts)
    end, depth = text.index("{", start), 0
    while end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if not depth:
            break
    part = text[start:end]
    if pick.random() < 0.5:
        part = _SYMBOL.sub(lambda m: m.group() + "_", part, count=1)
    return text[:end] + ("\n" + part) * pick.choice((1, 1, 30)) + text[end:]


CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _replaced(_VALUE, _any_other),
    _replaced(_VALUE, _any_other),
    _replaced(_TYPE, _any_other),
    _replaced(_TYPE, lambda pick, _: pick.choice(TYPES)),
    _replaced(_NUMBER, lambda pick, _: pick.choice(HUGE)),
    _replaced(_EXTENT, lambda pick, _: pick.choice(("0", "1", "3", "1000000", "99999999999"))),
    _replaced(_OPERATION, _any_other),
    _replaced(_SYMBOL, _any_other),
    _replaced(_WORD, _any_other),
    _lines,
    _block_twice,
)


def changed(seed: int) -> str:
    """Returns the text of a seed, with one to three changes."""
    pick = random.Random(seed)
    text = pick.choice(texts())
    for _ in range(pick.choice((1, 1, 2, 3))):
        text = pick.choice(CHANGES)(text, pick)
    return text


def compile_changed(seed: int) -> bool:
    """Compiles the text of a seed; returns whether it is a module that compiles.

    Raises:
        AssertionError: anything but an error of ours came of it.
    """
    pick = random.Random(seed)
    env = TargetEnv(checks=pick.choice(("asserts", "debug")), optimisation_level=pick.choice((0, 1, 2)))
    try:
        parsed = parse_module(changed(seed), LABEL)
        prepare(parsed, env)
        for image in analyse(parsed.module, env).images:
            build_image(lower_image(image, env), env)
    except Error as error:
        assert str(error).strip()
        return False
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{changed(seed)}") from error
    return True
