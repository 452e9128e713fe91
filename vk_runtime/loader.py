"""Opening the entry points into Vulkan: the system's loader, or a driver library without any loader.

An entry point is one function, vkGetInstanceProcAddr; every other function is asked of it.  Nothing here
creates an instance, and a library that cannot be opened is an `EntryPointError`, never the end.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .headers import NULL, ffi
from .user_folders import user_data_folder

Source = Literal["loader", "embedded"]
"""Where an entry point comes from: the system's Vulkan loader, or a driver opened directly."""

LOADER_NAMES = {
    "linux": ("libvulkan.so.1", "libvulkan.so"),
    "darwin": ("libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"),
    "win32": ("vulkan-1.dll",),
}
"""File names of the Vulkan loader, by ``sys.platform``."""

SWIFTSHADER_LIBRARY = {
    "linux": "libvk_swiftshader.so",
    "darwin": "libvk_swiftshader.dylib",
    "win32": "vk_swiftshader.dll",
}
"""File name of SwiftShader, by ``sys.platform``."""

EMBEDDED_VARIABLE = "LAPILLI_SWIFTSHADER"
"""Environment variable that names the embedded driver's library; empty: none is opened."""

INSTALL_DRIVER = "apt-get install -y --no-install-recommends mesa-vulkan-drivers libvulkan1"
INSTALL_EMBEDDED = "lapilli doctor --install-swiftshader"
"""What to run where there is no driver, and no embedded one."""

_ICD_INTERFACE_VERSION = 5
"""Loader-and-driver interface version asked for: from 5 on a driver accepts any application's apiVersion."""


class EntryPointError(Exception):
    """A library that is not there, or is no Vulkan library; the text says which."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """An opened library and its vkGetInstanceProcAddr."""

    source: Source
    library: str
    get_instance_proc_addr: Any


class Functions:
    """Vulkan's functions by their own names, each looked up at its first use.

    Args:
        resolve: returns the address of a function, or NULL.
        scope: what was asked, for messages.

    Raises:
        AttributeError: the driver does not have the function.
    """

    def __init__(self, resolve: Callable[[bytes], Any], scope: str) -> None:
        self._resolve = resolve
        self._scope = scope

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("vk"):
            raise AttributeError(name)
        address = self._resolve(name.encode())
        if address == NULL:
            raise AttributeError(f"{self._scope} does not have the function {name}")
        function = ffi.cast(f"PFN_{name}", address)
        setattr(self, name, function)
        return function


def open_loader() -> EntryPoint:
    """Opens the system's Vulkan loader, which reads VK_DRIVER_FILES and its other variables itself.

    Raises:
        EntryPointError: it is not installed or cannot be opened.
    """
    names = LOADER_NAMES.get(sys.platform, LOADER_NAMES["linux"])
    failures: list[str] = []
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
            continue
        return EntryPoint("loader", name, _function_of(library, name, "vkGetInstanceProcAddr"))
    raise EntryPointError("; ".join(failures))


def embedded_library() -> Path | None:
    """Returns where the embedded SwiftShader would lie; None where LAPILLI_SWIFTSHADER is set and empty."""
    override = os.environ.get(EMBEDDED_VARIABLE)
    if override is not None:
        return Path(override) if override else None
    name = SWIFTSHADER_LIBRARY.get(sys.platform, SWIFTSHADER_LIBRARY["linux"])
    return user_data_folder() / "swiftshader" / name


def is_file(path: Path) -> bool:
    """Returns whether there is a file; a path that cannot even be looked at has none."""
    try:
        return path.is_file()
    except OSError:  # pathlib lets some through: a name too long, a folder that may not be entered
        return False


def open_driver(path: Path) -> EntryPoint:
    """Opens a driver library the way the loader would (Vulkan loader-and-driver interface, version 5).

    Raises:
        EntryPointError: there is no such file, or it is no Vulkan driver.
    """
    if not is_file(path):
        raise EntryPointError(f"there is no file {path}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise EntryPointError(str(error)) from error
    try:
        negotiate = library.vk_icdNegotiateLoaderICDInterfaceVersion
    except AttributeError as error:
        raise EntryPointError(
            f"{path} is no Vulkan driver: it lacks vk_icdNegotiateLoaderICDInterfaceVersion"
        ) from error
    version = ctypes.c_uint32(_ICD_INTERFACE_VERSION)
    result = negotiate(ctypes.byref(version))
    if result != 0:
        raise EntryPointError(f"{path} refuses driver interface version {_ICD_INTERFACE_VERSION} ({result})")
    return EntryPoint("embedded", str(path), _function_of(library, str(path), "vk_icdGetInstanceProcAddr"))


def _function_of(library: ctypes.CDLL, name: str, symbol: str) -> Any:
    try:
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    except AttributeError as error:
        raise EntryPointError(f"{name} is no Vulkan library: it lacks {symbol}") from error
    return ffi.cast("PFN_vkGetInstanceProcAddr", address)
