"""Which stages barriers name: that of indirect commands only before a dispatch that reads its counts on the device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.constants import VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


@pytest.fixture
def queue(device):
    return lp.Queue(device)


@pytest.fixture
def recorded(queue, monkeypatch):
    """The commands of the queue in order: ``dispatch``, ``indirect``, and barriers by their second stage mask."""
    found, vk = [], queue.device.logical.vk

    def note(what, function):
        def call(*args):
            found.append(what(args))
            return function(*args)

        return call

    monkeypatch.setattr(queue, "_record_barrier", note(lambda args: args[2], queue._record_barrier))
    monkeypatch.setattr(
        vk, "vkCmdDispatchIndirect", note(lambda _: "indirect", vk.vkCmdDispatchIndirect), raising=False
    )
    return found


def test_ordinary_barriers_leave_indirect_commands_out(device, queue, recorded):
    x = lp.zeros(64, device=device)
    for _ in range(3):
        add_one[64].on(queue)(x)
    assert len(recorded) == 2
    assert not any(stages & VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT for stages in recorded)


def test_an_indirect_dispatch_waits_for_its_counts(device, queue, recorded):
    x, n = lp.zeros(64, device=device), lp.asarray(np.array([40], np.int32), device=device)
    add_one[lp.IndirectRange(n)].on(queue)(x).wait()
    assert recorded[-1] == "indirect"
    assert recorded[-2] & VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT
    assert x.numpy().sum() == 40
