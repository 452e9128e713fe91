"""Branches between blocks become structured control flow, whatever their order; what cannot be lifted is refused."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from lapilli.ir.context import make_context
from lapilli.ir.errors import BuildError
from lapilli.ir.parse import parse_module
from lapilli.passes.lift_cf_to_scf import lift_cf_to_scf
from lapilli.passes.registry import parse_passes

from .running import run

CASES: dict[str, tuple[str, str]] = {
    "a loop that is left in its first block": (
        """
          cf.br ^test(%a : i32)
        ^test(%i: i32):
          cf.cond_br %c, ^body, ^done
        ^body:
          %next = arith.addi %i, %b : i32
          cf.br ^test(%next : i32)
        ^done:
          func.return %i : i32
        """,
        """
        %0 = scf.while (%i = %a) : (i32) -> i32 {
          scf.condition(%c) %i : i32
        } do {
        ^bb0(%1: i32):
          %next = arith.addi %1, %b : i32
          scf.yield %next : i32
        }
        func.return %0 : i32
        """,
    ),
    "a loop that is left at its end, where the condition holds": (
        """
          cf.br ^body(%a : i32)
        ^body(%i: i32):
          %next = arith.addi %i, %b : i32
          cf.cond_br %c, ^done, ^body(%next : i32)
        ^done:
          func.return %next : i32
        """,
        """
        %0 = arith.constant true
        %1, %2 = scf.while (%i = %a) : (i32) -> (i32, i32) {
          %next = arith.addi %i, %b : i32
          %3 = arith.xori %c, %0 : i1
          scf.condition(%3) %next, %next : i32, i32
        } do {
        ^bb0(%4: i32, %5: i32):
          scf.yield %4 : i32
        }
        func.return %2 : i32
        """,
    ),
    "a loop that is left in its middle": (
        """
          cf.br ^one
        ^one:
          gpu.barrier
          cf.br ^two
        ^two:
          cf.cond_br %c, ^one, ^more
        ^more:
          %s = arith.addi %a, %b : i32
          cf.cond_br %c, ^one, ^done
        ^done:
          func.return %a : i32
        """,
        """
        %0 = arith.constant true
        %1 = arith.constant false
        scf.while () : () -> () {
          "gpu.barrier"() : () -> ()
          %2 = scf.if %c -> (i1) {
            scf.yield %0 : i1
          } else {
            %s = arith.addi %a, %b : i32
            %3 = scf.if %c -> (i1) {
              scf.yield %0 : i1
            } else {
              scf.yield %1 : i1
            }
            scf.yield %3 : i1
          }
          scf.condition(%2)
        } do {
          scf.yield
        }
        func.return %a : i32
        """,
    ),
    "two ways that meet": (
        """
          cf.cond_br %c, ^then, ^end(%a : i32)
        ^then:
          %s = arith.addi %a, %b : i32
          cf.br ^end(%s : i32)
        ^end(%r: i32):
          func.return %r : i32
        """,
        """
        %r = scf.if %c -> (i32) {
          %s = arith.addi %a, %b : i32
          scf.yield %s : i32
        } else {
          scf.yield %a : i32
        }
        func.return %r : i32
        """,
    ),
    "an early return": (
        """
          cf.cond_br %c, ^out, ^on
        ^out:
          func.return %a : i32
        ^on:
          gpu.barrier
          func.return %b : i32
        """,
        """
        %0 = scf.if %c -> (i32) {
          scf.yield %a : i32
        } else {
          "gpu.barrier"() : () -> ()
          scf.yield %b : i32
        }
        func.return %0 : i32
        """,
    ),
    "an arm that does nothing": (
        """
          cf.cond_br %c, ^end, ^on
        ^on:
          gpu.barrier
          cf.br ^end
        ^end:
          func.return %a : i32
        """,
        """
        %0 = arith.constant true
        %1 = arith.xori %c, %0 : i1
        scf.if %1 {
          "gpu.barrier"() : () -> ()
        }
        func.return %a : i32
        """,
    ),
    "cases of a switch": (
        """
          cf.switch %a : i32, [default: ^end(%a : i32), -7: ^end(%b : i32), 9: ^case]
        ^case:
          gpu.barrier
          cf.br ^end(%b : i32)
        ^end(%r: i32):
          func.return %r : i32
        """,
        """
        %0 = arith.index_cast %a : i32 to index
        %r = scf.index_switch %0 -> i32
        case -7 {
          scf.yield %b : i32
        }
        case 9 {
          "gpu.barrier"() : () -> ()
          scf.yield %b : i32
        }
        default {
          scf.yield %a : i32
        }
        func.return %r : i32
        """,
    ),
    "a block that two of three ways lead to": (
        """
          cf.cond_br %c, ^right, ^else
        ^right:
          cf.cond_br %c, ^end, ^else
        ^else:
          gpu.barrier
          cf.br ^end
        ^end:
          func.return %a : i32
        """,
        """
        %0 = arith.constant false
        %1 = arith.constant true
        %2 = scf.if %c -> (i1) {
          %3 = scf.if %c -> (i1) {
            scf.yield %0 : i1
          } else {
            scf.yield %1 : i1
          }
          scf.yield %3 : i1
        } else {
          scf.yield %1 : i1
        }
        scf.if %2 {
          "gpu.barrier"() : () -> ()
        }
        func.return %a : i32
        """,
    ),
}


def lifted(body: str, passes: str = "lift-cf-to-scf") -> str:
    text = f"func.func @f(%a: i32, %b: i32, %c: i1) -> i32 {{\n{body}\n}}"
    lines = run(text, passes).splitlines()[2:-2]
    return dedent("\n".join(lines))


@pytest.mark.parametrize("name", CASES)
def test_blocks_become(name: str):
    body, expected = CASES[name]
    assert lifted(body) == dedent(expected).strip()


def test_a_cycle_that_is_entered_twice_gets_a_multiplexer():
    text = lifted("""
          cf.cond_br %c, ^one(%a : i32), ^two
        ^one(%x: i32):
          %y = arith.addi %x, %a : i32
          cf.br ^two
        ^two:
          gpu.barrier
          cf.cond_br %c, ^one(%b : i32), ^end
        ^end:
          func.return %a : i32
    """)
    assert text.count("scf.while") == 1
    assert text.count("arith.addi") == text.count("gpu.barrier") == 1  # nothing is there twice


def test_a_loop_without_an_end_keeps_its_rounds():
    text = lifted("""
          cf.br ^round
        ^round:
          gpu.barrier
          cf.br ^round
    """)
    assert (
        text
        == dedent("""
        %0 = arith.constant true
        %1 = ub.poison : i32
        %2 = scf.while () : () -> i32 {
          "gpu.barrier"() : () -> ()
          scf.condition(%0) %1 : i32
        } do {
        ^bb0(%3: i32):
          scf.yield
        }
        func.return %2 : i32
    """).strip()
    )


def test_blocks_that_nothing_leads_to_go():
    text = lifted("""
          func.return %a : i32
        ^one(%x: i32):
          %y = arith.addi %x, %z : i32
          cf.br ^two
        ^two:
          %z = arith.addi %y, %y : i32
          cf.br ^one(%z : i32)
    """)
    assert text == "func.return %a : i32"


def test_regions_inside_of_others_are_lifted():
    text = lifted("""
          %r = scf.execute_region -> i32 {
            cf.cond_br %c, ^one, ^two
          ^one:
            scf.yield %a : i32
          ^two:
            scf.yield %b : i32
          }
          func.return %r : i32
    """)
    assert "^" not in text
    assert re.search(r"%1 = scf.if %c -> \(i32\) {", text) or "scf.if %c" in text


def test_a_value_of_a_round_that_may_not_have_computed_it():
    text = lifted("""
          cf.br ^head
        ^head:
          cf.cond_br %c, ^one, ^two
        ^one:
          %v = arith.addi %a, %b : i32
          cf.cond_br %c, ^head, ^end
        ^two:
          cf.br ^head
        ^end:
          func.return %v : i32
    """)
    assert "ub.poison : i32" in text
    assert re.search(r"func.return %\d+ : i32$", text)


REFUSED = {
    "what is passed on": (
        "cf.br ^end\n^end(%r: i32):\nfunc.return %r : i32",
        r"'cf.br' passes \(\) to a block that takes \(i32\)",
    ),
    "another operation": (
        "spirv.Branch ^one\n^one:\nfunc.return %a : i32",
        r"'spirv.Branch' leads to other blocks, expected cf.br, cf.cond_br or cf.switch",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str):
    body, message = REFUSED[name]
    context = make_context()
    module = parse_module(
        f"func.func @f(%a: i32, %b: i32, %c: i1) -> i32 {{\n{body}\n}}", context=context
    ).module
    with pytest.raises(BuildError, match=message):
        lift_cf_to_scf(module)


def test_too_many_branches_inside_each_other_are_refused():
    body = "".join(f"cf.cond_br %c, ^out, ^b{n}\n^b{n}:\ngpu.barrier\n" for n in range(200))
    module = parse_module(
        f"func.func @f(%c: i1) {{\n{body} cf.br ^out\n^out:\nfunc.return\n}}", context=make_context()
    ).module
    with pytest.raises(BuildError, match="more than 64 deep"):
        parse_passes("lift-cf-to-scf")[0].apply(make_context(), module)
