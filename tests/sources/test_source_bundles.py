"""Bundles from source: creating, building, what exists in which state, options, logs, linking."""

from __future__ import annotations

import enum
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.source_language import (
    CompiledSource,
    SourceRequest,
    register_language,
    unregister_language,
)

from . import source_importer
from .conftest import SHADERS

pytestmark = pytest.mark.device

Language = lp.SourceLanguage

TWO = """
import lapilli as lp

BASE = 100

def twice(x):
    return 2 * x

@lp.kernel
def iota(out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = i

@lp.kernel(name="affine")
def second(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = twice(x[i]) + BASE
"""


def create(context, language=Language.PYTHON, source: str | bytes = TWO):
    return lp.create_kernel_bundle_from_source(context, language, source)


@pytest.mark.behaviour("SRC-01")
def test_feature_test_value():
    assert lp.SYCL_EXT_ONEAPI_KERNEL_COMPILER == 1


@pytest.mark.behaviour("SRC-02")
def test_languages():
    assert {language.name for language in Language} == {"SPIRV", "SPIRV_ASM", "MLIR", "PYTHON", "GLSL"}
    assert Language.PYKERNEL is Language.PYTHON


@pytest.mark.behaviour("SRC-02")
@pytest.mark.parametrize("language", Language)
def test_each_language_says_what_it_takes(context, language):
    """Text or bytes and what a kernel is called in the table of the page; the options behind it."""
    page = (Path(__file__).parents[2] / "docs" / "kernel-compiler.md").read_text("utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{language.name}`")]
    _, source, called, _ = (cell.strip() for cell in row.strip("|").split("|"))
    assert called
    assert ("bytes" in source) is (language is Language.SPIRV)
    with pytest.raises(TypeError, match=language.name):
        create(context, language, "text" if language is Language.SPIRV else b"bytes")
    assert "All languages take `-O0 -O1 -O2 -g -Werror -fsycl-device-code-split=MODE`" in page


@pytest.mark.behaviour("SRC-03")
def test_what_a_device_can_compile(device):
    assert device.ext_oneapi_can_compile(Language.SPIRV) is True
    assert device.ext_oneapi_can_compile("SPIRV") is False
    assert device.ext_oneapi_can_compile(enum.Enum("Other", "X").X) is False
    assert not device.masked(without=[lp.Aspect.ONLINE_COMPILER]).ext_oneapi_can_compile(Language.SPIRV)


