"""Modules of other compilers truncate and round f64 correctly, also where the driver does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.whole_doubles import doubles_rounded

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

SHADER = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { double x[]; };
layout(binding = 1) buffer O { double o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    dvec3 v = dvec3(x[i], -x[i], 2.5);
    o[4 * i] = trunc(x[i]);
    o[4 * i + 1] = roundEven(x[i]);
    o[4 * i + 2] = trunc(v).y;
    o[4 * i + 3] = roundEven(v).y + roundEven(v).z;
}
"""
REMAINDERS = """
OpCapability Shader
OpCapability Float64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %x %o
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %doubles ArrayStride 8
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %x DescriptorSet 0
OpDecorate %x Binding 0
OpDecorate %o DescriptorSet 0
OpDecorate %o Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%double = OpTypeFloat 64
%doubles = OpTypeRuntimeArray %double
%block = OpTypeStruct %doubles
%to_block = OpTypePointer StorageBuffer %block
%to_double = OpTypePointer StorageBuffer %double
%to_uint3 = OpTypePointer Input %uint3
%id = OpVariable %to_uint3 Input
%x = OpVariable %to_block StorageBuffer
%o = OpVariable %to_block StorageBuffer
%u0 = OpConstant %uint 0
%four = OpConstant %double 4
%main = OpFunction %void None %fn
%begin = OpLabel
%ids = OpLoad %uint3 %id
%i = OpCompositeExtract %uint %ids 0
%from = OpAccessChain %to_double %x %u0 %i
%v = OpLoad %double %from
%rest = OpFRem %double %v %four
%to = OpAccessChain %to_double %o %u0 %i
OpStore %to %rest
OpReturn
OpFunctionEnd
"""


@pytest.fixture
def x() -> np.ndarray:
    powers = 2.0 ** np.arange(0, 53)
    few = [0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 0.49999999999999994, 2.0**52 - 0.5, 1e300, np.inf, np.nan]
    found = np.concatenate([powers - 0.25, powers + 0.5, powers, few])
    return np.concatenate([found, -found])[: 8 * (2 * found.size // 8)]


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def device_with_doubles(
    request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch
) -> lp.Device:
    """A device with f64, as it is and as one whose driver has the fault."""
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device lacks fp64")
    if request.param:
        monkeypatch.setitem(vars(device), "target_env", replace(device.target_env, misrounds_doubles=True))
    return device


@pytest.fixture
def run(
    device_with_doubles: lp.Device, built: Callable[..., lp.KernelBundle], queue: lp.Queue
) -> Callable[..., np.ndarray]:
    """Runs a shader on numbers; returns what it made of each."""

    def launch(language: lp.SourceLanguage, source: str | bytes, x: np.ndarray, columns: int) -> np.ndarray:
        kernel = built(language, source).ext_oneapi_get_kernel("main")
        o = lp.zeros((x.size, columns), lp.f64, device=device_with_doubles)
        queue.parallel_for(x.size, kernel, lp.asarray(x, device=device_with_doubles), o).wait()
        return o.numpy()

    return launch


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_every_size(run: Callable[..., np.ndarray], x: np.ndarray) -> None:
    found = run(lp.SourceLanguage.GLSL, SHADER, x, 4)
    expected = np.stack([np.trunc(x), np.rint(x), np.trunc(-x), np.rint(-x) + 2.0], 1)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


def test_remainders(run: Callable[..., np.ndarray], x: np.ndarray) -> None:
    x = np.where(np.isfinite(x), x, 1.0)
    found = run(lp.SourceLanguage.SPIRV, spirv_tools().assemble(REMAINDERS), x, 1)
    np.testing.assert_array_equal(found[:, 0], np.fmod(x, 4.0))  # exact: the divisor is a power of two


def test_what_has_none_of_it_stays() -> None:
    module = parse(spirv_tools().assemble(REMAINDERS.replace("OpFRem", "OpFMul")))
    assert doubles_rounded(module) is module
    changed = doubles_rounded(parse(spirv_tools().assemble(REMAINDERS)))
    assert Op.FRem not in [item.opcode for item in changed.instructions]
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None
