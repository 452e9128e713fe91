"""The source language MLIR: upstream's gpu modules in custom and in generic syntax, with the vector dialect."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Built = Callable[..., lp.KernelBundle]

REVERSE = """
gpu.module @m {
  gpu.func @reverse(%x: memref<?xi32>)
      workgroup(%tile : memref<64xi32, #gpu.address_space<workgroup>>) kernel {
    %g = gpu.global_id x
    %t = gpu.thread_id x
    %c63 = arith.constant 63 : index
    %v = memref.load %x[%g] : memref<?xi32>
    memref.store %v, %tile[%t] : memref<64xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %r = arith.subi %c63, %t : index
    %w = memref.load %tile[%r] : memref<64xi32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%g] : memref<?xi32>
    gpu.return
  }
}
"""
VECTORS = """
gpu.module @m {
  gpu.func @vectors(%x: memref<?xf32>, %s: f32, %sums: memref<?xf32>, %y: memref<?xvector<4xf32>>) kernel {
    %i = gpu.global_id x
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %first = arith.muli %i, %c4 : index
    %v = vector.load %x[%first] : memref<?xf32>, vector<4xf32>
    %b = vector.broadcast %s : f32 to vector<4xf32>
    %f = vector.fma %v, %b, %v : vector<4xf32>
    %e = vector.extract %f[1] : f32 from vector<4xf32>
    %d = vector.extract %f[%c0] : f32 from vector<4xf32>
    %n = vector.insert %s, %f[3] : f32 into vector<4xf32>
    %sum = vector.reduction <add>, %n : vector<4xf32> into f32
    %max = vector.reduction <maxnumf>, %v : vector<4xf32> into f32
    %p = arith.addf %sum, %max : f32
    %q = arith.addf %p, %e : f32
    %r = arith.addf %q, %d : f32
    memref.store %r, %sums[%i] : memref<?xf32>
    memref.store %n, %y[%i] : memref<?xvector<4xf32>>
    vector.store %f, %x[%first] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}
"""


@pytest.fixture(params=["custom", "generic"])
def form(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Returns a text as it is, or as `mlir-opt --mlir-print-op-generic` prints it."""

    def generic(text: str) -> str:
        tool = next((name for name in ("mlir-opt-19", "mlir-opt") if shutil.which(name)), None)
        if tool is None:
            pytest.skip("mlir-opt is not installed")
        command = [tool, "--mlir-print-op-generic"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    return generic if request.param == "generic" else str


def test_attributions_and_barriers(
    device: lp.Device, queue: lp.Queue, built: Built, form: Callable[[str], str]
):
    kernel = built(lp.SourceLanguage.MLIR, form(REVERSE)).ext_oneapi_get_kernel("reverse")
    values = np.arange(128, dtype=np.int32)
    x = lp.asarray(values, device=device)
    queue.parallel_for(lp.NdRange(128, 64), kernel, x)
    np.testing.assert_array_equal(x.numpy(), values.reshape(2, 64)[:, ::-1].ravel())


def test_vectors(device: lp.Device, queue: lp.Queue, built: Built, form: Callable[[str], str]):
    kernel = built(lp.SourceLanguage.MLIR, form(VECTORS)).ext_oneapi_get_kernel("vectors")
    values = np.arange(32, dtype=np.float32)
    x, sums = lp.asarray(values, device=device), lp.zeros(8, device=device)
    y = lp.zeros(8, lp.f32x4, device=device)
    queue.parallel_for(lp.NdRange(8, 8), kernel, x, 2.0, sums, y)
    v = values.reshape(8, 4)
    f = 3 * v
    n = f.copy()
    n[:, 3] = 2
    np.testing.assert_array_equal(x.numpy().reshape(8, 4), f)  # exact: small integers
    np.testing.assert_array_equal(y.numpy(), n)
    np.testing.assert_array_equal(sums.numpy(), n.sum(axis=1) + v.max(axis=1) + f[:, 1] + f[:, 0])


TRUTHS = """
gpu.module @m {
  gpu.func @truths(%x: memref<?xf32>, %y: memref<?xi32>, %z: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %v = memref.load %x[%i] : memref<?xf32>
    %u = arith.fptoui %v : f32 to i1
    %c = arith.constant -1.0 : f32
    %m = arith.mulf %v, %c : f32
    %s = arith.fptosi %m : f32 to i1
    %a = arith.extui %u : i1 to i32
    %b = arith.extui %s : i1 to i32
    %r = arith.addi %a, %b : i32
    memref.store %r, %y[%i] : memref<?xi32>
    %p = spirv.Variable : !spirv.ptr<f32, Function>
    %f = "spirv.GL.Modf"(%v, %p) : (f32, !spirv.ptr<f32, Function>) -> f32
    %w = spirv.Load "Function" %p : f32
    memref.store %w, %z[%i] : memref<?xf32>
    gpu.return
  }
}
"""


def test_truth_of_fractions_and_what_a_function_writes(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, TRUTHS).ext_oneapi_get_kernel("truths")
    values = np.array([0.0, 0.25, 0.99, 1.0, 1e-40], np.float32)
    x, y, z = (
        lp.asarray(values, device=device),
        lp.zeros(5, lp.i32, device=device),
        lp.zeros(5, device=device),
    )
    queue.parallel_for(lp.NdRange(5, 5), kernel, x, y, z)
    assert y.numpy().tolist() == [0, 0, 0, 2, 0]  # truncated, of one bit: 1 and -1 are true
    assert z.numpy().tolist() == [0, 0, 0, 1, 0]  # the whole part, written through a pointer


EXTREMA_OF_SOME = """
gpu.module @m {
  gpu.func @extrema(%x: memref<?xf32>, %least: memref<?xf32>, %most: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %c0 = arith.constant 0 : index
    %m = vector.create_mask %i : vector<4xi1>
    %v = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>
    %r = vector.mask %m { vector.reduction <minnumf>, %v : vector<4xf32> into f32 } : vector<4xi1> -> f32
    %s = vector.mask %m { vector.reduction <maxnumf>, %v : vector<4xf32> into f32 } : vector<4xi1> -> f32
    memref.store %r, %least[%i] : memref<?xf32>
    memref.store %s, %most[%i] : memref<?xf32>
    gpu.return
  }
}
"""


def test_extrema_of_nothing_but_nan_are_nan(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, EXTREMA_OF_SOME).ext_oneapi_get_kernel("extrema")
    nan = np.nan
    x = lp.asarray(np.array([nan, nan, 2, 1], np.float32), device=device)
    least, most = lp.zeros(5, device=device), lp.zeros(5, device=device)
    queue.parallel_for(lp.NdRange(5, 5), kernel, x, least, most)
    np.testing.assert_array_equal(least.numpy(), [nan, nan, nan, 2, 1])  # as upstream, which begins with NaN
    np.testing.assert_array_equal(most.numpy(), [nan, nan, nan, 2, 2])


REARRANGED = """
gpu.module @m {
  gpu.func @rearrange(%x: memref<?xi32>, %y: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c6 = index.constant 6
    %first = index.mul %i, %c6
    %a = vector.load %x[%first] : memref<?xi32>, vector<3xi32>
    %one = vector.extract_strided_slice %a {offsets = [2], sizes = [1], strides = [1]} : vector<3xi32> to vector<1xi32>
    %two = arith.addi %one, %one : vector<1xi32>
    %b = vector.insert_strided_slice %two, %a {offsets = [0], strides = [1]} : vector<1xi32> into vector<3xi32>
    %s = vector.shuffle %a, %b [4, 2, 3] : vector<3xi32>, vector<3xi32>
    %less = arith.cmpi slt, %a, %s : vector<3xi32>
    %min = arith.select %less, %a, %s : vector<3xi1>, vector<3xi32>
    %f = arith.sitofp %min : vector<3xi32> to vector<3xf32>
    %h = arith.mulf %f, %f : vector<3xf32>
    %r = arith.fptosi %h : vector<3xf32> to vector<3xi32>
    %c1 = index.constant 1
    %e = vector.extract %a[1] : i32 from vector<3xi32>
    %s4 = vector.from_elements %e, %e, %e, %e : vector<4xi32>
    %v, %w = vector.deinterleave %s4 : vector<4xi32> -> vector<2xi32>
    %last = vector.extractelement %w[%c1 : index] : vector<2xi32>
    %p = vector.splat %last : vector<3xi32>
    %sum = arith.addi %r, %p : vector<3xi32>
    vector.store %sum, %y[%first] : memref<?xi32>, vector<3xi32>
    gpu.return
  }
}
"""
SHUFFLES = """
gpu.module @m {
  gpu.func @shuffles(%x: memref<?xi32>, %y: memref<?xi32>, %valid: memref<?xi32>, %sizes: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %v = memref.load %x[%i] : memref<?xi32>
    %other, %p = gpu.shuffle xor %v, %c1, %c2 : i32
    %total = gpu.subgroup_reduce add %v : (i32) -> i32
    %rest = arith.subi %total, %other : i32
    memref.store %rest, %y[%i] : memref<?xi32>
    %q = arith.extui %p : i1 to i32
    memref.store %q, %valid[%i] : memref<?xi32>
    %size = gpu.subgroup_size : index
    %n = arith.index_castui %size : index to i32
    memref.store %n, %sizes[%i] : memref<?xi32>
    gpu.return
  }
}
"""


MEMORY = """
gpu.module @m {
  gpu.func @update(%x: memref<?xi32>, %y: memref<?xi32>, %z: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : i32
    %r = arith.remui %i, %c3 : index
    %fixed = memref.cast %x : memref<?xi32> to memref<8xi32>
    %v = memref.load %fixed[%i] : memref<8xi32>
    %old = memref.atomic_rmw maxs %v, %y[%c0] : (i32, memref<?xi32>) -> i32
    %w = scf.index_switch %r -> i32
    case 0 {
      scf.yield %v : i32
    }
    case 1 {
      %t = scf.execute_region -> i32 {
        %u = arith.addi %v, %c5 : i32
        scf.yield %u : i32
      }
      scf.yield %t : i32
    }
    default {
      scf.yield %c5 : i32
    }
    memref.store %w, %x[%i] : memref<?xi32>
    %f = memref.load %z[%i] : memref<?xf32>
    %p = math.fpowi %f, %c5 : f32, i32
    memref.store %p, %z[%i] : memref<?xf32>
    gpu.return
  }
}
"""


MANY = 80
_CASES = "".join(
    f"case {3 * n} {{ %k{n} = arith.constant {n} : i32\n memref.store %k{n}, %x[%i] : memref<?xi32>\n scf.yield }}\n"
    for n in range(MANY)
)
LARGE_SWITCH = f"""
gpu.module @m {{
  gpu.func @choose(%x: memref<?xi32>) kernel {{
    %i = gpu.global_id x
    scf.index_switch %i
    {_CASES}default {{
      %k = arith.constant -1 : i32
      memref.store %k, %x[%i] : memref<?xi32>
      scf.yield
    }}
    gpu.return
  }}
}}
"""


def test_a_switch_has_more_cases_than_branches_nest(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, LARGE_SWITCH).ext_oneapi_get_kernel("choose")
    x, places = lp.zeros(256, lp.i32, device=device), np.arange(256)
    queue.parallel_for(lp.NdRange(256, 64), kernel, x)
    is_case = (places % 3 == 0) & (places < 3 * MANY)
    np.testing.assert_array_equal(x.numpy(), np.where(is_case, places // 3, -1))


def test_memory_and_choices(device: lp.Device, queue: lp.Queue, built: Built, form: Callable[[str], str]):
    kernel = built(lp.SourceLanguage.MLIR, form(MEMORY)).ext_oneapi_get_kernel("update")
    values = np.array([4, -9, 20, 7, 3, 11, 0, 15], dtype=np.int32)
    x, y = lp.asarray(values, device=device), lp.zeros(1, lp.i32, device=device)
    z = lp.asarray(values.astype(np.float32) / 4, device=device)
    queue.parallel_for(lp.NdRange(8, 8), kernel, x, y, z)
    place = np.arange(8) % 3
    np.testing.assert_array_equal(x.numpy(), np.select([place == 0, place == 1], [values, values + 5], 5))
    assert y.numpy()[0] == 20
    np.testing.assert_allclose(
        z.numpy(), (values / 4) ** 5, rtol=1e-4
    )  # Vulkan's exp2 and log2 have some ulp


def test_vectors_of_any_shape_up_to_four(
    device: lp.Device, queue: lp.Queue, built: Built, form: Callable[[str], str]
):
    kernel = built(lp.SourceLanguage.MLIR, form(REARRANGED)).ext_oneapi_get_kernel("rearrange")
    values = np.arange(24, dtype=np.int32) * 7 % 23
    x, y = lp.asarray(values, device=device), lp.zeros(24, lp.i32, device=device)
    queue.parallel_for(lp.NdRange(4, 4), kernel, x, y)
    a = values.reshape(4, 6)[:, :3]
    shuffled = np.stack([a[:, 1], a[:, 2], 2 * a[:, 2]], axis=1)
    expected = np.minimum(a, shuffled) ** 2 + a[:, 1:2]
    np.testing.assert_array_equal(y.numpy().reshape(4, 6)[:, :3], expected)  # exact: small integers


def test_shuffles_and_reductions_of_sub_groups(
    device: lp.Device, queue: lp.Queue, built: Built, form: Callable[[str], str]
):
    kernel = built(lp.SourceLanguage.MLIR, form(SHUFFLES)).ext_oneapi_get_kernel("shuffles")
    values = np.arange(32, dtype=np.int32) ** 2
    x = lp.asarray(values, device=device)
    y, valid, sizes = (lp.zeros(32, lp.i32, device=device) for _ in range(3))
    queue.parallel_for(lp.NdRange(32, 32), kernel, x, y, valid, sizes)
    size = sizes.numpy()[0]
    totals = values.reshape(-1, size).sum(axis=1).repeat(size)
    np.testing.assert_array_equal(y.numpy(), totals - values.reshape(-1, 2)[:, ::-1].ravel())
    # Only the first two work-items of a sub-group read one below the width.
    np.testing.assert_array_equal(valid.numpy(), np.arange(32) % size < 2)


def test_arrays_of_vectors_that_spirv_has_not(built: Built):
    text = VECTORS.replace("vector<4xf32>", "vector<8xf32>")
    with pytest.raises(lp.BuildError, match=r"<MLIR>:\d+:\d+: error"):
        built(lp.SourceLanguage.MLIR, text)


FOUND = """
gpu.module @m {
  gpu.func @find(%x: memref<?xvector<2xf32>>, %y: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %c1 = arith.constant 1 : index
    %five = arith.constant 5.0 : f32
    %v, %n = scf.while (%k = %i) : (index) -> (vector<2xf32>, index) {
      %a = memref.load %x[%k] : memref<?xvector<2xf32>>
      %e = vector.extract %a[0] : f32 from vector<2xf32>
      %t = arith.cmpf ole, %e, %five : f32
      scf.condition(%t) %a, %k : vector<2xf32>, index
    } do {
    ^bb0(%u: vector<2xf32>, %k: index):
      %m = arith.addi %k, %c1 : index
      scf.yield %m : index
    }
    %s = vector.extract %v[1] : f32 from vector<2xf32>
    memref.store %s, %y[%i] : memref<?xf32>
    gpu.return
  }
}
"""


def test_a_vector_that_the_test_of_a_loop_has_read(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, FOUND).ext_oneapi_get_kernel("find")
    values = np.float32([1, 2, 9, 1, 1, 1, 8, 7])
    x = lp.asarray(np.stack([values, 10 * values], axis=1), lp.f32x2, device=device)
    y = lp.zeros(8, device=device)
    queue.parallel_for(lp.NdRange(8, 8), kernel, x, y)
    np.testing.assert_array_equal(y.numpy(), [90, 90, 90, 80, 80, 80, 80, 70])


UNSTRUCTURED = """
func.func @count(%x: memref<?xi32>) attributes {gpu.kernel} {
  %i = gpu.global_id x
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  cf.br ^test(%c0 : i32)
^test(%j: i32):
  %more = arith.cmpi slt, %j, %c9 : i32
  cf.cond_br %more, ^body, ^done
^body:
  %next = arith.addi %j, %c1 : i32
  cf.br ^test(%next : i32)
^done:
  memref.store %j, %x[%i] : memref<?xi32>
  func.return
}
"""


LOWERED = """
!block = !spirv.ptr<!spirv.struct<(!spirv.array<16 x f32, stride=4> [0])>, StorageBuffer>
module attributes {gpu.container_module} {
  spirv.module @__spv__m Logical GLSL450 requires #spirv.vce<v1.0, [Shader], [SPV_KHR_storage_buffer_storage_class]> {
    spirv.SpecConstant @factor spec_id(3) = 2.0 : f32
    spirv.GlobalVariable @id built_in("LocalInvocationId") : !spirv.ptr<vector<3xi32>, Input>
    spirv.GlobalVariable @x bind(0, 0) : !block
    spirv.func @k() "None" {
      %x = spirv.mlir.addressof @x : !block
      %id = spirv.mlir.addressof @id : !spirv.ptr<vector<3xi32>, Input>
      %ids = spirv.Load "Input" %id : vector<3xi32>
      %i = spirv.CompositeExtract %ids[0 : i32] : vector<3xi32>
      %zero = spirv.Constant 0 : i32
      %at = spirv.AccessChain %x[%zero, %i] : !block, i32, i32
      %v = spirv.Load "StorageBuffer" %at : f32
      %f = spirv.mlir.referenceof @factor : f32
      %w = spirv.FMul %v, %f : f32
      spirv.Store "StorageBuffer" %at, %w : f32
      spirv.Return
    }
    spirv.EntryPoint "GLCompute" @k, @id
    spirv.ExecutionMode @k "LocalSize", 16, 1, 1
  }
}
"""
"""As mlir-opt --convert-gpu-to-spirv leaves it, without the gpu.module."""


def test_modules_that_are_compiled_already(device: lp.Device, queue: lp.Queue, built: Built):
    values = np.arange(16, dtype=np.float32)
    for props, factor in (((), 2), ((lp.SpecValues({3: 0.5}),), 0.5)):
        kernel = built(lp.SourceLanguage.MLIR, LOWERED, *props).ext_oneapi_get_kernel("k")
        x = lp.asarray(values, device=device)
        queue.parallel_for(16, kernel, x)
        np.testing.assert_array_equal(x.numpy(), values * np.float32(factor))


def test_modules_that_are_compiled_already_and_wrong(built: Built):
    with pytest.raises(
        lp.BuildError, match=r"<MLIR>: error: the module has no kernel: .* no spirv.EntryPoint"
    ):
        built(lp.SourceLanguage.MLIR, "spirv.module Logical GLSL450 {}")
    with pytest.raises(
        lp.BuildError, match=r"<MLIR>:22:5: error: 'spirv.ExecutionMode' LocalSize is at least 1"
    ):
        built(lp.SourceLanguage.MLIR, LOWERED.replace("16, 1, 1", "0, 1, 1"))


@pytest.mark.parametrize("kind", ["func.func", "gpu.func"])
def test_branches_between_blocks(kind: str, device: lp.Device, queue: lp.Queue, built: Built):
    text = UNSTRUCTURED
    if kind == "gpu.func":
        text = text.replace("func.return", "gpu.return").replace("func.func", "gpu.func")
        text = "gpu.module @m {" + re.sub(r"attributes \{[^}]*\} \{", "kernel {", text) + "}"
    x = lp.zeros(4, lp.i32, device=device)
    queue.parallel_for(4, built(lp.SourceLanguage.MLIR, text).ext_oneapi_get_kernel("count"), x)
    assert x.numpy().tolist() == [9] * 4


def test_what_does_not_fit_a_block_is_refused_with_its_place(built: Built):
    with pytest.raises(
        lp.BuildError, match=r"<MLIR>:7:3: error: 'cf.br' passes \(\) to a block that takes \(i32\)"
    ):
        built(lp.SourceLanguage.MLIR, UNSTRUCTURED.replace("cf.br ^test(%c0 : i32)", "cf.br ^test"))


def test_what_upstream_makes_of_branches_compiles(device: lp.Device, queue: lp.Queue, built: Built):
    tool = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    # Upstream's parser refuses discardable attributes of dialects that it has not loaded on functions.
    text = UNSTRUCTURED.replace("gpu.kernel", "kernel")
    result = subprocess.run(
        [tool, "--lift-cf-to-scf", "--canonicalize"], input=text, capture_output=True, text=True, check=True
    )
    text = result.stdout.replace("attributes {kernel}", "attributes {gpu.kernel}")
    kernel = built(lp.SourceLanguage.MLIR, text).ext_oneapi_get_kernel("count")
    x = lp.zeros(4, lp.i32, device=device)
    queue.parallel_for(lp.NdRange(4, 4), kernel, x)
    assert x.numpy().tolist() == [9] * 4
