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


GAIN = lp.SpecializationId(lp.f32, 1.0)
WEIGHTS = lp.SpecializationId(lp.FixedArray[lp.f32, 2])


@lp.kernel
def add_gain(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += GAIN


@lp.kernel
def add_weights(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += WEIGHTS[0] + WEIGHTS[1]


@lp.kernel
def add_parameter(x: lp.Array[lp.f32], *, step: lp.Spec[lp.f32] = 1.0):
    x[lp.global_id(0)] += step


@pytest.mark.parametrize("on_queue", [False, True])
def test_kept_launches_with_constants_are_looked_up_once(device, monkeypatch, on_queue):
    looked_up, bind = [], launch.bind_arguments
    monkeypatch.setattr(launch, "bind_arguments", lambda *args: looked_up.append(1) or bind(*args))
    x, queue = lp.zeros(64, device=device), lp.Queue(device)
    two, three = add_gain[64].spec({GAIN: 2.0}), add_gain[64].spec({GAIN: 3})
    for _ in range(4):
        for kept in (two, three):
            (kept.on(queue) if on_queue else kept)(x)
    queue.wait()
    assert np.all(x.numpy() == 20)
    assert len(looked_up) == 2
    add_gain[64](x)
    assert np.all(x.numpy() == 21)


def test_constants_that_change_in_place_are_looked_at_each_time(device):
    x, weights = lp.zeros(64, device=device), np.ones(2, np.float32)
    kept = add_weights[64].spec({WEIGHTS: weights})
    for value in (1, 1, 3):
        weights[0] = value
        kept(x)
    assert np.all(x.numpy() == 2 + 2 + 4)


def test_constants_of_one_call_are_not_those_of_the_next(device):
    x = lp.zeros(64, device=device)
    kept = add_parameter[64]
    for step in (2.0, 3.0, None, 2.0, None):
        kept(x) if step is None else kept(x, step=step)
    assert np.all(x.numpy() == 2 + 3 + 1 + 2 + 1)
    ids = add_parameter.specialization_ids
    kept = add_parameter[64].spec({ids["step"]: 10.0})
    for step in (2.0, None, 3.0, None):
        kept(x) if step is None else kept(x, step=step)
    assert np.all(x.numpy() == 9 + 2 + 10 + 3 + 10)
