"""Bundles from source: creating, building, what exists in which state, options, logs."""

from __future__ import annotations

import enum
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.vk_runtime.source_language import (
    register_language,
    unregister_language,
)

from . import source_importer
from .source_text import TWO, Mine, Reversed, create

pytestmark = pytest.mark.device

Language = lp.SourceLanguage


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
    assert device.ext_oneapi_can_compile(lang=Language.SPIRV) is True
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
    for find in (only.ext_oneapi_get_kernel, only.get_kernel):
        with pytest.raises(lp.UnknownKernelError, match=r"kernel 'wide' was left out: .*fp64"):
            find("wide")
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
    assert built == lp.build(kb, [lesser]) == lp.build(create(context), [lesser])
    assert [*built] == [*lp.build(kb, [lesser])]
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


@pytest.mark.parametrize(
    "option",
    ["-O0", "-O1 -O2 -g", "-fsycl-device-code-split", ["-g", "-fsycl-device-code-split=per_kernel"], []],
)
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
        (Language.SPIRV_ASM, "", ["one OpMemoryModel", "at least one capability"]),
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
    assert caught.value.log in str(caught.value)
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


@pytest.mark.behaviour("KB-10")
def test_equal_shaders_make_equal_images(device, built):
    """Debug information holds the name of the file that the compiler read, which is no part of the source."""
    if not device.ext_oneapi_can_compile(Language.GLSL):
        pytest.skip("glslang is not installed")
    text = "#version 450\nlayout(binding = 0) buffer B { int b[]; };\nvoid main() { b[0] = 1; }\n"
    first, second = (built(Language.GLSL, text, lp.BuildOptions("-g")) for _ in range(2))
    assert first == second
    assert [i.spirv() for i in first] == [i.spirv() for i in second]


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
    assert sorted(kb.get_kernel_names()) == ["affine", "iota"], "names they have"
    assert [image.get_kernel_ids() for image in kb] == [[]]
    assert lp.get_kernel_ids() == before
    with pytest.raises(lp.UnknownKernelError):
        lp.get_kernel_id("affine")
