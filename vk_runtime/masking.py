"""Masks: a device as if its hardware lacked some aspects or had lower limits.

A mask changes what was read from the driver, `PhysicalDevice`, before anything else sees it.  So a masked device's
VkDevice is made without the features and extensions, its kernels are compiled without them, and every check is made
against the lower limits, all by the code that serves other devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..ir.aspect_table import ASPECT_ROWS
from ..ir.aspects import Aspect
from ..ir.errors import InvalidError
from .device_features import FEATURE_STRUCTS, USED_FEATURES
from .headers import bool_members
from .physical_device import DeviceLimits, PhysicalDevice

LimitValue = int | tuple[int, ...]

# SYCL's names on the left, then Vulkan's.  Sizes under SYCL's names have its order, slowest dimension first.
_SCALAR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "max_work_group_size": ("max_work_group_invocations",),
    "local_mem_size": ("max_shared_memory_bytes",),
    "max_mem_alloc_size": ("max_memory_allocation_bytes", "max_buffer_bytes"),
    "maxComputeWorkGroupInvocations": ("max_work_group_invocations",),
    "maxComputeSharedMemorySize": ("max_shared_memory_bytes",),
    "maxPushConstantsSize": ("max_push_constant_bytes",),
    "maxUniformBufferRange": ("max_uniform_buffer_range_bytes",),
    "maxStorageBufferRange": ("max_storage_buffer_range_bytes",),
    "maxPerStageDescriptorStorageBuffers": ("max_storage_buffers",),
    "maxDescriptorSetStorageBuffers": ("max_storage_buffers",),
    "maxPerStageResources": ("max_storage_buffers",),
    "maxMemoryAllocationSize": ("max_memory_allocation_bytes",),
    "maxBufferSize": ("max_buffer_bytes",),
}
_SIZE_FIELDS: Mapping[str, str] = {
    "max_work_item_sizes": "max_work_group_size",
    "maxComputeWorkGroupSize": "max_work_group_size",
    "maxComputeWorkGroupCount": "max_work_group_count",
}
_OTHERS = ("global_mem_size", "sub_group_sizes", "maxSubgroupSize")

LIMIT_NAMES = (*_SCALAR_FIELDS, *_SIZE_FIELDS, *_OTHERS)
"""What ``limits=`` takes."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What a device is made without."""

    without: frozenset[Aspect] = frozenset()
    limits: tuple[tuple[str, LimitValue], ...] = ()
    """By name, ascending."""

    @classmethod
    def checked(cls, without: object, limits: object) -> Mask:
        """Makes a mask of what a user gave.

        Raises:
            InvalidError: something that is no aspect, or a limit that has no such name or value.
        """
        if isinstance(without, Aspect | str) or not isinstance(without, Iterable):
            raise InvalidError(f"masked(without=…): expected a sequence of lp.Aspect, found {without!r}")
        if not isinstance(limits, Mapping):
            raise InvalidError(f"masked(limits=…): expected a mapping from limit to value, found {limits!r}")
        given = cast("Mapping[object, object]", limits)
        checked = {_limit_name(key): value for key, value in given.items()}
        return cls(
            frozenset(map(_aspect, cast("Iterable[object]", without))),
            tuple(sorted((name, _limit_value(name, value)) for name, value in checked.items())),
        )

    def joined(self, other: Mask) -> Mask:
        """Returns the mask that hides what either does."""
        limits = dict(self.limits)
        for name, value in other.limits:
            limits[name] = _lower(name, limits[name], value) if name in limits else value
        return Mask(self.without | other.without, tuple(sorted(limits.items())))

    def apply(self, physical: PhysicalDevice) -> PhysicalDevice:
        """Returns a physical device as the mask shows it."""
        if not self.without and not self.limits:
            return physical
        features = physical.features
        operations = physical.subgroup_operations
        for aspect in self.without & ASPECT_ROWS.keys():
            features = features - set(ASPECT_ROWS[aspect].own_features)
            operations &= ~ASPECT_ROWS[aspect].sub_group_operations
        masked = replace(
            physical,
            features=features,
            subgroup_operations=operations,
            extensions=physical.extensions - _unused_extensions(physical.features, features),
        )
        if Aspect.QUEUE_PROFILING in self.without:
            masked = replace(masked, timestamp_valid_bits=0)
        for name, value in self.limits:
            masked = _limited(masked, name, value)
        return masked

    def __str__(self) -> str:
        limits = [f"{name}={_limit_text(value)}" for name, value in self.limits]
        return ",".join([*(f"-{aspect.spelling}" for aspect in sorted(self.without)), *limits])

    @classmethod
    def parsed(cls, text: str) -> Mask:
        """Reads what `str` gives: ``-fp64,max_work_group_size=64``; InvalidError where it is not that."""
        without: list[Aspect] = []
        limits: dict[str, object] = {}
        names = {name.lower(): name for name in LIMIT_NAMES}
        for part in filter(None, map(str.strip, text.split(","))):
            name, has_value, value = part.partition("=")
            if has_value:
                known = names.get(name.strip().lower(), name)
                limits[known] = _parsed_limit(known, value)
            else:
                without.append(aspect_named(part.removeprefix("-"), f"the mask '{text}'"))
        return cls.checked(without, limits)


