"""The fixture `device`: every test that takes it runs on every Vulkan device present."""

from __future__ import annotations

import os

import pytest

os.environ["LAPILLI_CACHE"] = (
    "0"  # what an earlier run compiled must not answer for this one; tests/cache sets it
)

from lapilli.ir.config import config
from lapilli.vk_runtime.runtime import runtime

pytest_plugins = ["tests.behaviours"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises `device`; without any device the test is skipped with the reason."""
    if "device" not in metafunc.fixturenames:
        return
    found = runtime().devices
    if found:
        metafunc.parametrize("device", found, ids=[item.selector for item in found])
    else:
        reasons = "; ".join(f"{r.source}: {r.reason}" for r in runtime().records)
        skip = pytest.mark.skip(reason=f"no Vulkan device ({reasons})")
        metafunc.parametrize("device", [pytest.param(None, marks=skip)], ids=["none"])


@pytest.fixture(autouse=True)
def _native_only(request: pytest.FixtureRequest) -> None:  # pyright: ignore[reportUnusedFunction]
    """Skips what tests devices while launches are interpreted."""
    mark = request.node.get_closest_marker("native_only")
    if mark is not None and config.interpret:
        pytest.skip(f"launches are interpreted: {mark.args[0]}")


@pytest.fixture(autouse=True)
def _no_validation_messages(caplog: pytest.LogCaptureFixture):  # pyright: ignore[reportUnusedFunction]
    """Fails a test in which the validation layer complained (LAPILLI_VALIDATE=1)."""
    yield
    complaints = [r.getMessage() for r in caplog.get_records("call") if getattr(r, "vuid", None)]
    assert complaints == []
