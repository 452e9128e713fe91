"""Random kernels launched from bundles in every state compute what they do without."""

from __future__ import annotations

import pytest

import lapilli as lp

from .bundle_programs import WAYS, BundleProgram

pytestmark = pytest.mark.native_only("bundles are of devices")


@pytest.mark.parametrize("way", WAYS)
def test_bundles(tmp_path, way):
    seed = next(
        s for s in range(2000000, 2000100) if BundleProgram(s, tmp_path, wide=False, kernels=2).way == way
    )
    program = BundleProgram(seed, tmp_path, wide=False, kernels=2)
    for number in range(2):
        # Text has constants of its own, which nobody here holds.
        with_specs = way != "text" and number == 0
        program.check(lp.devices()[-1], number, with_specs=with_specs, aliased=number == 1)
