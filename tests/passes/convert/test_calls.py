"""Calls: real functions where SPIR-V has them, bodies in place where it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.passes.errors import PassError

Fixture = Callable[..., Any]

KERNEL = """
func.func @k(%x : memref<?x?xf32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
  %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  {body}
  func.return
}}"""


def test_helpers_of_scalars_are_functions_and_lowered_once(lower: Fixture) -> None:
    body = """
      %a = memref.load %x[%i, %i] : memref<?x?xf32>
      %b = func.call @square(%a) : (f32) -> f32
      %c = func.call @square(%b) : (f32) -> f32
      memref.store %c, %x[%i, %i] : memref<?x?xf32>"""
    helper = """
    func.func private @square(%v : f32) -> f32 {
      %w = arith.mulf %v, %v : f32
      func.return %w : f32
    }"""
    lowered = lower(helper + KERNEL.format(body=body))
    assert lowered.names().count("FunctionCall") == 2
    assert lowered.text.count('"spirv.func"') + lowered.text.count("spirv.func ") == 2


def test_arrays_and_ids_are_inlined_with_the_arguments_of_each_call(lower: Fixture) -> None:
    body = """
      %two = arith.constant 2 : index
      %a = func.call @pick(%x, %i) : (memref<?x?xf32>, index) -> f32
      %b = func.call @pick(%x, %two) : (memref<?x?xf32>, index) -> f32
      %c = arith.addf %a, %b : f32
      memref.store %c, %x[%i, %two] : memref<?x?xf32>"""
    helper = """
    func.func private @pick(%y : memref<?x?xf32>, %j : index) -> f32 {
      %l = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %v = memref.load %y[%j, %l] : memref<?x?xf32>
      func.return %v : f32
    }"""
    lowered = lower(helper + KERNEL.format(body=body))
    assert "FunctionCall" not in lowered.names()
    rows = [
        op
        for op in lowered.module.walk()
        if op.name == "spirv.IMul" and op.operands[1].owner.name == "spirv.Load"
    ]
    first, second, stored = rows
    assert first.operands[0] is stored.operands[0] is not second.operands[0]
    assert first.operands[1] is second.operands[1] is stored.operands[1]


def test_several_results_are_inlined(lower: Fixture) -> None:
    body = """
      %a = memref.load %x[%i, %i] : memref<?x?xf32>
      %b:2 = func.call @both(%a) : (f32) -> (f32, f32)
      memref.store %b#1, %x[%i, %i] : memref<?x?xf32>"""
    helper = """
    func.func private @both(%v : f32) -> (f32, f32) {
      %w = arith.negf %v : f32
      func.return %v, %w : f32, f32
    }"""
    assert "FNegate" in lower(helper + KERNEL.format(body=body)).names()


@pytest.mark.parametrize(
    ("helper", "message"),
    [
        ("func.func private @f(%x : f32) -> f32", "@f, which is declared but not defined here"),
        (
            "func.func private @f(%x : f32) -> f32 {\n"
            "%y = func.call @f(%x) : (f32) -> f32\nfunc.return %y : f32 }",
            "@f calls itself; kernels have no recursion",
        ),
        (
            """
            func.func private @g(%x : f32) -> f32 { %y = func.call @f(%x) : (f32) -> f32\nfunc.return %y :
            f32 } func.func private @f(%x : f32) -> f32 { %y = func.call @g(%x) : (f32) -> f32\nfunc.return
            %y : f32 }
            """,
            "@f calls itself",
        ),
    ],
)
def test_calls_that_cannot_be(lower: Fixture, helper: str, message: str) -> None:
    body = "%a = arith.constant 1.0 : f32\n%b = func.call @f(%a) : (f32) -> f32"
    with pytest.raises(PassError, match=message):
        lower(helper + KERNEL.format(body=body))


def test_results_of_kernels_are_refused(lower: Fixture) -> None:
    with pytest.raises(PassError, match="kernel 'k' returns a value"):
        lower("func.func @k(%x : f32) -> f32 attributes {gpu.kernel} { func.return %x : f32 }")


def test_contraction_is_forbidden_where_the_kernel_says_so(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %a = memref.load %x[%i] : memref<?xf32>
      %b = arith.mulf %a, %a : f32
      %c = arith.addf %b, %a : f32
      %d = arith.divf %c, %a : f32
      memref.store %d, %x[%i] : memref<?xf32>"""
    plain = lower(kernel(body, "%x : memref<?xf32>"))
    strict = lower(kernel(body, "%x : memref<?xf32>", ", kernel.no_contraction"))
    marked = [op.name for op in strict.module.walk() if "no_contraction" in op.attributes]
    assert marked == ["spirv.FMul", "spirv.FAdd", "spirv.FDiv"]
    marked = [op.name for op in plain.module.walk() if "no_contraction" in op.attributes]
    assert marked == ["spirv.FDiv"]  # which drivers would regroup


def test_what_need_not_be_fused_is_not_regrouped(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %a = memref.load %x[%i] : memref<?xf32>
      %large = arith.constant 1.0e30 : f32
      %b = arith.mulf %a, %large : f32
      %b2 = arith.mulf %b, %a : f32
      %c = arith.mulf %b2, %a : f32
      %d = arith.addf %c, %a : f32
      %e = arith.subf %d, %a : f32
      memref.store %e, %x[%i] : memref<?xf32>"""
    lowered = lower(kernel(body, "%x : memref<?xf32>"))
    found = [op for op in lowered.module.walk() if op.name in ("spirv.FMul", "spirv.FAdd", "spirv.FSub")]
    assert ["no_contraction" in op.attributes for op in found] == [True, False, False, False, True]
