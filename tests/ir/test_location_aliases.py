"""Locations that MLIR writes as aliases, which it defines behind the module that uses them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from lapilli.ir.errors import Location
from lapilli.ir.location import location_of
from lapilli.ir.parse import IRSyntaxError, parse_module

TEXT = """
func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32 loc(#loc3)
  return %y : f32 loc(#loc1)
} loc(#loc)
#loc = loc("a.py":1:2)
#loc1 = loc("a.py":3:4)
#loc2 = loc("b.py":5:6)
#loc3 = loc(callsite(#loc2 at #loc1))
"""


def test_aliases_behind_the_module() -> None:
    (function,) = parse_module(TEXT).module.body.ops
    add, leave = function.regions[0].block.ops
    assert location_of(function.location) == Location("a.py", 1, 2)
    assert location_of(leave.location) == Location("a.py", 3, 4)
    assert "b.py" in str(add.location)


@pytest.mark.parametrize("generic", [[], ["--mlir-print-op-generic"]])
def test_what_mlir_writes(generic: list[str]) -> None:
    tool = shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt-19 is not installed")
    command = [tool, "--mlir-print-debuginfo", *generic]
    done = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=True, timeout=60)
    (function,) = parse_module(done.stdout).module.body.ops
    assert [location_of(op.location) for op in function.walk()][::2] == [
        Location("a.py", 1, 2),
        Location("a.py", 3, 4),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("return loc(#a)\n#b = loc(unknown)", "undefined symbol alias '#a'"),
        ("return loc(#a)\n#a = loc(#a)", "undefined symbol alias '#a'"),
        ("return loc(#a)\n#a = loc(unknown)\n#a = loc(unknown)", "re-declaration of alias '#a'"),
        ("return loc(#a)\n#a = loc(5)", "2:10: error: Unexpected location syntax"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    head, _, tail = text.partition("\n")
    with pytest.raises(IRSyntaxError, match=message):
        parse_module(f"func.func @f() {{ {head} }}\n{tail}")
