"""The rows of `quirks` that wrong results show: without its remedy a shader is wrong on the drivers with the fault.

A row whose test fails here because the driver is right is a row that a version of the driver no longer needs.
The loop cap has its probe (`test_quirks`); what `specialization-unchecked` names would end the process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv import count_epilogue, driver_remedies, foreign
from lapilli.vk_runtime.constants import VK_DRIVER_ID_NVIDIA_PROPRIETARY
from lapilli.vk_runtime.quirk_table import QUIRKS
from lapilli.vk_runtime.quirks import driver_version, has_quirk
from tests.device.test_last_rounds import KERNEL as LAST_ROUND
from tests.device.test_last_rounds import ran

pytestmark = [pytest.mark.device, pytest.mark.native_only("driver faults are of devices")]

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {quirk.name: quirk for quirk in QUIRKS}


def _has(device: lp.Device, name: str) -> bool:
    physical = device.physical
    if not any(physical.driver_id in quirk.drivers for quirk in QUIRKS):
        pytest.skip("the table says nothing about this driver")
    return bool(has_quirk(BY_NAME[name], physical.driver_id, driver_version(physical.driver_info)))


def _kernel(device: lp.Device, language: lp.SourceLanguage, text: str) -> lp.Kernel:
    if language is lp.SourceLanguage.GLSL and shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, language, text))
    return bundle.ext_oneapi_get_kernel("main")


def _shader(local_size: int, body: str, parameters: str = "") -> str:
    return f"""#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = {local_size}) in;
layout(binding = 0) buffer Out {{ float found[]; }};
{parameters}
void main() {{ {body} }}
"""


def _typed_shader(body: str, parameters: str) -> str:
    """Returns a shader of one work-item that may use numbers of any size."""
    extension = "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    return _shader(1, body, parameters).replace("#version 450\n", f"#version 450\n{extension}")


def _run(device: lp.Device, kernel: lp.Kernel, size: int, *arguments: object) -> None:
    queue = lp.Queue(context=kernel.context, device=device)
    queue.parallel_for(size, kernel, *arguments).wait()


def _printed_elsewhere(program: str, **variables: str) -> str:
    """Returns what a program prints in a process of its own, whose driver reads environment variables."""
    folders = (str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | variables
    done = subprocess.run(
        (sys.executable, "-c", program), env=env, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or ("" if done.returncode < 0 else done.stderr)


def test_branch_depth(device: lp.Device) -> None:
    """In a process of its own, which some versions of llvmpipe end."""
    program = f"""
import lapilli as lp
from lapilli.frontend import spirv_source
from tests.vk_runtime.test_driver_faults import branches_are_right

spirv_source.MAXIMUM_SELECTION_DEPTH = 1000
print(branches_are_right(lp.device({device.selector!r})))
"""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    has_fault = _has(device, "branch-depth")
    assert _printed_elsewhere(program) in (("False", "") if has_fault else ("True",))


def branches_are_right(device: lp.Device) -> bool:
    """Whether a device leaves out branches that are not taken, 90 deep."""
    kernel = _kernel(device, lp.SourceLanguage.GLSL, _nest(90))
    out, given = lp.zeros(1, device=device), lp.full(2, 84.0, device=device)
    _run(device, kernel, 1, out, given)
    return bool(out.numpy()[0] == 84)


def _nest(depth: int) -> str:
    body = "".join(f"found[0] = {k}.0; if (limit.x > {k}.0) {{" for k in range(1, depth + 1))
    return _shader(
        1, f"{body} found[0] = -1.0; {'}' * depth}", "layout(binding = 1) buffer In { vec2 limit; };"
    )


def test_modules_with_branches_too_deep_for_the_driver_are_refused(device: lp.Device) -> None:
    _kernel(device, lp.SourceLanguage.GLSL, _nest(60))
    if not _has(device, "branch-depth"):
        _kernel(device, lp.SourceLanguage.GLSL, _nest(90))
        return
    with pytest.raises(lp.BuildError, match=r"branches 90 deep.*expected at most 64"):
        _kernel(device, lp.SourceLanguage.GLSL, _nest(90))


READS_UNTIL = """
    uint i = gl_GlobalInvocationID.x, n = i;
    float v;
    do { v = x[n]; n++; } while (v <= 5.0);
    found[i] = v;
