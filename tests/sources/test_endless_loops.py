"""Endless loops of other compilers' kernels trap where the driver ends them, as those of kernels in Python do."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

import lapilli as lp

from .endless_modules import HEADER, LOOPS

pytestmark = pytest.mark.device

HEAD = """#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Data { int x[]; };
layout(push_constant) uniform Arguments { int n; uint u; };
int sum() { int s = n; for (;;) { s += x[s & 7]; } return s; }
"""
BODIES = {
    "no test": "for (;;) { x[i] += 1; }",
    "nothing inside": "x[i] = 1; for (;;) {}",
    "a test that holds": "while (u >= 0u) { x[i] += 1; }",
    "a test that holds in other words": "while (min(n, 3) < 4) { s += x[i] + 1; }",
    "do": "do { x[i] += 1; } while (true);",
    "break": "for (;;) { int t = x[i] + 1; x[i] = t; if (u < 0u) { s = t; break; } }",
    "return": "for (;;) { x[i] += 1; if (u < 0u) return; }",
    "late return": "for (;;) { x[i] += 1; if (n == 7) { x[i] += 1; if (u < 0u) return; } x[i] += 1; }",
    "function": "s = sum();",
    "switch": "for (;;) { switch (x[i] & 3) { case 0: x[i] += 1; break; case 1: x[i] += 2; continue; "
    "default: x[i] += 3; } }",
    "nested": "for (;;) { for (;;) { x[i] += 1; } }",
    "in a loop that counts": "for (int k = 0; k < 3; ++k) { for (;;) { x[i] += 1; } }",
    "in one arm": "if (i == 2u) for (;;) { x[i] += 1; } else s = 2;",
    "barrier": "for (;;) { x[i] += 1; barrier(); }",
    "the last number": "for (uint k = 0u; k <= 0xffffffffu; ++k) { x[i] += 1; }",
}


@pytest.fixture(autouse=True)
def _driver_ends_loops(device: lp.Device) -> None:  # pyright: ignore[reportUnusedFunction]
    if device.target_env.loop_iteration_cap is None:
        pytest.skip("the driver would run such a loop for ever")


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_endless_loops_trap(
    body: str, device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
) -> None:
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    text = f"{HEAD}void main() {{ uint i = gl_GlobalInvocationID.x; int s = n + int(u);\n{body}\n  x[i] = s; }}\n"
    kernel = built(lp.SourceLanguage.GLSL, text).ext_oneapi_get_kernel("main")
    with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
        queue.parallel_for(lp.NdRange(8, 8), kernel, lp.zeros(8, lp.i32, device=device), 3, 3).wait()


@pytest.mark.parametrize("name", ["no test", "in a loop that counts"])
def test_the_line_of_an_endless_loop_is_said(
    name: str, device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
) -> None:
    """Of one that others are around, the line of the outermost."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    text = f"{HEAD}void main() {{ uint i = gl_GlobalInvocationID.x; int s = n + int(u);\n{BODIES[name]}\nx[i] = s; }}"
    kernel = built(lp.SourceLanguage.GLSL, text).ext_oneapi_get_kernel("main")
    with pytest.raises(lp.KernelTrap, match=r"GLSL>:7:\d+: .* which this loop has reached"):
        queue.parallel_for(lp.NdRange(8, 8), kernel, lp.zeros(8, lp.i32, device=device), 3, 3).wait()


@pytest.mark.parametrize("version", ["1.0", "1.3", "1.5"])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_endless_loops_of_spirv_trap(
    loop: str, version: str, device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
) -> None:
    text = f"{HEADER}{loop}OpFunctionEnd\n"
    if version == "1.5":
        text = text.replace('"main"', '"main" %buffer').replace("BufferBlock", "Block")
        text = text.replace("Uniform", "StorageBuffer")
    bundle = built(lp.SourceLanguage.SPIRV_ASM, text, lp.BuildOptions(f"--target-env=spv{version}"))
    x = lp.zeros(8, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
        queue.parallel_for(lp.NdRange(8, 8), bundle.ext_oneapi_get_kernel("main"), x).wait()
