"""Checks that cannot be a work-item's first failure go; those that a loop meets first, and alike, leave it."""

from __future__ import annotations

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.optimise.pipeline import optimise

CONTEXT = make_context()


def _check(failed: str, name: str) -> str:
    return f'"kernel.check"({failed}) <{{kind = "assert", text = "{name}", dtypes = []}}> : (i1) -> ()'


def places(body: str) -> list[str]:
    """The names of the checks of a kernel in order, those inside of a loop with ``loop.`` in front."""
    parameters = ", ".join(f'{{name = "{name}", dtype = "i32"}}' for name in "abn")
    text = f"""
    func.func @k(%a : i32, %b : i32, %n : i32) attributes {{gpu.kernel,
        kernel.parameters = [{parameters}]}} {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %p = arith.cmpi uge, %a, %n : i32
      %q = arith.cmpi uge, %b, %n : i32
      {body}
      func.return
    }}"""
    module = parse_module(text, context=CONTEXT).module
    verify_module(module)
    optimise(module, 1)
    verify_module(module)
    return [
        ("loop." if op.parent_op().name == "scf.for" else "") + op.properties["text"].data
        for op in module.walk()
        if op.name == "kernel.check"
    ]


def _loop(*inside: str, end: str = "%n") -> str:
    return f"scf.for %k = %c0 to {end} step %c1 : i32 {{\n" + "\n".join(inside) + "\n}"


VARYING = "%v = arith.cmpi uge, %k, %a : i32\n" + _check("%v", "varying")
BOUNDED = "%u = arith.cmpi uge, %k, %n : i32\n" + _check("%u", "bounded")


def test_what_was_checked_before_is_not_checked_again() -> None:
    again = "%r = arith.cmpi uge, %a, %n : i32\n" + _check("%r", "again")
    assert places(_check("%p", "first") + "\n" + again + "\n" + _loop(_check("%p", "again"))) == ["first"]


def test_in_one_branch_is_not_before() -> None:
    branch = "scf.if %q {\n" + _check("%p", "inside") + "\n}"
    assert places(branch + "\n" + _check("%p", "behind")) == ["inside", "behind"]


def test_the_bounds_of_a_loop_prove_its_variable_in_range() -> None:
    assert places(_loop(BOUNDED)) == []
    assert places(_loop(BOUNDED, end="%b")) == ["loop.bounded"]


def test_checks_that_the_first_round_meets_first_leave_the_loop() -> None:
    assert places(_loop(_check("%p", "p"), BOUNDED, _check("%q", "q"), VARYING)) == ["p", "q", "loop.varying"]


def test_others_stay_in_their_order() -> None:
    assert places(_loop(VARYING, _check("%p", "p"))) == ["loop.varying", "loop.p"]
    line = '"kernel.print"() <{text = "x", dtypes = []}> : () -> ()'
    assert places(_loop(line, _check("%p", "p"))) == ["loop.p"]
    branch = "%w = arith.cmpi uge, %k, %b : i32\nscf.if %w {\n" + _check("%q", "q") + "\n}"
    assert places(_loop(branch, _check("%p", "p"))) == ["q", "loop.p"]
