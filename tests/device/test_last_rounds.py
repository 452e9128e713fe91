"""Loops that count from below zero to it do their last round, also beside 64-bit integers that are made of floats."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.interpretation import interpret
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv import driver_remedies
from lapilli.spirv.binary import Module, parse
from lapilli.spirv.loop_ends import ends_hidden
from lapilli.spirv.tables import Op

LOOPS = {
    "for": "for k in range(-2, 1):",
    "for, with steps": "for k in range(-4, 1, 2):",
    "for, of constants": "for k in range(LESS, ONE):",
    "for, of an argument": "for k in range(-n - n, n):",
    "while": "k = -2\n    while k < 1:\n        k += 1",
    "while, to zero": "k = -3\n    while 0 >= k:\n        k += 1",
    "while not": "k = -2\n    while not k > 0:\n        k += 1",
    "while, of 64 bits": "k = lp.i64(-2)\n    while k < 1:\n        k += 1",
    "break": "for k in range(-2, 3):\n        if k > 0:\n            break",
}
KERNEL = """
TABLE = lp.SpecializationId(lp.FixedArray[lp.i32, 4], [3, -7, 11, 2])
ONE = lp.SpecializationId(lp.i32, 1)
LESS = lp.SpecializationId(lp.i32, -2)

@lp.kernel(opt_level=0)
def k(words: lp.In[lp.i32], bytes: lp.In[lp.i8], x: lp.In[lp.f32], out: lp.Out[lp.f32], n: lp.i32):
    i = 0
    a = lp.i64(0)
    product = x[i]
    LOOP
        for j in range(0, words[i] + 1, 2):
            product *= 7.75
        else:
            for v in (1, TABLE[a], 1):
                a = lp.i64(max(lp.f32(3), x[a % 8] <= bytes[i] ** 2))
    out[i] = product
"""


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if request.param:
        changed = replace(device.target_env, loses_last_rounds=True)
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.device
@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("loop", LOOPS)
def test_the_last_round_is_done(device: lp.Device, loop: str) -> None:
    if not all(map(device.has, (lp.Aspect.VK_INT8, lp.Aspect.VK_STORAGE_8BIT, lp.Aspect.VK_INT64))):
        pytest.skip("the device lacks 8-bit or 64-bit integers")
    kernel = lp.kernel_from_source(KERNEL.replace("LOOP", LOOPS[loop]))
    out, expected = ran(kernel, device)
    assert out == expected > 0


def ran(kernel: lp.Kernel, device: lp.Device) -> tuple[float, float]:
    """Returns what such a kernel gives on a device and in the interpreter."""
    arrays = {
        "words": np.arange(8, dtype=np.int32),
        "bytes": np.arange(1, 9, dtype=np.int8),
        "x": np.arange(3, 11, dtype=np.float32),
    }
    expected = np.zeros(1, np.float32)
    interpret(kernel, 1, kwargs={**arrays, "out": expected, "n": 1})
    out = lp.zeros(1, device=device)
    kernel[1](**{name: lp.asarray(array, device=device) for name, array in arrays.items()}, out=out, n=1)
    return out.numpy()[0], expected[0]


COUNTS = {"range(-2, 1)": 1, "range(-2, ONE)": 1, "range(-2, 2)": 0, "range(1)": 0, "range(n, 1)": 0}


@pytest.mark.parametrize("loop", COUNTS)
def test_which_ends_are_hidden(loop: str) -> None:
    kernel = lp.kernel_from_source(
        "ONE = lp.SpecializationId(lp.i32, 1)\n\n"
        "@lp.kernel(opt_level=0)\ndef k(x: lp.Array[lp.f32], n: lp.i32):\n"
        f"    for k in {loop}:\n        x[k % 8] *= 2.0\n"
    )
    plain, hidden = (
        [item.opcode for item in parse(image.spirv).instructions].count(Op.IAdd)
        for flag in (False, True)
        for image in compile_kernels([kernel], TargetEnv(loses_last_rounds=flag))
    )
    assert hidden == plain + COUNTS[loop]


GLSL = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer O { int o[]; };
void main() {
    int sum = 0;
    for (int k = -2; k < END; k++) sum = sum * 3 + k;
    o[0] = sum;
}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.parametrize(("end", "total", "count"), [("1", -21, 1), ("2", -62, 0), ("o[0] + 1", -21, 0)])
@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
def test_ends_in_glsl(
    device: lp.Device, end: str, total: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[int] = []

    def noted(module: Module) -> Module:
        changed = ends_hidden(module)
        before, after = ([item.opcode for item in each.instructions] for each in (module, changed))
        added.append(after.count(Op.IAdd) - before.count(Op.IAdd))
        return changed

    monkeypatch.setattr(driver_remedies, "ends_hidden", noted)
    changed = replace(device.target_env, loses_last_rounds=True)
    monkeypatch.setitem(vars(device), "target_env", changed)
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL.replace("END", end))
    kernel = lp.build(source).ext_oneapi_get_kernel("main")
    out = lp.zeros(1, lp.i32, device=device)
    lp.Queue(device, context=context).parallel_for(1, kernel, out).wait()
    assert out.numpy()[0] == total
    assert added == [count]