@pytest.mark.behaviour("SRC-03")
def test_a_language_whose_compiler_is_not_installed(device, context, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.ext_oneapi_can_compile(Language.GLSL) is False
    assert device.ext_oneapi_can_compile(Language.PYTHON) is True
    with pytest.raises(lp.InvalidError, match="no device of the context can compile GLSL"):
        create(context, Language.GLSL, "#version 450")


@pytest.mark.behaviour("SRC-04")
@pytest.mark.parametrize(
    ("language", "source"),
    [(Language.SPIRV, "text"), (Language.PYTHON, b"bytes"), (Language.SPIRV_ASM, b""), (Language.MLIR, None)],
)
def test_text_and_bytes_are_told_apart(context, language, source):
    with pytest.raises(TypeError, match=language.name):
        lp.create_kernel_bundle_from_source(context, language, source)


def test_arguments_of_creation(context):
    for arguments in ((None, Language.PYTHON, ""), (context, "python", "")):
        with pytest.raises(TypeError):
            lp.create_kernel_bundle_from_source(*arguments)
    with pytest.raises(lp.InvalidError, match="does not take"):
        lp.create_kernel_bundle_from_source(context, Language.PYTHON, "", props=[lp.SaveLog()])


@pytest.mark.behaviour("SRC-05")
def test_a_source_bundle_is_for_the_context(device, context, queue):
    kb = create(context)
    assert kb.state is lp.BundleState.SOURCE
    assert kb.get_devices() == context.get_devices() == [device]
    kernel = lp.build(kb).ext_oneapi_get_kernel("iota")
    other = lp.Queue(device, context=lp.Context([device]))
    with pytest.raises(lp.InvalidError, match="context"):
        other.parallel_for(4, kernel, lp.zeros(4, lp.i32, device=device))


@pytest.mark.behaviour("SRC-06", "SRC-07", "SRC-13")
def test_devices_that_cannot_compile(device):
    without = device.masked(without=[lp.Aspect.ONLINE_COMPILER])
    with pytest.raises(lp.InvalidError, match="no device of the context can compile PYTHON"):
        create(lp.Context([without]))
    kb = create(lp.Context([device, without]))
    with pytest.raises(lp.InvalidError, match="cannot compile PYTHON"):
        lp.build(kb)
    assert lp.build(kb, [device]).ext_oneapi_has_kernel("iota")


@pytest.mark.behaviour("SRC-03", "SRC-06")
def test_a_language_that_no_device_compiles(context, device):
    front_end = Reversed()
    front_end.can_compile = lambda device: False  # type: ignore[method-assign]
    register_language(Mine.REVERSED, front_end)
    try:
        assert device.ext_oneapi_can_compile(Mine.REVERSED) is False
        with pytest.raises(lp.InvalidError, match="no device of the context can compile REVERSED") as caught:
            create(context, Mine.REVERSED, "")
        assert caught.value.errc is lp.Errc.INVALID
    finally:
        unregister_language(Mine.REVERSED)


@pytest.mark.behaviour("SRC-08")
@pytest.mark.parametrize("language", Language)
def test_creation_compiles_nothing(context, device, language):
    if not device.ext_oneapi_can_compile(language):
        pytest.skip(f"{language.name} has no compiler here")
    kb = create(context, language, b"\1garbage" if language is Language.SPIRV else "@ garbage (")
    with pytest.raises(lp.BuildError):
        lp.build(kb)


@pytest.mark.behaviour("SRC-09")
def test_kernels_that_one_device_can_run_are_in_the_bundle(device):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no doubles")
    lesser = device.masked(without=[lp.Aspect.FP64])
    text = TWO + "\n@lp.kernel\ndef wide(x: lp.Array[lp.f64]):\n    x[lp.global_id(0)] = 1.5\n"
    both = create(lp.Context([device, lesser]), source=text)
    assert lp.build(both).ext_oneapi_has_kernel("wide")
    log = lp.SaveLog()
    only = lp.build(both, [lesser], props=[log])
    assert only.ext_oneapi_has_kernel("iota") and not only.ext_oneapi_has_kernel("wide")
    assert "'wide' is left out" in log.text and "fp64" in log.text
    with pytest.raises(lp.BuildError, match=r"left out.*Werror"):
        lp.build(both, [lesser], props=[lp.BuildOptions("-Werror")])


@pytest.mark.behaviour("SRC-10", "SRC-11", "SRC-12")
def test_devices_of_the_built_bundle(device):
    lesser = device.masked(without=[lp.Aspect.FP64], limits={"max_work_group_size": 64})
    context = lp.Context([device, lesser])
    kb = create(context)
    assert lp.build(kb).get_devices() == context.get_devices()
    built = lp.build(kb, [lesser, lesser])
    assert built.get_devices() == [lesser] and built.get_context() is context
    assert built.state is lp.BundleState.EXECUTABLE
    with pytest.raises(lp.InvalidError, match="device"):
        lp.build(kb, [device.masked(limits={"max_work_group_size": 32})])


@pytest.mark.behaviour("SRC-14")
@pytest.mark.parametrize(
    "option", ["-bogus", "-O3", "O1", "-fsycl-device-code-split=none", "-DX", "--target-env=", "", ["-O1 -g"]]
)
def test_an_unknown_option_is_invalid_whatever_the_source(context, option):
    kb = create(context, source="garbage (")
    with pytest.raises(lp.InvalidError) as caught:
        lp.build(kb, props=[lp.BuildOptions(option if option else [""])])
    assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.parametrize("option", ["-O0", "-O1 -O2 -g", ["-g", "-fsycl-device-code-split=per_kernel"], []])
def test_options_of_all_languages(context, queue, device, option):
    kb = lp.build(create(context), props=[lp.BuildOptions(option)])
    out = lp.zeros(5, lp.i32, device=device)
    queue.parallel_for(5, kb.ext_oneapi_get_kernel("iota"), out)
    assert out.numpy().tolist() == [0, 1, 2, 3, 4]
    assert len(kb) == (2 if "-fsycl-device-code-split=per_kernel" in option else 1)


def test_options_of_glsl(built, queue, device, tmp_path):
    if not device.ext_oneapi_can_compile(Language.GLSL):
        pytest.skip("glslang is not installed")
    (tmp_path / "value.h").write_text("#define BASE 40\n")
    text = """#version 450
#extension GL_GOOGLE_include_directive : require
#include "value.h"
layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { int value; };
void main() { value = BASE + ADDED; }
"""
    kb = built(Language.GLSL, text, lp.BuildOptions(["-D", "ADDED=2", f"-I{tmp_path}"]))
    out = lp.zeros(1, lp.i32, device=device)
    queue.parallel_for(1, kb.ext_oneapi_get_kernel("main"), out)
    assert out.numpy().tolist() == [42]
    with pytest.raises(lp.InvalidError, match="folder"):
        built(Language.GLSL, text, lp.BuildOptions(f"-I{tmp_path}/none"))
    for wrong in ("ADDED=\0", "ADDED=2\n#error", "1ADDED", "=2", "ÄDDED=1"):
        with pytest.raises(lp.InvalidError, match="-DNAME=VALUE"):
            built(Language.GLSL, text, lp.BuildOptions(["-D", wrong]))
    with pytest.raises(lp.InvalidError, match="folder"):
        built(Language.GLSL, text, lp.BuildOptions(["-I", "a\0b"]))
    (tmp_path / "value.h").write_text("#define BASE 40\nint f() { return 1 }\n")
    with pytest.raises(lp.BuildError, match=r"value\.h:2:1: error") as caught:
        built(Language.GLSL, text, lp.BuildOptions(["-DADDED=2", "-I", str(tmp_path)]))
    assert caught.value.errc is lp.Errc.BUILD
    with pytest.raises(lp.BuildError, match=r"<GLSL>:3:1: error: .*value\.h"):
        built(Language.GLSL, text, lp.BuildOptions("-DADDED=2"))


@pytest.mark.behaviour("SRC-15", "SRC-16", "SRC-20")
@pytest.mark.parametrize(
    ("language", "source", "texts"),
    [
        (Language.PYTHON, TWO.replace("out[i] = i", "out[i] = unknown"), [":12:", "unknown"]),
        (Language.PYTHON, "import lapilli as lp\nprint('hello')\n", [":2:1", "not executed"]),
        (Language.PYTHON, "x = (\n", [":1:5", "never closed"]),
        (Language.SPIRV_ASM, "OpCapability Shader\nOpNonsense\n", [":2:", "OpNonsense"]),
        (Language.SPIRV_ASM, "OpCapability Shader\n", ["SPIR-V"]),
        (Language.SPIRV_ASM, "OpCapability Shader\n; \udcff\n", [":2:3:", "no character"]),
        (Language.MLIR, "func.func @k() {\n  what.is_this\n}", [":2:3"]),
        (Language.GLSL, "#version 450\nvoid main() {\n  x = 1;\n  y = 2;\n}\n", [":3:", "'x'"]),
    ],
)
def test_a_build_error_has_the_whole_log(device, built, capfd, language, source, texts):
    if not device.ext_oneapi_can_compile(language):
        pytest.skip(f"{language.name} has no compiler here")
    log = lp.SaveLog()
    with pytest.raises(lp.BuildError) as caught:
        built(language, source, log)
    assert caught.value.errc is lp.Errc.BUILD
    assert all(text in str(caught.value) for text in texts)
    assert all(text in caught.value.log for text in texts)
    assert log.text == ""
    with pytest.raises(lp.BuildError) as without:  # nothing asks for a log
        built(language, source)
    assert str(without.value) == str(caught.value) and without.value.log == caught.value.log
    assert capfd.readouterr() == ("", "")


@pytest.mark.behaviour("SRC-15")
@pytest.mark.parametrize(
    ("definitions", "texts"),
    [
        ("def a(x: F):\n    x[0] = u1\n@lp.kernel\ndef b(x: F):\n    x[0] = u2\n", ["u1", "u2"]),
        ("def a(x):\n    pass\n@lp.kernel\ndef b(y: 3):\n    pass\n", ["'x'", "'y'"]),
    ],
)
def test_a_build_error_has_the_findings_of_all_kernels(built, definitions, texts):
    source = f"import lapilli as lp\n@lp.kernel\n{definitions}".replace("F)", "lp.Array[lp.f32])")
    with pytest.raises(lp.CompileError) as caught:
        built(Language.PYTHON, source)
    assert len(caught.value.diagnostics) == 2
    for text in (str(caught.value), caught.value.log):
        assert all(text.count(f"{name}") >= 1 for name in texts) and text.count(": error: ") == 2


@pytest.mark.behaviour("SRC-15", "SRC-19")
def test_warnings_are_in_the_log_of_an_error_and_of_a_success(device, built):
    if not device.ext_oneapi_can_compile(Language.GLSL):
        pytest.skip("glslang is not installed")
    text = """#version 450
#extension GL_nonsense : enable
layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { int value; };
void main() { value = 1; }
"""
    log = lp.SaveLog()
    built(Language.GLSL, text, log)
    assert log.text.startswith("<GLSL>:2:1: warning: ") and "GL_nonsense" in log.text
    with pytest.raises(lp.BuildError) as caught:
        built(Language.GLSL, text.replace("= 1;", "= unknown;"))
    assert ":2:1: warning: " in str(caught.value) and ":5:1: error: " in str(caught.value)
    assert "GL_nonsense" in caught.value.log and "unknown" in caught.value.log


@pytest.mark.behaviour("SRC-15")
@pytest.mark.parametrize("source", ["", " \n", "#version 450\nlayout(local_size_x = 1) in;\nvoid f() {}\n"])
def test_a_log_without_lines_names_no_temporary_file(device, built, source):
    if not device.ext_oneapi_can_compile(Language.GLSL):
        pytest.skip("glslang is not installed")
    with pytest.raises(lp.BuildError, match=r"(?i)main|entry point") as caught:
        built(Language.GLSL, source)
    assert str(caught.value).startswith("<GLSL>: error: ")
    assert "lapilli-glsl-" not in str(caught.value) + caught.value.log


@pytest.mark.behaviour("SRC-17")
def test_properties(context):
    for props in ([object()], "-O1", ["-O1"], 3):
        with pytest.raises(TypeError):
            lp.build(create(context), props=props)
    with pytest.raises(lp.InvalidError):
        lp.build(create(context), props=[lp.properties.EmulateSpecConstants()])
    with pytest.raises(lp.InvalidError, match="twice"):
        lp.build(create(context), props=[lp.SaveLog(), lp.SaveLog()])
    with pytest.raises(lp.InvalidError, match="SpecValues"):
        lp.build(create(context), props=[lp.SpecValues({0: 1})])


@pytest.mark.behaviour("SRC-18")
def test_build_options():
    assert lp.BuildOptions("-g").opts == ["-g"]
    assert lp.BuildOptions(["-g", "-O1"]).opts == ["-g", "-O1"]
    for wrong in (None, 3, b"-g", ["-g", 3]):
        with pytest.raises(TypeError):
            lp.BuildOptions(wrong)  # type: ignore[arg-type]


@pytest.mark.behaviour("SRC-19")
def test_a_log_of_a_successful_build(built):
    text = """
import lapilli as lp

@lp.device_has()
@lp.kernel
def k(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = lp.f32(lp.f16(x[lp.global_id(0)]))
"""
    log = lp.SaveLog()
    built(Language.PYTHON, text, log)
    assert "fp16" in log.text
    with pytest.raises(lp.BuildError, match="fp16"):
        built(Language.PYTHON, text, lp.BuildOptions("-Werror"))


UNAVAILABLE = {
    "empty": (),
    "has_kernel": ("iota",),
    "get_kernel": ("iota",),
    "get_kernel_ids": (),
    "contains_specialization_constants": (),
    "native_specialization_constant": (),
    "has_specialization_constant": (lp.SpecializationId(lp.i32, 1),),
    "get_specialization_constant": (lp.SpecializationId(lp.i32, 1),),
    "__iter__": (),
    "ext_oneapi_has_kernel": ("iota",),
    "ext_oneapi_get_kernel": ("iota",),
}


@pytest.mark.behaviour("SRC-21", "SRC-24", "SRC-25")
@pytest.mark.parametrize("member", UNAVAILABLE)
def test_members_that_source_bundles_do_not_have(context, member):
    with pytest.raises(TypeError, match=member):
        getattr(create(context), member)(*UNAVAILABLE[member])


@pytest.mark.behaviour("SRC-25")
def test_only_executable_bundles_give_kernels(context):
    compiled = lp.compile(create(context))
    assert compiled.state is lp.BundleState.OBJECT
    ordinary = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=source_importer.calls_foreign)
    for bundle in (compiled, ordinary):
        with pytest.raises(TypeError, match="ext_oneapi_get_kernel"):
            bundle.ext_oneapi_get_kernel("iota")


