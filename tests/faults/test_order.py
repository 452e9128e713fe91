"""What the host waits for, on a device that runs nothing before somebody waits."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

from .program import add

pytestmark = pytest.mark.native_only("drivers that wait")


def test_reading_waits_for_a_write_that_another_queue_has_read_since(fake: lp.Device) -> None:
    x = lp.asarray(np.arange(10, dtype=np.float32), device=fake)
    y, z = lp.zeros(10, device=fake), lp.zeros(10, device=fake)
    y.copy_from(x)
    add[10].on(lp.Queue(fake))(1.0, y, z)
    assert y.numpy().tolist() == list(range(10))


def test_reading_waits_for_a_write_behind_a_replay_on_another_queue(fake: lp.Device) -> None:
    x = lp.asarray(np.arange(10, dtype=np.float32), device=fake)
    y, z = lp.zeros(10, device=fake), lp.zeros(10, device=fake)
    with lp.graph() as graph:
        add[10](1.0, y, z)
    y.copy_from(x)
    graph.replay(lp.Queue(fake))
    assert y.numpy().tolist() == list(range(10))
