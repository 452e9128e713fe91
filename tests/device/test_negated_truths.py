"""-float(c) is -0.0 where c is false, however the float got there; a -0.0 that is chosen beside 1.0 keeps its sign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from tests.device.edge_numbers import ASPECTS, ran

pytestmark = pytest.mark.device

TRUTHS = (
    "T(p == 1)",
    "(1.0 if p == 1 else 0.0)",
    "T(lp.i32(x > y))",
    "T(1 if not (x <= y) else 0)",
    "T(p > 0 and x > 0.5)",
)
NUMBERS = (
    *(
        number.replace("{}", truth)
        for truth in TRUTHS
        for number in (
            "-{}", "-({} if x >= 0.5 else y)", "-(y if x >= 0.5 else {})", "-(-{})",
            "-({} if x > y else ({} if p else 2.0))",
        )
    ),
    "lp.math.ceil(y - x) if p == 1 else (-0.0 if not (x <= 0.5) else 1.0)", "-0.0 if p == 1 else 1.0",
    "1.0 if x <= 0.5 else (-0.0 if p else 1.0)", "(-0.0 if x <= y else 1.0) if p else T(p)", "0.0 if x <= y else -1.0",
)  # fmt: skip


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if request.param:
        changed = replace(device.target_env, loses_negated_truths=True)
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("type_", list(ASPECTS))
def test_signs_of_zeros_that_were_truths(device: lp.Device, type_: str) -> None:
    texts = [number.replace("T(", f"lp.{type_}(") for number in NUMBERS]
    lines = "".join(f"    o[i, {k}] = {text}\n" for k, text in enumerate(texts))
    found, expected = ran(device, type_, len(texts), type_, lines)
    wrong = (np.signbit(found) != np.signbit(expected)) & ~np.isnan(expected) | (found != expected) & (
        found == found
    )
    assert not wrong.any(), [texts[k] for k in range(len(texts)) if wrong[:, k].any()]


@pytest.mark.usefixtures("env")
def test_truths_kept_by_loops_branches_and_memory(device: lp.Device) -> None:
    lines = (
        "    kept = lp.private.array(2, lp.f32)\n    kept[p % 2] = lp.f32(x > y)\n    kept[1 - p % 2] = 0.5\n"
        "    last = 0.5\n    for k in range(p):\n        last = lp.f32(k == 1)\n"
        "    if p == 1:\n        m = lp.f32(x <= y)\n    else:\n        m = y\n"
        "    v = lp.f32x2(lp.f32(p == 2), x)\n"
        "    o[i, 0], o[i, 1], o[i, 2], o[i, 3] = -kept[p % 2], -last, -m, -v.x\n"
    )
    found, expected = ran(device, "f32", 4, "f32", lines)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])
