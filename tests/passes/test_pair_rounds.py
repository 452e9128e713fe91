"""Pairs of rounds: what is written twice, what stays, and how pairs are counted."""

from __future__ import annotations

import re

import pytest

from tests.passes.running import run

COUNTING, COUNTED = (
    """
        func.func @f(%x : memref<?xf32>, %low : index, %high : index) -> f32 {
          %one = arith.constant 1 : index
          %zero = arith.constant 0.0 : f32
          %r = scf.for %k = %low to %high step %one iter_args(%s = %zero) -> (f32) {
            %v = memref.load %x[%k] : memref<?xf32>
            %t = arith.addf %s, %v : f32
            scf.yield %t : f32
          }
          func.return %r : f32
        }""",
    """
        func.func @f(%x: memref<?xf32>, %low: index, %high: index) -> f32 {
          %one = arith.constant 1 : index
          %zero = arith.constant 0.000000e+00 : f32
          %13 = arith.cmpi slt, %low, %high : index
          %1 = arith.constant 1 : index
          %2 = arith.subi %high, %1 : index
          %3 = arith.select %13, %2, %high : index
          %4 = arith.constant 2 : index
          %5 = scf.for %6 = %low to %3 step %4 iter_args(%7 = %zero) -> (f32) {
            %v = memref.load %x[%6] : memref<?xf32>
            %t = arith.addf %7, %v : f32
            %8 = arith.addi %6, %one : index
            %v_1 = memref.load %x[%8] : memref<?xf32>
            %t_1 = arith.addf %t, %v_1 : f32
            scf.yield %t_1 : f32
          }
          %9 = arith.subi %high, %low : index
          %10 = arith.andi %9, %one : index
          %11 = arith.constant 0 : index
          %12 = arith.cmpi ne, %10, %11 : index
          %14 = arith.andi %13, %12 : i1
          %r = scf.if %14 -> (f32) {
            %v_2 = memref.load %x[%3] : memref<?xf32>
            %t_2 = arith.addf %5, %v_2 : f32
            scf.yield %t_2 : f32
          } else {
            scf.yield %5 : f32
          }
          func.return %r : f32
        }""",
)
STRIDES, PAIRED_STRIDES = (
    """
        func.func @f(%x : memref<?xf32>, %y : memref<?xf32>, %first : index, %a : f32) -> index {
          %zero = arith.constant 0 : index
          %end = memref.dim %x, %zero : memref<?xf32>
          %stride = memref.dim %y, %zero : memref<?xf32>
          %r = scf.while (%k = %first) : (index) -> (index) {
            %c = arith.cmpi ult, %k, %end : index
            scf.condition(%c) %k : index
          } do {
          ^bb0(%k : index):
            %v = memref.load %x[%k] : memref<?xf32>
            %w = arith.mulf %v, %a : f32
            memref.store %w, %x[%k] : memref<?xf32>
            %n = arith.addi %k, %stride : index
            scf.yield %n : index
          }
          func.return %r : index
        }""",
    """
        func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %first: index, %a: f32) -> index {
          %zero = arith.constant 0 : index
          %end = memref.dim %x, %zero : memref<?xf32>
          %stride = memref.dim %y, %zero : memref<?xf32>
          %0 = arith.maxui %end, %stride : index
          %1 = arith.subi %0, %stride : index
          %2 = arith.addi %stride, %stride : index
          %3 = scf.while (%4 = %first) : (index) -> index {
            %5 = arith.cmpi ult, %4, %1 : index
            scf.condition(%5) %4 : index
          } do {
          ^bb0(%6: index):
            %v = memref.load %x[%6] : memref<?xf32>
            %w = arith.mulf %v, %a : f32
            memref.store %w, %x[%6] : memref<?xf32>
            %n = arith.addi %6, %stride : index
            %v_1 = memref.load %x[%n] : memref<?xf32>
            %w_1 = arith.mulf %v_1, %a : f32
            memref.store %w_1, %x[%n] : memref<?xf32>
            %n_1 = arith.addi %6, %2 : index
            scf.yield %n_1 : index
          }
          %7 = arith.cmpi ult, %3, %end : index
          %r = scf.if %7 -> (index) {
            %v_2 = memref.load %x[%3] : memref<?xf32>
            %w_2 = arith.mulf %v_2, %a : f32
            memref.store %w_2, %x[%3] : memref<?xf32>
            %n_2 = arith.addi %3, %stride : index
            scf.yield %n_2 : index
          } else {
            scf.yield %3 : index
          }
          func.return %r : index
        }""",
)
SIGNED_PAIRS = """
        func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %first: index, %a: f32) -> index {
          %zero = arith.constant 0 : index
          %end = memref.dim %x, %zero : memref<?xf32>
          %stride = memref.dim %y, %zero : memref<?xf32>
          %0 = arith.subi %end, %stride : index
          %1 = arith.addi %stride, %stride : index
          %2 = scf.while (%3 = %first) : (index) -> index {
            %4 = arith.cmpi slt, %3, %0 : index
            scf.condition(%4) %3 : index
          } do {
          ^bb0(%5: index):
            %v = memref.load %x[%5] : memref<?xf32>
            %w = arith.mulf %v, %a : f32
            memref.store %w, %x[%5] : memref<?xf32>
            %n = arith.addi %5, %stride : index
            %v_1 = memref.load %x[%n] : memref<?xf32>
            %w_1 = arith.mulf %v_1, %a : f32
            memref.store %w_1, %x[%n] : memref<?xf32>
            %n_1 = arith.addi %5, %1 : index
            scf.yield %n_1 : index
          }
          %r = scf.while (%k = %2) : (index) -> index {
            %c = arith.cmpi slt, %k, %end : index
            scf.condition(%c) %k : index
          } do {
          ^bb0(%k_1: index):
            %v_2 = memref.load %x[%k_1] : memref<?xf32>
            %w_2 = arith.mulf %v_2, %a : f32
            memref.store %w_2, %x[%k_1] : memref<?xf32>
            %n_2 = arith.addi %k_1, %stride : index
            scf.yield %n_2 : index
          }
          func.return %r : index
        }"""


