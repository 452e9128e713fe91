"""Loads of shared memory are never merged over a barrier, an atomic or a fence."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from lapilli.ir.context import make_context
from lapilli.passes.optimise.pipeline import optimise

SPACE = "memref<4xi32, #spirv.storage_class<Workgroup>>"
BETWEEN = {
    "nothing": "",
    "barrier": '"gpu.barrier"() : () -> ()',
    "atomic": f"""%old = "kernel.atomic_rmw"(%a, %s, %zero) <{{kind = "add", order = "relaxed",
        scope = "work_group"}}> : (i32, {SPACE}, index) -> i32""",
    "fence": """"spirv.MemoryBarrier"() <{memory_scope = #spirv.scope<Workgroup>,
        memory_semantics = #spirv.memory_semantics<AcquireRelease|WorkgroupMemory>}> : () -> ()""",
}


@pytest.mark.parametrize(("between", "loads"), [("nothing", 1), ("barrier", 2), ("atomic", 2), ("fence", 2)])
def test_second_load(between: str, loads: int) -> None:
    text = f"""
func.func @k(%x: memref<?xi32>) attributes {{gpu.kernel}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = memref.alloc() : {SPACE}
  %a = memref.load %s[%zero] : {SPACE}
  {BETWEEN[between]}
  %b = memref.load %s[%zero] : {SPACE}
  memref.store %a, %x[%zero] : memref<?xi32>
  memref.store %b, %x[%one] : memref<?xi32>
  func.return
}}
"""
    module = Parser(make_context(), text).parse_module()
    optimise(module, 2)
    assert loads == sum(op.name == "memref.load" for op in module.walk())
