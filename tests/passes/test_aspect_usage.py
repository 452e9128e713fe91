"""Why a kernel needs an aspect: the first place in its call graph, and the chain that leads there."""

from __future__ import annotations

from lapilli.ir.aspects import Aspect
from lapilli.ir.call_graph import function_name, functions
from lapilli.ir.dialects.kernel import Function
from lapilli.ir.errors import Location
from lapilli.ir.parse import parse_module
from lapilli.passes.aspect_usage import AspectUsage, kernel_aspects
from lapilli.passes.propagate_aspects import propagate


def function(text: str, name: str) -> Function:
    return next(f for f in functions(parse_module(text).module) if function_name(f) == name)


def test_the_first_use_in_the_call_graph_is_kept() -> None:
    text = """
    func.func @k(%x: f32) attributes {gpu.kernel} {
      %0 = func.call @deep(%x) : (f32) -> f32 loc("k.py":3:5)
      func.return
    }
    func.func private @deep(%x: f32) -> f32 {
      %0 = arith.extf %x : f32 to f64 loc("k.py":9:7)
      %1 = arith.truncf %0 : f64 to f32 loc("k.py":10:7)
      func.return %1 : f32
    }"""
    (use,) = kernel_aspects(function(text, "k"))
    assert use.aspect == Aspect.FP64
    assert use.location == Location("k.py", 9, 7, "deep")
    assert use.what == "f64 value"


def test_a_use_in_the_kernel_itself_comes_before_one_in_a_callee() -> None:
    text = """
    func.func @k() attributes {gpu.kernel} {
      func.call @f() : () -> () loc("k.py":1:1)
      %0 = "test.op"() : () -> f64 loc("k.py":2:1)
      func.return
    }
    func.func private @f() { %0 = "test.op"() : () -> f64 loc("k.py":7:1)  func.return }"""
    from xdsl.dialects.test import Test

    from lapilli.ir.context import make_context

    context = make_context()
    context.load_dialect(Test)
    (kernel, _) = functions(parse_module(text, context=context).module)
    (use,) = kernel_aspects(kernel)
    assert use.location == Location("k.py", 2, 1, "k")


def test_chains_follow_the_shortest_way_through_cycles() -> None:
    text = """
    func.func @k(%x: f32) attributes {gpu.kernel} {
      func.call @long(%x) : (f32) -> ()
      func.call @short(%x) : (f32) -> ()
      func.return
    }
    func.func private @long(%x: f32) {
      func.call @long(%x) : (f32) -> ()
      func.call @short(%x) : (f32) -> ()
      func.return
    }
    func.func private @short(%x: f32) {
      %0 = arith.extf %x : f32 to f64
      func.call @long(%x) : (f32) -> ()
      func.return
    }"""
    usage = AspectUsage.of(parse_module(text).module)
    calls, use = usage.chain(usage.graph.functions[0], Aspect.FP64)
    assert [function_name(call.callee) for call in calls] == ["short"]
    assert use.what == "f64 value"


def test_what_says_why() -> None:
    text = """
    module attributes {aspect.types_that_use_aspects = {Amx = [9 : i32]}} {
      func.func @k(%x: !spirv.struct<Amx, (f32)>, %i: i64, %a: memref<?xf16>, %n: index)
          attributes {gpu.kernel, aspect.declared = [1 : i32], aspect.used = [2 : i32, -7 : i32]} {
        %0 = memref.load %a[%n] : memref<?xf16>
        func.return
      }
    }"""
    uses = {use.aspect: use.what for use in kernel_aspects(function(text, "k"))}
    assert uses == {
        1: "declared with device_has",
        2: "declared with uses_aspects",
        5: "f16 value",
        9: "value of type 'Amx'",
        Aspect.VK_INT64: "64-bit integer",
        Aspect.VK_STORAGE_16BIT: "array of 16-bit elements",
    }


def test_reasons_stay_after_the_pass_has_saved_what_it_found() -> None:
    text = """
    func.func @k(%x: f32) attributes {gpu.kernel} { func.call @f(%x) : (f32) -> ()  func.return }
    func.func private @f(%x: f32) { %0 = arith.extf %x : f32 to f64 loc("k.py":9:7)  func.return }"""
    module = parse_module(text).module
    propagate(module)
    (use,) = AspectUsage.of(module).kernel_aspects(next(functions(module)))
    assert use.location == Location("k.py", 9, 7, "f")


def test_a_kernel_without_optional_features_needs_nothing() -> None:
    text = "func.func @k(%a: memref<?xf64>, %x: f32) attributes {gpu.kernel} { func.return }"
    assert kernel_aspects(function(text, "k")) == ()
