"""Positions in private arrays of other compilers' kernels are those of their round, also where a loop has the next."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.own_positions import positions_owned

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

BODIES = {
    "two reads": "for (int k = 39; k > 0;) { int x = p[k]; int q = k - 1; p[k] = x + p[q]; k = q; }",
    "read and written": "int k = 39; while (k > 0) { p[k] = p[k] + p[k - 1]; k = k - 1; }",
    "module's": "int k = 39; while (k > 0) { kept[k] = kept[k] + kept[k - 1]; k = k - 1; } p = kept;",
    "called": "int k = 39; while (k > 0) { add(p, k, k - 1); k = k - 1; }",
}
GLSL = """#version 450
layout(local_size_x = 40) in;
layout(binding = 0) buffer O {{ int o[]; }};
int kept[40];
void add(inout int p[40], int k, int q) {{ p[k] = p[k] + p[q]; }}
void main() {{
    int i = int(gl_GlobalInvocationID.x), p[40];
    for (int k = 0; k < 40; k++) p[k] = kept[k] = k * k;
    {body}
    o[i] = p[i];
}}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_sums_of_neighbours(device: lp.Device, body: str) -> None:
    context = lp.Context([device])
    bundle = lp.build(
        lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL.format(body=body))
    )
    o = lp.zeros(40, lp.i32, device=device)
    lp.Queue(context=context, device=device).parallel_for(40, bundle.ext_oneapi_get_kernel("main"), o).wait()
    squares = np.arange(40) ** 2
    assert np.array_equal(o.numpy(), squares + np.append(0, squares[:-1]))


WIDE = """
OpCapability Shader
OpCapability Int64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%long = OpTypeInt 64 1
%zero = OpConstant %long 0
%eight = OpConstant %uint 8
%array = OpTypeArray %long %eight
%arrays = OpTypePointer Function %array
%longs = OpTypePointer Function %long
%false = OpConstantFalse %bool
%main = OpFunction %void None %function
%begin = OpLabel
%p = OpVariable %arrays Function
OpBranch %loop
%loop = OpLabel
%k = OpPhi %long %zero %begin %value %loop
%element = OpAccessChain %longs %p {position}
%value = OpLoad %long %element
OpLoopMerge %end %loop None
OpBranchConditional %false %loop %end
%end = OpLabel
OpReturn
OpFunctionEnd
"""


def test_positions_of_64_bits() -> None:
    module = positions_owned(parse(lp.spirv.assemble(WIDE.format(position="%k"))))
    lp.spirv.validate(serialise(module))
    assert [item.name for item in module.instructions].count("OpIAdd") == 1


def test_constant_positions_stay() -> None:
    module = parse(lp.spirv.assemble(WIDE.format(position="%zero")))
    assert positions_owned(module) is module
