"""Ctrl-C, or a finaliser that uses the device, at every point of every kind of operation.

Whatever comes in between: no call that a driver may crash on, no lock left taken, no command half recorded, the same
operation works afterwards, and nothing is left behind when the device is closed, nor more and more of it before.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import graph_recording
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import Large, add, check, spill

pytestmark = pytest.mark.native_only("interrupts what the runtime records")

SIZE = 100
HOST = np.arange(SIZE, dtype=np.float32)

STEP = 7
"""Every seventh point, others for each operation and kind of interruption: all take minutes."""

ROOM = 20
"""What there may be more of after many interruptions: a finaliser has command buffers of its own."""


class Setting:
    """What the operations use."""

    def __init__(self, device: lp.Device) -> None:
        self.device = device
        self.x, self.y = lp.asarray(HOST, device=device), lp.zeros(SIZE, device=device)
        self.other = lp.zeros(SIZE, device=device)
        self.queue, self.ordered = lp.Queue(device), lp.Queue(device, in_order=True)
        with lp.graph() as self.graph:
            self.event = add[SIZE](1.0, self.x, self.y)
            self.y.copy_from(self.x)

    def arrays(self) -> None:
        made, large = lp.asarray(HOST, device=self.device), lp.full(300_000, 2.0, device=self.device)
        assert (made.numpy() == HOST).all() and (large.numpy() == 2).all()
        made.release()

    def launch(self) -> None:
        add[SIZE](2.0, self.x, self.y)
        spill[SIZE](Large(), self.y).wait()

    def launch_and_read(self) -> None:
        for _ in range(4):
            add[SIZE](2.0, self.x, self.y).wait()
            self.y.numpy()

    def copy(self) -> None:
        made = lp.zeros(SIZE, device=self.device)
        made.copy_from(self.x)
        assert (made.numpy() == HOST).all()
        assert (made.copy_from(HOST + 1).numpy() == HOST + 1).all()

    def queues(self) -> None:
        event = add[SIZE].on(self.queue)(1.0, self.x, self.y)
        add[SIZE].on(self.ordered, wait=[event])(1.0, self.x, self.y)
        with lp.Queue(self.device, profiling=True) as timed:
            assert add[SIZE].on(timed)(1.0, self.x, self.y).elapsed_ns > 0
        self.ordered.marker([event]).wait()

    def record(self) -> None:
        with lp.graph() as graph:
            add[SIZE](1.0, self.x, self.y)
            self.y.fill(2.0)
        graph.replay().wait()
        graph.release()

    def replay(self) -> None:
        self.graph.replay()
        self.graph.replay(a=3.0).wait()
        self.graph.update(self.event, a=2.0).replay(self.queue).wait()
        assert (self.y.numpy() == HOST).all()

    def report(self) -> None:
        check[SIZE](self.y).wait()

    def report_again(self) -> None:
        for _ in range(5):
            check[SIZE](self.y).wait()

    def group(self) -> None:
        first = self.queue.submit(lambda h: h.copy(self.x, self.y))

        def launch(h: lp.Handler) -> None:
            h.depends_on(first)
            h.parallel_for(SIZE, add, 1.0, self.x, self.y)

        self.queue.submit(launch).wait()

    def finalise(self) -> None:
        """Launches, reads, makes and frees; refused in the middle of a command."""
        if graph_recording.recorder() is not None:
            return  # the graph would get it
        try:
            add[SIZE](1.0, self.x, self.other)
            lp.ones(123, device=self.device).release()
            self.other.numpy()
        except lp.InvalidError as error:
            assert "finaliser" in str(error)

    def settle(self) -> None:
        """Waits for everything, and destroys what nobody uses."""
        for queue in tuple(self.device.logical.queues):
            queue.wait()
        for _ in range(2):
            gc.collect()
            with self.device.logical.lock:
                self.device.logical.collect()


OPERATIONS = (
    "arrays",
    "launch",
    "launch_and_read",
    "copy",
    "queues",
    "record",
    "replay",
    "report",
    "report_again",
    "group",
)


def require_whole(device: lp.Device, driver: FakeDriver, where: str) -> None:
    """Nothing is half done."""
    logical: Any = device.logical
    assert not logical.lock._is_owned(), where
    assert logical.half_way is None and not logical.visits, where
    assert driver.violations == [], where


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
@pytest.mark.parametrize("what", ["Ctrl-C", "finaliser"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interruption(name: str, what: str, is_gpu: bool) -> None:
    driver = FakeDriver()
    device = make_device(driver, is_gpu=is_gpu)
    setting = Setting(device)
    operation: Callable[[], None] = getattr(setting, name)
    instead = setting.finalise if what == "finaliser" else None
    for _ in range(4):
        operation()
        setting.finalise()
    setting.settle()
    before = Counter(item.kind for item in driver.living.values())
    first = 2 * OPERATIONS.index(name) + is_gpu + (what == "finaliser")
    count = 0
    for count in range(first % STEP, 10_000, STEP):
        where = f"point {count}"
        is_interrupted = interrupted_at(count, operation, instead=instead)
        if (graph := graph_recording.recorder()) is not None:
            graph_recording.end(graph)  # Ctrl-C came before the block was entered, or while it was left
        require_whole(device, driver, where)
        operation()
        require_whole(device, driver, where)
        if not is_interrupted:
            break
    assert count > 20, "there were points to interrupt at"
    setting.settle()
    for kind, number in Counter(item.kind for item in driver.living.values()).items():
        if kind not in ("Buffer", "DeviceMemory"):  # some are kept for later
            assert number <= before[kind] + ROOM, kind
    del operation, instead, setting
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
