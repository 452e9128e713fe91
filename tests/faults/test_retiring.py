"""What has run is recycled once, and nothing else is, whatever comes in between.

A finaliser or a signal handler may run between any two steps of it: it launches, submits, waits and so recycles all
that there is, and the same command buffer may be on its way to the device again by the time that the first one goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress

import pytest

import lapilli as lp
from tests.interruption import Finalised, interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("drivers that wait")

SIZE = 50
LEAST_POINTS, MOST_POINTS = 5, 600
MOST_ALLOCATIONS = 60
"""Before the collection."""
MORE_THAN_PYTHON_KEEPS_TUPLES_OF = 20
"""Items; of shorter ones it has some that are made already."""
THRESHOLDS = gc.get_threshold()


class Setting:
    """A queue of a device with a driver of its own."""

    def __init__(self, launches: int) -> None:
        self.driver = FakeDriver()
        self.device = make_device(self.driver, is_gpu=False)
        self.x, self.y, self.z = (lp.zeros(SIZE, device=self.device) for _ in range(3))
        self.queue = self.device.default_queue
        for _ in range(launches):
            self.launch()
            self.queue.wait()
        self.event = add[SIZE](1.0, self.x, self.y)
        self.event.wait()

    def launch(self) -> None:
        add[SIZE](1.0, self.x, self.y)

    def submit_three(self) -> None:
        """None of them ends before all are submitted."""
        self.driver.is_hung = True
        for _ in range(3):
            self.launch()
            self.queue.flush()
        self.driver.is_hung = False

    # What comes in between

    def launch_and_wait(self) -> None:
        add[SIZE](2.0, self.x, self.z)
        self.queue.wait()

    def launch_and_submit(self) -> None:
        """What is not known to have run is the newest by far."""
        for _ in range(4):
            self.launch()
            self.queue.flush()

    def wait_and_raise(self) -> None:
        """A time limit that a program sets itself, and shows what there is first."""
        self.device.logical.collect()
        raise TimeoutError


@pytest.mark.parametrize("launches", [0, 5], ids=["recorded", "kept"])
@pytest.mark.parametrize("name", ["launch_and_wait", "launch_and_submit", "wait_and_raise"])
def test_something_in_between(launches: int, name: str) -> None:
    """Of submitting, waiting and recycling."""

    def prepare(setting: Setting) -> Callable[[], object]:
        def action() -> None:
            setting.submit_three()
            setting.queue.wait()
            setting.launch()
            setting.queue.wait()

        return action

    _at_every_point(launches, prepare, name)


def _at_every_point(launches: int, prepare: Callable[[Setting], Callable[[], object]], name: str) -> None:
    for point in range(MOST_POINTS):
        setting, is_interrupted = Setting(launches), True
        interruption: Callable[[], None] = getattr(setting, name)

        def instead(setting: Setting = setting, interruption: Callable[[], None] = interruption) -> None:
            setting.driver.is_hung = False
            with suppress(lp.InvalidError):  # in the midst of recording nothing may be launched
                interruption()

        with suppress(TimeoutError):
            is_interrupted = interrupted_at(point, prepare(setting), instead=instead)
        setting.queue.wait()
        assert not setting.queue.in_flight, f"point {point}"
        setting.submit_three()
        setting.y.numpy()
        setting.device.shut_down()
        assert setting.driver.violations == [] and setting.driver.living == {}, f"point {point}"
        if not is_interrupted:
            assert point > LEAST_POINTS
            return
    raise AssertionError("there is no end of points")


def test_a_collection_in_the_midst_of_naming_what_is_busy() -> None:
    """Python 3.11 may collect when it makes a tuple of a set, whose iterator has noted how large it is."""
    setting = Setting(0)
    others = [lp.Queue(setting.device) for _ in range(MOST_ALLOCATIONS)]
    busy = [lp.Queue(setting.device) for _ in range(MORE_THAN_PYTHON_KEEPS_TUPLES_OF)]

    def launch(queue: lp.Queue) -> None:
        with suppress(lp.InvalidError):
            add[SIZE].on(queue)(1.0, setting.x, setting.z)

    for count, other in enumerate(others, 1):
        for queue in busy:
            launch(queue)
        gc.collect()
        Finalised(lambda other=other: launch(other))
        try:
            gc.set_threshold(count)
            setting.device.logical.collect()
        finally:
            gc.set_threshold(*THRESHOLDS)
        setting.device.logical.wait_idle()
    gc.collect()
    assert all(other.last_value == 1 for other in others)
    setting.device.shut_down()
    assert setting.driver.violations == []
