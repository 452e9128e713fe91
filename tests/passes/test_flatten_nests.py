"""Nests of loops that become one loop, which stay, and how often it is unrolled."""

from __future__ import annotations

import random

import pytest
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions

from lapilli.ir.parse import parse_module
from tests.passes.running import CONTEXT, run

NEST = """
        func.func @f(%n : i32, %m : i32, %a : memref<?xi32>) -> i32 {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %at = arith.constant 0 : index
          %r = scf.for %i = %zero to %n step %one iter_args(%t = %zero) -> (i32) : i32 {{
            %p = arith.muli %i, %m : i32
            {between}
            %q = scf.for %j = %zero to %m step %one iter_args(%u = %t) -> (i32) : i32 {{
              %v = arith.xori %u, %p : i32
              {inside}
              scf.yield %v : i32
            }}
            scf.yield %q : i32
          }}
          func.return %r : i32
        }}
        func.func private @g()"""


def test_a_nest_becomes_one_loop() -> None:
    found = run(NEST.format(between="", inside=""), "flatten-nests")
    assert found.count("scf.while") == 1
    assert "scf.for" not in found
    assert "scf.if" not in found  # all that it computes may be computed in any round


def test_what_has_effects_runs_where_it_did() -> None:
    store = "memref.store %v, %a[%at] : memref<?xi32>"
    found = run(NEST.format(between="", inside=store), "flatten-nests")
    assert found.count("scf.while") == found.count("memref.store") == 1
    branch = found.index("scf.if")
    assert branch < found.index("memref.store")


@pytest.mark.parametrize(
    "between",
    [
        '"gpu.barrier"() : () -> ()',
        "func.call @g() : () -> ()",
        "%s = memref.alloca() : memref<4xi32>",
    ],
)
def test_nests_that_stay(between: str) -> None:
    found = run(NEST.format(between=between, inside=""), "flatten-nests")
    assert found.count("scf.for") == 2


FLAG = """
        func.func @f(%n : i32) -> i32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %true = arith.constant true
          %r, %s = scf.while (%flag = %true, %i = %zero) : (i1, i32) -> (i32, i32) {
            %square = arith.muli %i, %i : i32
            scf.condition(%flag) %square, %i : i32, i32
          } do {
          ^bb0(%d : i32, %k : i32):
            %q = scf.for %j = %zero to %k step %one iter_args(%u = %one) -> (i32) : i32 {
              %v = arith.addi %u, %one : i32
              scf.yield %v : i32
            }
            %c = arith.cmpi slt, %q, %n : i32
            scf.yield %c, %q : i1, i32
          }
          func.return %r : i32
        }"""


BRANCH = """
        func.func @f(%n : i32, %m : i32) -> i32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %false = arith.constant false
          %r, %s = scf.while (%i = %zero) : (i32) -> (i32, i32) {
            %c = arith.cmpi slt, %i, %n : i32
            %d, %p = scf.if %c -> (i1, i32) {
              %q = scf.for %j = %zero to %i step %one iter_args(%u = %zero) -> (i32) : i32 {
                %v = arith.xori %u, %j : i32
                scf.yield %v : i32
              }
              %e = arith.cmpi slt, %q, %m : i32
              scf.yield %e, %q : i1, i32
            } else {
              scf.yield %false, %i : i1, i32
            }
            scf.condition(%d) %p, %i : i32, i32
          } do {
          ^bb0(%y : i32, %k : i32):
            %k2 = arith.addi %k, %one : i32
            scf.yield %k2 : i32
          }
          func.return %r : i32
        }"""


def results(text: str, *arguments: int) -> tuple[object, ...]:
    """Returns what xDSL's interpreter gives for the function of a module."""
    interpreter = Interpreter(parse_module(text, context=CONTEXT).module)
    for functions in (ArithFunctions(), FuncFunctions(), ScfFunctions()):
        interpreter.register_implementations(functions)
    return interpreter.call_op("f", arguments)


def check_flattened(text: str, *rows: tuple[int, ...]) -> None:
    """Flattens a nest, and runs it with each row of arguments before and after that."""
    found = run(text, "flatten-nests")
    assert found.count("scf.while") == 1
    for row in rows:
        assert results(found, *row) == results(text, *row), row


def test_the_last_test_of_a_flag_is_made() -> None:
    check_flattened(FLAG, (0,), (1,), (7,))


def test_a_test_may_be_what_a_branch_with_a_loop_gives() -> None:
    check_flattened(BRANCH, (0, 5), (7, 3), (9, 100))


