"""round-agreements: which agreements go, and which are needed."""

from __future__ import annotations

from itertools import count

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.limit_loops import limit_loops

HEAD = """
    func.func @leaf(%v: i32) -> i32 { func.return %v : i32 }
    func.func @counts(%v: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      scf.for %x = %zero to %v step %one : i32 { %w = arith.addi %x, %x : i32 }
      func.return %v : i32
    }
"""
PARAMETERS = """kernel.parameters = [{name = "n", dtype = "i32"},
    {name = "r", dtype = "i32", ndim = 1 : i32, access = "read"},
    {name = "a", dtype = "i32", ndim = 1 : i32, access = "read_write"}]"""
STORE = "memref.store %n, %a[%i] : memref<?xi32>"


def agreements(body: str) -> int:
    """Returns how many agreements of a kernel remain."""
    return counted(body).count("agree_on_rounds")


def counted(body: str) -> str:
    text = f"""{HEAD}
    func.func @k(%n: i32, %r: memref<?xi32>, %a: memref<?xi32>)
        attributes {{gpu.kernel, kernel.rank = 1 : i32, {PARAMETERS}}} {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %first = arith.constant 0 : index
      %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
      %group = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
      %mine = arith.index_cast %i : index to i32
      %ours = arith.index_cast %group : index to i32
      %odd = arith.trunci %mine : i32 to i1
      {body}
      func.return
    }}"""
    module = parse_module(text).module
    verify_module(module)
    limit_loops(module, 1000)
    verify_module(module)
    return str(module).split("@k", 1)[1]


NUMBERS = count()


def loop(end: str, body: str = STORE) -> str:
    return f"scf.for %x{next(NUMBERS)} = %zero to {end} step %one : i32 {{ {body} }}\n"


BEHIND = loop("%n")
"""A loop that counts from what the work-items know."""


@pytest.mark.parametrize("end", ["%n", "%ours"])
def test_loops_that_all_leave_together_need_none(end: str) -> None:
    assert agreements(loop(end) + BEHIND) == 0
    assert agreements(loop("%n", loop(end) + BEHIND)) == 0
    assert agreements(f"scf.if %odd {{ {loop('%n', loop(end))} }}") == 0


def test_work_items_agree_behind_loops_that_they_leave_one_by_one() -> None:
    assert agreements(loop("%mine") + BEHIND) == 1
    assert agreements(loop("%n", loop("%mine"))) == 1


def test_nobody_agrees_where_no_loop_follows() -> None:
    assert agreements(loop("%mine")) == 0
    assert agreements(f"scf.if %odd {{ {loop('%mine')} }} {STORE}") == 0
    assert "rounds = 1" not in counted(f"scf.if %odd {{ {loop('%mine')} }} {STORE}")


def test_calls_of_functions_with_loops_follow() -> None:
    assert agreements(f"{loop('%mine')} %c = func.call @leaf(%n) : (i32) -> i32") == 0
    assert agreements(f"{loop('%mine')} %c = func.call @counts(%n) : (i32) -> i32") == 1


def test_both_arms_of_a_branch_follow_each_other() -> None:
    """They run one after the other, and agree between them in the lowering: what the first one counts last matters."""
    both = f"scf.if %odd {{ {loop('%mine')} }} else {{ {loop('%mine')} }}"
    first, second = counted(both).split("} else {")
    assert first.count("count_rounds") == 2
    assert second.count("count_rounds") == 1


def test_a_branch_that_work_items_disagree_about_is_agreed_on() -> None:
    assert agreements(f"scf.if %odd {{ {loop('%n')} }} {BEHIND}") == 1


@pytest.mark.parametrize(
    ("array", "place", "is_uniform"),
    [("%r", "%first", True), ("%r", "%i", False), ("%a", "%first", False)],
)
def test_ends_that_are_loaded(array: str, place: str, *, is_uniform: bool) -> None:
    load = f"%e = memref.load {array}[{place}] : memref<?xi32>"
    assert agreements(load + loop("%e") + BEHIND) == (0 if is_uniform else 1)


WHILE = """%given = scf.while (%w = %zero) : (i32) -> i32 {{
        %c = arith.cmpi {test} : i32
        scf.condition(%c) %w : i32
      }} do {{
      ^bb0(%y: i32):
        %z = arith.muli %y, {factor} : i32
        scf.yield %z : i32
      }}
      """


@pytest.mark.parametrize(
    ("test", "factor", "is_uniform"),
    [("slt, %w, %n", "%n", True), ("slt, %w, %mine", "%n", False), ("slt, %w, %n", "%mine", False)],
)
def test_loops_that_test(test: str, factor: str, *, is_uniform: bool) -> None:
    assert agreements(WHILE.format(test=test, factor=factor) + BEHIND) == (0 if is_uniform else 1)


def test_what_a_loop_gives_that_is_left_one_by_one_is_not_uniform() -> None:
    """It is in each of its rounds, but the rounds of those who are behind it differ."""
    given = WHILE.format(test="slt, %w, %mine", factor="%n")
    assert agreements(given + loop("%given") + BEHIND) == 2
    inside = given.replace("%z = ", loop("%y") + "%z = ")
    assert agreements(inside) == 0


def test_what_branches_give_that_work_items_disagree_about_is_not_uniform() -> None:
    chosen = "%v = scf.if %odd -> (i32) { scf.yield %one : i32 } else { scf.yield %n : i32 }"
    assert agreements(chosen + loop("%v") + BEHIND) == 1
    same = chosen.replace("%odd", "%known")
    assert agreements("%known = arith.trunci %n : i32 to i1\n" + same + loop("%v") + BEHIND) == 0
