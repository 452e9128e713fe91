"""The pytest plugin that comes with lapilli.

    def test_saxpy(lapilli_device):            # runs once on every Vulkan device present
        x = lp.zeros(8, device=lapilli_device)

    @pytest.mark.aspects("fp64", "atomic64")   # skipped, with the reason, where the device lacks one
    def test_sums(lapilli_device): ...

Without any device the tests are skipped with the reason; ``--lapilli-require-device`` makes that an error, for
machines that are meant to have one.  Without these options nothing of lapilli is imported before a test asks for
a device.
"""

from __future__ import annotations

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
        "markers", "aspects(*names): skips a test of lapilli_device on devices that lack one of these aspects"
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


@pytest.fixture
def lapilli_device(request: pytest.FixtureRequest) -> Device:
    """Every Vulkan device, one after the other; it has the aspects of the test's ``aspects`` marks."""
    device = cast("Device", request.param)
    lacking = [aspect.spelling for aspect in _required(request.node) if not device.has(aspect)]
    if lacking:
        pytest.skip(f"device '{device.name}' lacks {', '.join(lacking)}")
    return device


def _devices(config: pytest.Config) -> tuple[tuple[Device, ...], str]:
    """Returns the devices to run on, or none and the reason."""
    from ..ir.errors import Error
    from ..vk_runtime.device import device, devices

    selectors = cast("list[str]", config.getoption("--lapilli-device"))
    try:
        return (tuple(dict.fromkeys(map(device, selectors))) if selectors else devices()), ""
    except Error as error:
        if selectors:
            raise pytest.UsageError(f"--lapilli-device: {error}") from error
        return (), str(error)


def _required(node: pytest.Item) -> list[Aspect]:
    """Returns the aspects of a test's marks; UsageError for a name that is none."""
    from ..ir.aspects import Aspect

    required: list[Aspect] = []
    for mark in node.iter_markers("aspects"):
        for name in mark.args:
            if isinstance(name, Aspect):
                required.append(name)
                continue
            known = Aspect.__members__.get(str(name).upper())
            if known is None:
                raise pytest.UsageError(f"{node.nodeid}: there is no aspect {name!r} (lp.Aspect lists them)")
            required.append(known)
    return required
