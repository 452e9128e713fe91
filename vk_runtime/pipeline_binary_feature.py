"""The feature of VK_KHR_pipeline_binary: whether a driver gives the code of single pipelines away, and asking for it.

Apart from `pipeline_binary`, which programs without native code never load.  The PyPI package ``vulkan`` is older than
the extension, so its structs are declared with ctypes, which needs no parser.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .headers import ffi, make

if TYPE_CHECKING:
    from .instance import Instance
    from .logical_device import LogicalDevice
    from .physical_device import PhysicalDevice

FEATURE: Final = "pipelineBinaries"
EXTENSIONS: Final = ("VK_KHR_pipeline_binary", "VK_KHR_maintenance5")
"""The extension, and the one that it needs."""
MIN_VERSION: Final = (1, 3)
"""Of older devices VK_KHR_maintenance5 wants further extensions."""

_MAINTENANCE_FEATURES = 1000470000
"""VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR."""
_FEATURES = 1000483000
"""VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR."""


class _MaintenanceFeatures(ctypes.Structure):
    _fields_: ClassVar = [("s_type", c_int32), ("next", c_void_p), ("maintenance5", c_uint32)]


class _Features(ctypes.Structure):
    _fields_: ClassVar = [("s_type", c_int32), ("next", c_void_p), ("pipeline_binaries", c_uint32)]


def has_pipeline_binaries(device: PhysicalDevice | LogicalDevice) -> bool:
    """Returns whether a driver gives the code of single pipelines away, or a VkDevice was made for that."""
    return FEATURE in device.features


def read_features(
    instance: Instance, raw: Any, version: tuple[int, int], extensions: frozenset[str]
) -> frozenset[str]:
    """Returns the extension's feature where a VkPhysicalDevice has it; arguments as `physical_device` has them."""
    if version < MIN_VERSION or not extensions.issuperset(EXTENSIONS):
        return frozenset()
    found = _Features(_FEATURES, None, 0)
    root = make("VkPhysicalDeviceFeatures2", pNext=pointer_to(found))
    instance.vk.vkGetPhysicalDeviceFeatures2(raw, root)
    return frozenset({FEATURE} if found.pipeline_binaries else ())


def enabling_structs() -> tuple[ctypes.Structure, ...]:
    """Returns what is chained to VkDeviceCreateInfo to have the feature, linked; the caller keeps it alive."""
    binaries = _Features(_FEATURES, None, 1)
    maintenance = _MaintenanceFeatures(_MAINTENANCE_FEATURES, ctypes.addressof(binaries), 1)
    return maintenance, binaries


def pointer_to(struct: ctypes.Structure) -> Any:
    """Returns the address of a struct for cffi; the caller keeps the struct alive."""
    return ffi.cast("void*", ctypes.addressof(struct))
