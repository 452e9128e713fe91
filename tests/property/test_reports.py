"""Random kernels that print, assert and trap: the interpreter and every device say what Python says."""

from __future__ import annotations

import pytest

import lapilli as lp

from .report_programs import ReportProgram


@pytest.mark.parametrize("seed", [6, 8])
def test_what_kernels_say(tmp_path, seed):
    program = ReportProgram(seed, tmp_path, wide=False, debug=seed % 4 > 1)
    for device in (None, *lp.devices()):
        program.check(device)


@pytest.mark.parametrize("seed", [7, 9])
def test_types_that_not_every_device_has(tmp_path, seed):
    program = ReportProgram(seed, tmp_path, wide=True, debug=seed % 4 > 1)
    for device in (None, *(d for d in lp.devices() if d.has(lp.Aspect.FP64))):
        program.check(device)
