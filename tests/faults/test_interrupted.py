"""Ctrl-C right behind each call that makes a Vulkan object: whoever wanted it is gone, and it must go too."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import lapilli as lp
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add, check

POINTS_BEHIND = 3
"""Ctrl-C comes at the first, second and third possible point behind the call."""


def use(device: lp.Device) -> None:
    """Makes objects of every kind that the driver has."""
    x = lp.asarray(np.arange(100, dtype=np.float32), device=device)
    large = lp.zeros(600_000, device=device)  # a block of its own
    queue = lp.Queue(device, profiling=True)
    add[100].on(queue)(2.0, x, lp.zeros(100, device=device)).wait()
    check[100].on(queue)(x)
    for _ in range(4):
        add[100](1.0, x, large).wait()
    for _ in range(3):
        x.numpy()
    with lp.graph() as graph:
        add[100](2.0, x, large)
    graph.replay().wait()
    queue.wait()


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
def test_what_is_made_is_owned(is_gpu: bool) -> None:
    whole = FakeDriver()
    device = make_device(whole, is_gpu=is_gpu)
    use(device)
    device.shut_down()
    assert whole.violations == [] and whole.living == {}
    assert whole.made > 20
    for number in range(1, whole.made + 1):
        for point in range(POINTS_BEHIND):
            _interrupt(is_gpu, number, point)


def _interrupt(is_gpu: bool, number: int, point: int) -> None:
    driver = FakeDriver()
    device = make_device(driver, is_gpu=is_gpu)
    assert interrupted_at(point, lambda: use(device), lambda start: driver.behind.update({number: start}))
    where = f"point {point} behind object {number}"
    device.shut_down()
    assert driver.violations == [], where
    assert driver.living == {}, where


@pytest.mark.parametrize("point", range(8))
def test_a_command_buffer_behind_whose_call_ctrl_c_comes_is_the_next_one(point: int) -> None:
    driver = FakeDriver()
    device = make_device(driver, is_gpu=False)
    x, y = lp.ones(100, device=device), lp.zeros(100, device=device)
    add[100](2.0, x, y).wait()
    queue = lp.Queue(device)

    def launch() -> None:
        add[100].on(queue)(2.0, x, y).wait()

    def command_buffers() -> int:
        return sum(item.kind == "CommandBuffer" for item in driver.living.values())

    before = command_buffers()
    assert interrupted_at(point, launch, lambda start: driver.behind.update({driver.made + 1: start}))
    launch()
    assert command_buffers() == before + 1
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("result", [-1, -2, -13])
def test_a_command_buffer_that_cannot_be_reset_is_tried_again(
    result: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reset where Ctrl-C has cut its recording short."""
    driver = FakeDriver()
    device = make_device(driver, is_gpu=False)
    x, y = lp.ones(100, device=device), lp.zeros(100, device=device)
    add[100](2.0, x, y).wait()
    vk = device.logical.vk
    begin = vk.vkBeginCommandBuffer

    def interrupted(*args: object) -> None:
        begin(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(vk, "vkBeginCommandBuffer", interrupted)
        add[100](2.0, x, y)
    driver.inject("vkResetCommandBuffer", result)
    error = lp.RuntimeFailure if result == -13 else lp.MemoryAllocationError
    with pytest.raises(error, match="vkResetCommandBuffer"):
        add[100](2.0, x, y)
    add[100](2.0, x, y).wait()
    assert driver.calls["vkResetCommandBuffer"] == 2
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("function", ["vkEndCommandBuffer", "vkQueueSubmit"])
def test_commands_that_are_lost_while_ctrl_c_comes_are_waited_for_by_none(function: str) -> None:
    """A replay hands over what another queue has recorded: where that fails the device is lost, and nothing follows."""
    for count in range(60):
        driver = FakeDriver()
        device = make_device(driver, is_gpu=False)
        x, y = lp.ones(100, device=device), lp.zeros(100, device=device)
        with lp.config.override(flush_after=0), lp.graph() as graph:
            add[100](2.0, x, y)
        queue = lp.Queue(device)
        with lp.config.override(flush_after=0):
            add[100].on(queue)(2.0, x, y).wait()
            add[100].on(queue)(2.0, x, y)
        failing = driver.calls[function]
        driver.inject(function, -1, failing)
        with suppress(lp.DeviceLostError):
            interrupted_at(count, graph.replay)
        where = f"point {count}"
        assert device.logical.is_lost == (driver.calls[function] > failing), where
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, where
    assert driver.calls[function] > failing, "there was no point left to interrupt at"
