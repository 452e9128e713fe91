"""Atomic operations of other compilers' kernels stay inside of their buffers."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.clamp_atomics import atomics_clamped

pytestmark = [
    pytest.mark.device,
    pytest.mark.native_only("foreign kernels are not interpreted"),
    pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed"),
]

WILD = '''
import sys

import numpy as np

import lapilli as lp

GLSL = """#version 450
layout(local_size_x = 64) in;
struct Cell { int count; uint parts[3]; };
layout(binding = 0) buffer A { int a[]; };
layout(binding = 1) buffer B { int head; Cell cells[]; };
layout(binding = 2) buffer F { int first; };
void change(int k) { atomicAdd(cells[k].parts[k], 0x41414141u); }
void main() {
    int k = first + int(gl_GlobalInvocationID.x);
    atomicAdd(a[k], 0x41414141);
    atomicExchange(a[uint(k)], 0x41414141);
    atomicCompSwap(a[k], 0, 0x41414141);
    change(k);
}
"""
(device,) = (d for d in lp.devices() if d.selector == sys.argv[1])
context = lp.Context([device])
source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL)
kernel = lp.build(source).ext_oneapi_get_kernel("main")
a, cells = lp.zeros(4, lp.i32, device=device), lp.zeros(17, lp.i32, device=device)
queue = lp.Queue(device, context=context)
for first in (-64, 4, 2**20, 2**29 - 64, 2**30 - 64, 2**31 - 65, -(2**30) - 64, -(2**31)):
    queue.parallel_for(64, kernel, a, cells, lp.asarray(np.int32([first]), device=device)).wait()
print("done")
'''


def test_a_position_out_of_range_never_ends_the_process(device: lp.Device, tmp_path) -> None:
    file = tmp_path / "wild.py"
    file.write_text(WILD)
    done = subprocess.run(
        (sys.executable, file, device.selector), capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


COUNTING = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer C { int head; ivec4 counts[][2]; };
layout(binding = 1) buffer P { int places[]; };
void main() {
    int k = places[gl_GlobalInvocationID.x];
    atomicAdd(counts[k / 8][k / 4 & 1][k & 3], 1);
}
"""


def test_positions_in_range_are_what_they_were(device: lp.Device) -> None:
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, COUNTING)
    places = np.random.default_rng(3).integers(0, 24, 200).astype(np.int32)
    counts = lp.zeros(4 + 24, lp.i32, device=device)
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    lp.Queue(device, context=context).parallel_for(
        200, kernel, counts, lp.asarray(places, device=device)
    ).wait()
    assert np.array_equal(counts.numpy()[4:], np.bincount(places, minlength=24))


WIDE = """
OpCapability Shader
OpCapability Int64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %words ArrayStride 4
OpDecorate %row ArrayStride 16
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%long = OpTypeInt 64 {sign}
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%five = OpConstant %long 5
%four = OpConstant %long 4
%words = OpTypeArray %uint %four
%row = OpTypeRuntimeArray %words
%block = OpTypeStruct %row
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %uint
%out = OpVariable %pointer StorageBuffer
%main = OpFunction %void None %function
%label = OpLabel
%k = OpCopyObject %long %five
%place = OpAccessChain %element %out %zero %k %k
OpAtomicStore %place %one %zero %zero
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("sign", [0, 1])
def test_positions_of_64_bits(sign: int) -> None:
    module = parse(lp.spirv.assemble(WIDE.format(sign=sign)))
    changed = atomics_clamped(module)
    lp.spirv.validate(serialise(changed))
    assert [item.name for item in changed.instructions].count("OpULessThan") == 2


def test_what_only_reads_stays() -> None:
    text = WIDE.replace("OpAtomicStore %place %one %zero %zero", "%v = OpAtomicLoad %uint %place %zero %zero")
    module = parse(lp.spirv.assemble(text.format(sign=0)))
    assert atomics_clamped(module) is module
