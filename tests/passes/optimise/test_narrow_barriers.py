"""Barriers order buffers only where work-items exchange something through them."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.optimise.narrow_barriers import narrow_barriers

CONTEXT = make_context()
SHARED = "memref<4xf32, #spirv.storage_class<Workgroup>>"
ARRAY = "memref<?xf32>"
READ_A = f"%v = memref.load %a[%i] : {ARRAY}"
READ_B = f"%w = memref.load %b[%i] : {ARRAY}"
WRITE_B = f"memref.store %f, %b[%i] : {ARRAY}"
BARRIER = '"gpu.barrier"() : () -> ()'
GROUP_BARRIER = """"spirv.ControlBarrier"() <{execution_scope = #spirv.scope<Workgroup>,
  memory_scope = #spirv.scope<Workgroup>,
  memory_semantics = #spirv.memory_semantics<AcquireRelease|UniformMemory|WorkgroupMemory>}> : () -> ()"""
FENCE = """"spirv.MemoryBarrier"() <{memory_scope = #spirv.scope<Device>,
  memory_semantics = #spirv.memory_semantics<AcquireRelease|UniformMemory>}> : () -> ()"""
ATOMIC = f""""kernel.atomic_rmw"(%f, %b, %i) <{{kind = "exchange", order = "ORDER", scope = "device"}}>
  : (f32, {ARRAY}, index) -> f32"""


def barriers(body: str, a: str, b: str, helpers: str = "") -> list[str]:
    """The barriers of a kernel with two arrays, each ``all`` or ``shared`` by the memory that it orders."""

    def parameter(name: str, kind: str) -> str:
        alias = ", may_alias" if kind.endswith("alias") else ""
        return f'{{name = "{name}", dtype = "f32", ndim = 1 : i32, access = "{kind.split()[0]}"{alias}}}'

    text = f"""
    func.func @k(%a : {ARRAY}, %b : {ARRAY}) attributes {{gpu.kernel,
        kernel.parameters = [{parameter("a", a)}, {parameter("b", b)}]}} {{
      %i = gpu.global_id x
      %f = arith.constant 1.0 : f32
      %c = arith.constant true
      %s = memref.alloc() : {SHARED}
      {body}
      func.return
    }}
    {helpers}"""
    module = parse_module(text, context=CONTEXT).module
    verify_module(module)
    for function in module.ops:
        narrow_barriers(function)
    verify_module(module)
    found = []
    for op in module.walk():
        if op.name == "gpu.barrier":
            found.append("all")
        elif op.name == "spirv.ControlBarrier":
            found.append("all" if "UniformMemory" in str(op) else "shared")
    return found


LOOP = """%n = arith.constant 4 : index
  scf.for %k = %i to %n step %n {{
  {0}
  }}"""
CASES = {
    "nothing is exchanged": (f"{READ_A}\n{BARRIER}\n{WRITE_B}", "read", "write", ["shared"]),
    "barriers of lp.group": (f"{READ_A}\n{GROUP_BARRIER}\n{WRITE_B}", "read", "write", ["shared"]),
    "no array at all": (BARRIER, "read", "write", ["shared"]),
    "written, then read": (f"{WRITE_B}\n{BARRIER}\n{READ_B}", "read", "read_write", ["all"]),
    "read, then written": (f"{READ_B}\n{BARRIER}\n{WRITE_B}", "read", "read_write", ["all"]),
    "written twice": (f"{WRITE_B}\n{BARRIER}\n{WRITE_B}", "read", "write", ["all"]),
    "only before": (f"{WRITE_B}\n{READ_B}\n{BARRIER}", "read", "read_write", ["shared"]),
    "only after": (f"{BARRIER}\n{WRITE_B}\n{READ_B}", "read", "read_write", ["shared"]),
    "perhaps the same memory": (f"{READ_A}\n{BARRIER}\n{WRITE_B}", "read alias", "read_write", ["all"]),
    "never the same memory": (f"{READ_A}\n{BARRIER}\n{WRITE_B}", "read", "read_write", ["shared"]),
    "two of three": (f"{BARRIER}\n{WRITE_B}\n{BARRIER}\n{READ_B}", "read", "read_write", ["shared", "all"]),
    "a loop goes round": (
        LOOP.format(f"{READ_B}\n{BARRIER}") + f"\n{WRITE_B}",
        "read",
        "read_write",
        ["all"],
    ),
    "the write is in the loop, too": (
        LOOP.format(f"{BARRIER}\n{WRITE_B}"),
        "read",
        "write",
        ["all"],
    ),
    "the loop only reads": (
        LOOP.format(f"{READ_A}\n{BARRIER}") + f"\n{WRITE_B}",
        "read",
        "write",
        ["shared"],
    ),
    "under a condition": (
        f"scf.if %c {{\n{WRITE_B}\n}}\n{BARRIER}\n{READ_B}",
        "read",
        "read_write",
        ["all"],
    ),
    "a fence": (f"{READ_A}\n{BARRIER}\n{FENCE}\n{WRITE_B}", "read", "write", ["all"]),
    "an atomic": (f"{BARRIER}\n%o = {ATOMIC.replace('ORDER', 'relaxed')}", "read", "read_write", ["shared"]),
    "atomics on both sides": (
        f"{WRITE_B}\n{BARRIER}\n%o = {ATOMIC.replace('ORDER', 'relaxed')}",
        "read",
        "read_write",
        ["all"],
    ),
    "an atomic that publishes": (
        f"{BARRIER}\n%o = {ATOMIC.replace('ORDER', 'release')}",
        "read",
        "read_write",
        ["all"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_barriers(case: str) -> None:
    body, a, b, expected = CASES[case]
    assert barriers(body, a, b) == expected


CALL = f"func.call @f(%b, %i, %f) : ({ARRAY}, index, f32) -> ()"
HELPERS = {
    "stores": (WRITE_B, ["shared"]),
    "counts": (f"%o = {ATOMIC.replace('ORDER', 'relaxed')}", ["shared"]),
    "publishes": (f"%o = {ATOMIC.replace('ORDER', 'release')}", ["all"]),
    "fences": (FENCE, ["all"]),
}


@pytest.mark.parametrize("case", HELPERS)
def test_what_helpers_order_is_seen(case: str) -> None:
    body, expected = HELPERS[case]
    arguments = f"%b : {ARRAY}, %i : index, %f : f32"
    inner = f"func.func @g({arguments}) {{\n{body}\nfunc.return\n}}"
    outer = f"func.func @f({arguments}) {{\n{CALL.replace('@f', '@g')}\nfunc.return\n}}"
    assert barriers(f"{READ_A}\n{BARRIER}\n{CALL}", "read", "write", f"{inner}\n{outer}") == expected


def test_functions_of_elsewhere_may_order_anything() -> None:
    outside = f"func.func private @f({ARRAY}, index, f32)"
    assert barriers(f"{BARRIER}\n{CALL}", "read", "write", outside) == ["all"]


def test_helpers_keep_theirs() -> None:
    text = f"func.func @f(%a : {ARRAY}) {{\n{BARRIER}\nfunc.return\n}}"
    module = parse_module(text, context=CONTEXT).module
    for function in module.ops:
        narrow_barriers(function)
    assert '"gpu.barrier"' in str(module) or "gpu.barrier" in str(module)


@lp.kernel(local_size=64)
def reversed_groups(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    part = lp.local.array(64, lp.f32)
    t = lp.local_id(0)
    part[t] = x[lp.global_id(0)]
    lp.barrier()
    out[lp.global_id(0)] = part[63 - t]


@lp.kernel(local_size=64)
def reversed_in_place(x: lp.Array[lp.f32]):
    i, t = lp.global_id(0), lp.local_id(0)
    x[i] = x[i] + 1.0
    lp.barrier()
    other = x[i - t + 63 - t]
    lp.barrier()
    x[i] = other


@pytest.mark.device
def test_kernels(device: lp.Device) -> None:
    assert "AcquireRelease|WorkgroupMemory>" in reversed_groups.inspect("spirv-dialect")
    assert "UniformMemory" not in reversed_groups.inspect("spirv-dialect")
    assert reversed_in_place.inspect("spirv-dialect").count("UniformMemory") == 2
    host = np.arange(256, dtype=np.float32)
    x, out = lp.asarray(host, device=device), lp.zeros(256, device=device)
    reversed_groups[256](x, out)
    assert np.array_equal(out.numpy(), host.reshape(4, 64)[:, ::-1].ravel())
    reversed_in_place[256](x)
    assert np.array_equal(x.numpy(), (host + 1).reshape(4, 64)[:, ::-1].ravel())