"""


def test_lost_reads(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "values_carried", lambda module: module)
    found, x = lp.zeros(4, device=device), lp.asarray(np.float32([1, 9, 1, 8]), device=device)
    text = _shader(4, READS_UNTIL, "layout(binding = 1) buffer In { float x[]; };")
    kernel = _kernel(device, lp.SourceLanguage.GLSL, text)
    _run(device, kernel, 4, found, x)
    _skip_where_unknown(device, "lost-reads-of-llvmpipe")
    is_lost = _has(device, "lost-reads") or _has(device, "lost-reads-of-llvmpipe")
    assert (found.numpy().tolist() != [9, 9, 8, 8]) == is_lost


def _skip_where_unknown(device: lp.Device, name: str) -> None:
    version = driver_version(device.physical.driver_info)
    if has_quirk(BY_NAME[name], device.physical.driver_id, version) is None:
        pytest.skip("nobody has tried this version")


COMPUTED_UNTIL = """
    int i = int(gl_GlobalInvocationID.x), k = i, v;
    for (int j = 1; ; ) { v = k ^ j; k ^= j << 2; j++; if (j > i) break; }
    found[i] = float(v);
"""


def test_recomputed_values(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "values_carried", lambda module: module)
    found = lp.zeros(4, device=device)
    kernel = _kernel(device, lp.SourceLanguage.GLSL, _shader(4, COMPUTED_UNTIL))
    _run(device, kernel, 4, found)
    _skip_where_unknown(device, "recomputed-values")
    assert (found.numpy().tolist() != [1, 0, 4, 12]) == _has(device, "recomputed-values")


def test_zero_operands(device: lp.Device) -> None:
    body = "uint i = gl_GlobalInvocationID.x; found[3 * i] = x[i] * 0.0; found[3 * i + 1] = 0.0 / x[i];"
    shader = _shader(
        1, f"{body} found[3 * i + 2] = x[i] / 0.0;", "layout(binding = 1) buffer In { float x[]; };"
    )
    kernel = _kernel(device, lp.SourceLanguage.GLSL, shader)
    x = np.float32([np.nan, np.inf, 0, 3])
    out = lp.zeros(12, device=device)
    _run(device, kernel, 4, out, lp.asarray(x, device=device))
    zero = np.float32(0)
    with np.errstate(all="ignore"):
        expected = np.stack([x * zero, zero / x, x / zero], 1)
    is_right = np.array_equal(out.numpy().reshape(4, 3), expected, equal_nan=True)
    assert is_right != _has(device, "zero-operands")


def test_partial_sub_groups(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "sub_groups_counted", lambda module: module)
    size = device.info.sub_group_sizes[0]
    local = size + size // 2
    kernel = _kernel(device, lp.SourceLanguage.GLSL, _shader(local, "found[0] = float(gl_NumSubgroups);"))
    out = lp.zeros(1, device=device)
    _run(device, kernel, local, out)
    assert (out.numpy()[0] != 2) == _has(device, "partial-sub-groups")


STORED_UNTIL = """
    uint i = gl_GlobalInvocationID.x;
    while (found[i] < 4.0) found[i] += 1.0;
    while (found[i] < 9.0) found[i] += 1.0;
"""


def test_idle_lanes(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_epilogue, "MOST_COUNTED_LANES", 1)
    out = lp.zeros(4, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, _shader(1, STORED_UNTIL)), 4, out)
    _skip_where_unknown(device, "idle-lanes")
    assert (out.numpy().tolist() != [9] * 4) == _has(device, "idle-lanes")


ALIASED = """
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %seen %kept
    OpExecutionMode %main LocalSize 1 1 1
    OpDecorate %array ArrayStride 4
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %block Block
    OpDecorate %seen DescriptorSet 0
    OpDecorate %seen Binding 0
    OpDecorate %seen Aliased
    OpDecorate %seen NonWritable
    OpDecorate %kept DescriptorSet 0
    OpDecorate %kept Binding 1
    OpDecorate %kept Aliased
    %void = OpTypeVoid
    %int = OpTypeInt 32 1
    %zero = OpConstant %int 0
    %one = OpConstant %int 1
    %array = OpTypeRuntimeArray %int
    %block = OpTypeStruct %array
    %buffer = OpTypePointer StorageBuffer %block
    %element = OpTypePointer StorageBuffer %int
    %seen = OpVariable %buffer StorageBuffer
    %kept = OpVariable %buffer StorageBuffer
    %type = OpTypeFunction %void
    %main = OpFunction %void None %type
    %entry = OpLabel
    %source = OpAccessChain %element %seen %zero %zero
    %target = OpAccessChain %element %kept %zero %zero
    %result = OpAccessChain %element %kept %zero %one
    %before = OpLoad %int %source
    %more = OpIAdd %int %before %one
    OpStore %target %more
    %after = OpLoad %int %source
    OpStore %result %after
    OpReturn
    OpFunctionEnd
