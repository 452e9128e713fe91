"""Truths about low bits of 64-bit integers beside divisions, and conversions of which low bits are all that is used."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.low_bits import low_bits_kept
from lapilli.spirv.narrow_integers import ones_divided
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.wide_conversions import conversions_kept

pytestmark = pytest.mark.device

TRUTHS = (
    "(x % -3 & 1) == 1", "(x // 5 & 1) == 1", "(x % -3) ** 2 % 4 == 1", "(lp.i32(x % -3) & 1) == 1",
    "(lp.bitcast(x % -3, lp.u32x2).x & 1) == 1", "x % 2 == 1", "x % 2 * 3 - 1 > 0", "lp.i32(x) % 2 * 3 - 1 > 0",
    "(x + xs[0]) % 2 == 1", "lp.bool_(lp.u64(x) & 1)", "(lp.u64(x) % 3 & 1) == 1", "(x << 63) < 0", "(x << 57) > 0",
    "(x << 50) > 0", "(x << 40) >= 1", "(x << 33) > 0", "(x << 20) > 0", "((x << 57) >> 57) > 3",
    "((x << 50) >> 50) > 3", "(x << 57) + (xs[0] << 57) > 0", "x * 144115188075855872 > 0", "-(x << 57) < 5",
    "(lp.u64(x) << 57) > lp.u64(5)", "min(x << 57, 5) == 5", "abs(x << 57) > 5", "(x & 127) > 3", "lp.i8(x) > 0",
    "(lp.i64x2(x, x + 1) % 2 == 1).x", "(x << lp.i64(c[0])) > 0", "lp.u8(127 if x // xs[1] else 2) > 255 // lp.u8(x)",
    "(x % -3) ** 2 % 8 == 1", "(x % 5) * (x % 5) & 3 == 1", "(x * x & 1) + lp.i32(c[0]) == 58", "(lp.i16(x) & 3) == 3",
    "(lp.i32(x) >> 5 & 1) == 1", "((x % -3) ** 2 & 1) == 1", "((x % -3) ** 2 & 3) == 1", "lp.bool_((x % -3) ** 2 & 1)",
    "(lp.i32((x % -3) ** 2) & 1) == 1", "((x % -3 + 1) ** 2 & 1) == 1", "(-((x % -3) ** 2) & 1) != 1",
    "lp.u16(127 if x // xs[1] else 2) > lp.u16(65535) // lp.u16(x)", "(x + x) > 7", "x + 1 + x > 7", "x - (0 - x) > 7",
    "x * 3 - x > 7", "(x + xs[0]) - (xs[0] - x) > 7", "((x + x) >> 1) > 3", "(lp.i32(lp.u16(x)) & 1) == 1",
    "lp.i32(lp.u16(x)) % 2 * 3 - 1 > 0",
    "(lp.i32(lp.i8(x)) & 3) == 3",
)  # fmt: skip
NUMBERS = (
    "lp.bitcast(-lp.f32(x == 2), lp.i32)", "lp.bitcast(-lp.f32(f > 2 and x < 9), lp.i32)", "lp.i32(lp.u64(f))",
    "lp.i32(lp.u16(lp.u64(f)))", "lp.i32(lp.u64(f) & 0xFFFFF)", "lp.i32(lp.i64(f))", "lp.i32(lp.u64(f) >> 32)",
    "lp.i32(lp.u64(lp.f32x2(f, 1.5).x))",
)  # fmt: skip
PARAMETERS = "xs: lp.In[lp.i64], fs: lp.In[lp.f32], ds: lp.In[lp.f64], c: lp.In[lp.i32]"
XS = np.array([2, -3, 4294967295, 19, -5, -13, 7, 64, -1000, 2**62 + 3, -(2**63), 2**53 + 1], np.int64)
FS = np.array(
    [2**32, 3e9, 5e9, 70000, 300, 1e12, 0.5, 2**40 + 2**20, 2**63, 2**64 - 2**40, 1.0, 0.0], np.float32
)
DS = np.linspace(1.0, 9.0, len(XS))
COUNTS = np.array([57], np.int32)


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if not all(device.has(aspect) for aspect in (lp.Aspect.VK_INT64, lp.Aspect.FP64, lp.Aspect.VK_INT16)):
        pytest.skip("the device lacks numbers of 64 or 16 bits")
    if request.param:
        changed = replace(
            device.target_env, misjudges_low_bits=True, narrows_conversions=True, fails_on_divided_ones=True,
            widens_negations=True, loses_negated_truths=True,
        )  # fmt: skip
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("beside", ["", "ds[0] / ds[i]", "lp.math.sqrt(ds[i])", "lp.f64(xs[i] // xs[1])"])
def test_truths_beside_divisions(device: lp.Device, beside: str) -> None:
    lines = "".join(f"    o[i, {k}] = 1 if {truth} else 0\n" for k, truth in enumerate(TRUTHS))
    _check(device, len(TRUTHS), lines + (f"    d[i] = lp.f32({beside})\n" if beside else ""))


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("truth", TRUTHS)
def test_a_truth_alone(device: lp.Device, truth: str) -> None:
    _check(device, 1, f"    d[i] = lp.f32(ds[0] / ds[i])\n    o[i, 0] = 1 if {truth} else 0\n")


@pytest.mark.usefixtures("env")
def test_loops_whose_step_is_a_low_bit(device: lp.Device) -> None:
    _check(device, 1, "    for _ in range(0, 4, x % 2 * 3 - 1):\n        o[i, 0] += 1\n")


@pytest.mark.usefixtures("env")
def test_loops_whose_step_is_the_low_bit_of_a_part(device: lp.Device) -> None:
    """Of 16 bits of the 64, widened again: kernel k1 of seed 1744077."""
    lines = (
        "    part = lp.u16(x)\n    for _ in range(0, 4, lp.i32(part) % 2 * 3 - 1):\n        o[i, 0] += 1\n"
    )
    _check(device, 1, lines + "    d[i] = lp.f32(ds[0] / ds[i])\n")


@pytest.mark.usefixtures("env")
def test_conversions_of_which_low_bits_are_used(device: lp.Device) -> None:
    lines = "".join(f"    o[i, {k}] = {number}\n" for k, number in enumerate(NUMBERS))
    _check(device, len(NUMBERS), lines)


def _check(device: lp.Device, columns: int, lines: str) -> None:
    """Runs a kernel of these lines on the device and in the interpreter."""
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k({PARAMETERS}, o: lp.Array[lp.i32, 2], d: lp.Array[lp.f32]):\n"
        f"    i = lp.global_id(0)\n    x, f = xs[i], fs[i]\n{lines}"
    )
    given = {"xs": XS, "fs": FS, "ds": DS, "c": COUNTS}
    expected = np.zeros((len(XS), columns), np.int32)
    interpret(kernel, len(XS), kwargs={**given, "o": expected, "d": np.zeros(len(XS), np.float32)})
    found = lp.zeros(expected.shape, lp.i32, device=device)
    arrays = {name: lp.asarray(array, device=device) for name, array in given.items()}
    kernel[len(XS)](**arrays, o=found, d=lp.zeros(len(XS), device=device))
    np.testing.assert_array_equal(found.numpy(), expected)


GLSL = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 12) in;
layout(binding = 0) buffer X { int64_t xs[]; };
layout(binding = 1) buffer F { float fs[]; };
layout(binding = 2) buffer O { ivec4 o[]; };
layout(binding = 3) buffer D { double d[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t x = xs[i];
    uint64_t u = uint64_t(x), n = uint64_t(fs[i]);
    d[i] = d[0] / d[i];
    i16vec4 shorts = i16vec4(int16_t(x)) & int16_t(3);
    int signs = int(int64_t(x << 57) > 0l) + 2 * int(((x << 50) >> 50) > 3l) + 4 * int(x * 144115188075855872l > 0l)
        + 8 * int(x + x > 7l);
    u8vec2 least = u8vec2(u / uint64_t(d[0]) != 0ul ? 127 : 2, 3);
    uint below = uint(least.x > uint8_t(255) / uint8_t(max(i, 1u)));
    o[i] = ivec4(int((u % 3ul & 1ul) == 1ul) + 2 * int(shorts.y) + 8 * int(x * x & 3l),
                  signs, int(uint(n)), below + 2u * uint(u % 2ul == 1ul));
}
"""


