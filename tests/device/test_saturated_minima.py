"""max(0, min(1, x)) of NaN is 1: Python's `min` leaves its first argument where the second compares as neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.binary import parse
from lapilli.spirv.tables import Op
from tests.device.edge_numbers import ASPECTS, ran

pytestmark = pytest.mark.device

MINIMA = (
    "min(1.0, x)",
    "min(ONE, x)",
    "min(1.0 if p < 3 else 2.0, x)",
    "min(1.0, x * y)",
    "min(1.0, -x)",
    "min(1.0, x // 0.5)",
)
NUMBERS = (
    *(
        number.replace("{}", minimum)
        for minimum in MINIMA
        for number in (
            "max(0.0, {})", "max({}, 0.0)", "max(ZERO, {})", "max(-0.0, {})", "{} if {} > 0.0 else 0.0",
            "0.0 if not {} > 0.0 else {}", "max(0.0, {} if p == 1 else y)", "max(0.0, max({}, -1.0))",
            "1.0 - max(0.0, {})", "max(0.0, {}) + {}", "min(2.0, max(0.0, {}))",
        )
    ),
    "min(1.0, max(0.0, x))", "lp.math.clamp(x, 0.0, 1.0)", "min(max(x, 0.0), 1.0)", "x if x < 1.0 else 1.0",
    "max(0.0, x if x < 1.0 else 1.0)", "max(0.0, 1.0 if not x < 1.0 else x)", "min(x, 1.0)", "max(0.0, min(x, 1.0))",
)  # fmt: skip


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if request.param:
        changed = replace(device.target_env, saturates_minima=True)
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("type_", list(ASPECTS))
def test_minima_of_one_and_nan(device: lp.Device, type_: str) -> None:
    lines = "".join(f"    o[i, {k}] = {number}\n" for k, number in enumerate(NUMBERS))
    found, expected = ran(device, type_, len(NUMBERS), type_, lines)
    wrong = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))
    assert not wrong.any(), [NUMBERS[k] for k in range(len(NUMBERS)) if wrong[:, k].any()]


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("level", [0, 1])
def test_minima_kept_by_loops_and_memory(device: lp.Device, level: int) -> None:
    lines = (
        "    kept = lp.private.array(2, lp.f32)\n    kept[p % 2] = min(1.0, x)\n    m = min(1.0, y)\n"
        "    for k in range(p):\n        m = max(0.0, m)\n"
        "    o[i, 0] = max(0.0, kept[p % 2])\n    o[i, 1] = m\n    v = lp.f32x2(min(1.0, x), min(1.0, y))\n"
        "    o[i, 2], o[i, 3] = max(0.0, v.x), max(0.0, v.y)\n"
        "    if not x < 1.0:\n        x = 1.0\n    if x < 0.0:\n        x = 0.0\n    o[i, 4] = x\n"
        "    if not y < 1.0:\n        y = 1.0\n    o[i, 5] = max(y, 0.0)\n"
    )
    found, expected = ran(device, "f32", 6, "f32", lines, level)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("number", "count"), [("min(1.0, x[0]) * 3.0", 0), ("max(0.0, min(1.0, x[0]))", 1)])
def test_a_one_that_only_products_use_stays_a_constant(number: str, count: int) -> None:
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k(x: lp.In[lp.f32], o: lp.Out[lp.f32]):\n    o[0] = {number}\n"
    )
    (image,) = compile_kernels([kernel], TargetEnv(saturates_minima=True))
    opcodes = [item.opcode for item in parse(image.spirv).instructions]
    assert opcodes.count(Op.BitwiseOr) == count
