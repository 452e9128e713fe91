"""Barriers at the end of rounds move to their begin only where one is saved and nobody waits for it."""

from __future__ import annotations

import re

import pytest

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.registry import parse_passes

CONTEXT = make_context()
SHARED = "memref<8xi32, #spirv.storage_class<Workgroup>>"
BARRIER = """"spirv.ControlBarrier"() <{execution_scope = #spirv.scope<Workgroup>,
  memory_scope = #spirv.scope<Workgroup>,
  memory_semantics = #spirv.memory_semantics<AcquireRelease|WorkgroupMemory>}> : () -> ()"""
KERNEL = f"""
func.func @k(%x : memref<?xi32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
  %s = memref.alloc() : {SHARED}
  %t = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %n = arith.constant 5 : i32
  memref.store %n, %s[%t] : {SHARED}
  {BARRIER}
  scf.for %k = %zero to %eight step %one {{
    %v = memref.load %s[%k] : {SHARED}
    {BARRIER}
    memref.store %v, %s[%t] : {SHARED}
    {BARRIER}
    %unused = arith.addi %k, %one : index
  }}
  memref.store %n, %x[%t] : memref<?xi32>
  func.return
}}"""
BEHIND = "memref.store %n, %x[%t] : memref<?xi32>"


def order(text: str, *, rotates: bool = True) -> list[str]:
    module = parse_module(text, context=CONTEXT).module
    if rotates:
        for step in parse_passes("rotate-barriers"):
            step.apply(CONTEXT, module)
    verify_module(module)
    return re.findall(r"ControlBarrier|gpu.barrier|scf.for|memref.load|memref.store", str(module))


@pytest.mark.parametrize("behind", [BEHIND, f"{BARRIER} memref.store %n, %s[%t] : {SHARED}"])
def test_one_barrier_is_saved(behind: str):
    text = KERNEL.replace(BEHIND, behind)
    assert order(text) == [
        *("memref.store", "scf.for", "ControlBarrier", "memref.load", "ControlBarrier", "memref.store"),
        *order(text, rotates=False)[7:],
    ]


WIDE = BARRIER.replace("AcquireRelease|WorkgroupMemory", "AcquireRelease|UniformMemory|WorkgroupMemory")
STAYS = {
    "an optimisation level of 0": KERNEL.replace("{gpu.kernel,", "{gpu.kernel, kernel.opt_level = 0 : i32,"),
    "shared memory behind": KERNEL.replace(BEHIND, f"memref.store %n, %s[%t] : {SHARED}"),
    "shared memory in a branch behind": KERNEL.replace(
        BEHIND, f"%c = arith.cmpi eq, %t, %zero : index scf.if %c {{ memref.store %n, %s[%t] : {SHARED} }}"
    ),
    "a loop behind": KERNEL.replace(BEHIND, "scf.for %j = %zero to %eight step %one { }"),
    "a store in front": KERNEL.replace("scf.for", "memref.store %n, %s[%zero] : " + SHARED + " scf.for"),
    "a load at the end": KERNEL.replace(
        "%unused = arith.addi %k, %one : index", f"%w = memref.load %s[%t] : {SHARED}"
    ),
    "barriers for buffers": KERNEL.replace(BARRIER, WIDE),
    "no kernel": KERNEL.replace("gpu.kernel, ", ""),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_others_stay(text: str):
    assert order(text) == order(text, rotates=False)
