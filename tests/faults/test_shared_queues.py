"""VkQueues that the application has: nothing is submitted to them but in its own calls."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.flusher import Flusher

from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("queues of devices")


@pytest.mark.parametrize("what", ["queue", "context"])
def test_no_thread_of_ours_submits_where_the_application_may(
    fake: lp.Device, driver: FakeDriver, what: str
) -> None:
    x, y = lp.asarray(np.arange(10, dtype=np.float32), device=fake), lp.zeros(10, device=fake)
    context = lp.Context(fake)
    queue = lp.Queue(fake, context=context)
    add[10].on(queue)(1.0, x, y).wait()
    flusher = fake.logical.flusher
    flusher.is_awake = True  # without a thread: its looks are here
    event = add[10].on(queue)(1.0, x, y)
    before = driver.calls["vkQueueSubmit"]
    with lp.config.override(flush_after=0.001):
        seen = flusher._look(frozenset())
        lp.vulkan.get_native(queue if what == "queue" else context)
        flusher._look(seen)
        assert seen and driver.calls["vkQueueSubmit"] == before
        event.wait()
        fake.logical.flusher = again = Flusher(fake.logical)
        add[10].on(queue)(1.0, x, y).wait()
        assert not again.is_awake
