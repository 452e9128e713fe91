"""|x| of numbers that may be NaN where it is compared, and of numbers chosen from zeros of either sign."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import lapilli as lp
from tests.device.edge_numbers import ASPECTS, ran

pytestmark = pytest.mark.device

TRUTHS = (
    "abs(x) >= 0.0", "abs(x) >= -1.0", "abs(x) > -0.5", "abs(x) >= ZERO", "abs(x) > LESS",
    "abs(x) >= lp.math.ceil(LESS)", "not (abs(x) < 0.0)", "abs(x) > 1.0", "-abs(x) < 1.0", "-abs(x) <= 0.0",
    "0.0 <= abs(x)", "(abs(x) if p == 1 else 2.0) >= 0.0", "abs(p * x) >= LESS * ZERO", "abs(x) >= LESS == LESS",
    "abs(abs(x)) >= 0.0", "not (-abs(x) > ZERO) and p == 0", "abs(x) == abs(x)", "abs(x) >= y", "abs(x) != LESS",
)  # fmt: skip
NUMBERS = tuple(
    number.format(f"({first} if {truth} else {second})")
    for number in ("abs({})", "-abs({})", "abs(-{})", "-{}", "abs({} if x == x else y)")
    for truth in ("p == 1", "not (x <= x)")
    for first, second in permutations(("0.0", "-0.0", "0.5", "-1.0", "ZERO"), 2)
)


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what NVIDIA's driver needs."""
    if request.param:
        changed = replace(device.target_env, misjudges_absolutes=True)
        monkeypatch.setitem(vars(device), "target_env", changed)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("type_", list(ASPECTS))
@pytest.mark.parametrize("line", ["o[i, {0}] = 1 if {1} else 0", "if {1}:\n        o[i, {0}] = p + 5"])
def test_orders_of_what_may_be_nan(device: lp.Device, type_: str, line: str) -> None:
    lines = "".join(f"    {line.format(k, truth)}\n" for k, truth in enumerate(TRUTHS))
    found, expected = ran(device, type_, len(TRUTHS), "i32", lines)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("type_", list(ASPECTS))
def test_signs_of_chosen_zeros(device: lp.Device, type_: str) -> None:
    lines = "".join(f"    o[i, {k}] = {number}\n" for k, number in enumerate(NUMBERS))
    found, expected = ran(device, type_, len(NUMBERS), type_, lines)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.usefixtures("env")
def test_a_choice_of_which_one_arm_is_an_absolute_value(device: lp.Device) -> None:
    lines = (
        "    r = y\n    if p == 1:\n        r = abs(x)\n    elif p == 2:\n        r = -2.0\n"
        "    o[i, 0] = 1 if r >= -1.0 else 0\n"
    )
    found, expected = ran(device, "f32", 1, "i32", lines)
    np.testing.assert_array_equal(found, expected)
