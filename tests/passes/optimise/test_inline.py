"""What the pass `inline` puts in the place of calls, and what it leaves alone."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.aspects import Aspect
from lapilli.ir.call_graph import functions
from lapilli.ir.location import location_of
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.walk import operations
from lapilli.passes.pipeline import analyse

KERNEL = """func.func @k(%x: memref<?xf32>) attributes {gpu.kernel} {
  %i = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<?xf32>
  %w = func.call @f(%v) : (f32) -> f32
  memref.store %w, %x[%i] : memref<?xf32>
  func.return
}
"""
SHORT = "%d = arith.addf %v, %v : f32 func.return %d : f32"
PRODUCTS = " ".join(f"%d{k + 1} = arith.mulf %d{k}, %v : f32" for k in range(50))
LONG = f"%d0 = arith.addf %v, %v : f32 {PRODUCTS} func.return %d50 : f32"


def function(body: str, attributes: str = "") -> str:
    return f"func.func private @f(%v: f32) -> f32 {attributes} {{ {body} }}\n"


@pytest.mark.parametrize("body", [SHORT, LONG])
def test_the_body_takes_the_place_of_a_call(after, body):
    text = after("inline", KERNEL + function(body))
    assert "func.call" not in text and "@f" not in text
    assert text.index("memref.load") < text.index("arith.addf") < text.index("memref.store")


def test_long_functions_that_are_called_twice_stay(after):
    again = "%z = func.call @f(%w) : (f32) -> f32\n  memref.store %z"
    assert after("inline", KERNEL.replace("memref.store %w", again) + function(LONG)).count("func.call") == 2
    assert "func.call" not in after("inline", KERNEL.replace("memref.store %w", again) + function(SHORT))


def test_functions_of_functions_are_inlined_into_them_first(after):
    inner = SHORT.replace("%d = arith.addf", "%e = func.call @g(%v) : (f32) -> f32 %d = arith.addf")
    text = after("inline", KERNEL + function(inner) + function(SHORT).replace("@f", "@g"))
    assert "func.call" not in text and text.count("arith.addf") == 2


@pytest.mark.parametrize(
    "attributes",
    [
        "attributes {kernel.no_contraction}",
        "attributes {kernel.opt_level = 0 : i32}",
        "attributes {kernel.uniform_results}",
        "attributes {kernel.library}",
        'attributes {aspect.unit = "another"}',
        "attributes {aspect.reqd_sub_group_size = 16 : i32}",
    ],
)
def test_functions_with_rules_of_their_own_stay(after, attributes):
    assert "func.call @f" in after("inline", KERNEL + function(SHORT, attributes))


def test_a_sub_group_size_stays_where_the_caller_does_not_require_it(after):
    sized = function(SHORT, "attributes {aspect.reqd_sub_group_size = 16 : i32}")
    kernel = "{gpu.kernel, aspect.reqd_sub_group_size = %s}"
    assert "func.call" not in after("inline", KERNEL.replace("{gpu.kernel}", kernel % "16 : i32") + sized)
    assert "func.call @f" in after("inline", KERNEL.replace("{gpu.kernel}", kernel % "8 : i32") + sized)
    named = function(SHORT, 'attributes {aspect.reqd_sub_group_size = "primary"}')
    assert "func.call" not in after("inline", KERNEL + named)


def test_exports_and_declarations_stay(after):
    exported = function(SHORT, "attributes {aspect.external}").replace("private ", "")
    assert "func.call @f" in after("inline", KERNEL + exported)
    declared = "func.func private @f(f32) -> f32 attributes {aspect.external}"
    assert "func.call @f" in after("inline", KERNEL + declared)


def test_functions_that_call_themselves_stay(after):
    again = SHORT.replace("arith.addf %v, %v", "func.call @f(%v)").replace(
        ": f32 func", ": (f32) -> f32 func"
    )
    assert after("inline", KERNEL + function(again)).count("func.call @f") == 2


def add_twice(v, w):
    return v + w + w


@lp.kernel
def calls(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = add_twice(x[i], 2.0)


def analysed(kernel: KernelFunction, **env: object):
    (image,) = analyse_kernels([kernel], TargetEnv(**env)).images  # pyright: ignore[reportArgumentType]
    return image


def test_it_is_part_of_the_pipeline_and_can_be_switched_off():
    assert "func.call" not in str(analysed(calls).module)
    assert "func.call" in str(analysed(calls, disabled_passes=("inline",)).module)
    assert "func.call" in str(analysed(calls, optimisation_level=0).module)
    assert "func.call" in str(analysed(calls, checks="debug").module)


def test_operations_keep_their_lines():
    (kernel,) = functions(analysed(calls).module)
    lines = {location.line for op in operations(kernel.body) if (location := location_of(op.location))}
    assert add_twice.__code__.co_firstlineno + 1 in lines


def wide(v):
    return lp.f32(lp.f64(v) * lp.f64(0.1))


@lp.kernel
def needs_doubles(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = wide(x[i])


def test_what_a_helper_needs_is_needed_still():
    image = analysed(needs_doubles)
    assert image.requirements.aspects == (Aspect.FP64,)
    (use,) = image.aspect_uses["needs_doubles"]
    assert use.location is not None and use.location.line == wide.__code__.co_firstlineno + 1


USED = """func.func @k() attributes {gpu.kernel} { func.call @f() : () -> () func.return }
func.func private @f() attributes {aspect.used = [1 : i32]} { func.return }"""


def test_what_is_attached_to_a_helper_goes_to_its_caller(after):
    text = after("inline", USED)
    assert "@f" not in text and "aspect.used = [1 : i32]" in text
    (image,) = analyse(parse_module(USED).module, TargetEnv()).images
    assert image.requirements.aspects == (1,)


def test_what_nothing_needs_goes_with_its_memory(optimised):
    text = """func.func @k(%i: index) attributes {gpu.kernel} {
      %a = memref.alloca() : memref<4xf32>
      %c = arith.constant 1.0 : f32
      memref.store %c, %a[%i] : memref<4xf32>
      %v = memref.load %a[%i] : memref<4xf32>
      %w = arith.addf %v, %v : f32
      func.return
    }"""
    assert "alloca" not in optimised(text) and "store" not in optimised(text)
    kept = text.replace("func.return", "gpu.barrier func.return").replace(
        "%a = memref.alloca", "%a = memref.alloc"
    )
    assert "store" in optimised(kept)
