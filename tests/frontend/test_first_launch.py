"""A launch that made a pipeline is submitted at once, and what can wait is done then."""

from __future__ import annotations

import gc

import pytest

import lapilli as lp
from lapilli.frontend.first_launch import first_launch, when_submitted
from lapilli.frontend.image_cache import CachedKernel

pytestmark = [pytest.mark.device, pytest.mark.native_only("nothing is submitted")]


def new_kernel(by: float):
    @lp.kernel
    def increment(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += by

    return increment


def test_only_the_launch_that_made_the_pipeline_is_submitted_at_once(device):
    # A number of its own: the pipeline of an equal kernel of another test would be taken.
    x, queue, increment = lp.zeros(64, device=device), lp.Queue(device), new_kernel(17.0)
    increment[64].on(queue)(x)
    assert queue.recording is None
    increment[64].on(queue)(x)
    assert queue.recording is not None
    increment[63].on(queue)(x)  # is prepared anew, for the same local size
    assert queue.last_value == queue.recording.value and queue.recording.launch_count == 2
    assert x.numpy().tolist() == [*[51.0] * 63, 34.0]


def test_the_cache_is_written_when_the_driver_has_the_kernel(device, tmp_path, monkeypatch):
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    x, queue = lp.zeros(64, device=device), lp.Queue(device)
    submitted, keep = [], CachedKernel.keep

    def note(*args: object) -> None:
        submitted.append(queue.last_value > 0 and queue.recording is None)
        keep(*args)

    monkeypatch.setattr(CachedKernel, "keep", note)
    new_kernel(2.0)[64].on(queue)(x)
    assert submitted == [True]
    with lp.trace() as trace:
        new_kernel(2.0)[64].on(queue)(x)
    assert trace.count("cache_hit") == 1


def test_a_launch_that_fails_loses_no_work(device):
    done: list[bool] = []
    with pytest.raises(ZeroDivisionError), first_launch(device.default_queue):
        with first_launch(device.default_queue):
            when_submitted(lambda: done.append(gc.isenabled()))
        assert not done and not gc.isenabled()
        raise ZeroDivisionError
    assert done == [True]
    when_submitted(lambda: done.append(False))
    assert done == [True, False]