class RandomNest:
    """Loops of a fuel, a number and a flag, with others in their tests and bodies and under conditions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        number = self._loop("%m", 0)
        constants = [f"%c{n} = arith.constant {n} : i32" for n in range(8)]
        lines = [*constants, "%true = arith.constant true", *self._lines, f"func.return {number} : i32"]
        return "\n".join(["func.func @f(%m : i32) -> i32 {", *lines, "}"])

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _add(self, operation: str) -> str:
        name = self._name()
        self._lines.append(f"{name} = arith.{operation}")
        return name

    def _step(self, number: str, depth: int) -> str:
        """Adds something that makes a number of a number."""
        kind = self._random.randrange(5) if depth < 3 else 0
        if kind == 1:
            return self._loop(number, depth)
        if kind >= 2:
            small = self._add(f"andi {number}, %c{self._random.choice((1, 2, 3))} : i32")
            condition, name = self._add(f"cmpi eq, {small}, %c1 : i32"), self._name()
            self._lines.append(f"{name} = scf.if {condition} -> (i32) {{")
            one = self._step(number, depth + 1)
            self._lines += [f"scf.yield {one} : i32", "} else {"]
            self._lines += [f"scf.yield {self._step(number, depth + 1)} : i32", "}"]
            return name
        factor = self._add(f"muli {number}, %c{self._random.choice((3, 5, 7))} : i32")
        return self._add(f"xori {factor}, %c{self._random.randrange(1, 8)} : i32")

    def _loop(self, number: str, depth: int) -> str:
        fuel, x, flag, name = self._name(), self._name(), self._name(), self._name()
        start = self._add(f"andi {number}, %c{self._random.choice((3, 7))} : i32")
        carried = f"{fuel} = {start}, {x} = {number}, {flag} = %true"
        self._lines.append(
            f"{name}, {self._name()} = scf.while ({carried}) : (i32, i32, i1) -> (i32, i32) {{"
        )
        tested = self._step(x, depth + 1)
        goes_on = self._add(f"cmpi sgt, {fuel}, %c0 : i32")
        odd = self._add(f"andi {tested}, %c1 : i32")
        both = self._add(f"andi {goes_on}, {self._add(f'cmpi eq, {odd}, %c1 : i32')} : i1")
        condition = self._random.choice((flag, flag, goes_on, both))
        passed = self._random.choice((tested, x))
        y, rest = self._name(), self._name()
        self._lines += [f"scf.condition({condition}) {passed}, {fuel} : i32, i32", "} do {"]
        self._lines.append(f"^bb{rest[1:]}({y} : i32, {rest} : i32):")
        following = self._step(self._step(y, depth + 1), depth + 1)
        left = self._add(f"subi {rest}, %c1 : i32")
        again = self._add(f"cmpi sgt, {left}, %c0 : i32")
        self._lines += [f"scf.yield {left}, {following}, {again} : i32, i32, i1", "}"]
        return name


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_give_what_they_gave(seed: int) -> None:
    text = RandomNest(seed).text()
    found = run(text, "flatten-nests")
    for argument in (0, 2, 7, 13):
        assert results(found, argument) == results(text, argument)


CARRIED_VIEW = """
        func.func @f(%n : i32, %a : memref<4xi32>) -> i32 {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          {}
          func.return %r : i32
        }}"""
VIEW_INSIDE = """
          %r = scf.for %i = %zero to %n step %one iter_args(%t = %zero) -> (i32) : i32 {
            %q = scf.while (%j = %t, %w = %a) : (i32, memref<4xi32>) -> (i32) {
              %c = arith.cmpi slt, %j, %i : i32
              scf.condition(%c) %j : i32
            } do {
            ^bb0(%k : i32):
              %k2 = arith.addi %k, %one : i32
              scf.yield %k2, %a : i32, memref<4xi32>
            }
            scf.yield %q : i32
          }"""
VIEW_OUTSIDE = """
          %r = scf.while (%j = %zero, %w = %a) : (i32, memref<4xi32>) -> (i32) {
            %c = arith.cmpi slt, %j, %n : i32
            scf.condition(%c) %j : i32
          } do {
          ^bb0(%k : i32):
            %q = scf.for %i = %zero to %n step %one iter_args(%t = %k) -> (i32) : i32 {
              %k2 = arith.addi %t, %one : i32
              scf.yield %k2 : i32
            }
            scf.yield %q, %a : i32, memref<4xi32>
          }"""


@pytest.mark.parametrize("nest", [VIEW_INSIDE, VIEW_OUTSIDE])
def test_nests_stay_whose_loops_carry_views(nest: str) -> None:
    found = run(CARRIED_VIEW.format(nest), "flatten-nests")
    assert found.count("scf.for") == found.count("scf.while") == 1


def test_a_single_loop_stays() -> None:
    once = run(NEST.format(between="", inside=""), "flatten-nests")
    assert run(once, "flatten-nests") == once


def test_a_flat_nest_is_unrolled_without_tests() -> None:
    text = NEST.format(between="", inside="").replace("attributes", "")
    kernel = text.replace("-> i32 {\n          %zero", "-> i32 attributes {gpu.kernel} {\n          %zero", 1)
    kernel = kernel.replace("-> i32 attributes", "attributes", 1).replace(
        "func.return %r : i32",
        """
          memref.store %r, %a[%at] : memref<?xi32>
          func.return""",
    )
    found = run(kernel, "limit-loops{cap=1000 level=2}")
    assert found.count("scf.while") == 1
    assert found.count("arith.muli") == 256
    assert "flattened" not in found
