"""`gpu.module`s as they are written for MLIR, in upstream's custom syntax, compiled and run on devices."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.pipeline import compile_module
from lapilli.spirv.build_image import build_image
from lapilli.vk_runtime.launch import launch

pytestmark = pytest.mark.device

N = 256
RNG = np.random.default_rng(7)

SAXPY = """
gpu.module @m {
  gpu.func @k(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %u = memref.load %x[%i] : memref<?xf32>
    %v = memref.load %y[%i] : memref<?xf32>
    %p = arith.mulf %a, %u : f32
    %s = arith.addf %p, %v : f32
    memref.store %s, %y[%i] : memref<?xf32>
    gpu.return
  }
}
"""
REVERSE = """
gpu.module @m {
  gpu.func @k(%x: memref<?xi32>) workgroup(%tile : memref<64xi32, #spirv.storage_class<Workgroup>>) kernel
      attributes {known} {
    %g = gpu.global_id x
    %t = gpu.thread_id x
    %c63 = arith.constant 63 : index
    %v = memref.load %x[%g] : memref<?xi32>
    memref.store %v, %tile[%t] : memref<64xi32, #spirv.storage_class<Workgroup>>
    gpu.barrier
    %r = arith.subi %c63, %t : index
    %w = memref.load %tile[%r] : memref<64xi32, #spirv.storage_class<Workgroup>>
    memref.store %w, %x[%g] : memref<?xi32>
    gpu.return
  }
}
"""
ROW_SUM = """
gpu.module @m {
  gpu.func @k(%a: memref<?x?xf32>, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %i = gpu.global_id x
    %n = memref.dim %a, %c1 : memref<?x?xf32>
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %v = memref.load %a[%i, %j] : memref<?x?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %out[%i] : memref<?xf32>
    gpu.return
  }
}
"""
COLLATZ = """
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%x: memref<?xi32>) kernel {
      %i = gpu.global_id x
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %zero = arith.constant 0 : i32
      %start = memref.load %x[%i] : memref<?xi32>
      %end, %steps = scf.while (%v = %start, %n = %zero) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi sgt, %v, %one : i32
        scf.condition(%more) %v, %n : i32, i32
      } do {
      ^bb0(%v: i32, %n: i32):
        %bit = arith.remsi %v, %two : i32
        %odd = arith.cmpi eq, %bit, %one : i32
        %next = scf.if %odd -> (i32) {
          %t = arith.muli %v, %three : i32
          %u = arith.addi %t, %one : i32
          scf.yield %u : i32
        } else {
          %h = arith.divsi %v, %two : i32
          scf.yield %h : i32
        }
        %m = arith.addi %n, %one : i32
        scf.yield %next, %m : i32, i32
      }
      memref.store %steps, %x[%i] : memref<?xi32>
      gpu.return
    }
  }
}
"""
MATH = """
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %v = memref.load %x[%i] : memref<?xf32>
    %a = math.absf %v : f32
    %s = math.sqrt %a : f32
    %e = math.exp %s : f32
    %f = math.fma %e, %s, %a : f32
    memref.store %f, %x[%i] : memref<?xf32>
    gpu.return
  }
}
"""
HELPER = """
gpu.module @m {
  func.func @clamp(%v: i32, %low: i32, %high: i32) -> i32 {
    %a = arith.maxsi %v, %low : i32
    %b = arith.minsi %a, %high : i32
    return %b : i32
  }
  gpu.func @k(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %low = arith.constant -5 : i32
    %high = arith.constant 9 : i32
    %v = memref.load %x[%i] : memref<?xi32>
    %c = func.call @clamp(%v, %low, %high) : (i32, i32, i32) -> i32
    memref.store %c, %x[%i] : memref<?xi32>
    gpu.return
  }
}
"""
IDS = """
gpu.module @m {
  gpu.func @k(%x: memref<?xi32>) kernel {
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %t = gpu.thread_id x
    %o = arith.muli %b, %d : index
    %i = arith.addi %o, %t : index
    %v = arith.index_cast %i : index to i32
    memref.store %v, %x[%i] : memref<?xi32>
    gpu.return
  }
}
"""
SELECT = """
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>, %n: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %zero = arith.constant 0.0 : f32
    %v = memref.load %x[%i] : memref<?xf32>
    %neg = arith.cmpf olt, %v, %zero : f32
    %m = arith.negf %v : f32
    %a = arith.select %neg, %m, %v : f32
    %q = arith.fptosi %a : f32 to i32
    memref.store %q, %n[%i] : memref<?xi32>
    gpu.return
  }
}
"""


def run(device, text: str, range_: int, args: tuple[object, ...], local: int | None = 64) -> None:
    env = TargetEnv()
    result = compile_module(parse_module(text).module, env)
    (split,) = result.splits
    image = build_image(split, env)
    (kernel,) = split.kernels
    launch(
        device.default_queue, image, kernel, (range_,), None if local is None else (local,), args, {}
    ).wait()


def array(device, values: np.ndarray) -> lp.Array:
    return lp.asarray(values, device=device)


def floats() -> np.ndarray:
    return RNG.uniform(-4, 4, N).astype(np.float32)


def test_saxpy(device):
    x, y = floats(), floats()
    out = array(device, y)
    run(device, SAXPY, N, (2.0, array(device, x), out))
    np.testing.assert_array_equal(2 * x + y, out.numpy())  # exact: twice a float is one


def test_workgroup_attribution(device):
    x = np.arange(N, dtype=np.int32)
    out = array(device, x)
    run(device, REVERSE, N, (out,))
    np.testing.assert_array_equal(x.reshape(-1, 64)[:, ::-1].ravel(), out.numpy())


def test_loop_over_a_row(device):
    a = RNG.integers(-9, 9, (N, 13)).astype(np.float32)
    out = array(device, np.zeros(N, np.float32))
    run(device, ROW_SUM, N, (array(device, a), out))
    np.testing.assert_array_equal(a.sum(axis=1), out.numpy())  # exact: small whole numbers


def test_while_and_if(device):
    def steps(v: int) -> int:
        return 0 if v <= 1 else 1 + steps(3 * v + 1 if v % 2 else v // 2)

    x = np.arange(1, N + 1, dtype=np.int32)
    out = array(device, x)
    run(device, COLLATZ, N, (out,))
    np.testing.assert_array_equal([steps(int(v)) for v in x], out.numpy())


def test_math(device):
    x = floats()
    out = array(device, x)
    run(device, MATH, N, (out,))
    a = np.abs(x.astype(np.float64))
    # Vulkan allows exp 3 + 2|x| ulp.
    np.testing.assert_allclose(out.numpy(), np.exp(np.sqrt(a)) * np.sqrt(a) + a, rtol=2e-6)


def test_call_of_a_device_function(device):
    x = np.arange(-N // 2, N // 2, dtype=np.int32)
    out = array(device, x)
    run(device, HELPER, N, (out,))
    np.testing.assert_array_equal(np.clip(x, -5, 9), out.numpy())


def test_block_and_thread_ids(device):
    out = array(device, np.zeros(N, np.int32))
    run(device, IDS, N, (out,), local=32)
    np.testing.assert_array_equal(np.arange(N), out.numpy())


def test_comparison_and_conversion(device):
    x = floats() * 100
    out = array(device, np.zeros(N, np.int32))
    run(device, SELECT, N, (array(device, x), out))
    np.testing.assert_array_equal(np.abs(x).astype(np.int32), out.numpy())


@pytest.mark.parametrize("text", [SAXPY, REVERSE, ROW_SUM, COLLATZ, MATH, HELPER, IDS, SELECT])
def test_mlir_reads_these_modules_and_we_read_what_it_prints(text: str) -> None:
    if shutil.which("mlir-opt-19") is None:
        pytest.skip("mlir-opt-19 is not installed")
    printed = subprocess.run(
        ["mlir-opt-19"], input=text, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    ours, theirs = parse_module(text).module, parse_module(printed).module
    assert [op.name for op in ours.walk()] == [op.name for op in theirs.walk()]
