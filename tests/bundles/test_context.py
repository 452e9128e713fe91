"""lp.Context."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device


def test_every_call_makes_a_distinct_context(device):
    first, second = lp.Context([device]), lp.Context(device)
    assert first != second and len({first, second}) == 2
    assert first.devices == second.devices == (device,) == tuple(first.get_devices())
    assert first.platform == first.get_platform() == device.platform


def test_duplicates_are_dropped_and_order_kept(device, lesser):
    assert lp.Context([lesser, device, lesser]).devices == (lesser, device)


@pytest.mark.device
def test_without_devices_it_has_those_of_the_default_platform():
    assert lp.Context().devices == lp.device().platform.devices


def test_the_default_context_is_one_object(device, lesser):
    assert device.default_context is device.default_context
    assert device in device.default_context.devices
    assert lesser not in device.default_context.devices
    assert lesser.default_context is lesser.default_context
    assert lesser.default_context.devices == (lesser,)


@pytest.mark.parametrize("devices", [[]])
def test_no_device_is_refused(devices):
    with pytest.raises(lp.InvalidError, match="empty list"):
        lp.Context(devices)


@pytest.mark.device
def test_devices_of_several_platforms_are_refused():
    if len(lp.platforms()) < 2:
        pytest.skip("there is one driver only")
    with pytest.raises(lp.InvalidError, match="one platform"):
        lp.Context(lp.devices())


@pytest.mark.parametrize("devices", [3, "lavapipe", ["lavapipe"], [None]])
def test_something_that_is_no_device_is_refused(devices):
    with pytest.raises(TypeError, match=r"lp\.Device"):
        lp.Context(devices)


def test_handler_and_properties(device):
    def handler(errors: object) -> None: ...

    assert lp.Context([device], async_handler=handler).async_handler is handler
    context = lp.Context([device])
    assert context.async_handler is None and not context.has_property(int)
    with pytest.raises(lp.InvalidError, match="no property"):
        context.get_property(int)
    with pytest.raises(TypeError, match="async_handler"):
        lp.Context([device], async_handler=3)  # type: ignore[arg-type]
    assert device.selector in repr(context)
