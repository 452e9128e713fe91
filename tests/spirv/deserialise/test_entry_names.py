"""One function as several entry points, entry points without a name."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.tools import SpirvTools

from .canonical import canonical
from .test_round_trip import round_trip

MODULE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %f "first"
OpEntryPoint GLCompute %g "other"
OpEntryPoint GLCompute %f "second"
OpEntryPoint GLCompute %h ""
OpExecutionMode %f LocalSize 1 1 1
OpExecutionMode %g LocalSize 2 1 1
OpExecutionMode %h LocalSize 3 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%plain = OpTypeFunction %void
%uint = OpTypeInt 32 0
%c0 = OpConstant %uint 0
%c7 = OpConstant %uint 7
%block = OpTypeStruct %uint
%to_block = OpTypePointer StorageBuffer %block
%to_word = OpTypePointer StorageBuffer %uint
%data = OpVariable %to_block StorageBuffer
%f = OpFunction %void None %plain
%lf = OpLabel
%place = OpAccessChain %to_word %data %c0
OpStore %place %c7
OpReturn
OpFunctionEnd
%g = OpFunction %void None %plain
%lg = OpLabel
OpReturn
OpFunctionEnd
%h = OpFunction %void None %plain
%lh = OpLabel
OpReturn
OpFunctionEnd
"""


def test_they_come_back(tools: SpirvTools) -> None:
    data = tools.assemble(MODULE, "spv1.3")
    assert tools.validate(data, "vulkan1.1") is None
    text = str(deserialise(data))
    assert text.count("fn = @first, interface") == 2
    assert text.count('entry_name = "second"') == 1
    again = round_trip(data, TargetEnv(vulkan_version=(1, 1)))
    assert tools.validate(again, "vulkan1.1") is None
    assert canonical(again) == canonical(data)


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("name", ["first", "second"])
def test_each_runs(name: str, tools: SpirvTools, device: lp.Device) -> None:
    named = "\n".join(line for line in MODULE.splitlines() if '""' not in line and "%h LocalSize" not in line)
    data = round_trip(tools.assemble(named, "spv1.3"), TargetEnv(vulkan_version=(1, 1)))
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, data))
    found = lp.zeros(1, lp.u32, device=device)
    lp.Queue(device, context=context).parallel_for(1, bundle.ext_oneapi_get_kernel(name), found).wait()
    np.testing.assert_array_equal(found.numpy(), [7])


def test_a_name_stands_once(tools: SpirvTools) -> None:
    with pytest.raises(SpirvError, match="an entry point has a name of its own"):
        deserialise(tools.assemble(MODULE.replace('"second"', '"other"'), "spv1.3"))
    text = str(deserialise(tools.assemble(MODULE, "spv1.3"))).replace('"second"', '"other"')
    with pytest.raises(IRError, match="@other is there twice for one execution model"):
        verify_module(parse_module(text).module)
