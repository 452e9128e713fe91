"""Loops whose start and end are half of all numbers apart, or begin behind their end (quirk ``divided-rounds``)."""

from __future__ import annotations

import shutil

import pytest

import lapilli as lp

pytestmark = [pytest.mark.device, pytest.mark.native_only("driver faults are of devices")]

PYTHON = {
    "down to the least": "for k in range(0, -2**31, -1):",
    "all that are not negative": "for k in range(2**31 - 1, -1, -1):",
    "greater": "k = lp.i32(0)\n    while k > lp.i32(-2**31):\n        k -= 1",
    "unequal": "k = lp.i32(2**31 - 1)\n    while k != lp.i32(-1):\n        k -= 1",
}
LEAST = "-2147483647 - 1"
GLSL = {
    "down to the least": f"for (int k = 0; k > {LEAST}; --k) {{ ROUND }}",
    "unequal": "int k = 2147483647; while (k != -1) { ROUND k += -1; }",
    "unsigned": "uint k = 0u; while (k != 0x80000000u) { ROUND k -= 1u; }",
    "behind its end": "uint k = 0u; do { ROUND k -= 1u; } while (k > 0u);",
    "behind its end, equal": "int k = 0; do { ROUND ++k; } while (k != 0);",
    "changed in between": "uint k = 0u; do { k -= 1u; ROUND } while (k > 0u);",
    "left in between": "uint k = 0xffffffffu; for (;;) { ROUND k += 1u; if (!(k != 0xffffffffu)) break; x[i] = 1; }",
    "always": "int k = 0; do { k += -1; ROUND } while (k <= 2147483647);",
    "the greatest": "uint k = 0xffffffffu; do { ROUND ++k; } while (k <= 0x7fffffffu);",
    "a truth that is kept": f"int k = 0; bool b; for (;;) {{ ROUND b = k > {LEAST}; if (!b) break; k -= 1; }}",
    "a truth behind its end": "uint k = 0u; bool b; do { ROUND k -= 1u; b = k > 0u; } while (b);",
    "two truths": f"int k = 0; for (;;) {{ ROUND bool a = k > {LEAST}, b = s < 999; if (!(a && b)) break; k -= 1; }}",
    "a chosen truth": f"int k = 0; for (;;) {{ ROUND if (int(k <= {LEAST}) != 0) break; k -= 1; }}",
    "a converted counter": f"uint k = 0u; for (;;) {{ ROUND if (int(k) <= {LEAST}) break; k -= 1u; }}",
    "a counter that is copied": f"int k = 0; for (;;) {{ ROUND int j = k; k = j - 1; if (j == {LEAST}) break; }}",
    "an end that is kept": f"int k = 0, e = {LEAST}; for (;;) {{ ROUND if (k <= e) break; k -= 1; }}",
    "an end that is given": f"s = down_to({LEAST});",
    "a start of long ago": f"int k = 0; if (x[i] == 7) s = 1; for (;;) {{ ROUND if (k <= {LEAST}) break; k -= 1; }}",
    "an end of specialization": "int k = 0; for (;;) { ROUND if (k <= END) break; k -= 1; }",
    "a step of specialization": f"int k = 0; for (;;) {{ ROUND if (k <= {LEAST}) break; k += STEP; }}",
    "a start of specialization": "uint k = uint(START); do { ROUND k -= 1u; } while (k > 0u);",
    "floats": "float f = 0.0; do { ROUND f += 1.0; } while (f >= 1.0);",
    "floats, unequal": "float f = 0.0; do { ROUND f -= 1.0; } while (f != 0.0);",
}
GLSL_64 = {
    "unsigned": "uint64_t k = 0ul; do { ROUND k -= 1ul; } while (k > 0ul);",
    "unequal": "int64_t k = 0l; do { ROUND k += 1l; } while (k != 0l);",
    "half of all numbers": "uint64_t k = 0ul; for (;;) { ROUND if (k == 0x8000000000000000ul) break; k -= 1ul; }",
}
SHADER = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { int x[]; };
layout(constant_id = 0) const int END = -2147483647 - 1;
layout(constant_id = 1) const int START = 0;
layout(constant_id = 2) const int STEP = -1;
int down_to(int e) { int k = 0, s = 0; for (;;) { ROUND if (k <= e) break; k -= 1; } return s; }
void main() { uint i = gl_GlobalInvocationID.x; int s = 0; BODY
x[i] = s; }
"""


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("loop", PYTHON.values(), ids=PYTHON)
def test_loops_in_python(device: lp.Device, loop: str, level: int) -> None:
    kernel = lp.kernel_from_source(
        f"import lapilli as lp\n@lp.kernel(opt_level={level})\ndef k(x: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n"
        f"    s = 0\n    {loop}\n        s += 1\n        if s > 200: break\n    x[i] = s\n"
    )
    x = lp.zeros(8, lp.i32, device=device)
    kernel[8](x)
    assert x.numpy().tolist() == [201] * 8


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("test", ["seen == False", "seen != True", "False == seen"])
def test_truth_values_in_loops_are_no_ends(device: lp.Device, test: str, level: int) -> None:
    kernel = lp.kernel_from_source(
        f"import lapilli as lp\n@lp.kernel(opt_level={level})\ndef k(x: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n"
        f"    seen = False\n    for n in range(x[i]):\n        if {test}:\n            x[i] += n\n"
        "        seen = x[i] > 9\n"
    )
    x = lp.full(8, 6, lp.i32, device=device)
    kernel[8](x)
    assert x.numpy().tolist() == [12] * 8  # 6 + 0 + 1 + 2 + 3


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.parametrize("loop", GLSL.values(), ids=GLSL)
def test_loops_of_other_compilers(device: lp.Device, loop: str) -> None:
    assert_run_on(device, loop)


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.parametrize("loop", GLSL_64.values(), ids=GLSL_64)
def test_loops_of_other_compilers_over_64_bits(device: lp.Device, loop: str) -> None:
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks 64-bit integers")
    assert_run_on(device, loop)


def assert_run_on(device: lp.Device, loop: str) -> None:
    """Runs a loop, which should end itself after 201 rounds."""
    text = SHADER.replace("BODY", loop).replace("ROUND", "s += 1; if (s > 200) break;")
    context = lp.Context([device])
    kernel = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, text))
    x = lp.zeros(8, lp.i32, device=device)
    lp.Queue(device, context=context).parallel_for(8, kernel.ext_oneapi_get_kernel("main"), x).wait()
    assert x.numpy().tolist() == [201] * 8
