"""What code for several environments may rely on: `TargetEnv.meet`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from lapilli.ir.target_env import NEEDED_BY_ANY, WANTED_BY_ALL, TargetEnv

OF_THE_FIRST = {"splits_branches", "debug_info", "emulates_spec_constants", "freezes_spec_constants"}
"""Flags that are no matter of the device."""


def test_environments_meet() -> None:
    first = TargetEnv(vulkan_version=(1, 2), optional_aspects=(1, 2), signed_zero_inf_nan_preserve_bits=(32,))
    second = TargetEnv(max_push_constant_bytes=64, optional_aspects=(2, 3))
    met = TargetEnv.meet([first, second])
    assert met == TargetEnv(vulkan_version=(1, 2), max_push_constant_bytes=64, optional_aspects=(2,))
    assert TargetEnv.meet([first]) is first
    capped, checking = TargetEnv(loop_iteration_cap=65535), TargetEnv(checks="debug", debug_info=True)
    losing = TargetEnv(loses_reads=True)
    met = TargetEnv.meet([first, capped, checking, TargetEnv(loop_iteration_cap=1000, checks="none")])
    assert (met.loop_iteration_cap, met.checks, met.debug_info) == (1000, "debug", True)
    assert all(TargetEnv.meet(pair).loses_reads for pair in ((capped, losing), (losing, capped)))
    with pytest.raises(ValueError):
        TargetEnv.meet([])


def test_each_flag_of_a_device_meets_in_one_way() -> None:
    flags = sorted({field.name for field in fields(TargetEnv) if field.type == "bool"} - OF_THE_FIRST)
    assert flags == sorted((*NEEDED_BY_ANY, *WANTED_BY_ALL))


@pytest.mark.parametrize("name", (*NEEDED_BY_ANY, *WANTED_BY_ALL))
def test_flags_that_one_environment_needs_are_kept_and_others_are_not(name: str) -> None:
    flag: dict[str, Any] = {name: True}
    having, plain = TargetEnv(**flag), TargetEnv()
    met = {getattr(TargetEnv.meet(pair), name) for pair in ((having, plain), (plain, having))}
    assert met == {name in NEEDED_BY_ANY}
    assert getattr(TargetEnv.meet([having, having]), name)
