"""Indices into arrays of a power of two elements are kept in range by their low bits, where the environment says so."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv


@pytest.mark.parametrize(
    ("length", "masks", "minima", "masked"), [(64, True, 1, 1), (64, False, 2, 0), (48, True, 1, 0)]
)
def test_the_users_own_minimum_stays(length, masks, minima, masked):
    @lp.kernel
    def k(x: lp.In[lp.u32], out: lp.Array[lp.u32]):
        seen = lp.local.array(length, lp.u32)
        i = lp.global_id(0)
        out[i] = min(x[i], lp.u32(length - 1))
        seen[x[i]] = x[i]
        lp.barrier()
        out[i] += seen[0]

    text = inspect(k, "spirv", env=TargetEnv(masks_indices=masks))
    assert isinstance(text, str)
    assert (text.count(" UMin "), text.count("OpBitwiseAnd ")) == (minima, masked)