def test_a_loop_that_counts():
    assert run(COUNTING, "pair-rounds") == run(COUNTED)


def test_a_loop_in_strides_of_the_launch():
    assert run(STRIDES, "pair-rounds") == run(PAIRED_STRIDES)


def test_signed_numbers_may_come_around_so_the_loop_stays_behind_its_pairs():
    assert run(STRIDES.replace("ult", "slt"), "pair-rounds") == run(SIGNED_PAIRS)


def test_constants_of_signed_strides():
    """From -4 on below 5 in steps of 9 there is one round: none has a second one before -4."""
    text = (
        STRIDES.replace("ult", "slt")
        .replace("memref.dim %x, %zero : memref<?xf32>", "arith.constant 5 : index")
        .replace("memref.dim %y, %zero : memref<?xf32>", "arith.constant 9 : index")
    )
    assert "arith.constant -4 : index" in run(text, "pair-rounds")


ATOMICS = """
func.func @k(%x : memref<?xi32>, %y : memref<?xi32>, %n : index) attributes {gpu.kernel, kernel.rank = 1 : i32,
    kernel.parameters = [{name = "x", dtype = "i32", ndim = 1 : i32, access = "read"},
                         {name = "y", dtype = "i32", ndim = 1 : i32, access = "read_write"},
                         {name = "n", dtype = "i32"}]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %number = arith.constant 1 : i32
  scf.for %k = %zero to %n step %one {
    %v = memref.load %x[%k] : memref<?xi32>
    %at = arith.index_cast %v : i32 to index
    %old = "kernel.atomic_rmw"(%number, %y, %at)
      <{kind = "add", order = "relaxed", scope = "device"}> : (i32, memref<?xi32>, index) -> i32
    %w = memref.load %FROM[%k] : memref<?xi32>
    memref.store %w, %y[%k] : memref<?xi32>
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("array", "order"),
    [
        ("x", ["load %x", "load %x", "load %x", "load %x", "atomic", "store", "atomic", "store"]),
        ("y", ["load %x", "load %x", "atomic", "load %y", "store", "atomic", "load %y", "store"]),
    ],
)
def test_constant_arrays_are_loaded_in_front_of_atomics(array: str, order: list[str]):
    text = run(ATOMICS.replace("FROM", array), "pair-rounds{with_atomics=true}")
    body = text[text.index("scf.for") : text.index("scf.if")]
    assert re.findall(r"load %\w|atomic|store", body) == order


def test_loops_with_atomics_stay_unless_asked_for():
    text = ATOMICS.replace("FROM", "x")
    assert run(text, "pair-rounds") == run(text)


STAYS = {
    "an optimisation level of 0": COUNTING.replace(
        "-> f32 {", "-> f32 attributes {kernel.opt_level = 0 : i32} {"
    ),
    "a step of another number": COUNTING.replace("step %one", "step %low"),
    "few rounds": COUNTING.replace("%low to %high", "%one to %few").replace(
        "%zero =", "%few = arith.constant 9 : index %zero ="
    ),
    "no load": COUNTING.replace("%v = memref.load %x[%k] : memref<?xf32>", "%v = arith.mulf %s, %s : f32"),
    "an end that is no size": STRIDES.replace(
        "%end = memref.dim %x, %zero", "%end = arith.muli %first, %first"
    ).replace("%first : memref<?xf32>", "%first : index"),
    "an end that the loop changes": STRIDES.replace("ult, %k, %end", "ult, %k, %k"),
    "a loop in another": COUNTING.replace(
        "%r = scf.for",
        "%few = arith.constant 9 : index %all = scf.for %j = %one to %high step %one iter_args(%z = %zero) -> (f32) { "
        "%r = scf.for",
    ).replace("func.return %r", "scf.yield %r : f32 } func.return %all"),
    "another comparison": STRIDES.replace("ult", "ne"),
    "a branch inside": STRIDES.replace(
        "memref.store %w, %x[%k] : memref<?xf32>",
        "%t = arith.cmpf ogt, %w, %a : f32 scf.if %t { memref.store %w, %x[%k] : memref<?xf32> }",
    ),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_others_stay(text: str):
    assert run(text, "pair-rounds") == run(text)


ENDS = """
func.func @k(%x : memref<?xf32>, %n : memref<?xindex>, %p : index) attributes {{gpu.kernel, kernel.rank = 1 : i32,
    kernel.parameters = [{{name = "x", dtype = "f32", ndim = 1 : i32, access = "read_write"}},
                         {{name = "n", dtype = "i32", ndim = 1 : i32, access = "read"}},
                         {{name = "p", dtype = "i32"}}]}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %j = arith.addi {place}, %one : index
  %end = memref.load %n[%j] : memref<?xindex>
  %r = scf.for %k = %zero to %end step %one iter_args(%s = %none) -> (f32) {{
    %v = memref.load %x[%k] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }}
  memref.store %r, %x[%i] : memref<?xf32>
  func.return
}}"""


@pytest.mark.parametrize(("place", "is_paired"), [("%i", False), ("%p", True)])
def test_loops_whose_ends_are_loaded_for_each_work_item_stay(place: str, is_paired: bool):
    text = ENDS.format(place=place)
    assert (run(text, "pair-rounds") != run(text)) is is_paired


KERNEL = """
func.func @k(%x : memref<?xf32>, %y : memref<?xf32>) attributes {gpu.kernel, kernel.rank = 1 : i32, kernel.masked,
    kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
                         {name = "y", dtype = "f32", ndim = 1 : i32, access = "write"}]} {
  %zero = arith.constant 0 : index
  %first = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %i = arith.index_cast %first : index to i32
  %size = memref.dim %x, %zero : memref<?xf32>
  %end = arith.index_cast %size : index to i32
  %width = memref.dim %y, %zero : memref<?xf32>
  %stride = arith.index_cast %width : index to i32
  %none = arith.constant 0.0 : f32
  %last, %r = scf.while (%k = %i, %s = %none) : (i32, f32) -> (i32, f32) {
    %c = arith.cmpi ult, %k, %end : i32
    scf.condition(%c) %k, %s : i32, f32
  } do {
  ^bb0(%k : i32, %s : f32):
    %at = arith.index_cast %k : i32 to index
    %v = memref.load %x[%at] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    %n = arith.addi %k, %stride : i32
    scf.yield %n, %t : i32, f32
  }
  memref.store %r, %y[%first] : memref<?xf32>
  func.return
}"""


def test_rounds_of_pairs_are_computed_behind_the_loop():
    text = run(KERNEL, "pair-rounds,limit-loops")
    loop = text[text.index("scf.while") : text.index("arith.divui")]
    assert "kernel.count_rounds" not in loop, "the loop itself counts nothing"
    assert text.count("kernel.count_rounds") == text.count("kernel.check_rounds") == 1
