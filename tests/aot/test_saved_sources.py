"""Kernels from source in bundle files: what languages other than Python leave to the code, and what a reader checks."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import spirv_source
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.lpk import LpkFile

from .hostile import joined, split

PYTHON = """
import lapilli as lp

@lp.struct
class Shift:
    by: lp.f32
    more: lp.f32x2

@lp.kernel(local_size=4)
def shifted(s: Shift, x: lp.Array[lp.f32], *, weight: lp.f32 = 2.0):
    i = lp.global_id(0)
    x[i] = x[i] + s.by * weight + s.more.y
"""
MLIR = """
func.func @fill(%x: memref<?xf32>, %v: f32) attributes {gpu.kernel} {
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  memref.store %v, %x[%i] : memref<?xf32>
  return
}
"""


def saved(context, file, language, source, *, is_object=False):
    """The bundle of some source, out of a file."""
    bundle = lp.create_kernel_bundle_from_source(context, language, source)
    (lp.compile(bundle) if is_object else lp.build(bundle)).save(file)
    if not is_object:
        return lp.load_kernel_bundle(context, file)
    return lp.link(lp.load_kernel_bundle(context, file, state=lp.BundleState.OBJECT))


@pytest.mark.device
@pytest.mark.parametrize("is_object", [False, True])
def test_python_text_keeps_its_signature(device, context, tmp_path, is_object):
    bundle = saved(context, tmp_path / "p.lpk", lp.SourceLanguage.PYTHON, PYTHON, is_object=is_object)
    kernel = bundle.get_kernel("shifted")
    x = lp.zeros(8, device=device)
    queue = lp.Queue(device, context=context)
    for expected in (5.0, 10.0):  # the default, and 2.0 again
        queue.parallel_for(8, kernel, (1.0, (0.0, 3.0)), x, **({} if expected == 5.0 else {"weight": 2.0}))
        np.testing.assert_array_equal(x.numpy(), np.full(8, expected, np.float32))
    with pytest.raises(lp.KernelArgumentError, match="x"):
        queue.parallel_for(8, kernel, (1.0, (0.0, 3.0)), lp.zeros(8, lp.i32, device=device))


@pytest.mark.device
@pytest.mark.parametrize("is_object", [False, True])
def test_mlir_keeps_its_parameters_in_the_code(device, context, tmp_path, is_object):
    bundle = saved(context, tmp_path / "m.lpk", lp.SourceLanguage.MLIR, MLIR, is_object=is_object)
    x = lp.zeros(8, device=device)
    lp.Queue(device, context=context).parallel_for(lp.NdRange(8, 4), bundle.get_kernel("fill"), x, 7.0)
    assert x.numpy().tolist() == [7.0] * 8
    with pytest.raises(lp.KernelArgumentError):
        lp.Queue(device, context=context).parallel_for(lp.NdRange(8, 4), bundle.get_kernel("fill"), x)


UNTIL = """#version 450
layout(local_size_x = 4) in;
layout(binding = 0) buffer A { int a[]; };
layout(binding = 1) buffer O { int o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, n = i;
    int v;
    do { v = a[n]; n++; } while (v <= 5);
    o[i] = v;
}
"""


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_loops_built_for_other_drivers_suit_the_one_that_loads_them(device, context, tmp_path, monkeypatch):
    """A driver that loses what loops compute gets them rewritten when the file is loaded."""

    def for_others(binary, **options):
        return foreign_kernels(binary, **{**options, "env": TargetEnv()})

    monkeypatch.setattr(spirv_source, "foreign_kernels", for_others)
    bundle = saved(context, tmp_path / "g.lpk", lp.SourceLanguage.GLSL, UNTIL)
    a, o = lp.asarray(np.int32([1, 9, 1, 8]), device=device), lp.zeros(4, lp.i32, device=device)
    lp.Queue(device, context=context).parallel_for(4, bundle.get_kernel("main"), a, o)
    assert o.numpy().tolist() == [9, 9, 8, 8]


LOOK = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpDecorate %look LinkageAttributes "foreign_look" Export
%bool = OpTypeBool
%int = OpTypeInt 32 0
%procedure = OpTypeFunction %int %int
%one = OpConstant %int 1
%five = OpConstant %int 5
%look = OpFunction %int None %procedure
%i = OpFunctionParameter %int
%entry = OpLabel
OpBranch %loop
%loop = OpLabel
%n = OpPhi %int %i %entry %next %loop
%square = OpIMul %int %n %n
%v = OpBitwiseXor %int %square %i
%next = OpIAdd %int %n %one
%again = OpSLessThanEqual %bool %v %five
OpLoopMerge %end %loop None
OpBranchConditional %again %loop %end
%end = OpLabel
OpReturnValue %v
OpFunctionEnd
"""
CALLER = """
import lapilli as lp

@lp.extern("foreign_look")
def look(i: lp.i32) -> lp.i32: ...

@lp.kernel
def caller(o: lp.Array[lp.i32]):
    o[lp.global_id(0)] = look(lp.i32(lp.global_id(0)))
"""