"""


def test_aliased_read_only(device: lp.Device) -> None:
    kernel = _kernel(device, lp.SourceLanguage.SPIRV_ASM, ALIASED)
    both = lp.asarray(np.int32([5, 0]), device=device)
    _run(device, kernel, 1, both, both)
    assert both.numpy()[0] == 6
    assert (both.numpy()[1] != 6) == _has(device, "aliased-read-only")


EXTREMUM = """
OpCapability Shader
%std = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %out
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %ints ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%int = OpTypeInt 32 0
%zero = OpConstant %int 0
%minus_one = OpConstant %int 4294967295
%ints = OpTypeRuntimeArray %int
%block = OpTypeStruct %ints
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %int
%out = OpVariable %pointer StorageBuffer
%main = OpFunction %void None %function
%label = OpLabel
%larger = OpExtInst %int %std SMax %minus_one %zero
%place = OpAccessChain %element %out %zero %zero
OpStore %place %larger
OpReturn
OpFunctionEnd
"""


def test_unsigned_extrema(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "signs_matched", lambda module: module)
    kernel = _kernel(device, lp.SourceLanguage.SPIRV_ASM, EXTREMUM)
    out = lp.full(1, 7, lp.i32, device=device)
    _run(device, kernel, 1, out)
    assert (out.numpy()[0] != 0) == _has(device, "unsigned-extrema")


CARRIED = """
import lapilli as lp

