"""Random kernels give the same numbers however they are compiled and launched."""

from __future__ import annotations

import pytest

import lapilli as lp

from .group_programs import check
from .value_differential import ValueProgram
from .variants import KINDS, Variant


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_work_groups(kind):
    devices = [d for d in lp.devices() if kind != "index" or d.has(lp.Aspect.VK_INT64)]
    variant = Variant(KINDS.index(kind), kind)
    with variant.active(devices):
        check(6, devices, change=variant.text)


@pytest.mark.parametrize("kind", ["coarse"])
def test_kernels_of_values(kind):
    variant = Variant(3, kind)
    with variant.active(lp.devices()):
        ValueProgram(4, change=variant.text).check(lp.devices())
