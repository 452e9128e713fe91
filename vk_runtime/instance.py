"""VkInstance: one for each entry point, with the validation layer where LAPILLI_VALIDATE asks for it.

Messages of the layer arrive through `logging`, with their VUID as the record's attribute ``vuid`` and the line of the
program that lapilli was called from as ``user_location``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from ..ir.config import config
from ..ir.errors import Error
from ..ir.lazy_logging import logger_of
from .constants import (
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
    VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
    VK_INCOMPLETE,
    VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR,
)
from .errors import check
from .headers import (
    HEADER_API_VERSION,
    NULL,
    ffi,
    make,
    make_strings,
    packed_version,
    text_of,
    version_tuple,
)
from .loader import EntryPoint, Functions

logger = logger_of(__name__)

VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
_DEBUG_UTILS = "VK_EXT_debug_utils"
_PORTABILITY = "VK_KHR_portability_enumeration"
_Item = TypeVar("_Item")


def enumerate_all(
    function: Any, name: str, item_type: str, *scope: Any, read: Callable[[Any], _Item]
) -> list[_Item]:
    """Calls an enumeration twice, for the count and the items, and again while it grows.

    Args:
        function: the vkEnumerate… function; `name` is its name.
        item_type: what it fills an array of.
        scope: its arguments before the count.
        read: takes what is wanted out of an item; a struct is gone once this function returns.
    """
    count = ffi.new("uint32_t*")
    while True:
        check(function(*scope, count, NULL), name)
        items = ffi.new(f"{item_type}[]", max(count[0], 1))
        result = function(*scope, count, items)
        check(result, name)
        if result != VK_INCOMPLETE:
            return [read(items[i]) for i in range(count[0])]


class Instance:
    """A VkInstance.  Made by `runtime`, which closes it after every device of it.

    Args:
        entry: borrowed.
        adopted: a VkInstance of the application, used instead of making one and never destroyed.

    Raises:
        RuntimeFailure: the driver or loader refuses.
    """

    def __init__(self, entry: EntryPoint, adopted: Any = None) -> None:
        self.entry = entry
        self.is_adopted = adopted is not None
        """Whether it is the application's, which destroys it."""
        self._global = Functions(lambda name: entry.get_instance_proc_addr(NULL, name), entry.library)
        self._callback: Any = None
        self._messenger = ffi.new("VkDebugUtilsMessengerEXT*")
        self._instance = instance = ffi.new("VkInstance*")
        self.vk = Functions(lambda name: entry.get_instance_proc_addr(instance[0], name), entry.library)
        if adopted is not None:
            instance[0] = adopted
            return
        try:
            self._create()
            if self._callback is not None:
                self._create_messenger()
        except BaseException:  # Ctrl-C may come behind either call
            self.close()
            raise

    @property
    def raw(self) -> Any:
        """The VkInstance."""
        return self._instance[0]

    def _create(self) -> None:
        extensions = self.extensions()
        wanted = [_PORTABILITY] if _PORTABILITY in extensions else []
        layers = self._validation_layers()
        if layers and _DEBUG_UTILS in extensions | self.extensions(layers[0]):
            wanted.append(_DEBUG_UTILS)
            self._callback = ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", _log_message)
        application = make(
            "VkApplicationInfo",
            pEngineName=ffi.new("char[]", b"lapilli"),
            apiVersion=packed_version(HEADER_API_VERSION),
        )
        info = make(
            "VkInstanceCreateInfo",
            flags=VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR if _PORTABILITY in wanted else 0,
            pApplicationInfo=application,
            enabledLayerCount=len(layers),
            ppEnabledLayerNames=make_strings(layers),
            enabledExtensionCount=len(wanted),
            ppEnabledExtensionNames=make_strings(wanted),
        )
        result = self._global.vkCreateInstance(info, NULL, self._instance)
        if result < 0:
            self._instance[0] = NULL  # else undefined
            check(result, "vkCreateInstance")

    def extensions(self, layer: str | None = None) -> set[str]:
        """Returns the names of the instance extensions, or of those that a layer adds."""
        scope = NULL if layer is None else ffi.new("char[]", layer.encode())
        found = enumerate_all(
            self._global.vkEnumerateInstanceExtensionProperties,
            "vkEnumerateInstanceExtensionProperties",
            "VkExtensionProperties",
            scope,
            read=lambda item: text_of(item.extensionName),
        )
        return set(found)

    def _validation_layers(self) -> list[str]:
        if not config.validate:
            return []
        if self.entry.source == "embedded":
            logger.info("LAPILLI_VALIDATE has no effect on %s: layers need the loader", self.entry.library)
            return []
        found = enumerate_all(
            self._global.vkEnumerateInstanceLayerProperties,
            "vkEnumerateInstanceLayerProperties",
            "VkLayerProperties",
            read=lambda item: text_of(item.layerName),
        )
        if VALIDATION_LAYER in found:
            return [VALIDATION_LAYER]
        logger.warning(
            "LAPILLI_VALIDATE is set but %s is not installed; run: apt-get install -y "
            "--no-install-recommends vulkan-validationlayers",
            VALIDATION_LAYER,
        )
        return []

    def _create_messenger(self) -> None:
        info = make(
            "VkDebugUtilsMessengerCreateInfoEXT",
            messageSeverity=VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
            | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            messageType=VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
            pfnUserCallback=self._callback,
        )
        result = self.vk.vkCreateDebugUtilsMessengerEXT(self.raw, info, NULL, self._messenger)
        if result < 0:
            self._messenger[0] = NULL  # else undefined
            check(result, "vkCreateDebugUtilsMessengerEXT")

    @cached_property
    def api_version(self) -> tuple[int, int, int]:
        """The Vulkan version of the loader, or of a driver that was opened without one."""
        try:
            function = self._global.vkEnumerateInstanceVersion
        except AttributeError:  # Vulkan 1.0 has no such function
            return (1, 0, 0)
        version = ffi.new("uint32_t*")
        check(function(version), "vkEnumerateInstanceVersion")
        return version_tuple(version[0])

    @property
    def is_validated(self) -> bool:
        """Whether the validation layer reports to `logging`."""
        return self._messenger[0] != NULL

    def physical_devices(self) -> list[Any]:
        """Returns the VkPhysicalDevice handles, in the loader's order; none where no driver has a device."""
        try:
            return enumerate_all(
                self.vk.vkEnumeratePhysicalDevices,
                "vkEnumeratePhysicalDevices",
                "VkPhysicalDevice",
                self.raw,
                read=lambda handle: handle,
            )
        except Error as error:
            # VK_ERROR_INITIALIZATION_FAILED is how loaders say that no driver is usable.
            logger.info("%s lists no devices: %s", self.entry.library, error)
            return []

    def close(self) -> None:
        """Destroys the messenger and the instance; idempotent."""
        if self.raw == NULL or self.is_adopted:
            return
        messenger, self._messenger[0] = self._messenger[0], NULL
        if messenger != NULL:
            self.vk.vkDestroyDebugUtilsMessengerEXT(self.raw, messenger, NULL)
        destroy = self.vk.vkDestroyInstance
        raw, self._instance[0] = self.raw, NULL
        destroy(raw, NULL)


def _log_message(severity: int, kinds: int, data: Any, user: Any) -> int:
    import logging

    from .user_frame import user_location

    del kinds, user
    level = logging.ERROR if severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT else logging.WARNING
    vuid = text_of(data.pMessageIdName)
    place = user_location()
    logger.log(
        level,
        "%s%s: %s",
        "" if place is None else f"{place}: ",
        vuid,
        text_of(data.pMessage),
        extra={"vuid": vuid, "user_location": place},
    )
    return 0
