"""Addresses that loops carry: SwiftShader ends the process at an OpPhi of pointers in a loop's header."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse
from lapilli.spirv.carried_phis import addresses_as_words
from lapilli.spirv.tables import Op, StorageClass

pytestmark = [
    pytest.mark.device,
    pytest.mark.native_only("foreign kernels are not interpreted"),
    pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed"),
]

HEAD = """#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { Node next; uint value; };
layout(binding = 0) buffer First { Node first[]; };
layout(binding = 1) buffer Out { uint o[]; };
struct Place { uint steps; Node node; };
void advance(inout Node n) { n = n.next; }
uint value_of(Node n) { return n.value; }
void main() {
    uint i = gl_GlobalInvocationID.x, sum = 0;
"""
WALKS = {
    "a variable": """Node n = first[i];
        for (uint k = 0; k < i; k++) { sum += n.value; n = n.next; }
        o[i] = 1000 * sum + n.value;""",
    "left at its end": """Node n = first[i], last = n; uint k = 0;
        do { last = n; sum += n.value; n = n.next; } while (++k < i);
        o[i] = (i == 0 ? 0 : 1000 * (sum - last.value)) + (i == 0 ? last.value : n.value);
        o[i] += i == 0 ? 0 : 1000 * last.value;""",
    "two that change places": """Node a = first[i], b = first[i].next;
        for (uint k = 0; k < i; k++) { Node t = a; sum += a.value; a = b; b = b.next; }
        o[i] = 1000 * sum + a.value;""",
    "a function": """Node n = first[i];
        for (uint k = 0; k < i; k++) { sum += value_of(n); advance(n); }
        o[i] = 1000 * sum + value_of(n);""",
    "a struct and an array": """Place p = Place(0, first[i]); Node both[2] = Node[2](p.node, p.node);
        while (p.steps < i) { sum += p.node.value; p = Place(p.steps + 1, p.node.next); both[1] = p.node; }
        o[i] = 1000 * sum + both[1].value;""",
}


def _compiled(walk: str, folder: Path, *, is_optimised: bool) -> bytes:
    source, made = folder / "walk.comp", folder / "walk.spv"
    source.write_text(HEAD + walk + "\n}\n")
    command = ["glslangValidator", "-V", "--target-env", "vulkan1.2", str(source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    if is_optimised:
        if shutil.which("spirv-opt") is None:
            pytest.skip("spirv-opt is not installed")
        subprocess.run(["spirv-opt", "-O", made, "-o", made], check=True, capture_output=True, timeout=60)
    return made.read_bytes()


@pytest.mark.parametrize("is_optimised", [False, True], ids=["", "optimised"])
@pytest.mark.parametrize("walk", WALKS)
def test_loops_walk_along_a_list(device: lp.Device, tmp_path: Path, walk: str, is_optimised: bool) -> None:
    binary = _compiled(WALKS[walk], tmp_path, is_optimised=is_optimised)
    nodes = lp.zeros((16, 2), lp.u64, device=device)
    start = nodes.buffer.device_address
    if not start:
        pytest.skip("the device has no addresses of buffers")
    following = (np.arange(16) * 3 + 1) % 16
    values = np.arange(16) + 5
    words = np.stack([start + 16 * following, values], 1).astype(np.uint64)
    nodes.copy_from(words)
    first = lp.asarray(np.uint64(start) + np.arange(8, dtype=np.uint64) * np.uint64(16), device=device)
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary)
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    out = lp.zeros(8, lp.u32, device=device)
    lp.Queue(device, context=context).parallel_for(8, kernel, first, out).wait()
    expected: list[int] = []
    for i in range(8):
        at, total = i, 0
        for _ in range(i):
            total += int(values[at])
            at = int(following[at])
        expected.append(1000 * total + int(values[at]))
    assert out.numpy().tolist() == expected


def test_no_loop_carries_addresses_then(tmp_path: Path) -> None:
    module = parse(_compiled(WALKS["two that change places"], tmp_path, is_optimised=True))
    changed = addresses_as_words(module)
    assert changed is not module
    pointers = {
        item.result_id
        for item in changed.instructions
        if item.opcode == Op.TypePointer and item.operands[0] == StorageClass.PhysicalStorageBuffer
    }
    assert not any(item.opcode == Op.Phi and item.result_type in pointers for item in changed.instructions)
    assert addresses_as_words(changed) is changed