def _looked(i):
    n = i
    while n * n ^ i <= 5:
        n += 1
    return n * n ^ i


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("is_object", [False, True])
def test_so_do_their_functions_in_kernels_in_python(device, context, tmp_path, monkeypatch, is_object):
    def for_others(binary, **options):
        return foreign_kernels(binary, **{**options, "env": TargetEnv()})

    monkeypatch.setattr(spirv_source, "foreign_kernels", for_others)
    parts = [
        lp.compile(lp.create_kernel_bundle_from_source(context, language, text))
        for language, text in ((lp.SourceLanguage.PYTHON, CALLER), (lp.SourceLanguage.SPIRV_ASM, LOOK))
    ]
    file = tmp_path / "l.lpk"
    if is_object:
        lp.join(parts).save(file)
        bundle = lp.link(lp.load_kernel_bundle(context, file, state=lp.BundleState.OBJECT))
    else:
        linked = lp.link(parts)
        linked.save(file)
        bundle = lp.load_kernel_bundle(context, file)
    o = lp.zeros(8, lp.i32, device=device)
    lp.Queue(device, context=context).parallel_for(8, bundle.get_kernel("caller"), o)
    assert o.numpy().tolist() == [_looked(i) for i in range(8)]
    env = device.target_env
    for image in bundle:
        binary = image.binary
        assert binary.has_foreign_code
        assert binary.target_env.loses_reads == env.loses_reads


@pytest.mark.device
def test_a_saved_file_is_saved_again(context, tmp_path):
    once = saved(context, tmp_path / "m.lpk", lp.SourceLanguage.MLIR, MLIR)
    once.save(tmp_path / "again.lpk")
    first, second = (LpkFile.open(tmp_path / name).header for name in ("m.lpk", "again.lpk"))
    assert first.kernels == second.kernels and first.kernels[0].qualified_name == "MLIR:fill"
    assert [i.kernels for i in first.images] == [i.kernels for i in second.images]


def test_built_in_kernels_stay_out_of_files(context, tmp_path, device):
    bundle = lp.get_kernel_bundle(
        context,
        state=lp.BundleState.EXECUTABLE,
        kernel_ids=[device.get_info(lp.info.device.built_in_kernel_ids)[0]],
    )
    with pytest.raises(lp.InvalidError, match="built-in kernel, which every program has"):
        bundle.save(tmp_path / "b.lpk")
    assert not (tmp_path / "b.lpk").exists()


@pytest.mark.device
@pytest.mark.parametrize(
    "change",
    [
        lambda kernel: kernel["parameters"].pop(),
        lambda kernel: kernel["parameters"][0].update(name="other"),
        lambda kernel: kernel["parameters"][1].update(name=kernel["parameters"][0]["name"]),
        lambda kernel: kernel["parameters"][0].update(is_keyword_only=True),
        lambda kernel: kernel["parameters"][0].update(default="00000000"),
        lambda kernel: kernel["parameters"][0]["type"].update(name="f32"),
        lambda kernel: kernel["parameters"][0]["type"].update(kind="scalar", name="f32"),
        lambda kernel: kernel.update(parameters=[]),
        lambda kernel: kernel.update(local_size=[]),
    ],
)
def test_foreign_records_are_checked(tmp_path, change):
    context, file = lp.devices()[0].default_context, tmp_path / "m.lpk"
    saved(context, file, lp.SourceLanguage.MLIR, MLIR)
    header, code = split(file.read_bytes())
    change(header["kernels"][0])
    file.write_bytes(joined(header, code))
    with pytest.raises(lp.InvalidError):
        lp.load_kernel_bundle(context, file)