@lp.kernel
def carried(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    p = lp.private.array(40, lp.i32)
    for k in range(40):
        p[k] = x[k]
    for k in range(39, 0, -1):
        p[k] += p[k - 1]
    i = lp.global_id(0)
    y[i] = p[i % 40]
"""


def test_carried_positions(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from lapilli.passes.convert_to_spirv.local_array import LocalArray

    monkeypatch.setattr(LocalArray, "_of_its_own", lambda self, position: position)
    kernel = lp.kernel_from_source(CARRIED)
    x, y = lp.ones(40, lp.i32, device=device), lp.zeros(40, lp.i32, device=device)
    with lp.config.override(cache=False):
        kernel[40](x, y).wait()
    assert (y.numpy()[1] != 2) == _has(device, "carried-positions")


def test_unsigned_to_float(device: lp.Device) -> None:
    text = _shader(1, "found[0] = float(number);", "layout(push_constant) uniform Push { uint number; };")
    found = lp.zeros(1, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, 3410210645)
    assert (found.numpy()[0] != np.float32(3410210645)) == _has(device, "unsigned-to-float")


def test_rounded_doubles(device: lp.Device) -> None:
    """As on a processor without AVX-512, whose own instruction is right."""
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device lacks f64")
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    program = f"""
import lapilli as lp
from lapilli.spirv import driver_remedies
from tests.vk_runtime.test_driver_faults import rounded_doubles

driver_remedies.doubles_rounded = lambda module: module
print(rounded_doubles(lp.device({device.selector!r})))
"""
    variables = {
        "GALLIUM_OVERRIDE_CPU_CAPS": "avx",
        "MESA_SHADER_CACHE_DISABLE": "true",
        "LAPILLI_CACHE": "0",
    }
    found = _printed_elsewhere(program, **variables)
    assert found in ("[0.0, 2.0]", "[0.5, 1.0]", "[0.5, 1.5]")
    assert (found != "[0.0, 2.0]") == _has(device, "rounded-doubles")


def rounded_doubles(device: lp.Device) -> list[float]:
    """Returns 0 and 2 where a device truncates and rounds f64 correctly."""
    body = "found[0] = float(trunc(numbers.x) - 16777216.0); found[1] = float(roundEven(numbers.y));"
    parameters = "layout(push_constant) uniform Push { dvec2 numbers; };"
    kernel = _kernel(device, lp.SourceLanguage.GLSL, _typed_shader(body, parameters))
    found = lp.zeros(2, device=device)
    _run(device, kernel, 1, found, np.array([16777216.5, 1.5]))
    return found.numpy().tolist()


def test_double_to_half(device: lp.Device) -> None:
    if not device.has(lp.Aspect.FP16) or not device.has(lp.Aspect.FP64):
        pytest.skip("the device lacks f16 or f64")
    parameters = "layout(push_constant) uniform Push { double number; };"
    text = _typed_shader("found[0] = float(float16_t(number));", parameters)
    found = lp.zeros(1, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, 1024.5000000000002)
    assert (found.numpy()[0] != 1025) == _has(device, "double-to-half")


def test_carried_positions_in_glsl(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "positions_owned", lambda module: module)
    body = "int k = 39; while (k > 0) { p[k] = p[k] + p[k - 1]; k = k - 1; }"
    body = f"float p[40]; for (int k = 0; k < 40; k++) p[k] = 1.0; {body}"
    shader = f"{body} found[gl_LocalInvocationIndex] = p[gl_LocalInvocationIndex];"
    found = lp.zeros(4, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, _shader(4, shader)), 4, found)
    assert (found.numpy().tolist() != [1, 2, 2, 2]) == _has(device, "carried-positions")


def test_unrounded_halves(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not device.has(lp.Aspect.FP16):
        pytest.skip("the device lacks f16")
    monkeypatch.setattr(driver_remedies, "halves_rounded", lambda module: module)
    parameters = "layout(push_constant) uniform Push { float number; };"
    text = _typed_shader("found[0] = float(float16_t(number));", parameters)
    found = lp.zeros(1, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, 2049.0)
    assert (found.numpy()[0] != 2048) == _has(device, "unrounded-halves")


def _of_a_narrow_number(device: lp.Device, bits: int, body: str) -> float:
    """Returns what a shader without remedies makes of `x`, the least number of some bits."""
    parameters = f"layout(binding = 1) buffer In {{ int{bits}_t numbers[]; }};"
    text = _typed_shader(f"int{bits}_t x = numbers[0]; found[0] = {body};", parameters)
    found = lp.zeros(1, device=device)
    dtype = np.dtype(f"int{bits}")
    least = lp.asarray(np.array([np.iinfo(dtype).min], dtype), device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, least)
    return float(found.numpy()[0])


def test_widened_negations(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not device.has(lp.Aspect.VK_INT8) or not device.has(lp.Aspect.VK_STORAGE_8BIT):
        pytest.skip("the device lacks 8-bit integers")
    monkeypatch.setattr(driver_remedies, "negations_kept", lambda module: module)
    found = _of_a_narrow_number(device, 8, "-x < int8_t(5) ? 1.0 : 0.0")
    assert (found != 1) == _has(device, "widened-negations")


def test_short_extrema(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not device.has(lp.Aspect.VK_INT16) or not device.has(lp.Aspect.VK_STORAGE_16BIT):
        pytest.skip("the device lacks 16-bit integers")
    monkeypatch.setattr(driver_remedies, "extrema_compared", lambda module: module)
    found = _of_a_narrow_number(device, 16, "max(x, int16_t(2)) == int16_t(2) ? 1.0 : 0.0")
    assert (found != 1) == _has(device, "short-extrema")


def _of_wide_numbers(device: lp.Device, body: str, number: float) -> float:
    """Returns what a shader without remedies makes of a number in a kernel that also divides floats of 64 bits."""
    if not all(device.has(aspect) for aspect in (lp.Aspect.FP64, lp.Aspect.VK_INT64, lp.Aspect.VK_INT8)):
        pytest.skip("the device lacks numbers of 64 bits or integers of 8")
    parameters = "layout(binding = 1) buffer In { double numbers[]; };"
    begin = "numbers[2] = numbers[0] / numbers[1]; int64_t x = int64_t(numbers[0]); "
    text = _typed_shader(begin + body, parameters)
    found = lp.zeros(1, device=device)
    numbers = lp.asarray(np.array([number, 3.0, 0.0]), device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, numbers)
    return float(found.numpy()[0])


def test_absolute_values(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, misjudges_absolutes=False))
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(x: lp.In[lp.f32], o: lp.Out[lp.i32]):\n    o[0] = 1 if abs(x[0]) >= -1.0 else 0\n"
    )
    found = lp.zeros(1, lp.i32, device=device)
    kernel[1](lp.asarray(np.array([np.nan], np.float32), device=device), found)
    assert (found.numpy()[0] != 0) == _has(device, "absolute-values")


def test_last_rounds(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not all(map(device.has, (lp.Aspect.VK_INT8, lp.Aspect.VK_STORAGE_8BIT, lp.Aspect.VK_INT64))):
        pytest.skip("the device lacks 8-bit or 64-bit integers")
    monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, loses_last_rounds=False))
    kernel = lp.kernel_from_source(LAST_ROUND.replace("LOOP", "for k in range(-2, 1):"))
    found, expected = ran(kernel, device)
    assert (found != expected) == _has(device, "last-rounds")


def test_divided_rounds(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what it does to loops that is wrong alone: over others it would end the process."""
    monkeypatch.setattr(driver_remedies, "rounds_hidden", lambda module: module)
    text = _shader(
        1, "uint k = 0u; int s = 0; do { s++; k--; if (s > 9) break; } while (k > 0u); found[0] = s;"
    )
    found = lp.zeros(1, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found)
    assert (found.numpy()[0] != 10) == _has(device, "divided-rounds")


def test_exact_halves(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not device.has(lp.Aspect.FP16) or not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks fp16 or 64-bit integers")
    if device.physical.driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY:
        pytest.skip(
            "random kernels of a hundred lines showed it on this driver, and none of some 500 short ones"
        )
    monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, skips_exact_halves=False))
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(x: lp.In[lp.u64], o: lp.Out[lp.f32]):\n    o[0] = lp.f32(lp.f16(x[0] << 60))\n"
    )
    found = lp.zeros(1, device=device)
    kernel[1](lp.asarray(np.array([3], np.uint64), device=device), found)
    assert np.isfinite(found.numpy()[0]) == _has(device, "exact-halves")