NO_MASK = Mask()


def aspect_named(name: str, where: str) -> Aspect:
    """Returns the aspect of a spelling; InvalidError where there is none."""
    try:
        return Aspect[name.strip().upper()]
    except KeyError:
        known = ", ".join(aspect.spelling for aspect in Aspect)
        raise InvalidError(f"{where}: there is no aspect '{name}'; aspects are {known}") from None


def _aspect(value: object) -> Aspect:
    try:
        return Aspect(cast(int, value))
    except ValueError:
        raise InvalidError(f"masked(without=…): expected lp.Aspect members, found {value!r}") from None


def _limit_name(key: object) -> str:
    name = key if isinstance(key, str) else getattr(key, "name", None)  # lp.info.device.max_work_group_size
    if name not in LIMIT_NAMES:
        raise InvalidError(
            f"masked(limits=…): there is no limit {key!r}; expected one of {', '.join(LIMIT_NAMES)}"
        )
    return cast(str, name)


def _limit_value(name: str, value: object) -> LimitValue:
    is_tuple = name in _SIZE_FIELDS or name == "sub_group_sizes"
    if not is_tuple:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidError(f"masked(limits=…): {name} takes an integer from 0, found {value!r}")
        return value
    items = cast("Sequence[object]", value) if isinstance(value, Sequence) else ()
    is_right = all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in items)
    if not isinstance(value, tuple | list) or not is_right or (name in _SIZE_FIELDS and len(items) != 3):
        expected = "three integers from 0" if name in _SIZE_FIELDS else "a sequence of integers"
        raise InvalidError(f"masked(limits=…): {name} takes {expected}, found {value!r}")
    sizes = cast("tuple[int, ...]", tuple(items))
    return sizes if name in _SIZE_FIELDS else tuple(sorted(set(sizes)))


def _parsed_limit(name: str, text: str) -> object:
    try:
        numbers = tuple(int(part) for part in text.split("x")) if text else ()
    except ValueError:
        raise InvalidError(f"the limit {name} takes numbers, {name}=64 or 64x1x1; found {text!r}") from None
    return numbers if name in _SIZE_FIELDS or name == "sub_group_sizes" else numbers[0] if numbers else text


def _limit_text(value: LimitValue) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _lower(name: str, one: LimitValue, other: LimitValue) -> LimitValue:
    if isinstance(one, tuple) and isinstance(other, tuple):
        if name == "sub_group_sizes":
            return tuple(size for size in one if size in other)
        return tuple(map(min, one, other))
    assert isinstance(one, int) and isinstance(other, int), "checked by `_limit_value`"
    return min(one, other)


def _unused_extensions(before: frozenset[str], after: frozenset[str]) -> set[str]:
    """Returns the extensions of which a mask leaves no feature that would be enabled."""
    unused: set[str] = set()
    for struct in FEATURE_STRUCTS:
        members = USED_FEATURES & set(bool_members(struct.name))
        if struct.extension is not None and members & before and not members & after:
            unused.add(struct.extension)
    return unused


def _limited(physical: PhysicalDevice, name: str, value: LimitValue) -> PhysicalDevice:
    """Returns a physical device with one limit lowered; a value above the device's own changes nothing."""
    if name in ("sub_group_sizes", "maxSubgroupSize"):
        kept = (size for size in physical.sub_group_sizes if _is_kept(size, value))
        return replace(physical, sub_group_sizes=tuple(kept))
    if name == "global_mem_size":
        types = tuple(
            replace(m, heap_bytes=min(m.heap_bytes, cast(int, value))) for m in physical.memory_types
        )
        return replace(physical, memory_types=types)
    return replace(physical, limits=_lowered(physical.limits, name, value))


def _is_kept(size: int, value: LimitValue) -> bool:
    return size in value if isinstance(value, tuple) else size <= value


def _lowered(limits: DeviceLimits, name: str, value: LimitValue) -> DeviceLimits:
    field = _SIZE_FIELDS.get(name)
    if field is not None:
        sizes = cast("tuple[int, ...]", value)
        xyz = tuple(reversed(sizes)) if name.startswith("max_") else sizes
        return replace(limits, **cast(Any, {field: tuple(map(min, getattr(limits, field), xyz))}))
    lowered = {f: min(getattr(limits, f), cast(int, value)) for f in _SCALAR_FIELDS[name]}
    return replace(limits, **cast(Any, lowered))
