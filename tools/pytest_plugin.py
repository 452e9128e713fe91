"""The pytest plugin that comes with lapilli.

    def test_saxpy(lapilli_device):            # runs once on every Vulkan device present
        x = lp.zeros(8, device=lapilli_device)

    @pytest.mark.aspects("fp64", "atomic64")   # skipped, with the reason, where the device lacks one
    def test_sums(lapilli_device): ...

    @pytest.mark.aspects("fp64")               # without the fixture: of the default device
    def test_default(): ...

Without any device the tests are skipped with the reason; ``--lapilli-require-device`` makes that an error, for
machines that are meant to have one.  Without these options nothing of lapilli is imported before a test asks for
a device.
"""

from __future__ import annotations

import difflib
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from ..ir.aspects import Aspect
    from ..vk_runtime.device import Device

FIXTURE = "lapilli_device"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("lapilli", "kernels on Vulkan devices")
    group.addoption(
        "--lapilli-require-device", action="store_true", help="fail instead of skip where there is no device"
    )
    group.addoption(
        "--lapilli-device",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="run on this device only; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark; a device that was asked for and is not there ends the run before any test."""
    config.addinivalue_line(
        "markers",
        "aspects(*names): skips a test on devices that lack one of these aspects: those of lapilli_device, or "
        "the default device where the test does not take that fixture",
    )
    is_required = config.getoption("--lapilli-require-device")
    if is_required or config.getoption("--lapilli-device"):
        found, reason = _devices(config)
        if is_required and not found:
            raise pytest.UsageError(f"--lapilli-require-device: {reason}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test once for each device."""
    if FIXTURE not in metafunc.fixturenames:
        return
    found, reason = _devices(metafunc.config)
    if found:
        metafunc.parametrize(FIXTURE, found, ids=[device.selector for device in found], indirect=True)
        return
    skip = pytest.mark.skip(reason=reason)
    metafunc.parametrize(FIXTURE, [pytest.param(None, marks=skip)], ids=["none"], indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test with ``aspects`` marks that does not choose its device where the default device lacks one."""
    if FIXTURE in getattr(item, "fixturenames", ()) or item.get_closest_marker("aspects") is None:
        return
    from ..ir.errors import Error
    from ..vk_runtime.device_list import device

    try:
        _skip_without(_required(item), device())
    except Error as error:
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Waits for what a test leaves running on its device: a failed assert there is its failure, not the next one's."""
    device = cast("Device | None", getattr(item, "funcargs", {}).get(FIXTURE))
    try:
        result = yield
    except KeyboardInterrupt:  # perhaps because what it waits for never ends
        raise
    except BaseException:
        if device is not None:
            with suppress(Exception):  # the test has failed already
                _wait_for(device)
        raise
    if device is not None:
        _wait_for(device)
    return result


def _wait_for(device: Device) -> None:
    """Waits for all queues of a device that are in use; raises the first of what failed on them."""
    from ..vk_runtime.handle import living

    failed: list[Exception] = []
    for queue in living(device.logical.queues) if device.is_open else ():
        if not queue.is_closed:
            try:
                queue.wait()
            except Exception as error:  # the other queues' failures are not the next test's either
                failed.append(error)
    if failed:
        raise failed[0]


@pytest.fixture
def lapilli_device(request: pytest.FixtureRequest) -> Device:
    """Every Vulkan device, one after the other; it has the aspects of the test's ``aspects`` marks."""
    device = cast("Device", request.param)
    _skip_without(_required(request.node), device)
    return device


def _skip_without(required: list[Aspect], device: Device) -> None:
    """Skips the test where the device lacks one of the aspects."""
    lacking = [aspect.spelling for aspect in required if not device.has(aspect)]
    if lacking:
        pytest.skip(f"device '{device.name}' lacks {', '.join(lacking)}")


def _devices(config: pytest.Config) -> tuple[tuple[Device, ...], str]:
    """Returns the devices to run on, or none and the reason."""
    from ..ir.errors import Error
    from ..vk_runtime.device_list import device
    from ..vk_runtime.runtime import require_devices

    selectors = cast("list[str]", config.getoption("--lapilli-device"))
    try:
        return (tuple(dict.fromkeys(map(device, selectors))) if selectors else require_devices().devices), ""
    except Error as error:
        if selectors:
            raise pytest.UsageError(f"--lapilli-device: {error}") from error
        return (), str(error)


def _required(node: pytest.Item) -> list[Aspect]:
    """Returns the aspects of a test's marks; a name that is none fails the test."""
    from ..ir.aspects import Aspect

    required: list[Aspect] = []
    for mark in node.iter_markers("aspects"):
        for name in mark.args:
            if isinstance(name, Aspect):
                required.append(name)
                continue
            known = Aspect.__members__.get(str(name).upper())
            if known is None:
                near = difflib.get_close_matches(str(name).upper(), Aspect.__members__, n=3)
                known_ones = f"near it: {', '.join(near).lower()}" if near else "lp.Aspect lists them"
                pytest.fail(f"there is no aspect {name!r}; {known_ones}", pytrace=False)
            required.append(known)
    return required