def test_saturated_minima(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, saturates_minima=False))
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(x: lp.In[lp.f32], o: lp.Out[lp.f32]):\n    o[0] = max(0.0, min(1.0, x[0]))\n"
    )
    found = lp.zeros(1, device=device)
    kernel[1](lp.asarray(np.array([np.nan], np.float32), device=device), found)
    assert (found.numpy()[0] != 1) == _has(device, "saturated-minima")


def test_low_bits(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "low_bits_kept", lambda module: module)
    found = _of_wide_numbers(device, "found[0] = (x << 57) > int64_t(0) ? 1.0 : 0.0;", 64.0)
    assert (found != 0) == _has(device, "low-bits")


def test_narrowed_conversions(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_remedies, "conversions_kept", lambda module: module)
    found = _of_wide_numbers(device, "found[0] = float(uint(uint64_t(float(numbers[0]))));", 2.0**32)
    assert (found != 0) == _has(device, "narrowed-conversions")


def test_divided_ones(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if _has(device, "blended-ones"):
        pytest.skip("it would end the process on some processors")
    monkeypatch.setattr(driver_remedies, "ones_divided", lambda module: module)
    body = "uint8_t c = uint8_t(numbers[2] > 2.0 ? 127 : 2); found[0] = c > uint8_t(255) / uint8_t(x) ? 1.0 : 0.0;"
    try:
        found = _of_wide_numbers(device, body, 9.0)
    except lp.Error:
        found = -1.0
    assert (found != 1) == _has(device, "divided-ones")


def test_wide_orders(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks 64-bit integers")
    monkeypatch.setattr(driver_remedies, "orders_hidden", lambda module: module)
    parameters = "layout(binding = 1) buffer In { int numbers[]; };"
    text = _typed_shader("found[0] = int64_t(numbers[0]) < int64_t(7) ? 1.0 : 0.0;", parameters)
    found, numbers = lp.zeros(1, device=device), lp.zeros(1, lp.i32, device=device)
    _run(device, _kernel(device, lp.SourceLanguage.GLSL, text), 1, found, numbers)
    _skip_where_unknown(device, "wide-orders")
    assert (found.numpy()[0] != 1) == _has(device, "wide-orders")
