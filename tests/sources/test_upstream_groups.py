"""Reductions of work-groups and sub-groups, shuffles, prints and assertions of kernels written for MLIR."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Built = Callable[..., lp.KernelBundle]
SIZE = 24
"""Work-items of a work-group: no power of two."""
X = np.random.default_rng(3).integers(1, 4, 2 * SIZE).astype(np.int32)
WHOLE = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxui": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLOATS = {"add": np.add, "minimumf": np.minimum, "maxnumf": np.maximum}


def _all_reduce() -> str:
    rows = [f"%r{k} = gpu.all_reduce {word} %v uniform {{}} : (i32) -> i32" for k, word in enumerate(WHOLE)]
    rows += [
        f"%f{k} = gpu.all_reduce {word} %u uniform {{}} : (f32) -> f32\n%i{k} = arith.fptosi %f{k} : f32 to i32"
        for k, word in enumerate(FLOATS)
    ]
    rows += [
        """%last = gpu.all_reduce %v {
        ^bb0(%p: i32, %q: i32):
          %q0 = index.casts %q : i32 to index
          %q1 = index.casts %q0 : index to i32
          %m = arith.maxsi %p, %q1 : i32
          %c = arith.constant 3 : i32
          %s = arith.minsi %m, %c : i32
          gpu.yield %s : i32
        } : (i32) -> i32""",
        "%b = arith.cmpi sgt, %v, %two : i32",
        "%any = gpu.all_reduce or %b uniform {} : (i1) -> i1",
        "%anyi = arith.extui %any : i1 to i32",
    ]
    values = [
        *(f"%r{k}" for k in range(len(WHOLE))),
        *(f"%i{k}" for k in range(len(FLOATS))),
        "%last",
        "%anyi",
    ]
    rows += [
        f"%k{k} = arith.constant {k} : index\nmemref.store {value}, %y[%i, %k{k}] : memref<?x?xi32>"
        for k, value in enumerate(values)
    ]
    return (
        "gpu.module @m { gpu.func @sums(%x: memref<?xi32>, %y: memref<?x?xi32>) kernel {\n"
        "%i = gpu.global_id x\n%two = arith.constant 2 : i32\n%v = memref.load %x[%i] : memref<?xi32>\n"
        "%u = arith.sitofp %v : i32 to f32\n" + "\n".join(rows) + "\ngpu.return } }"
    )


def test_reductions_of_work_groups(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, _all_reduce()).ext_oneapi_get_kernel("sums")
    y = lp.zeros((2 * SIZE, 12), lp.i32, device=device)
    queue.parallel_for(lp.NdRange(2 * SIZE, SIZE), kernel, lp.asarray(X, device=device), y)
    for number, group in enumerate(X.reshape(2, SIZE)):
        expected = [reduce(combine, group) for combine in (*WHOLE.values(), *FLOATS.values())]
        expected += [min(3, group.max()), int((group > 2).any())]
        rows = y.numpy()[number * SIZE : (number + 1) * SIZE]
        np.testing.assert_array_equal(rows, np.tile(expected, (SIZE, 1)))


SUB_GROUPS = """
gpu.module @m { gpu.func @subs(%x: memref<?xf32>, %y: memref<?x?xf32>, %sizes: memref<?xi32>) kernel {
  %i = gpu.global_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %v = memref.load %x[%i] : memref<?xf32>
  %low = gpu.subgroup_reduce minimumf %v : (f32) -> f32
  memref.store %low, %y[%i, %c0] : memref<?x?xf32>
  %high = gpu.subgroup_reduce maximumf %v cluster(size = 2) : (f32) -> f32
  memref.store %high, %y[%i, %c1] : memref<?x?xf32>
  %far = gpu.subgroup_reduce add %v cluster(size = 2, stride = 2) : (f32) -> f32
  memref.store %far, %y[%i, %c2] : memref<?x?xf32>
  %pair = vector.from_elements %v, %v : vector<2xf32>
  %both = gpu.subgroup_reduce maxnumf %pair cluster(size = 4) : (vector<2xf32>) -> vector<2xf32>
  vector.store %both, %y[%i, %c3] : memref<?x?xf32>, vector<2xf32>
  %s = gpu.subgroup_size : index
  %n = arith.index_cast %s : index to i32
  memref.store %n, %sizes[%i] : memref<?xi32>
  gpu.return
} }
"""


def test_reductions_of_sub_groups_that_vulkan_has_not(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, SUB_GROUPS).ext_oneapi_get_kernel("subs")
    values = np.random.default_rng(4).integers(-50, 50, 32).astype(np.float32)
    values[5], values[8], values[9] = np.nan, -0.0, 0.0
    y, sizes = lp.zeros((32, 5), device=device), lp.zeros(32, lp.i32, device=device)
    queue.parallel_for(lp.NdRange(32, 32), kernel, lp.asarray(values, device=device), y, sizes)
    found, size = y.numpy(), int(sizes.numpy()[0])
    lows = [row.min() for row in values.reshape(-1, size)]
    np.testing.assert_array_equal(found[:, 0], np.repeat(lows, size))  # NaN wins, as in upstream
    highs = values.reshape(-1, 2).max(axis=1)
    np.testing.assert_array_equal(found[:, 1], np.repeat(highs, 2))
    assert not np.signbit(found[8:10, 1]).any(), "0 is more than -0"
    np.testing.assert_array_equal(found[:, 2], values + values[np.arange(32) ^ 2])
    most = np.fmax.reduce(np.delete(values, [4, 5, 6, 7]).reshape(-1, 4), axis=1)
    np.testing.assert_array_equal(
        np.delete(found[:, 3:], [4, 5, 6, 7], axis=0), np.tile(np.repeat(most, 4), (2, 1)).T
    )


TOLD = """
gpu.module @m { gpu.func @told(%x: memref<?xi32>) kernel {
  %i = gpu.global_id x
  %c1 = arith.constant 1 : i32
  %v = memref.load %x[%i] : memref<?xi32>
  %f = arith.sitofp %v : i32 to f32
  %first = arith.cmpi eq, %v, %c1 : i32
  scf.if %first {
    gpu.printf "%d is {%5.2f} of 100%%\\0A" %v, %f : i32, f32
  }
  %some = arith.cmpi slt, %v, %c1 : i32
  %fine = arith.cmpi sle, %v, %c1 : i32
  cf.assert %fine, "more than {one}"
  gpu.return
} }
"""


def test_prints_and_assertions(
    device: lp.Device, queue: lp.Queue, built: Built, capfd: pytest.CaptureFixture[str]
):
    kernel = built(lp.SourceLanguage.MLIR, TOLD).ext_oneapi_get_kernel("told")
    x = lp.asarray(np.array([0, 1], np.int32), device=device)
    queue.parallel_for(lp.NdRange(2, 2), kernel, x)
    queue.wait()
    assert "1 is { 1.00} of 100%" in capfd.readouterr().out
    x = lp.asarray(np.array([0, 7], np.int32), device=device)
    with pytest.raises(lp.KernelTrap, match=r"more than \{one\}"):
        queue.parallel_for(lp.NdRange(2, 2), kernel, x)
        queue.wait_and_throw()


SIZED = """
module attributes {
  gpu.container_module,
  spirv.target_env = #spirv.target_env<#spirv.vce<v1.0, [Shader], []>, #spirv.resource_limits<subgroup_size = 32>>
} {
  gpu.module @m [#spirv.target_env<#spirv.vce<v1.3, [Shader], []>, #spirv.resource_limits<>>] {
    gpu.func @sized(%x: memref<?xi32> {llvm.noalias}) kernel
        attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [8, 2]>} {
      %i = gpu.global_id x
      %w = gpu.block_dim x
      %v = arith.index_cast %w : index to i32
      memref.store %v, %x[%i] : memref<?xi32>
      gpu.return
    }
  }
}
"""


def test_the_size_of_work_groups_that_a_kernel_names(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, SIZED).ext_oneapi_get_kernel("sized")
    x = lp.zeros(16, lp.i32, device=device)
    queue.parallel_for(lp.NdRange((2, 16), (2, 8)), kernel, x)
    assert x.numpy().tolist() == [8] * 16
    with pytest.raises(lp.NdRangeError, match="8"):
        queue.parallel_for(lp.NdRange((2, 16), (2, 4)), kernel, x)


BOUND = """
gpu.module @m {
  gpu.func @bound(%x: memref<?xf32> {spirv.interface_var_abi = #spirv.interface_var_abi<(0, 1), StorageBuffer>},
                  %f: f32 {spirv.interface_var_abi = #spirv.interface_var_abi<(1, 0)>}) kernel {
    %i = gpu.global_id x
    memref.store %f, %x[%i] : memref<?xf32>
    gpu.return
  }
}
"""
BOUND_GENERIC = """
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{
    arg_attrs = [{spirv.interface_var_abi = #spirv.interface_var_abi<(0, 1), StorageBuffer>}, {llvm.noundef}],
    function_type = (memref<?xf32>, f32) -> ()}> ({
  ^bb0(%x: memref<?xf32>, %f: f32):
    %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    "memref.store"(%f, %x, %i) : (f32, memref<?xf32>, index) -> ()
    "gpu.return"() : () -> ()
  }) {gpu.kernel, sym_name = "bound", workgroup_attributions = 0 : i64} : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("text", [BOUND, BOUND_GENERIC], ids=["custom", "generic"])
def test_what_is_said_of_parameters(device: lp.Device, queue: lp.Queue, built: Built, text: str):
    kernel = built(lp.SourceLanguage.MLIR, text).ext_oneapi_get_kernel("bound")
    x = lp.zeros(4, lp.f32, device=device)
    queue.parallel_for(lp.NdRange(4, 4), kernel, x, 2.5)
    assert x.numpy().tolist() == [2.5] * 4
