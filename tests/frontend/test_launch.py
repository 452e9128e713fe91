"""Launches that are prepared once, however their range is written."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import launch

pytestmark = pytest.mark.device


@lp.kernel
def increment(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: 64,
        lambda: np.int64(64),
        lambda: [64],
        lambda: (np.uint32(64),),
        lambda: lp.Range(64),
        lambda: lp.NdRange(64, 32),
        lambda: lp.NdRange(np.int64(64), [32]),
    ],
)
def test_equal_ranges_are_prepared_once(device, monkeypatch, make):
    prepared, prepare = [], launch.prepare_launch
    monkeypatch.setattr(
        launch, "prepare_launch", lambda *args, **rest: prepared.append(1) or prepare(*args, **rest)
    )
    x = lp.zeros(64, device=device)
    for _ in range(4):
        increment[make()](x)
    assert np.all(x.numpy() == 4)
    assert len(prepared) <= 1


def test_a_list_that_changes_is_another_range(device):
    x, extents = lp.zeros(64, device=device), [64]
    increment[extents](x)
    extents[0] = 8
    increment[extents](x)
    assert x.numpy().sum() == 72
    grouped = lp.NdRange(extents, 8)
    increment[grouped](x)
    extents[0] = 16
    increment[grouped](x)
    assert x.numpy().sum() == 72 + 8 + 16


@pytest.mark.parametrize("range_", [True, 1.0, [1.0], (True,), -1, [], lp.NdRange(64, 5), "64"])
def test_what_is_no_range_is_refused_each_time(device, range_):
    x = lp.zeros(64, device=device)
    increment[1](x)
    for _ in range(2):
        with pytest.raises(lp.NdRangeError):
            increment[range_](x)
