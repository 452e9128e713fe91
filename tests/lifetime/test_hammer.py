"""A short run of what `make soak` does for longer: threads that share queues, arrays and graphs."""

from __future__ import annotations

import pytest

import lapilli as lp

from .hammer import Hammer

pytestmark = [pytest.mark.device, pytest.mark.native_only("queues of devices")]


def test_threads_at_random(device):
    # What threads import, pytest parses to rewrite it, and Python 3.11 fails where two threads parse at once.
    lp.profile()
    with lp.config.override(flush_after=0.0002):  # one thread more
        done = Hammer(device, seed=1).run(threads=4, steps=60)
    assert sum(done.values()) == 240
