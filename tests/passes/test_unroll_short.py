"""Loops of a few known rounds are written out, inner ones first, and no others."""

from __future__ import annotations

import pytest

from lapilli.ir.parse import parse_module
from lapilli.passes.unroll_short import unroll_short
from tests.passes.running import CONTEXT, run

NEST = """
        func.func @f(%x : memref<?xi32>, %n : index, %i : i32) -> i32 {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %two = arith.constant 2 : index
          %r = scf.for %k = %zero to %two step %one iter_args(%s = %i) -> (i32) {
            %t = scf.for %j = %one to %two step %one iter_args(%u = %s) -> (i32) {
              %at = arith.addi %k, %j : index
              %v = memref.load %x[%at] : memref<?xi32>
              %w = arith.addi %u, %v : i32
              scf.yield %w : i32
            }
            scf.yield %t : i32
          }
          func.return %r : i32
        }"""
WRITTEN_OUT = """
        func.func @f(%x : memref<?xi32>, %n : index, %i : i32) -> i32 {
          %one = arith.constant 1 : index
          %two = arith.constant 2 : index
          %v = memref.load %x[%one] : memref<?xi32>
          %w = arith.addi %i, %v : i32
          %v_1 = memref.load %x[%two] : memref<?xi32>
          %w_1 = arith.addi %w, %v_1 : i32
          func.return %w_1 : i32
        }"""


def test_a_nest():
    found = run(NEST, "unroll-short,cse,dce")
    assert found == run(WRITTEN_OUT, "canonicalize")


def test_what_rounds_compute_stays_where_folding_is_switched_off():
    module = parse_module(NEST, context=CONTEXT).module
    unroll_short(module, disabled=("canonicalize",))
    text = str(module)
    assert "scf.for" not in text
    assert text.count("arith.addi") == 4


INNER_LOOP = NEST[NEST.index("%t = scf.for") : NEST.index("            scf.yield %t")]
STAYS = {
    "an optimisation level of 0": NEST.replace(
        "-> i32 {", "-> i32 attributes {kernel.opt_level = 0 : i32} {", 1
    ),
    "an end that is not known": NEST.replace("%one to %two", "%one to %n").replace(
        "%zero to %two", "%zero to %n"
    ),
    "many rounds": NEST.replace("constant 2", "constant 170"),
    "long bodies": NEST.replace("constant 2", "constant 30").replace(
        "%w = arith.addi", "%a = arith.addi %u, %v : i32 %b = arith.muli %a, %v : i32 %w = arith.addi"
    ),
    "a barrier": NEST.replace("%v = memref.load", '"gpu.barrier"() : () -> () %v = memref.load'),
    "a call": NEST.replace("%v = memref.load", "func.call @g() : () -> () %v = memref.load")
    + "func.func private @g() -> ()",
    "a while inside": NEST.replace(
        INNER_LOOP,
        "%t = scf.while (%u = %s) : (i32) -> (i32) { %c = arith.cmpi sgt, %u, %i : i32 scf.condition(%c) %u : i32 }"
        " do { ^bb0(%w : i32): %h = arith.shrsi %w, %i : i32 scf.yield %h : i32 }\n",
    ),
}


def test_private_arrays_become_values():
    private = NEST.replace("%x : memref<?xi32>, ", "").replace(
        "%zero =", "%x = memref.alloca() : memref<4xi32> %zero ="
    )
    text = private.replace("memref<?xi32>", "memref<4xi32>").replace(
        "%v = memref.load", "memref.store %u, %x[%at] : memref<4xi32> %v = memref.load"
    )
    assert "memref" not in run(text, "unroll-short,promote-arrays")


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_others_stay(text: str):
    assert run(text, "unroll-short") == run(text)