@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_low_bits_in_glsl(device: lp.Device) -> None:
    context = lp.Context([device])
    kernel = lp.build(
        lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL)
    ).ext_oneapi_get_kernel("main")
    o = lp.zeros((len(XS), 4), lp.i32, device=device)
    arrays = (lp.asarray(array, device=device) for array in (XS, FS))
    queue = lp.Queue(device, context=context)
    queue.parallel_for(len(XS), kernel, *arrays, o, lp.asarray(DS, device=device)).wait()
    u = XS.view(np.uint64)
    with np.errstate(all="ignore"):
        signs = ((XS << 57) > 0) + 2 * (((XS << 50) >> 50) > 3) + 4 * (XS * 2**57 > 0) + 8 * (XS + XS > 7)
        words = FS.astype(np.uint64).astype(np.uint32).view(np.int32)
    below = np.where(u != 0, 127, 2) > 255 // np.maximum(np.arange(len(XS)), 1)
    lowest = (u % 3 & 1) + 2 * (u & 3) + 8 * (u * u & 3)
    columns = (lowest, signs, words, below + 2 * (u & 1).astype(np.int32))
    expected = np.stack([column.astype(np.int32) for column in columns], 1)
    np.testing.assert_array_equal(o.numpy(), expected)


def test_modules_without_such_numbers_stay_as_they_are() -> None:
    tools = spirv_tools()
    plain = tools.assemble(
        "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
        'OpEntryPoint GLCompute %main "main"\nOpExecutionMode %main LocalSize 1 1 1\n'
        "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%main = OpFunction %void None %fn\n"
        "%begin = OpLabel\nOpReturn\nOpFunctionEnd\n"
    )
    for change in (low_bits_kept, conversions_kept, ones_divided):
        module = parse(plain)
        assert change(module) is module
        assert serialise(change(module)) == plain
