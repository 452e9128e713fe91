"""What passes leave is printed, read and compiled on: the code stays the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv

from .coarse_programs import Generator
from .text_round_trips import check
from .variants import Variant


@pytest.mark.parametrize(("seed", "checks"), [(2, "none"), (8, "debug")])
def test_loops_and_branches(seed, checks):
    text = Generator(seed, ("i32", "f32", "u64")[seed % 3], 1 + seed % 2).text()
    env = replace(Variant(seed, "flags").environment(TargetEnv()), checks=checks)
    check(lp.kernel_from_source(text), env, rank=1 + seed % 2)
