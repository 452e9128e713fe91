"""Copies in several pieces, which threads fill and empty, with Ctrl-C anywhere in them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import staging
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver

pytestmark = pytest.mark.native_only("drivers that wait")


def test_large_copies_by_threads(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=True)
    host = np.random.default_rng(1).random(1_300_000, dtype=np.float32)
    x = lp.asarray(host, device=device)
    for _ in range(2):
        assert np.array_equal(x.numpy(), host)
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("direction", ["up", "down"])
def test_interrupted_anywhere_the_next_copy_is_right(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST_PIECE_BYTES", "PIECE_BYTES"):
        monkeypatch.setattr(staging, name, 4096)
    host, point = np.random.default_rng(1).random(6000, dtype=np.float32), 0
    for point in range(0, 5000, 17):
        driver = FakeDriver()
        device = make_device(driver, is_gpu=True)
        x, out = lp.asarray(host, device=device), np.empty_like(host)
        was_interrupted = interrupted_at(
            point, lambda x=x, out=out: x.copy_from(2 * host) if direction == "up" else x.copy_to(out)
        )
        x.copy_from(host + 1)
        assert np.array_equal(x.numpy(), host + 1), f"point {point}"
        del x
        device.shut_down()
        assert driver.violations == [] and driver.living == {}, f"point {point}"
        if not was_interrupted:
            break
    assert 500 < point < 4999


def test_pieces_are_within_the_limits_of_a_device(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, host = make_device(driver, is_gpu=True), np.arange(6000, dtype=np.float32)
    x = lp.asarray(host, device=device)
    physical = device.logical.physical
    small = dataclasses.replace(physical.limits, max_memory_allocation_bytes=8192)
    monkeypatch.setattr(staging, "LEAST_PIECE_BYTES", 1 << 20)
    monkeypatch.setattr(device.logical, "physical", dataclasses.replace(physical, limits=small))
    assert np.array_equal(x.copy_from(host + 1).numpy(), host + 1)
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