@pytest.mark.behaviour("SRC-22")
def test_members_that_source_bundles_have(context):
    kb = create(context)
    assert kb.get_backend() is lp.Backend.VULKAN
    assert kb.get_context() is context
    assert kb.get_devices() == [*context.devices]
    assert kb == kb and kb != create(context, source=TWO + "\n")


@pytest.mark.behaviour("SRC-23")
def test_kernels_from_source_have_no_ids(context):
    before = lp.get_kernel_ids()
    kb = lp.build(create(context))
    assert kb.get_kernel_ids() == []
    assert [image.get_kernel_ids() for image in kb] == [[]]
    assert lp.get_kernel_ids() == before
    with pytest.raises(lp.UnknownKernelError):
        lp.get_kernel_id("affine")


@pytest.mark.behaviour("SRC-24", "SRC-25", "SRC-26", "SRC-28")
def test_kernels_by_name(context, queue, device):
    kb = lp.build(create(context))
    assert [kb.ext_oneapi_has_kernel(name) for name in ("iota", "affine", "second", "")] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(lp.UnknownKernelError, match="affine, iota"):
        kb.ext_oneapi_get_kernel("second")
    with pytest.raises(TypeError):
        kb.ext_oneapi_has_kernel(3)
    x, out = lp.zeros(6, lp.i32, device=device), lp.zeros(6, lp.i32, device=device)
    queue.parallel_for(6, kb.ext_oneapi_get_kernel("iota"), x)
    queue.parallel_for(6, kb.ext_oneapi_get_kernel("affine"), x, out=out)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(6) + 100)
    assert kb.ext_oneapi_get_kernel("iota").get_kernel_bundle() == kb


