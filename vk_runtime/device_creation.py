"""Making a VkDevice: with every feature and extension of the physical device that something here uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of
from . import pipeline_binary_feature
from .device_features import calibration_extension
from .errors import check
from .headers import NULL, bool_members, chain, ffi, make, make_array, make_strings
from .physical_device import feature_structs

if TYPE_CHECKING:
    from .physical_device import PhysicalDevice

logger = logger_of(__name__)

SHARING_EXTENSIONS = (
    "VK_EXT_external_memory_host",
    "VK_KHR_external_memory_fd",
    "VK_KHR_external_semaphore_fd",
)
"""Enabled where the device has them: memory and semaphores that others share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedDevice:
    """A VkDevice of the application: used, and never destroyed."""

    raw: Any
    vk_queue: Any
    """A VkQueue of it, of the physical device's `queue_family_index`."""


def create_device(
    physical: PhysicalDevice, features: frozenset[str], families: Sequence[int], out: Any
) -> frozenset[str]:
    """Makes a VkDevice with one queue of each family; returns the features that it has been made with.

    Args:
        physical: borrowed.
        features: to enable; where the driver refuses those of pipeline binaries, it is asked for the others.
        families: indices.
        out: VkDevice*, where it is written; NULL where there is none.

    Raises:
        Error: the driver refuses.
    """
    try:
        _create(physical, features, families, out)
        return features
    except Error as error:
        if pipeline_binary_feature.FEATURE not in features:
            raise
        logger.info("'%s' refuses %s: %s", physical.name, pipeline_binary_feature.EXTENSIONS[0], error)
        features -= {pipeline_binary_feature.FEATURE}
        _create(physical, features, families, out)
        return features


def _create(physical: PhysicalDevice, features: frozenset[str], families: Sequence[int], out: Any) -> None:
    root = make("VkPhysicalDeviceFeatures2")
    described = feature_structs(physical.api_version, physical.extensions)
    structs = [make(item.name) for item in described]
    _enable("VkPhysicalDeviceFeatures", root.features, features)
    for item, struct in zip(described, structs, strict=True):
        _enable(item.name, struct, features)
    chained = chain(root, *structs)
    extensions = [item.extension for item in described if item.extension is not None]
    if "VK_KHR_portability_subset" in physical.extensions:  # must be enabled where it is offered
        extensions.append("VK_KHR_portability_subset")
    extensions += [name for name in SHARING_EXTENSIONS if name in physical.extensions]
    calibrated = calibration_extension(physical.extensions)
    if calibrated is not None:
        extensions.append(calibrated)
    own = pipeline_binary_feature.enabling_structs() if pipeline_binary_feature.FEATURE in features else ()
    if own:  # beside cffi's structs, which do not know them
        (structs[-1] if structs else root).pNext = pipeline_binary_feature.pointer_to(own[0])
        extensions += pipeline_binary_feature.EXTENSIONS
    priorities = ffi.new("float[]", [1.0])
    queues = [
        make("VkDeviceQueueCreateInfo", queueFamilyIndex=family, queueCount=1, pQueuePriorities=priorities)[0]
        for family in families
    ]
    info = make(
        "VkDeviceCreateInfo",
        pNext=chained,
        queueCreateInfoCount=len(queues),
        pQueueCreateInfos=make_array("VkDeviceQueueCreateInfo", queues),
        enabledExtensionCount=len(extensions),
        ppEnabledExtensionNames=make_strings(extensions),
    )
    result = physical.instance.vk.vkCreateDevice(physical.raw, info, NULL, out)
    if result < 0:
        out[0] = NULL  # else undefined
        check(result, "vkCreateDevice", physical.name)


def _enable(struct_name: str, struct: Any, features: frozenset[str]) -> None:
    for name in bool_members(struct_name):
        if name in features:
            setattr(struct, name, 1)
