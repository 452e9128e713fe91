"""Random kernels linked with random functions of other modules compute what they do in one text."""

from __future__ import annotations

import sys

import pytest

import lapilli as lp

from .link_programs import WAYS, LinkProgram

pytestmark = pytest.mark.native_only("bundles are of devices")


@pytest.mark.parametrize("way", WAYS)
def test_linked(tmp_path, monkeypatch, way):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    seed = next(s for s in range(2000000, 2000100) if LinkProgram.way_of(s) == way)
    program = LinkProgram(seed, tmp_path, wide=False)
    try:
        for number in range(2):
            program.check(lp.devices()[number - 1], number, with_specs=number == 0, aliased=number == 1)
    finally:
        program.close()