ADDING = """
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %one "add one" %place %data
               OpEntryPoint GLCompute %two "two" %place %data
               OpExecutionMode %one LocalSize 1 1 1
               OpExecutionMode %two LocalSize 1 1 1
               OpName %one "not_this"
               OpDecorate %place BuiltIn GlobalInvocationId
               OpDecorate %items ArrayStride 4
               OpDecorate %block Block
               OpMemberDecorate %block 0 Offset 0
               OpDecorate %data DescriptorSet 0
               OpDecorate %data Binding 0
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
         %v3 = OpTypeVector %u32 3
        %pv3 = OpTypePointer Input %v3
         %c0 = OpConstant %u32 0
         %c1 = OpConstant %u32 1
         %c2 = OpConstant %u32 2
      %items = OpTypeRuntimeArray %u32
      %block = OpTypeStruct %items
         %pb = OpTypePointer StorageBuffer %block
         %pu = OpTypePointer StorageBuffer %u32
      %place = OpVariable %pv3 Input
       %data = OpVariable %pb StorageBuffer
        %one = OpFunction %void None %fn
          %a = OpLabel
         %a1 = OpLoad %v3 %place
         %a2 = OpCompositeExtract %u32 %a1 0
         %a3 = OpAccessChain %pu %data %c0 %a2
               OpStore %a3 %c1
               OpReturn
               OpFunctionEnd
        %two = OpFunction %void None %fn
          %b = OpLabel
         %b1 = OpLoad %v3 %place
         %b2 = OpCompositeExtract %u32 %b1 0
         %b3 = OpAccessChain %pu %data %c0 %b2
               OpStore %b3 %c2
               OpReturn
               OpFunctionEnd
"""
OF_MLIR = """
gpu.module @no_kernel {
  gpu.func @one(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c1 = arith.constant 1 : i32
    memref.store %c1, %x[%i] : memref<?xi32>
    gpu.return
  }
  gpu.func @two(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c2 = arith.constant 2 : i32
    memref.store %c2, %x[%i] : memref<?xi32>
    gpu.return
  }
}
"""
OF_GLSL = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { int x[]; };
void main() { x[gl_GlobalInvocationID.x] = 1; }
"""


@pytest.mark.behaviour("SRC-26", "SRC-28")
@pytest.mark.parametrize(
    ("language", "source", "names", "others"),
    [
        (Language.SPIRV, ADDING, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.SPIRV_ASM, ADDING, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.MLIR, OF_MLIR, ["one", "two"], ["no_kernel", "main"]),
        (Language.GLSL, OF_GLSL, ["main"], ["Out", ""]),
    ],
    ids=["SPIRV", "SPIRV_ASM", "MLIR", "GLSL"],
)
def test_names_of_each_language(context, queue, device, language, source, names, others):
    if not device.ext_oneapi_can_compile(language):
        pytest.skip(f"{language.name} has no compiler here")
    kb = lp.build(
        create(context, language, lp.spirv.assemble(source) if language is Language.SPIRV else source)
    )
    assert all(map(kb.ext_oneapi_has_kernel, names)) and not any(map(kb.ext_oneapi_has_kernel, others))
    for value, name in enumerate(names, 1):
        out = lp.zeros(4, lp.u32 if language.name.startswith("SPIRV") else lp.i32, device=device)
        queue.parallel_for(lp.NdRange(4, 1), kb.ext_oneapi_get_kernel(name), out)
        assert out.numpy().tolist() == [value] * 4


@pytest.mark.behaviour("SRC-24")
def test_an_ordinary_bundle_has_no_kernels_from_source(context):
    kb = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=source_importer.calls_foreign)
    assert not kb.ext_oneapi_has_kernel("calls_foreign")


@pytest.mark.behaviour("SRC-27")
def test_missing_and_mistyped_arguments(context, queue, device):
    binary = (SHADERS / "saxpy.spv").read_bytes()
    kernel = lp.build(create(context, Language.SPIRV, binary)).ext_oneapi_get_kernel("main")
    x = lp.zeros(64, lp.f32, device=device)
    for args, text in (
        ((x, x, 1.0), "missing: 'n'"),
        ((x, x, 1.0, 2, 3), "1 too many"),
        ((x, 1.0, x, 2), "'Y'.*found float"),
        ((x, lp.zeros(4, lp.i32, device=device), 1.0, 2), "'Y'.*expected an array of lp.f32"),
        ((x, np.zeros(4, np.float32), 1.0, 2), "'Y'.*NumPy"),
        ((x, x, 1.0, -2), "'n'.*-2"),
    ):
        with pytest.raises(lp.KernelArgumentError, match=text):
            queue.parallel_for(64, kernel, *args)
    with pytest.raises(lp.KernelArgumentError, match="'Z' is no parameter"):
        queue.parallel_for(64, kernel, x, x, 1.0, Z=4)


@pytest.mark.behaviour("SRC-27")
def test_arguments_set_by_hand(context, queue, device):
    kernel = lp.build(create(context)).ext_oneapi_get_kernel("affine")
    x = lp.asarray(np.arange(1024, dtype=np.int32), device=device)
    for name in ("set_args", "set_arg"):
        out = lp.zeros(1024, lp.i32, device=device)

        def group(h: lp.Handler, name: str = name, out: lp.Array = out):
            if name == "set_args":
                h.set_args(x, out)
            else:
                h.set_arg(1, out)
                h.set_arg(0, x)
            h.parallel_for(lp.Range(1024), kernel)

        queue.submit(group)
        np.testing.assert_array_equal(out.numpy(), 2 * np.arange(1024) + 100)

    def lacking(h: lp.Handler):
        h.set_arg(0, x)
        h.parallel_for(lp.Range(1024), kernel)

    def surplus(h: lp.Handler):
        h.set_args(x, x, x)
        h.parallel_for(lp.Range(1024), kernel)

    for group in (lacking, surplus):
        with pytest.raises(lp.KernelArgumentError) as caught:
            queue.submit(group)
        assert caught.value.errc is lp.Errc.KERNEL_ARGUMENT


class Mine(enum.Enum):
    """A language of a test."""

    REVERSED = "reversed Python"


class Reversed:
    """Compiles Python that is written backwards."""

    is_binary = False
    option_prefixes = ("--shout",)
    requests: list[SourceRequest]

    def __init__(self) -> None:
        self.requests = []

    def can_compile(self, device: lp.Device) -> bool:
        return True

    def compile(self, request: SourceRequest) -> CompiledSource:
        from lapilli.frontend.python_source import compile_source

        self.requests.append(request)
        return compile_source(
            SourceRequest(
                code=request.code[::-1],
                options=request.options,
                spec_values={},
                env=request.env,
                devices=request.devices,
            )
        )


@pytest.mark.behaviour("SRC-29", "SRC-02")
def test_a_language_of_ones_own(context, queue, device):
    front_end = Reversed()
    with pytest.raises(lp.InvalidError, match="no front end"):
        create(context, Mine.REVERSED, "")
    register_language(Mine.REVERSED, front_end)
    try:
        assert device.ext_oneapi_can_compile(Mine.REVERSED)
        kb = lp.build(create(context, Mine.REVERSED, TWO[::-1]), props=[lp.BuildOptions("--shout=1 -g")])
        assert front_end.requests[0].options.others == ("--shout=1",)
        out = lp.zeros(3, lp.i32, device=device)
        queue.parallel_for(3, kb.ext_oneapi_get_kernel("iota"), out)
        assert out.numpy().tolist() == [0, 1, 2]
    finally:
        unregister_language(Mine.REVERSED)
    assert not device.ext_oneapi_can_compile(Mine.REVERSED)


LIBRARY = """
               OpCapability Shader
               OpCapability Linkage
               OpMemoryModel Logical GLSL450
               OpDecorate %twice LinkageAttributes "foreign_twice" Export
      %float = OpTypeFloat 32
   %function = OpTypeFunction %float %float
      %twice = OpFunction %float None %function
          %x = OpFunctionParameter %float
      %label = OpLabel
        %sum = OpFAdd %float %x %x
               OpReturnValue %sum
               OpFunctionEnd
