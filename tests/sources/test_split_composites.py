"""Structs and arrays that hold addresses move as a whole: SwiftShader ends the process there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.split_composites import composites_split
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

needs_glslang = pytest.mark.skipif(
    shutil.which("glslangValidator") is None, reason="glslang is not installed"
)

SHADER = """#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node;
struct Leaf { uint number; Node node; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { uint value; Leaf leaf; Leaf both[2]; };
layout(binding = 0) buffer Leaves { Leaf leaves[]; };
layout(binding = 1) buffer Out { uint o[]; };
shared Leaf near[8];
void main() {
    uint i = gl_LocalInvocationIndex;
    Leaf mine = leaves[i];
    near[i] = mine;
    barrier();
    Leaf other = near[7 - i];
    Leaf pair[2] = mine.node.both;
    mine.node.leaf = other;
    leaves[i] = Leaf(other.number + mine.node.value, pair[i & 1].node);
    o[i] = 100 * mine.number + other.node.value + pair[1 - (i & 1)].number;
}
"""


def compiled(folder: Path, *, is_optimised: bool = False) -> bytes:
    source, made = folder / "whole.comp", folder / "whole.spv"
    source.write_text(SHADER)
    command = ["glslangValidator", "-V", "--target-env", "vulkan1.2", str(source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    if is_optimised:
        if shutil.which("spirv-opt") is None:
            pytest.skip("spirv-opt is not installed")
        subprocess.run(["spirv-opt", "-O", made, "-o", made], check=True, capture_output=True, timeout=60)
    return made.read_bytes()


@needs_glslang
@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("is_optimised", [False, True], ids=["", "optimised"])
def test_values_arrive(device: lp.Device, tmp_path: Path, is_optimised: bool) -> None:
    nodes = lp.zeros((8, 8), lp.u64, device=device)  # value, (number, node) three times, nothing
    start = nodes.buffer.device_address
    if not start:
        pytest.skip("the device has no addresses of buffers")
    rng = np.random.default_rng(5)
    number, to = rng.integers(1, 99, (8, 5)), rng.integers(0, 8, (8, 4))
    words = np.zeros((8, 8), np.uint64)
    words[:, 0], words[:, 1:7:2] = number[:, 0], number[:, 1:4]
    words[:, 2:7:2] = start + 64 * to[:, :3]
    nodes.copy_from(words)
    own = rng.permutation(8)
    leaves = lp.asarray(np.stack([number[:, 4], start + 64 * own], 1).astype(np.uint64), device=device)
    out = lp.zeros(8, lp.u32, device=device)
    context = lp.Context([device])
    binary = compiled(tmp_path, is_optimised=is_optimised)
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary))
    queue = lp.Queue(device, context=context)
    queue.parallel_for(8, bundle.ext_oneapi_get_kernel("main"), leaves, out).wait()
    i = np.arange(8)
    mine, other, odd = own, own[::-1], i & 1
    expected = 100 * number[:, 4] + number[other, 0] + number[mine, 3 - odd]
    np.testing.assert_array_equal(out.numpy(), expected)
    found = leaves.numpy()
    np.testing.assert_array_equal(found[:, 0] & np.uint64(0xFFFFFFFF), number[::-1, 4] + number[mine, 0])
    np.testing.assert_array_equal(found[:, 1], start + 64 * to[mine, 1 + odd])
    np.testing.assert_array_equal(nodes.numpy()[mine, 2], start + 64 * other)


@needs_glslang
def test_no_whole_is_left(tmp_path: Path) -> None:
    module = parse(compiled(tmp_path))
    changed = composites_split(module)
    assert spirv_tools().validate(serialise(changed), "vulkan1.2") is None
    copies = [
        sum(item.opcode == Op.CopyLogical for item in found.instructions) for found in (module, changed)
    ]
    assert copies[0] > copies[1] == 0
    assert composites_split(changed) is changed


@needs_glslang
def test_a_value_of_too_many_parts_is_refused(tmp_path: Path) -> None:
    text = (
        spirv_tools()
        .disassemble(compiled(tmp_path))
        .replace("OpConstant %uint 2\n", "OpConstant %uint 2000\n")
    )
    with pytest.raises(SpirvError, match="more than 1024 parts"):
        composites_split(parse(spirv_tools().assemble(text)))
