"""Operations of other compilers' kernels take integers as the operation says, whatever sign their type has."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse
from lapilli.spirv.matched_signs import signs_matched

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

SPIRV = """
OpCapability Shader
%std = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%float = OpTypeFloat 32
%word = OpTypeInt 32 {sign}
%pair = OpTypeVector %word 2
%zero = OpConstant %word 0
%three = OpConstant %word 3
%minus_one = OpConstant %word {minus_one}
%minus_ones = OpConstantComposite %pair %minus_one %minus_one
%zeros = OpConstantComposite %pair %zero %zero
%words = OpTypeRuntimeArray %word
%block = OpTypeStruct %words
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %word
%out = OpVariable %pointer StorageBuffer
%main = OpFunction %void None %function
%label = OpLabel
{code}
%place = OpAccessChain %element %out %zero %zero
OpStore %place %result
OpReturn
OpFunctionEnd
"""
CASES = {
    "SMax": (0, "%result = OpExtInst %word %std SMax %minus_one %zero", 0),
    "SMin": (0, "%result = OpExtInst %word %std SMin %minus_one %zero", -1),
    "SClamp": (0, "%result = OpExtInst %word %std SClamp %minus_one %zero %three", 0),
    "UMax": (1, "%result = OpExtInst %word %std UMax %minus_one %zero", -1),
    "UMin": (1, "%result = OpExtInst %word %std UMin %minus_one %zero", 0),
    "UClamp": (1, "%result = OpExtInst %word %std UClamp %minus_one %zero %three", 3),
    "vector": (
        0,
        "%both = OpExtInst %pair %std SMax %minus_ones %zeros\n%result = OpCompositeExtract %word %both 1",
        0,
    ),
    "ConvertSToF": (0, "%f = OpConvertSToF %float %minus_one\n%result = OpBitcast %word %f", 0xBF800000),
    "ConvertUToF": (1, "%f = OpConvertUToF %float %minus_one\n%result = OpBitcast %word %f", 0x4F800000),
}


def spirv(sign: int, code: str) -> str:
    return SPIRV.format(sign=sign, minus_one="-1" if sign else "4294967295", code=code)


@pytest.mark.parametrize(("sign", "code", "expected"), CASES.values(), ids=CASES.keys())
def test_constants(device: lp.Device, sign: int, code: str, expected: int) -> None:
    context = lp.Context([device])
    bundle = lp.build(
        lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, spirv(sign, code))
    )
    out = lp.full(1, 7, lp.u32, device=device)
    lp.Queue(context=context, device=device).parallel_for(1, bundle.ext_oneapi_get_kernel("main"), out).wait()
    assert out.numpy()[0] == np.uint32(expected & 0xFFFFFFFF)


def test_operations_whose_operands_match_stay() -> None:
    for sign, code, _ in CASES.values():
        module = parse(lp.spirv.assemble(spirv(1 - sign, code)))
        assert signs_matched(module) is module
