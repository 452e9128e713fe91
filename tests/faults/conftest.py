"""The fixtures `driver`, and `fake`: its device, like a CPU's and like a GPU's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lapilli as lp
from tests.frozen_heap import frozen_heap

from .fake_device import make_device
from .fake_driver import FakeDriver

__all__ = ["frozen_heap"]


@pytest.fixture(autouse=True)
def _nobody_else_submits() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Keeps `flusher` from submitting, on a busy machine, what a test lets fail later."""
    with lp.config.override(flush_after=0):
        yield


@pytest.fixture
def driver() -> FakeDriver:
    """A driver that does what it is told."""
    return FakeDriver()


@pytest.fixture(params=[False, True], ids=["cpu", "gpu"])
def fake(request: pytest.FixtureRequest, driver: FakeDriver) -> Iterator[lp.Device]:
    """A device of `driver`; at the end it is closed, and nothing may be left or have been misused."""
    device = make_device(driver, is_gpu=request.param)
    yield device
    device.shut_down()
    assert driver.violations == []
