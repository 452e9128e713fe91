"""get_native: the Vulkan handle behind an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from ..array import Array
from ..bundle_errors import ConstraintError, type_name
from ..context import Context
from ..device import Device
from ..device_list import Platform
from ..event import Event
from ..images import Image
from ..kernel_bundle import KernelBundle
from ..kernel_object import Kernel
from ..queue import Queue
from .buffers import native_array
from .bundles import native_bundle, native_kernel
from .contexts import native_context
from .devices import native_device
from .events import native_event
from .images import native_image
from .natives import Native, require_vulkan
from .platforms import native_platform
from .queues import native_queue

_BY_CLASS: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (Platform, native_platform),
    (Device, native_device),
    (Context, native_context),
    (Queue, native_queue),
    (Event, native_event),
    (Array, native_array),
    (Image, native_image),
    (Kernel, native_kernel),
    (KernelBundle, native_bundle),
)


@overload
def get_native(x: Device) -> Native: ...


@overload
def get_native(x: Platform | Queue) -> tuple[Native, int]: ...


@overload
def get_native(x: Context | Array | KernelBundle) -> list[Native]: ...


@overload
def get_native(x: Image) -> list[tuple[Native, ...]]: ...


@overload
def get_native(x: Event) -> list[tuple[Native, int]]: ...


@overload
def get_native(x: Kernel) -> tuple[Native, Native, str]: ...


def get_native(x: object) -> object:
    """Returns the Vulkan handles of an object, as ints that keep them valid while they live; see `Native`.

    ======================  ==================================
    `lp.Platform`           (VkInstance, VkDriverId)
    `lp.Device`             VkPhysicalDevice
    `lp.Context`            list of VkDevice
    `lp.Queue`              (VkQueue, queue family index)
    `lp.Event`              list of (VkSemaphore, value)
    `lp.Array`              list of VkBuffer
    `lp.UnsampledImage`     list of (VkImage, VkImageView)
    `lp.SampledImage`       list of (VkImage, VkImageView, VkSampler)
    `lp.Kernel`             (VkPipeline, VkPipelineLayout, entry)
    `lp.KernelBundle`       list of VkShaderModule
    ======================  ==================================

    Raises:
        InvalidError: the object has no native in its state.
        BackendMismatchError: an object of another backend.
        TypeError: an object of another class.
    """
    require_vulkan("get_native", x)
    for cls, native_of in _BY_CLASS:
        if isinstance(x, cls):
            return native_of(x)
    names = ", ".join(cls.__name__ for cls, _ in _BY_CLASS)
    raise ConstraintError(f"get_native takes one of {names}; found {x!r:.60} of type {type_name(x)}")
