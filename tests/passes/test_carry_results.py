"""What a loop's test has read leaves the loop as a carried value; loops whose tests read nothing stay as they are."""

from __future__ import annotations

from xdsl.dialects import scf

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.registry import parse_passes

CONTEXT = make_context()
KERNEL = """
func.func @k(%x : memref<?xi32>, %i : index) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
  %one = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %n, %v, %seen, %o = scf.while (%k = %i) : (index) -> (index, i32, i1, i32) {{
    {value}
    %t = arith.cmpi sle, %a, %five : i32
    scf.condition(%t) %k, %a, %t, %five : index, i32, i1, i32
  }} do {{
  ^bb0(%k : index, %a : i32, %t : i1, %f : i32):
    %m = arith.addi %k, %one : index
    memref.store %a, %x[%m] : memref<?xi32>
    scf.yield %m : index
  }}
  %w = arith.addi %v, %o : i32
  memref.store %w, %x[%n] : memref<?xi32>
  func.return
}}"""


def loop_after(value: str) -> scf.WhileOp:
    module = parse_module(KERNEL.format(value=value), context=CONTEXT).module
    for step in parse_passes("carry-results"):
        step.apply(CONTEXT, module)
    verify_module(module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.WhileOp))
    return loop


def names(loop: scf.WhileOp, index: int) -> list[str]:
    return [op.name for op in loop.regions[index].block.ops]


def test_what_is_read_is_carried_behind_a_flag() -> None:
    loop = loop_after("%a = memref.load %x[%k] : memref<?xi32>")
    assert names(loop, 0) == ["scf.condition"]
    assert names(loop, 1) == ["memref.load", "arith.cmpi", "scf.if", "scf.yield"]
    position, value, flag = loop.results  # of four; the fourth is from outside, nobody uses the third
    assert [use.operation.name for use in value.uses] == ["arith.addi"]
    assert [use.operation.name for use in position.uses] == ["memref.store"]
    assert not flag.uses.get_length()
    assert (
        names(loop, 1)[-1] == "scf.yield"
        and loop.after_region.block.last_op.operands[1].owner.name == "memref.load"
    )


def test_what_is_computed_from_carried_values_stays() -> None:
    loop = loop_after("%a = arith.index_cast %k : index to i32")
    assert names(loop, 0) == ["arith.index_cast", "arith.cmpi", "scf.condition"]
    assert len(loop.results) == 4
