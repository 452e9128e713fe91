"""Integers of 8 and 16 bits: what wraps around in them has wrapped when it is widened, compared, divided, converted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.narrow_negations import negations_kept
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

pytestmark = pytest.mark.device

VALUES = {
    "-a": lambda a, b: -a,
    "z - a": lambda a, b: a.dtype.type(0) - a,
    "a * {T}(-1)": lambda a, b: -a,
    "~a + {T}(1)": lambda a, b: -a,
    "(b - b) - a": lambda a, b: -a,
    "NEGATING * a": lambda a, b: -a,
    "~a + (b - b + {T}(1))": lambda a, b: -a,
    "{T}(lp.i32(z) - lp.i32(a))": lambda a, b: (-a.astype(np.int32)).astype(a.dtype),
    "-(a + b)": lambda a, b: -(a + b),
    "abs(a)": lambda a, b: abs(a),
    "a + b": lambda a, b: a + b,
    "a << {T}(1)": lambda a, b: a << 1,
    "{T}(-lp.i32(a))": lambda a, b: (-a.astype(np.int32)).astype(a.dtype),
    "max(a, b)": np.maximum,
    "min(a, b)": np.minimum,
    "max(a, {T}(2))": lambda a, b: np.maximum(a, a.dtype.type(2)),
    "min(a, {T}(2))": lambda a, b: np.minimum(a, a.dtype.type(2)),
    "lp.math.clamp(a, {T}(2), {T}(5))": lambda a, b: np.clip(a, 2, 5),
}
USES = {
    "lp.i32({v})": lambda v, b: v,
    "lp.i32(lp.f32({v}))": lambda v, b: v,
    "lp.i32(({v}) < {T}(5))": lambda v, b: v < 5,
    "lp.i32(({v}) == {T}(2))": lambda v, b: v == 2,
    "lp.i32(({v}) != {T}(2))": lambda v, b: v != 2,
    "lp.i32(({v}) == b)": lambda v, b: v == b,
    "lp.i32(({v}) // {T}(2))": lambda v, b: v // 2,
    "lp.i32(7 % lp.i32({v}))": lambda v, b: np.where(v == 0, 0, 7 % np.where(v == 0, 1, v.astype(np.int64))),
}
ASPECTS = {
    "8": (lp.Aspect.VK_INT8, lp.Aspect.VK_STORAGE_8BIT),
    "16": (lp.Aspect.VK_INT16, lp.Aspect.VK_STORAGE_16BIT),
}


def _operands(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    info = np.iinfo(dtype)
    some = np.array(
        [info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1, 0, 1, 2, 3, 5, 6], dtype
    )
    return np.repeat(some, len(some)), np.tile(some, len(some))


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if request.param:
        changed = replace(device.target_env, widens_negations=True, misjudges_short_extrema=True)
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("opt_level", [0, 1])
@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16"])
def test_narrow_values_are_used_as_they_are(device: lp.Device, name: str, opt_level: int) -> None:
    if not all(device.has(aspect) for aspect in ASPECTS[name[1:]]):
        pytest.skip(f"the device lacks {name}")
    dtype = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    cases = [(value, use) for value in VALUES for use in USES]
    lines = "".join(
        f"    o[i, {k}] = {use.replace('{v}', value).replace('{T}', f'lp.{name}')}\n"
        for k, (value, use) in enumerate(cases)
    )
    ones = np.array(-1).astype(dtype).item()
    kernel = lp.kernel_from_source(
        f"NEGATING = lp.SpecializationId(lp.{name}, {ones})\n\n"
        f"@lp.kernel(opt_level={opt_level})\ndef k(xa: lp.In[lp.{name}], xb: lp.In[lp.{name}], o: lp.Out[lp.i32, 2]):\n"
        f"    i = lp.global_id(0)\n    a, b, z = xa[i], xb[i], lp.{name}(0)\n{lines}"
    )
    a, b = _operands(dtype)
    o = lp.zeros((len(a), len(cases)), lp.i32, device=device)
    kernel[len(a)](lp.asarray(a, device=device), lp.asarray(b, device=device), o)
    for (value, use), found in zip(cases, o.numpy().T, strict=True):
        expected = _applied(VALUES[value], USES[use], a, b)
        np.testing.assert_array_equal(found, expected, f"{use.replace('{v}', value)} of {name}")


def _applied(
    value: Callable[..., np.ndarray], use: Callable[..., np.ndarray], a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    with np.errstate(all="ignore"):
        return use(value(a, b), b).astype(np.int32)


GLSL = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 11) in;
layout(binding = 0) buffer A {{ {T} a[]; }};
layout(binding = 1) buffer O {{ ivec4 o[]; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    {T} x = a[i], y = -x, two = {T}(2);
    int which = int(max(x, two) == two) + 2 * int(min(x, two) == two);
    {T} zero = {T}(0), minus[2] = {{ {T}(1), {T}(-1) }};
    which += 4 * int(int(zero - x) == int(y)) + 8 * int(int(x * minus[1]) == int(y));
    which += 16 * int(int((x - x) - x) == int(y));
    o[i] = ivec4(y, int({T}(-int(x))), int({V}(-{V}(x, 1)).x), which);
}}
"""


