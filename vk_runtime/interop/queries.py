"""Questions to the backend: extensions, result codes, functions, and which native type belongs to which class."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...ir.errors import InvalidError
from ..array import Array
from ..backend import Backend
from ..bundle_errors import ConstraintError, type_name
from ..context import Context
from ..device import Device
from ..device_list import Platform
from ..event import Event
from ..headers import NULL, address_of, ffi
from ..images import SampledImage, UnsampledImage
from ..instance import Instance
from ..kernel_bundle import KernelBundle
from ..kernel_object import Kernel
from ..queue import Queue
from ..runtime import runtime
from .natives import require_vulkan
from .platforms import foreign_devices

SYCL_BACKEND_VULKAN = 1
"""The feature macro of this backend."""

INPUT_TYPES: Mapping[type, str] = MappingProxyType(
    {
        Platform: "(VkInstance, VkDriverId)",
        Device: "VkPhysicalDevice",
        Context: "VkDevice",
        Queue: "(VkQueue, queue family)",
        Event: "list[(VkSemaphore, value)]",
        Array: "VkBuffer",
        UnsampledImage: "VkImage",
        SampledImage: "VkImage",
        Kernel: "(VkShaderModule, entry, SPIR-V)",
        KernelBundle: "VkShaderModule",
    }
)
RETURN_TYPES: Mapping[type, str] = MappingProxyType(
    {
        **INPUT_TYPES,
        Context: "list[VkDevice]",
        Array: "list[VkBuffer]",
        UnsampledImage: "list[(VkImage, VkImageView)]",
        SampledImage: "list[(VkImage, VkImageView, VkSampler)]",
        Kernel: "(VkPipeline, VkPipelineLayout, entry)",
        KernelBundle: "list[VkShaderModule]",
    }
)


def backend_input_type(cls: type) -> str:
    """Returns what ``make_…`` takes for a class, in words of Vulkan; TypeError for classes without a native."""
    return _type_of("backend_input_type", INPUT_TYPES, cls)


def backend_return_type(cls: type) -> str:
    """Returns what `get_native` gives for a class, in words of Vulkan; TypeError for classes without a native."""
    return _type_of("backend_return_type", RETURN_TYPES, cls)


def _type_of(what: str, table: Mapping[type, str], cls: object) -> str:
    found = table.get(cls) if isinstance(cls, type) else None
    if found is None:
        names = ", ".join(item.__name__ for item in table)
        raise ConstraintError(f"{what} takes a class with a native: {names}; found {cls!r:.60}")
    return found


def is_backend_active(backend: Backend) -> bool:
    """Returns whether a backend has a device; TypeError for what is no backend."""
    if not isinstance(backend, Backend):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise ConstraintError(f"is_backend_active takes an lp.Backend, found {backend!r}")
    return bool(runtime().devices)


def has_extension(x: Platform | Device, name: str) -> bool:
    """Returns whether a device, or the instance of a platform, has a Vulkan extension.

    Raises:
        BackendMismatchError: an object of another backend.
        TypeError: neither a platform nor a device, or `name` is no text.
    """
    require_vulkan("has_extension", x)
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise ConstraintError(f"has_extension takes the name of an extension, found {name!r:.60}")
    if isinstance(x, Device):
        return name in x.physical.extensions
    if isinstance(x, Platform):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        return name in _instance_of(x).extensions()
    raise ConstraintError(f"has_extension takes an lp.Platform or lp.Device, found {type_name(x)}")


def _instance_of(platform: Platform) -> Instance:
    for device in (*runtime().devices, *foreign_devices()):
        if device.platform == platform:
            return device.physical.instance
    raise InvalidError(f"no device of this process is of platform '{platform.name}'")


def get_error_code(error: BaseException) -> int:
    """Returns the VkResult behind an exception; VK_SUCCESS, 0, where no call to Vulkan failed.

    An exception that was raised from another one has the code of that.

    Raises:
        TypeError: something that is no exception.
    """
    if not isinstance(error, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(f"get_error_code takes an exception, found {type_name(error)}")
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        result = getattr(current, "result", None)
        if isinstance(result, int) and hasattr(current, "function"):
            return result
        current = current.__cause__
    return 0


_OF_PHYSICAL_DEVICE = ("vkGetPhysicalDevice", "vkEnumerateDevice")


def get_proc(x: Platform | Device | Context, name: str) -> Any:
    """Returns a function of Vulkan as a cffi function pointer, for extensions that lapilli does not wrap.

    Args:
        x: a platform for functions of its VkInstance; a device, or a context of one device, for those of its
            VkDevice and VkPhysicalDevice.
        name: ``vkGetBufferMemoryRequirements``.

    Raises:
        InvalidError: there is no such function.
        BackendMismatchError: an object of another backend.
        TypeError: another object, or `name` is no text.
    """
    require_vulkan("get_proc", x)
    if not isinstance(name, str) or not name.startswith("vk") or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(f"get_proc takes the name of a Vulkan function, found {name!r:.60}")
    if isinstance(x, Platform):
        instance = _instance_of(x)
        address = instance.entry.get_instance_proc_addr(instance.raw, name.encode())
    elif isinstance(x, Device) and name.startswith(_OF_PHYSICAL_DEVICE):
        return get_proc(x.platform, name)
    elif isinstance(x, Device):
        address = x.physical.instance.vk.vkGetDeviceProcAddr(x.logical.raw, name.encode())
    elif isinstance(x, Context) and len(x.devices) == 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        return get_proc(x.devices[0], name)
    else:
        raise ConstraintError(
            f"get_proc takes an lp.Platform, lp.Device or lp.Context of one device, found {x!r:.60}"
        )
    if address == NULL:
        raise InvalidError(f"get_proc: {x!r:.80} does not have the function {name}")
    try:
        return ffi.cast(f"PFN_{name}", address)
    except (ffi.error, NotImplementedError):  # newer than the headers: the caller casts it
        return ffi.cast("void*", address_of(address))
