"""HLSL as glslang compiles it: blocks as before SPIR-V 1.3, and structs copied between types of other layouts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit

pytestmark = [
    pytest.mark.device,
    pytest.mark.native_only("foreign kernels are not interpreted"),
    pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed"),
]

SHADER = """
struct Particle { float3 place; float weight; int id; };
StructuredBuffer<Particle> particles;
RWStructuredBuffer<float> result;
cbuffer Constants { float4 scale; row_major float2x3 turn; uint count; };
groupshared float kept[8];

[numthreads(8, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint at : SV_GroupIndex) {
    Particle p = particles[id.x];
    kept[7 - at] = dot(p.place, scale.xyz) + p.weight * p.id;
    GroupMemoryBarrierWithGroupSync();
    if (id.x < count)
        result[id.x] = kept[at] + mul(turn, p.place).y;
}
"""


@pytest.fixture(params=["vulkan1.0", "vulkan1.1", "vulkan1.2"])
def compiled(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    """The shader as a module."""
    source, made = tmp_path / "shader.hlsl", tmp_path / "shader.spv"
    source.write_text(SHADER)
    command = [
        "glslangValidator",
        "-D",
        "-V",
        "-S",
        "comp",
        "-e",
        "main",
        "--auto-map-bindings",
        "--hlsl-offsets",
    ]
    command += ["--target-env", request.param, str(source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return made.read_bytes()


@pytest.mark.parametrize("is_rewritten", [False, True], ids=["", "through the dialect"])
def test_runs(device: lp.Device, compiled: bytes, is_rewritten: bool) -> None:
    """Through the dialect the two types of one struct get names that differ."""
    data = emit(deserialise(compiled), TargetEnv()).binary if is_rewritten else compiled
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, data))
    particles = np.zeros(16, [("place", "f4", 3), ("weight", "f4"), ("id", "i4"), ("padding", "u4", 3)])
    particles["place"] = np.arange(48).reshape(16, 3) % 7
    particles["weight"], particles["id"] = np.arange(16), np.arange(16) % 5
    constants = np.array([1, 2, 3, 4, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0], np.float32).view(np.uint32)
    constants[12] = 14
    result = lp.zeros(16, lp.f32, device=device)
    given = [lp.asarray(words, device=device) for words in (particles.view(np.uint32), constants)]
    kernel = bundle.ext_oneapi_get_kernel("main")
    order = (given[0], result, given[1])  # by binding
    lp.Queue(device, context=context).parallel_for(16, kernel, *order).wait()
    own = particles["place"] @ np.array([1, 2, 3]) + particles["weight"] * particles["id"]
    expected = own.reshape(2, 8)[:, ::-1].ravel() + particles["place"] @ np.array([4, 5, 6])
    expected[14:] = 0
    np.testing.assert_array_equal(result.numpy(), expected.astype(np.float32))  # exact: small whole numbers