@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
@pytest.mark.parametrize(("name", "vector"), [("int8_t", "i8vec2"), ("int16_t", "i16vec2")])
def test_narrow_values_in_glsl(device: lp.Device, name: str, vector: str) -> None:
    bits = name[3:].removesuffix("_t")
    if not all(device.has(aspect) for aspect in ASPECTS[bits]):
        pytest.skip(f"the device lacks {name}")
    a = _operands(np.dtype(f"int{bits}"))[1][:11]
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(
        context, lp.SourceLanguage.GLSL, GLSL.format(T=name, V=vector)
    )
    o = lp.zeros((11, 4), lp.i32, device=device)
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    lp.Queue(device, context=context).parallel_for(11, kernel, lp.asarray(a, device=device), o).wait()
    with np.errstate(all="ignore"):
        negated = (-a).astype(np.int32)
    which = (np.maximum(a, 2) == 2) + 2 * (np.minimum(a, 2) == 2) + 28
    np.testing.assert_array_equal(o.numpy(), np.stack([negated, negated, negated, which], 1))


WIDENED = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 11) in;
layout(binding = 0) buffer A { int8_t a[]; };
layout(binding = 1) buffer O { ivec2 o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = ivec2(int(int16_t(-a[i])), int(uint16_t(uint8_t(-a[i]))));
}
"""


@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_negations_of_8_bits_are_widened_to_16_behind_them(device: lp.Device) -> None:
    if not all(device.has(aspect) for aspect in (*ASPECTS["8"], lp.Aspect.VK_INT16)):
        pytest.skip("the device lacks i8 or i16")
    a = _operands(np.dtype("int8"))[1][:11]
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, WIDENED)
    o = lp.zeros((11, 2), lp.i32, device=device)
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    lp.Queue(device, context=context).parallel_for(11, kernel, lp.asarray(a, device=device), o).wait()
    np.testing.assert_array_equal(o.numpy(), np.stack([-a, (-a).view(np.uint8)], 1, dtype=np.int32))


STORED = """
OpCapability Shader
OpCapability StorageBuffer16BitAccess
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %id BuiltIn GlobalInvocationId
%void = OpTypeVoid
%fn = OpTypeFunction %void
%int = OpTypeInt 32 1
%int2 = OpTypeVector %int 2
%int3 = OpTypeVector %int 3
%short = OpTypeInt 16 1
%short2 = OpTypeVector %short 2
%to_int3 = OpTypePointer Input %int3
%id = OpVariable %to_int3 Input
%main = OpFunction %void None %fn
%begin = OpLabel
%ids = OpLoad %int3 %id
%x = OpVectorShuffle %int2 %ids %ids 0 1
%n = OpSNegate %int2 %x
%s = OpSConvert %short2 %n
%w = OpSConvert %int2 %s
OpReturn
OpFunctionEnd
"""
"""Without arithmetic on shorts; the input, whose numbers have a sign, is the one that a zero is made of."""


def test_modules_that_only_store_narrow_numbers_stay_valid() -> None:
    tools = spirv_tools()
    module = parse(tools.assemble(STORED))
    changed = negations_kept(module)
    assert changed is not module
    assert tools.validate(serialise(changed), "vulkan1.3") is None


FOUND_OUT = {
    "a specialization constant": "%y = OpISub %short %spec %x",
    "a product": "%y = OpIMul %short %x %spec",
    "a sum": "%c = OpNot %short %x\n%y = OpIAdd %short %spec %c",
    "a copy": "%c = OpCopyObject %short %zero\n%y = OpISub %short %c %x",
    "a difference": "%c = OpISub %short %x %x\n%y = OpISub %short %c %x",
    "wide": "%w = OpSConvert %int %x\n%c = OpSConvert %int %spec\n%d = OpISub %int %c %w\n%y = OpSConvert %short %d",
}


@pytest.mark.parametrize("made", FOUND_OUT)
def test_what_a_driver_may_find_out_is_hidden(made: str) -> None:
    text = STORED.replace("OpCapability StorageBuffer16BitAccess", "OpCapability Int16")
    text = text.replace("%short2", "%zero = OpConstant %short 0\n%spec = OpSpecConstant %short 0\n%short2", 1)
    begin = text.index("%n = ")
    first = "%a = OpCompositeExtract %int %ids 0\n%x = OpSConvert %short %a\n"
    text = text[:begin].replace("%x = OpVectorShuffle %int2 %ids %ids 0 1\n", "") + first
    tools = spirv_tools()
    module = parse(tools.assemble(f"{text}{FOUND_OUT[made]}\nOpReturn\nOpFunctionEnd\n"))
    changed = negations_kept(module)
    count = [[item.opcode for item in each.instructions].count(Op.IAdd) for each in (module, changed)]
    assert count[1] == count[0] + 1
    assert tools.validate(serialise(changed), "vulkan1.3") is None


def test_what_it_cannot_be_is_left_alone() -> None:
    module = parse(spirv_tools().assemble(STORED.replace("OpSNegate %int2 %x", "OpISub %int2 %x %x")))
    assert negations_kept(module) is module
