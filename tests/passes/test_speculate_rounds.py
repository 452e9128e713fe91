"""Second rounds that do not wait for a test: what they become, which loops stay, how they are counted."""

from __future__ import annotations

import pytest

from tests.passes.running import run

ESCAPE = """
        func.func @f(%limit : i32, %c : f32) -> i32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %start = arith.constant 0.0 : f32
          %most = arith.constant 4.0 : f32
          %r, %s = scf.while (%n = %zero, %z = %start) : (i32, f32) -> (i32, f32) {
            %below = arith.cmpi slt, %n, %limit : i32
            %square = arith.mulf %z, %z : f32
            %inside = arith.cmpf ole, %square, %most : f32
            %both = arith.andi %below, %inside : i1
            scf.condition(%both) %n, %z : i32, f32
          } do {
          ^bb0(%m : i32, %y : f32):
            %again = arith.mulf %y, %y : f32
            %next = arith.addf %again, %c : f32
            %more = arith.addi %m, %one : i32
            scf.yield %more, %next : i32, f32
          }
          func.return %r : i32
        }"""
SPECULATED = """
        func.func @f(%limit: i32, %c: f32) -> i32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %start = arith.constant 0.000000e+00 : f32
          %most = arith.constant 4.000000e+00 : f32
          %0 = arith.constant true
          %1 = arith.constant 2 : i32
          %2, %s, %3 = scf.while (%4 = %zero, %5 = %start, %6 = %0) : (i32, f32, i1) -> (i32, f32, i1) {
            %below = arith.cmpi slt, %4, %limit : i32
            %square = arith.mulf %5, %5 : f32
            %inside = arith.cmpf ole, %square, %most : f32
            %both = arith.andi %below, %inside : i1
            %7 = arith.andi %6, %both : i1
            scf.condition(%7) %4, %5, %6 : i32, f32, i1
          } do {
          ^bb0(%8: i32, %9: f32, %10: i1):
            %again = arith.mulf %9, %9 : f32
            %next = arith.addf %again, %c : f32
            %more = arith.addi %8, %one : i32
            %below_1 = arith.cmpi slt, %more, %limit : i32
            %square_1 = arith.mulf %next, %next : f32
            %inside_1 = arith.cmpf ole, %square_1, %most : f32
            %both_1 = arith.andi %below_1, %inside_1 : i1
            %next_1 = arith.addf %square_1, %c : f32
            %11 = arith.addi %8, %1 : i32
            scf.yield %11, %next_1, %both_1 : i32, f32, i1
          }
          %12 = arith.subi %2, %one : i32
          %r = arith.select %3, %2, %12 : i32
          func.return %r : i32
        }"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_loop_that_counts_until_a_float_is_large():
    assert lines(run(ESCAPE, "speculate-rounds")) == lines(run(SPECULATED))


def test_a_count_downwards_is_taken_back_upwards():
    text = run(ESCAPE.replace("%more = arith.addi", "%more = arith.subi"), "speculate-rounds")
    assert "%1 = arith.constant -2 : i32" in text
    assert "%2 = arith.constant -1 : i32" in text
    assert "%13 = arith.subi %3, %2 : i32" in text[text.index("scf.yield") :]


INTEGERS = """
        func.func @f(%start : i32) -> i32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %r, %s = scf.while (%n = %zero, %z = %start) : (i32, i32) -> (i32, i32) {
            %more = arith.cmpi ne, %z, %zero : i32
            scf.condition(%more) %n, %z : i32, i32
          } do {
          ^bb0(%m : i32, %y : i32):
            %less = arith.subi %y, %one : i32
            %next = arith.andi %y, %less : i32
            %count = arith.addi %m, %one : i32
            scf.yield %count, %next : i32, i32
          }
          func.return %r : i32
        }"""


def test_two_operations_on_integers():
    text = run(INTEGERS, "speculate-rounds")
    assert text.count("arith.cmpi") == 2
    assert text.count("scf.while") == 1


def test_what_a_test_passes_on_beside_the_carried_values():
    """Loops with a break at their head pass on what all rounds have alike, and what tests compute."""
    text = ESCAPE.replace("-> (i32, f32) {", "-> (i32, f32, f32, f32) {").replace("%r, %s", "%r, %s, %t, %u")
    text = text.replace("%n, %z : i32, f32", "%n, %z, %square, %most : i32, f32, f32, f32")
    text = text.replace("%y : f32)", "%y : f32, %again : f32, %unused : f32)")
    text = text.replace("%again = arith.mulf %y, %y : f32", "")
    found = run(text, "speculate-rounds")
    assert found.count("arith.mulf") == 2, "one for each test, and none for the body"
    kept = run(
        text.replace("func.return %r : i32", "%v = arith.fptosi %u : f32 to i32 func.return %v : i32"),
        "speculate-rounds",
    )
    assert kept.count("arith.mulf") == 2, "what comes from outside may be used behind the loop"


STAYS = {
    "an optimisation level of 0": ESCAPE.replace(
        "-> i32 {", "-> i32 attributes {kernel.opt_level = 0 : i32} {"
    ),
    "a float that is needed": ESCAPE.replace(
        "func.return %r : i32", "%v = arith.fptosi %s : f32 to i32 func.return %v : i32"
    ),
    "what a test computed is needed": ESCAPE.replace("-> (i32, f32) {", "-> (i32, f32, f32) {")
    .replace("%r, %s =", "%r, %s, %t =")
    .replace("%n, %z : i32, f32", "%n, %z, %square : i32, f32, f32")
    .replace("%y : f32)", "%y : f32, %unused : f32)")
    .replace("func.return %r : i32", "%v = arith.fptosi %t : f32 to i32 func.return %v : i32"),
    "a count that doubles": ESCAPE.replace("arith.addi %m, %one", "arith.addi %m, %m"),
    "counts alone": ESCAPE.replace("scf.condition(%both)", "scf.condition(%below)"),
    "one operation on integers": INTEGERS.replace("%less = arith.subi %y, %one : i32", "").replace(
        "andi %y, %less", "shrui %y, %one"
    ),
    "a division": ESCAPE.replace("arith.addf %again, %c", "arith.divf %again, %c"),
    "a function that takes long": ESCAPE.replace("arith.addf %again, %c", "math.sin %again"),
    "a load": ESCAPE.replace("%c : f32) -> i32", "%c : f32, %x : memref<?xf32>, %i : index) -> i32").replace(
        "arith.addf %again, %c : f32", "memref.load %x[%i] : memref<?xf32>"
    ),
    "a store": ESCAPE.replace("%c : f32) -> i32", "%c : f32, %x : memref<?xf32>, %i : index) -> i32").replace(
        "%more =", "memref.store %next, %x[%i] : memref<?xf32> %more ="
    ),
    "a branch inside": ESCAPE.replace("%more =", "scf.if %b { } %more =").replace(
        "%limit : i32,", "%limit : i32, %b : i1,"
    ),
    "a long body": ESCAPE.replace(
        "%more =",
        "".join(f"%x{i} = arith.addf %y, %x{i - 1 if i else 'x'} : f32 " for i in range(50)) + "%more =",
    ).replace("%xx", "%c"),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_others_stay(text: str):
    assert run(text, "speculate-rounds") == run(text)


def test_rounds_are_computed_behind_the_loop():
    text = ESCAPE.replace("func.func @f(%limit : i32, %c : f32) -> i32 {", HEAD).replace(
        "func.return %r : i32", "memref.store %r, %x[%i] : memref<?xi32> func.return"
    )
    text = run(text, "speculate-rounds,limit-loops")
    assert "kernel.count_rounds" not in text[: text.index("arith.divui")], "the loop itself counts nothing"
    assert text.count("kernel.count_rounds") == text.count("kernel.check_rounds") == 1


HEAD = """
func.func @k(%x : memref<?xi32>, %limit : i32, %c : f32) attributes {gpu.kernel, kernel.rank = 1 : i32,
    kernel.parameters = [{name = "x", dtype = "i32", ndim = 1 : i32, access = "write"},
                         {name = "limit", dtype = "i32"}, {name = "c", dtype = "f32"}]} {
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index"""
