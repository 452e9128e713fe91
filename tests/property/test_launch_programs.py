"""Random launches that depend on each other give what NumPy gives step by step."""

from __future__ import annotations

import pytest

from .launch_programs import LaunchProgram

pytestmark = [pytest.mark.device, pytest.mark.native_only("graphs are not interpreted")]


@pytest.mark.parametrize("start", [0, 20])
def test_launches_in_every_form(device, start):
    for seed in range(start, start + 20):
        LaunchProgram(seed).check(device)