"""


@pytest.mark.behaviour("IOP-44", "IOP-45")
def test_a_python_kernel_calls_a_function_of_a_spirv_module(context, queue, device):
    library = lp.compile(
        create(context, Language.SPIRV_ASM, LIBRARY), props=[lp.BuildOptions("--target-env=spv1.3")]
    )
    assert library.state is lp.BundleState.OBJECT
    kernels = lp.compile(
        lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=source_importer.calls_foreign)
    )
    with pytest.raises(lp.LinkError, match="foreign_twice") as caught:
        lp.link(kernels)
    assert caught.value.errc is lp.Errc.BUILD
    linked = lp.link([kernels, library])
    x = lp.asarray(np.arange(10, dtype=np.float32), device=device)
    queue.parallel_for(10, linked.get_kernel(source_importer.calls_foreign), x)
    np.testing.assert_array_equal(x.numpy(), 2 * np.arange(10) + 1)


@pytest.mark.behaviour("KB-16", "KID-09")
def test_kernels_from_source_have_no_id(device: lp.Device):
    before = set(lp.get_kernel_ids())
    bundle = lp.build(create(device.default_context), [device])
    assert isinstance(bundle, lp.KernelBundle)
    assert bundle.ext_oneapi_has_kernel("iota")
    assert bundle.get_kernel_ids() in ([], ())
    assert set(lp.get_kernel_ids()) == before
    with pytest.raises(lp.UnknownKernelError):
        lp.get_kernel_id("iota")
