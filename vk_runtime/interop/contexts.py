"""Contexts: VkDevice.  One of the application is used as it was made: queue, features and extensions are its."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import cast

from ...ir.errors import InvalidError, RuntimeFailure, closest
from ..bundle_errors import ConstraintError
from ..constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER
from ..context import AsyncHandler, Context
from ..device import Device
from ..device_creation import SHARING_EXTENSIONS, AdoptedDevice
from ..device_features import CALIBRATION_EXTENSIONS, FEATURE_STRUCTS, REQUIRED_FEATURES
from ..device_list import devices
from ..headers import NULL, address_of, bool_members, ffi
from ..physical_device import PhysicalDevice
from ..runtime import runtime
from .devices import make_device
from .handle_refs import given_out, owners, share
from .natives import Native, handle, native_int, require_dispatchable
from .queues import require_context

_lock = threading.RLock()
_FEATURES = re.compile(r"VkPhysicalDevice\w*Features\w*")

MINIMUM_FEATURES = REQUIRED_FEATURES
"""What lapilli takes to be enabled on a VkDevice where the application says nothing."""


def native_context(context: Context) -> list[Native]:
    """Returns the VkDevice of each device, in order."""
    for device in context.devices:
        device.logical.share_queues()  # vkGetDeviceQueue gives them, and vkDeviceWaitIdle uses all
    natives = [given_out("VkDevice", device.logical.raw, device) for device in context.devices]
    for native in natives:
        share("VkDevice", native, context)
    return natives


def make_context(
    native: object,
    async_handler: AsyncHandler | None = None,
    *,
    device: Device | object = None,
    queue_family: int | None = None,
    queue_index: int = 0,
    features: Iterable[str] | None = None,
    extensions: Iterable[str] = (),
) -> Context:
    """Returns a new context of a VkDevice.

    The VkDevice may be the application's, and stays it: `release_context`, before it is destroyed.  Vulkan cannot be
    asked what it was made with, so the application says that.

    Args:
        native: a VkDevice, or a list of them as `get_native` gives it (all of lapilli, then).
        async_handler: gets the errors of its queues that have no handler of their own.
        device: the device that the VkDevice was made of: an `lp.Device` or a VkPhysicalDevice; may be left out where
            the system's loader has only one.
        queue_family: family of the queue to submit to; None: the first family that computes.
        queue_index: of the queue in its family.  Vulkan wants that only one thread at a time submits to a queue.
        features: names of the enabled features (``shaderInt64``); None: `MINIMUM_FEATURES`, ``timelineSemaphore``.
            Enable ``robustBufferAccess`` where kernels may be given wrong indices.
        extensions: names of the enabled device extensions.

    Raises:
        InvalidError: no VkDevice, one of an unknown device, or a queue, feature or extension that the device does not
            have.
        TypeError: not a handle.
    """
    what = "make_context"
    items = cast("list[object]", native) if isinstance(native, list) else [native]
    numbers = [native_int(what, item, "VkDevice") for item in items]
    known = [_known(number) for number in numbers]
    if numbers and all(item is not None for item in known):
        _require_made_of(what, cast("list[Device]", known), device)
        context = Context(cast("list[Device]", known), async_handler=async_handler)
    elif len(numbers) == 1:
        base = _base_device(what, device)
        with _lock:
            made = _adopt(what, numbers[0], base, queue_family, queue_index, features, extensions)
        context = made.own_context = Context([made], async_handler=async_handler)
    else:
        raise InvalidError(
            f"{what}: expected one VkDevice of the application, found a list of {len(numbers)}"
        )
    for number in numbers:
        share("VkDevice", number, context)
    return context


def release_context(context: Context) -> None:
    """Waits for the work of a context of the application's VkDevice and gives up everything that lapilli made on it.

    The application may then destroy the VkDevice; arrays, queues and kernels of the context raise when they are used.

    Raises:
        InvalidError: the context is of a VkDevice of lapilli's own.
        TypeError: it is no context.
    """
    require_context("release_context", context)
    for device in context.devices:
        if not device.logical.is_adopted:
            raise InvalidError("release_context: expected a context of a VkDevice that the application made")
        device.shut_down()
        if device in runtime().foreign:
            runtime().foreign.remove(device)


def _known(number: int) -> Device | None:
    """Returns the living device whose VkDevice has a handle."""
    for owner in owners("VkDevice", number):
        if isinstance(owner, Device) and not owner.logical.is_closed:
            return owner
    with_logical = (d for d in (*runtime().devices, *runtime().foreign) if d.is_open)
    return next((d for d in with_logical if address_of(d.logical.raw) == number), None)


def _require_made_of(what: str, known: Iterable[Device], device: object) -> None:
    """Raises where ``device=`` is not what known VkDevices were made of."""
    if device is None:
        return
    base = _base_device(what, device).physical
    for item in known:
        if (item.physical.device_uuid, item.physical.driver_id) != (base.device_uuid, base.driver_id):
            raise InvalidError(
                f"{what}(device=…): the VkDevice is of '{item.physical.name}', found a device of '{base.name}'"
            )


def _base_device(what: str, device: object) -> Device:
    """Returns the device that a VkDevice was made of."""
    if isinstance(device, Device):
        return device
    if device is not None:
        return make_device(device)
    through_loader = [
        d for d in (*devices(), *runtime().foreign) if d.physical.instance.entry.source == "loader"
    ]
    identities = {(d.physical.device_uuid, d.physical.driver_id): d for d in through_loader}
    if len(identities) != 1:
        names = ", ".join(f"'{d.selector}'" for d in identities.values()) or "none"
        raise InvalidError(
            f"{what}: expected device=, what the VkDevice was made of: there are {names} that it could be"
        )
    return next(iter(identities.values()))


def _adopt(
    what: str,
    number: int,
    base: Device,
    queue_family: int | None,
    queue_index: int,
    features: Iterable[str] | None,
    extensions: Iterable[str],
) -> Device:
    physical = _as_made(what, base.physical, queue_family, features, extensions)
    if (
        base.physical.driver_id != VK_DRIVER_ID_GOOGLE_SWIFTSHADER
        or physical.instance.entry.source == "loader"
    ):
        require_dispatchable(what, number, "VkDevice")
    raw = handle("VkDevice", number)
    resolve = physical.instance.vk.vkGetDeviceProcAddr
    get_queue = resolve(raw, b"vkGetDeviceQueue")
    if get_queue == NULL or resolve(raw, b"vkWaitSemaphores") == NULL:
        raise InvalidError(
            f"{what}: {number:#x} is no VkDevice, or its VkInstance was made for a Vulkan older than 1.2 "
            "(VkApplicationInfo.apiVersion)"
        )
    out = ffi.new("VkQueue*")
    ffi.cast("PFN_vkGetDeviceQueue", get_queue)(raw, physical.queue_family_index, queue_index, out)
    if out[0] == NULL:
        raise InvalidError(
            f"{what}: the VkDevice was made without queue {queue_index} of family {physical.queue_family_index}"
        )
    try:
        made = Device(physical, f"vulkan:{number:#x}", adopted=AdoptedDevice(raw=raw, vk_queue=out[0]))
    except (AttributeError, RuntimeFailure) as error:
        raise InvalidError(f"{what}: the VkDevice {number:#x} cannot be used: {error}") from error
    runtime().foreign.append(made)
    share("VkDevice", number, made)
    return made


def _as_made(
    what: str,
    physical: PhysicalDevice,
    queue_family: int | None,
    features: Iterable[str] | None,
    extensions: Iterable[str],
) -> PhysicalDevice:
    """Returns a physical device as the application enabled it."""
    enabled = _names(what, "features", MINIMUM_FEATURES if features is None else features)
    known = {name for item in FEATURE_STRUCTS for name in bool_members(item.name)}
    known |= set(bool_members("VkPhysicalDeviceFeatures"))
    for name in sorted(enabled & known - physical.features):
        raise InvalidError(
            f"{what}: device '{physical.name}' does not have the feature {name}; it cannot be enabled"
        )
    for name in sorted(enabled - known - _all_feature_names()):
        meant = closest(name, _all_feature_names())
        hint = f"did you mean {meant}?" if meant else "leave out what lapilli need not know"
        raise InvalidError(f"{what}(features=…): no feature of Vulkan is called {name!r:.60}; {hint}")
    missing = [name for name in REQUIRED_FEATURES if name not in enabled]
    if missing:
        raise InvalidError(
            f"{what}: lapilli needs the feature {', '.join(missing)}; enable it and name it in features="
        )
    on = _names(what, "extensions", extensions)
    for name in sorted(on - physical.extensions):
        raise InvalidError(f"{what}: device '{physical.name}' does not have the extension {name}")
    family = _family(what, physical, queue_family)
    return replace(
        physical,
        # Buffers of the application need not be made for addresses: kernels get descriptors.
        features=frozenset(enabled & physical.features) - {"bufferDeviceAddress"},
        extensions=physical.extensions - {*SHARING_EXTENSIONS, *CALIBRATION_EXTENSIONS} | on,
        queue_family_index=family,
        timestamp_valid_bits=min(physical.timestamp_valid_bits, physical.timestamp_bits_of_families[family]),
    )


@lru_cache(maxsize=1)
def _all_feature_names() -> frozenset[str]:
    """Returns the features that the headers know, of those that lapilli does not use too."""
    types = [name for name in ffi.list_types()[0] if _FEATURES.fullmatch(name)]
    return frozenset(member for name in types for member in bool_members(name))


def _names(what: str, argument: str, values: object) -> set[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConstraintError(f"{what}({argument}=…) takes a list of names, found {values!r:.60}")
    names = list(cast("Iterable[object]", values))
    for name in names:
        if not isinstance(name, str):
            raise ConstraintError(f"{what}({argument}=…) takes a list of names, found {name!r:.60} in it")
    return set(cast("list[str]", names))


def _family(what: str, physical: PhysicalDevice, family: int | None) -> int:
    if family is None:
        return physical.compute_queue_families[0]
    if family not in physical.compute_queue_families:
        choices = ", ".join(map(str, physical.compute_queue_families))
        raise InvalidError(
            f"{what}: queue family {family!r} of device '{physical.name}' does not compute; expected one of {choices}"
        )
    return family
