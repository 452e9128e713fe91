"""Vulkan's C types: the cffi `ffi` of the PyPI package ``vulkan``, without the rest of that package.

Importing ``vulkan`` opens libvulkan and fails on a machine without one, and its wrapper functions cost
2.5 to 18 µs a call.  So only the file with the type tables is loaded; functions come as pointers from
vkGetInstanceProcAddr and vkGetDeviceProcAddr (see `loader`).  cffi objects are `Any` to type checkers: this
folder keeps them in attributes of its own classes.
"""

from __future__ import annotations

import importlib.util
import itertools
import weakref
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from typing import Any

from ..ir.errors import RuntimeFailure

HEADER_API_VERSION = (1, 3)
"""The Vulkan version that this runtime is written against: newer devices are used as this one."""

WHOLE_SIZE = 0xFFFF_FFFF_FFFF_FFFF
"""VK_WHOLE_SIZE, and the timeout that never ends."""


def _load_ffi() -> Any:
    package = importlib.util.find_spec("vulkan")
    locations = package.submodule_search_locations if package is not None else None
    if not locations:
        raise RuntimeFailure(
            "the Python package 'vulkan' (Vulkan's C types) is not installed; run: pip install vulkan"
        )
    # Found as Python would find it, in a folder, a zip file or a frozen program, but without the package around it.
    spec = PathFinder.find_spec("vulkan._vulkancache", locations)
    if spec is None or spec.loader is None:
        raise RuntimeFailure(
            f"{locations[0]} has no module _vulkancache; reinstall it: pip install --force-reinstall vulkan"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ffi


ffi: Any = _load_ffi()
NULL: Any = ffi.NULL

_kept: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()
"""What a struct made by `make` points to; cffi itself does not keep it alive."""


@lru_cache(maxsize=1)
def _structure_types() -> dict[str, int]:
    prefix = "VK_STRUCTURE_TYPE_"
    members = ffi.typeof("VkStructureType").relements
    return {name.removeprefix(prefix).replace("_", "").lower(): value for name, value in members.items()}


@cache
def structure_type(struct_name: str) -> int | None:
    """Returns the VkStructureType of a struct, by its name; None where the struct has no sType."""
    fields = ffi.typeof(struct_name).fields
    if not fields or fields[0][0] != "sType":
        return None
    try:
        return int(ffi.integer_const(_structure_constant(struct_name)))
    except AttributeError:
        # The constant is spelt irregularly: all thousand are looked through, which takes 0.9 ms.
        return _structure_types().get(struct_name.removeprefix("Vk").lower())


def _structure_constant(struct_name: str) -> str:
    """Spells VkSubmitInfo VK_STRUCTURE_TYPE_SUBMIT_INFO, VkPhysicalDeviceVulkan11Features …_VULKAN_1_1_FEATURES."""
    name = struct_name.removeprefix("Vk")
    parts = ["VK_STRUCTURE_TYPE"]
    for before, character, behind in zip(" " + name, name, name[1:] + " ", strict=False):
        begins = character.isdigit() or (
            character.isupper() and not (before.isupper() and not behind.islower())
        )
        parts.append(f"_{character}" if begins else character)
    return "".join(parts).upper()


def make(struct_name: str, **fields: Any) -> Any:
    """Allocates a Vulkan struct with its sType set, and keeps alive what its fields point to.

    Args:
        struct_name: ``VkBufferCreateInfo``.
        fields: values by member name; missing members are zero.
    """
    kind = structure_type(struct_name)
    if kind is not None:
        fields["sType"] = kind
    struct = ffi.new(f"{struct_name}*", fields)
    kept = tuple(value for value in fields.values() if isinstance(value, ffi.CData))
    if kept:
        _kept[struct] = kept
    return struct


def make_array(item_type: str, items: list[Any]) -> Any:
    """Allocates a C array of cffi values or initialisers; NULL where there are none."""
    if not items:
        return NULL
    array = ffi.new(f"{item_type}[]", items)
    kept = tuple(value for value in items if isinstance(value, ffi.CData))
    if kept:
        _kept[array] = kept
    return array


def make_strings(texts: list[str]) -> Any:
    """Allocates a ``const char*[]``; NULL where there are none."""
    return make_array("char*", [ffi.new("char[]", text.encode()) for text in texts])


def chain(*structs: Any) -> Any:
    """Links structs through pNext, in order, and returns the first; NULL where there are none."""
    for struct, following in itertools.pairwise(structs):
        struct.pNext = following
        _kept[struct] = (*_kept.get(struct, ()), following)
    return structs[0] if structs else NULL


def text_of(characters: Any) -> str:
    """Reads a NUL-terminated string of the driver's; bytes that are no UTF-8 are replaced."""
    return "" if characters == NULL else ffi.string(characters).decode("utf-8", "replace")


def address_of(handle: Any) -> int:
    """Returns a handle or pointer as an integer."""
    return int(ffi.cast("uintptr_t", handle))


def version_tuple(packed: int) -> tuple[int, int, int]:
    """Unpacks VK_MAKE_API_VERSION into (major, minor, patch)."""
    return (packed >> 22) & 0x7F, (packed >> 12) & 0x3FF, packed & 0xFFF


def packed_version(version: tuple[int, int]) -> int:
    """Packs (major, minor) as VK_MAKE_API_VERSION does."""
    return version[0] << 22 | version[1] << 12


@cache
def bool_members(struct_name: str) -> tuple[str, ...]:
    """Returns the VkBool32 members of a feature struct, in order."""
    names = [name for name, _ in ffi.typeof(struct_name).fields]
    return tuple(name for name in names if name not in ("sType", "pNext"))
