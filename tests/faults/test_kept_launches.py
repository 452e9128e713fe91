"""Launches with finalisers and signal handlers anywhere in them."""

from __future__ import annotations

from contextlib import suppress

import pytest

import lapilli as lp
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("drivers that wait")

SIZE = 50


def test_a_finaliser_that_reads_what_the_launch_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, or finds the array as it is; it neither waits for a launch that it keeps from being submitted, nor
    reads what the device writes."""
    monkeypatch.setenv("LAPILLI_HANG_TIMEOUT", "2")  # a wait without end fails
    point, refused = 0, 0
    for point in range(500):
        driver = FakeDriver()
        device = make_device(driver, is_gpu=False)
        x, y = lp.full(SIZE, 2.0, device=device), lp.full(SIZE, 3.0, device=device)
        for _ in range(5):
            add[SIZE](1.0, x, y).wait()
        found: list[str] = []

        def read(y: lp.Array = y, found: list[str] = found, driver: FakeDriver = driver) -> None:
            found.append("refused")
            with suppress(lp.InvalidError):
                y.numpy()
                found[:] = ["running" if driver._pending else "idle"]

        def step(x: lp.Array = x, y: lp.Array = y) -> None:
            add[SIZE](1.0, x, y).wait()

        is_over = not interrupted_at(point, step, instead=read)
        assert found != ["running"], f"point {point}"
        refused += found == ["refused"]
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, f"point {point}"
        if is_over:
            break
    assert 20 < point < 499 and refused


@pytest.mark.parametrize("launches", [1, 5], ids=["recorded", "kept"])
def test_a_signal_handler_that_raises(monkeypatch: pytest.MonkeyPatch, launches: int) -> None:
    """A time limit that a program sets itself, say: what was submitted is known to be, as after Ctrl-C."""
    monkeypatch.setenv("LAPILLI_HANG_TIMEOUT", "2")  # a wait without end fails
    point = 0
    for point in range(200):
        driver = FakeDriver()
        device = make_device(driver, is_gpu=False)
        x, y = lp.full(SIZE, 2.0, device=device), lp.full(SIZE, 3.0, device=device)
        for _ in range(launches):
            add[SIZE](1.0, x, y).wait()
        found: list[str] = []

        def limit(found: list[str] = found) -> None:
            found.append("raised")
            raise TimeoutError

        def step(x: lp.Array = x, y: lp.Array = y, queue: lp.Queue = device.default_queue) -> None:
            add[SIZE](1.0, x, y)
            queue.flush()

        with suppress(TimeoutError):
            interrupted_at(point, step, instead=limit)
        y.numpy()
        assert not driver._pending, f"point {point}"
        for _ in range(3):
            add[SIZE](1.0, x, y).wait()
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, f"point {point}"
        if not found:
            break
    assert 10 < point < 199
