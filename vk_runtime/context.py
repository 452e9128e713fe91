"""Context: the devices of one driver that kernel bundles and queues share (SYCL 2020, ``sycl::context``)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..ir.errors import InvalidError
from ..ir.public_names import PublicNames
from .backend import VulkanObject
from .bundle_errors import ConstraintError, type_name
from .bundle_state import BundleState
from .device import Device
from .device_list import Platform, device
from .info_descriptors import answer
from .items import items
from .object_info import ContextInfo

if TYPE_CHECKING:
    from .kernel_bundle import KernelBundle

AsyncHandler = Callable[[object], object]
"""Called with the list of errors that a queue met while it ran."""


class Context(
    VulkanObject,
    metaclass=PublicNames,
    internal="adopt",
):
    """Devices of one platform; every call makes a distinct context.

    Args:
        devices: a device, or several of one platform; None: all devices of the default device's platform.
        async_handler: gets the errors of queues of this context that have no handler of their own.

    Raises:
        InvalidError: no device, devices of several platforms, or something that is no device.
    """

    def __init__(
        self,
        devices: Device | Sequence[Device] | None = None,
        *,
        async_handler: AsyncHandler | None = None,
    ) -> None:
        if devices is None:
            found = device().platform.devices
        elif isinstance(devices, Device):
            found = (devices,)
        else:
            found = device_list("lp.Context", devices)
        if not found:
            raise InvalidError("lp.Context(devices): expected at least one device, found an empty list")
        platforms = {item.platform for item in found}
        if len(platforms) > 1:
            names = ", ".join(sorted(f"'{item.selector}' ({item.platform.name})" for item in found))
            raise InvalidError(
                f"lp.Context(devices): expected devices of one platform, found {names}; make a context for each"
            )
        if async_handler is not None and not callable(async_handler):  # pyright: ignore[reportUnnecessaryComparison]
            raise ConstraintError(f"lp.Context(async_handler=…) takes a function, found {async_handler!r}")
        self._devices = items(found)
        self._async_handler = async_handler
        self._lock = threading.RLock()
        self._bundles: list[weakref.ref[KernelBundle]] = []

    @property
    def devices(self) -> tuple[Device, ...]:
        """Its devices, each once."""
        return self._devices

    def get_devices(self) -> list[Device]:
        """Returns `devices` as a list."""
        return list(self._devices)

    @property
    def platform(self) -> Platform:
        """The driver that all its devices belong to."""
        return self._devices[0].platform

    def get_platform(self) -> Platform:
        """Returns `platform`."""
        return self.platform

    @property
    def info(self) -> ContextInfo:
        """What it consists of, under the names of SYCL's ``info::context``."""
        return ContextInfo(self.platform, self._devices)

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.context.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        return answer("Context", "context", self.info, descriptor)

    @property
    def async_handler(self) -> AsyncHandler | None:
        """What gets the errors of its queues."""
        return self._async_handler

    def has_property(self, property_type: type) -> bool:
        """Returns whether it was made with a property; contexts take none."""
        return False

    def get_property(self, property_type: type) -> NoReturn:
        """Raises InvalidError: contexts take no properties."""
        raise InvalidError(
            f"this context has no property {getattr(property_type, '__name__', property_type)}"
        )

    def get_modules(self, state: BundleState) -> list[KernelBundle]:
        """Returns the living kernel bundles of this context in a state; never raises for want of one."""
        with self._lock:
            living = [bundle for reference in self._bundles if (bundle := reference()) is not None]
            self._bundles = [weakref.ref(bundle) for bundle in living]
        return [bundle for bundle in living if bundle.state is state]

    def adopt(self, bundle: KernelBundle) -> None:
        """Notes a bundle for `get_modules`, as long as it lives."""
        with self._lock:
            self._bundles = [reference for reference in self._bundles if reference() is not None]
            self._bundles.append(weakref.ref(bundle))

    def __repr__(self) -> str:
        return f"<lp.Context of {', '.join(item.selector for item in self._devices)}>"


_defaults: dict[Platform, Context] = {}
_defaults_lock = threading.RLock()


def default_context(of: Device) -> Context:
    """Returns the context of all listed devices of a device's platform, the same at every call.

    A device that `lp.devices` does not list has one of its own.
    """
    with _defaults_lock:
        own = of.own_context
        if own is not None:
            return own
        listed = of.platform.devices
        if of in listed:
            return _defaults.get(of.platform) or _defaults.setdefault(of.platform, Context(listed))
        made = Context([of])
        if of.own_context is None:  # else a finaliser in between was faster
            of.own_context = made
        return of.own_context


def device_list(what: str, values: object) -> tuple[Device, ...]:
    """Returns the devices of a ``devs`` argument, each once, in order.

    Raises:
        ConstraintError: it is no sequence of devices.
    """
    if isinstance(values, str | bytes | Device) or not isinstance(values, Iterable):
        raise ConstraintError(
            f"{what} takes a list of lp.Device objects, found {values!r} of type {type_name(values)}"
        )
    items = list(cast("Iterable[object]", values))
    for item in items:
        if not isinstance(item, Device):
            raise ConstraintError(
                f"{what} takes a list of lp.Device objects, found {item!r} of type {type_name(item)} in it"
            )
    return tuple(dict.fromkeys(cast("list[Device]", items)))


def member_devices(what: str, values: object, members: Sequence[Device], of: str) -> tuple[Device, ...]:
    """Returns the devices that a function is asked for: ``devs``, or all of `members`.

    Args:
        what: the function, for messages.
        values: its ``devs`` argument.
        members: devices that may be asked for.
        of: what they are the devices of: ``context``, ``kernel bundle``.

    Raises:
        ConstraintError: no list of devices.
        InvalidError: an empty list, or a device that is no member.
    """
    if values is None:
        return tuple(members)
    found = device_list(f"{what}(…, devs)", values)
    if not found:
        raise InvalidError(
            f"{what}: expected at least one device in devs, found an empty list; None means all of the {of}"
        )
    for item in found:
        if item not in members:
            names = ", ".join(f"'{member.selector}'" for member in members)
            raise InvalidError(
                f"{what}: device '{item.selector}' ({item.name}) is none of the {of}'s: {names or 'it has none'}"
            )
    return found
