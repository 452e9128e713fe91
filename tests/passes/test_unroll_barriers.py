"""Short loops with barriers are written out, and no others."""

from __future__ import annotations

import pytest

from tests.passes.running import run


def body_of(text: str) -> list[str]:
    """The operations of a printed function, without constants."""
    lines = [line.strip() for line in text.splitlines()]
    return [
        line
        for line in lines[2:]
        if line and "arith.constant" not in line and line not in ("}", "func.return")
    ]


SHARED = "memref<4xi32, #spirv.storage_class<Workgroup>>"
TREE = f"""
        func.func @f(%s : {SHARED}, %t : i32, %at : index, %n : i32) -> i32 {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %two = arith.constant 2 : i32
          %r:2 = scf.while (%w = %two, %v = %t) : (i32, i32) -> (i32, i32) {{
            %c = arith.cmpi sgt, %w, %zero : i32
            scf.condition(%c) %w, %v : i32, i32
          }} do {{
          ^bb0(%x : i32, %y : i32):
            %below = arith.cmpi slt, %t, %x : i32
            scf.if %below {{
              memref.store %x, %s[%at] : {SHARED}
            }}
            "gpu.barrier"() : () -> ()
            %more = arith.addi %y, %x : i32
            %half = arith.shrsi %x, %one : i32
            scf.yield %half, %more : i32, i32
          }}
          func.return %r#1 : i32
        }}"""
UNROLLED = [
    "%below = arith.cmpi slt, %t, %two : i32",
    "scf.if %below {",
    f"memref.store %two, %s[%at] : {SHARED}",
    '"gpu.barrier"() : () -> ()',
    "%more = arith.addi %t, %two : i32",
    "%below_1 = arith.cmpi slt, %t, %one : i32",
    "scf.if %below_1 {",
    f"memref.store %one, %s[%at] : {SHARED}",
    '"gpu.barrier"() : () -> ()',
    "%more_1 = arith.addi %more, %one : i32",
    "func.return %more_1 : i32",
]
COUNTING = f"""
        func.func @f(%s : {SHARED}, %at : index, %n : index) {{
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %three = arith.constant 3 : index
          scf.for %k = %zero to %three step %one {{
            %v = memref.load %s[%k] : {SHARED}
            "gpu.barrier"() : () -> ()
            memref.store %v, %s[%at] : {SHARED}
            "gpu.barrier"() : () -> ()
          }}
          func.return
        }}"""


def test_a_loop_that_halves_a_constant():
    assert body_of(run(TREE, "unroll-barriers")) == UNROLLED


def test_a_loop_that_counts():
    text = run(COUNTING, "unroll-barriers")
    assert "scf.for" not in text
    assert [text.count(name) for name in ("memref.load", "memref.store", "gpu.barrier")] == [3, 3, 6]


STAYS = {
    "an optimisation level of 0": TREE.replace(
        "-> i32 {", "-> i32 attributes {kernel.opt_level = 0 : i32} {"
    ),
    "no barrier": TREE.replace('"gpu.barrier"() : () -> ()', ""),
    "a start that is not known": TREE.replace("%w = %two", "%w = %n"),
    "an end that is not known": COUNTING.replace("to %three", "to %n"),
    "two ends": TREE.replace(
        "scf.condition(%c)", "%d = arith.cmpi ne, %v, %n : i32 %e = arith.andi %c, %d : i1 scf.condition(%e)"
    ),
    "many rounds": COUNTING.replace("constant 3", "constant 40"),
    "many rounds of a while": TREE.replace("constant 2", "constant 17").replace("shrsi %x", "subi %x"),
    "a loop inside": COUNTING.replace(
        "%v =", f"scf.for %j = %zero to %n step %one {{ memref.store %w, %s[%j] : {SHARED} }} %v ="
    ).replace("%one =", "%w = arith.constant 7 : i32 %one ="),
    "a loop around": COUNTING.replace("scf.for", "scf.for %j = %zero to %n step %one { scf.for", 1).replace(
        "func.return", "} func.return"
    ),
    "a call inside": COUNTING.replace("%v =", "func.call @g() : () -> () %v =")
    + "func.func private @g() -> ()",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_others_stay(text: str):
    assert run(text, "unroll-barriers") == run(text)
