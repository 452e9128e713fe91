"""Downloads that are kept, with Ctrl-C and finalisers anywhere in them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.small_copies import LARGEST_UPDATE
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("drivers that wait")

SIZE = 50


def make(driver: FakeDriver) -> tuple[lp.Device, lp.Array, lp.Array]:
    """Returns a device on which launches and reads of the second array in turn are kept."""
    device = make_device(driver, is_gpu=True)
    x, y = lp.full(SIZE, 2.0, device=device), lp.full(SIZE, 3.0, device=device)
    for _ in range(8):
        add[SIZE](1.0, x, y)
        y.numpy()
    return device, x, y


def test_once_more_is_one_submission_and_records_nothing(driver: FakeDriver) -> None:
    device, x, y = make(driver)
    before = driver.calls.copy()
    for _ in range(5):
        add[SIZE](1.0, x, y)
        y.numpy()
    called = driver.calls - before
    assert called["vkQueueSubmit"] == 5
    assert {
        name for name in called if name.startswith(("vkCmd", "vkCreate", "vkBegin", "vkAllocate"))
    } == set()
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_a_copy_that_may_still_run_is_not_submitted_again(driver: FakeDriver) -> None:
    device, x, y = make(driver)
    driver.is_hung = True
    add[SIZE](1.0, x, y)
    y.fill(5.0)
    queue = device.default_queue
    assert not queue.downloads.download(queue, y.buffer, np.empty(y.nbytes, np.uint8))
    driver.is_hung = False
    assert (y.numpy() == 5.0).all()
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("by", ["ctrl-c", "a finaliser"])
def test_interrupted_anywhere_the_next_read_is_right(by: str) -> None:
    point = 0
    for point in range(0, 1000, 3):
        driver = FakeDriver()
        device, x, y = make(driver)

        def step(x: lp.Array = x, y: lp.Array = y) -> None:
            add[SIZE](1.0, x, y)
            y.numpy()

        def launch_and_read(x: lp.Array = x, y: lp.Array = y) -> None:
            with suppress(lp.InvalidError):  # in the middle of a command nobody can launch or wait
                add[SIZE](1.0, x, y)
                assert (y.numpy() == 3.0).all()
                assert (x.numpy() == 2.0).all()

        was_interrupted = interrupted_at(point, step, instead=None if by == "ctrl-c" else launch_and_read)
        for value in (3.0, 4.0, 5.0):
            assert (y.numpy() == value).all(), f"point {point}"
            step()
            y.fill(value + 1)  # the driver runs no kernels
        assert not any(kept.is_in_use for kept in device.default_queue.downloads._kept.values())
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, f"point {point}"
        if not was_interrupted:
            break
    assert 50 < point < 999


def test_a_finaliser_anywhere_that_does_not_wait() -> None:
    """The launch that it interrupts may neither be submitted twice at a time nor keep what it copied before."""
    point = 0
    for point in range(1000):
        driver = FakeDriver()
        device, x, y = make(driver)
        filled: list[float] = []

        def fill_and_launch(
            x: lp.Array = x, y: lp.Array = y, device: lp.Device = device, filled: list[float] = filled
        ) -> None:
            with suppress(lp.InvalidError):  # in the middle of a command nobody can launch
                y.fill(9.0)
                filled.append(9.0)
                device.default_queue.wait()
                add[SIZE](1.0, x, y)

        def step(x: lp.Array = x, y: lp.Array = y) -> None:
            add[SIZE](1.0, x, y)
            y.numpy()

        is_over = not interrupted_at(point, step, instead=fill_and_launch)
        for _ in range(2):
            assert (y.numpy() == (filled or [3.0])[0]).all(), f"point {point}"
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, f"point {point}"
        if is_over:
            break
    assert 50 < point < 999


def test_what_a_download_reads_is_kept_while_it_runs(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, _, y = make(driver)
    queue, target = device.default_queue, np.empty(y.nbytes, np.uint8)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(queue, "wait_for", interrupt)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                queue.downloads.download(queue, y.buffer, target)
            assert queue.in_flight[queue.last_value].keep == [y.buffer]
            queue.block_until(queue.last_value)  # has run, but nobody has looked at what it keeps
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("count", [1, 3, 16385])
def test_uploads_of_odd_sizes_are_whole_words(driver: FakeDriver, count: int) -> None:
    device = make_device(driver, is_gpu=True)
    host = np.arange(count).astype(np.uint8)
    assert np.array_equal(lp.asarray(host, device=device).numpy(), host)
    assert driver.calls["vkCmdUpdateBuffer"] == (count <= LARGEST_UPDATE)
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
