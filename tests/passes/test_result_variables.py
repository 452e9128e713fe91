"""Arrays that branches and loops give lie in the variable that they are read from: no copies between variables."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp

Four = lp.FixedArray[lp.f32, 4]


@lp.kernel
def chosen(a: lp.In[Four], k: lp.In[lp.i32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    v = a[i]
    if k[i] > 2:
        if k[i] > 5:
            if k[i] > 6:
                v = v + v
            else:
                v = v * 3.0
        else:
            v = -v
            for _ in range(k[i]):
                v = v + a[i] if k[i] > 3 else v * 2.0
    out[i] = v[k[i] % 4] + v[(k[i] + 1) % 4] * 10.0


def chosen_in_python(v: np.ndarray, k: int) -> float:
    first = v
    if k > 6:
        v = v + v
    elif k > 5:
        v = v * 3
    elif k > 2:
        v = -v
        for _ in range(k):
            v = v + first if k > 3 else v * 2
    return v[k % 4] + v[(k + 1) % 4] * 10


def copies(text: str) -> int:
    """Returns how many whole arrays are loaded and stored again."""
    (array,) = re.findall(r"(%\w+) = OpTypeArray %float %uint_4", text)
    loaded = re.findall(rf"(%\w+) = OpLoad {array} ", text)
    return sum(len(re.findall(rf"OpStore %\w+ {re.escape(value)}\n", text)) for value in loaded)


def test_no_array_is_copied_from_variable_to_variable() -> None:
    text = chosen.inspect("spirv")
    assert "OpAccessChain %_ptr_Function_float" in text
    assert copies(text) == 0


@pytest.mark.device
@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_arrays_are_right(device: lp.Device, level: int) -> None:
    values = np.arange(64, dtype=np.float32).reshape(16, 4)
    counts = np.arange(16, dtype=np.int32) % 9
    out = lp.zeros(16, lp.f32, device=device)
    kernel = lp.kernel(opt_level=level)(chosen.function)
    kernel[16](lp.asarray(values, lp.f32x4, device=device), lp.asarray(counts, device=device), out)
    expected = [chosen_in_python(v, int(k)) for v, k in zip(values, counts, strict=True)]
    np.testing.assert_array_equal(out.numpy(), expected)


KEPT = """
!two = !spirv.array<2 x f32>
!place = !spirv.ptr<!two, Function>
func.func @k(%n: i32, %out: memref<?xf32>) attributes {gpu.kernel, kernel.rank = 1 : i32, kernel.parameters = [
    {name = "n", dtype = "i32"}, {name = "out", dtype = "f32", ndim = 1 : i32, access = "write"}]} {
  %held = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !place
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %none = arith.constant 0.0 : f32
  scf.for %round = %zero to %n step %one : i32 {
    %number = arith.sitofp %round : i32 to f32
    %is_odd = arith.trunci %round : i32 to i1
    %made = scf.if %is_odd -> (!two) {
      %a = "spirv.CompositeConstruct"(%number, %none) : (f32, f32) -> !two
      scf.yield %a : !two
    } else {
      %b = "spirv.CompositeConstruct"(%none, %number) : (f32, f32) -> !two
      scf.yield %b : !two
    }
    %is_kept = arith.cmpi eq, %round, %one : i32
    scf.if %is_kept {
      "spirv.Store"(%held, %made) : (!place, !two) -> ()
    }
  }
  %place = "spirv.AccessChain"(%held, %zero) : (!place, i32) -> !spirv.ptr<f32, Function>
  %found = "spirv.Load"(%place) : (!spirv.ptr<f32, Function>) -> f32
  memref.store %found, %out[%i] : memref<?xf32>
  func.return
}
"""
"""A variable of IR in which one round of a loop keeps what each makes."""


@pytest.mark.device
def test_a_variable_keeps_what_an_earlier_round_has_stored(device: lp.Device) -> None:
    """What rounds that store nothing make does not lie in it."""
    context = lp.Context([device])
    built = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.MLIR, KEPT))
    out = lp.zeros(4, lp.f32, device=device)
    lp.Queue(context=context).parallel_for(4, built.get_kernel("k"), 6, out)
    np.testing.assert_array_equal(out.numpy(), 1.0)
