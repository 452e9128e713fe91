"""The device configuration: what named targets have, for ``fixed_targets=``, ahead-of-time builds and run-time checks.

A target is a Vulkan device as a name: the counterpart of DPC++'s device configuration file.  The default,
`device_config.json` beside this file, describes common devices and says where each fact comes from; users'
files merge over it, member by member.

    {"targets": {"my_gpu": {"device": "10de:2684", "aspects": ["fp16", "vk_int8"], "sub_group_sizes": [32],
                            "max_work_group_size": 1024, "max_work_item_sizes": [64, 1024, 1024]}}}

What a target leaves out is not checked.  Files are untrusted: every member is checked, sizes are bounded, and
whatever is wrong is an `InvalidError` that names it.  Standard library only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from .aspects import VENDOR_BASE, Aspect
from .config import config
from .errors import InvalidError

DEFAULT_FILE = Path(__file__).with_name("device_config.json")

MAX_BYTES: Final = 1 << 20
MAX_TARGETS: Final = 4096
MAX_ITEMS: Final = 256
"""Of a list in a file."""
FIRST_USER_NUMBER: Final = 0x40000000
"""From here on targets that name no aspect number get one, by their name."""
UINT32_MAX: Final = 0xFFFFFFFF
_ASPECT_NUMBERS: Final = frozenset(map(int, Aspect))

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
_DEVICE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{4,8}")
_VULKAN = re.compile(r"1\.[0-9]{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One named device.  None: not known, not checked."""

    name: str
    aspect_number: int
    """The number that stands for the target in the property "fixed_target": an aspect that it alone has."""
    device: str | None = None
    """Vendor and device number of VkPhysicalDeviceProperties, hexadecimal: ``10de:2335``."""
    aspects: frozenset[int] | None = None
    """All that it has; where these are SYCL's alone, vendor aspects are not known."""
    sub_group_sizes: tuple[int, ...] | None = None
    max_work_group_size: int | None = None
    max_work_item_sizes: tuple[int, int, int] | None = None
    """Slowest dimension first."""
    vulkan: tuple[int, int] | None = None
    features: frozenset[str] | None = None
    """Names of Vulkan features, as `VkPhysicalDeviceFeatures` and its successors spell them."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where each member comes from; ``*`` stands for all others."""

    def lacking(self, aspects: Iterable[int]) -> tuple[int, ...]:
        """Returns those of `aspects` that the target has not, ascending; internal ones are nobody's."""
        if self.aspects is None:
            return ()
        # Whoever lists SYCL's aspects only has not thought of what Vulkan makes optional beside them: an array of f16
        # needs 16-bit storage too.
        judged = range(UINT32_MAX + 1 if any(a >= VENDOR_BASE for a in self.aspects) else VENDOR_BASE)
        return tuple(sorted(a for a in set(aspects) if a in judged and a not in self.aspects))

    def has_sub_group_size(self, size: int) -> bool:
        """Whether kernels can ask for sub-groups of a size, as far as is known."""
        return self.sub_group_sizes is None or size in self.sub_group_sizes

    def has_work_group_size(self, sizes: Sequence[int]) -> bool:
        """Whether work-groups of a size, slowest dimension first, can be launched, as far as is known."""
        if self.max_work_group_size is not None and math.prod(sizes) > self.max_work_group_size:
            return False
        if self.max_work_item_sizes is None:
            return True
        most = self.max_work_item_sizes[3 - len(sizes) :]
        return all(size <= limit for size, limit in zip(sizes, most, strict=True))


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """The targets by name."""

    targets: Mapping[str, Target]

    @property
    def numbers(self) -> dict[str, int]:
        """The aspect number of each target."""
        return {name: target.aspect_number for name, target in self.targets.items()}

    def target(self, name: str, what: str = "target") -> Target:
        """Returns a target; InvalidError lists the names where there is none."""
        found = self.targets.get(name)
        if found is None:
            raise InvalidError(
                f"there is no {what} '{name}' in the device configuration; it has "
                f"{', '.join(sorted(self.targets)) or 'none'}",
                code="LP1011",
            )
        return found

    def name_of(self, number: int) -> str | None:
        """Returns the target that an aspect number stands for, None where it is no target's."""
        return next((t.name for t in self.targets.values() if t.aspect_number == number), None)

    def merged(self, data: object, where: str) -> DeviceConfig:
        """Returns this configuration with another's members over its own.

        Args:
            data: what JSON gave.
            where: names it in messages.

        Raises:
            InvalidError: it is no configuration.
        """
        members = _object(data, where, {"targets"})
        given = _object(members.get("targets", {}), f"{where}: targets", None)
        if len(given) > MAX_TARGETS:
            raise _bad(f"{where}: targets", f"at most {MAX_TARGETS} targets", f"{len(given)}")
        targets = dict(self.targets)
        for name, value in given.items():
            if not _NAME.fullmatch(name):
                raise _bad(f"{where}: targets", "names of up to 64 letters, digits and _.+-", repr(name))
            targets[name] = _target(name, value, targets.get(name), f"{where}: target '{name}'")
        return _with_distinct_numbers(DeviceConfig(targets), where)


def load_device_config(*paths: Path) -> DeviceConfig:
    """Returns the default configuration with users' files merged over it, in order.

    Raises:
        InvalidError: a file cannot be read or is no configuration.
    """
    merged = default_device_config()
    for path in paths:
        merged = merged.merged(_read(path), str(path))
    return merged


def device_config() -> DeviceConfig:
    """Returns the configuration in force: the default one, with the files of ``lp.config.device_config`` over it.

    Raises:
        InvalidError: such a file cannot be read or is no configuration.
    """
    return _device_config(config.device_config)


@lru_cache(maxsize=8)
def _device_config(paths: tuple[str, ...]) -> DeviceConfig:
    return load_device_config(*map(Path, paths))


@lru_cache(maxsize=1)
def default_device_config() -> DeviceConfig:
    """Returns the configuration that lapilli ships."""
    return DeviceConfig({}).merged(_read_default(), DEFAULT_FILE.name)


def _read_default() -> object:
    if DEFAULT_FILE.exists():
        return _read(DEFAULT_FILE)
    import pkgutil  # in a zip file, say, which the loader of this module reads

    return parse_device_config(
        pkgutil.get_data(__package__ or "", DEFAULT_FILE.name) or b"", DEFAULT_FILE.name
    )


def _read(path: Path) -> object:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidError(
            f"the device configuration {path} cannot be read: {error}", code="LP1011"
        ) from error
    if len(data) > MAX_BYTES:
        raise _bad(str(path), f"at most {MAX_BYTES} bytes", "more")
    return parse_device_config(data, str(path))


def parse_device_config(data: bytes, where: str) -> object:
    """Returns the JSON of a file; InvalidError where it is none, or has a member twice."""
    try:
        return json.loads(data, object_pairs_hook=_unique, parse_constant=_no_constant)
    # RecursionError: brackets nested without end.
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"the device configuration {where} is no JSON: {error}", code="LP1011") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(name for name, _ in pairs if sum(n == name for n, _ in pairs) > 1)
        raise ValueError(f"member {twice!r} stands twice")
    return members


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _target(name: str, value: object, old: Target | None, where: str) -> Target:
    members = _object(value, where, _MEMBERS.keys() | {"source", "aspect_number"})
    checked = {
        key: check(members[key], f"{where}: {key}") for key, check in _MEMBERS.items() if key in members
    }
    if "aspect_number" in members:
        checked["aspect_number"] = _target_number(members["aspect_number"], f"{where}: aspect_number")
    sources = dict(old.sources) if old is not None else {}
    for key in checked:
        sources.pop(key, None)  # what the older file said of it is no longer true
    if "source" in members:
        sources |= _sources(members["source"], f"{where}: source")
    if old is not None:
        return replace(old, **cast("dict[str, Any]", {**checked, "sources": sources}))
    if "aspect_number" not in checked:
        from zlib import crc32

        checked["aspect_number"] = FIRST_USER_NUMBER + crc32(name.encode()) % FIRST_USER_NUMBER
    return Target(name=name, **cast("dict[str, Any]", {**checked, "sources": sources}))


def _with_distinct_numbers(merged: DeviceConfig, where: str) -> DeviceConfig:
    known: dict[int, str] = {}
    for target in merged.targets.values():
        other = known.setdefault(target.aspect_number, target.name)
        if other != target.name:
            raise _bad(
                f"{where}: target '{target.name}'",
                "an aspect_number of its own",
                f"{target.aspect_number}, which is also that of target '{other}'",
            )
    return merged


# Members


def _object(value: object, where: str, known: Iterable[str] | None) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _bad(where, "an object", repr(value)[:80])
    members = cast("dict[str, object]", value)
    unknown = [] if known is None else sorted(members.keys() - set(known))
    if unknown:
        raise _bad(where, "members among " + ", ".join(sorted(known or ())), repr(unknown[0]))
    return members


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise _bad(where, "a list", repr(value)[:80])
    items = cast("list[object]", value)
    if len(items) > MAX_ITEMS:
        raise _bad(where, f"a list of at most {MAX_ITEMS}", f"{len(items)}")
    return items


def _target_number(value: object, where: str) -> int:
    number = _integer(value, where)
    if number in _ASPECT_NUMBERS:
        raise _bad(
            where, "a number that no aspect has", f"{number}, which is '{Aspect(number).name.lower()}'"
        )
    return number


def _integer(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= UINT32_MAX:
        raise _bad(where, f"an integer from 1 to {UINT32_MAX}", repr(value)[:80])
    return value


def _aspects(value: object, where: str) -> frozenset[int]:
    return frozenset(_aspect(item, where) for item in _list(value, where))


def _aspect(value: object, where: str) -> int:
    if isinstance(value, str):
        try:
            return int(Aspect[value.upper()])
        except KeyError:
            raise _bad(where, "aspects by name, such as fp64 or vk_int8", repr(value)[:80]) from None
    return _integer(value, where)


def _sub_group_sizes(value: object, where: str) -> tuple[int, ...]:
    return tuple(sorted({_integer(item, where) for item in _list(value, where)}))


def _work_item_sizes(value: object, where: str) -> tuple[int, ...]:
    sizes = tuple(_integer(item, where) for item in _list(value, where))
    if len(sizes) != 3:
        raise _bad(where, "three sizes, slowest dimension first", f"{len(sizes)}")
    return sizes


def _vulkan(value: object, where: str) -> tuple[int, int]:
    if not isinstance(value, str) or not _VULKAN.fullmatch(value):
        raise _bad(where, 'a version such as "1.3"', repr(value)[:80])
    return 1, int(value.partition(".")[2])


def _device(value: object, where: str) -> str:
    if not isinstance(value, str) or not _DEVICE.fullmatch(value):
        raise _bad(where, 'vendor and device number in hexadecimal, such as "10de:2335"', repr(value)[:80])
    return value


def _features(value: object, where: str) -> frozenset[str]:
    names = _list(value, where)
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or len(name) > 128:
            raise _bad(where, "names of Vulkan features", repr(name)[:80])
    return frozenset(cast("list[str]", names))


def _sources(value: object, where: str) -> dict[str, str]:
    members = {"*": value} if isinstance(value, str) else _object(value, where, {*_MEMBERS, "*"})
    for text in members.values():
        if not isinstance(text, str):
            raise _bad(where, "texts", repr(text)[:80])
    return cast("dict[str, str]", members)


_MEMBERS: dict[str, Callable[[object, str], object]] = {
    "device": _device,
    "aspects": _aspects,
    "sub_group_sizes": _sub_group_sizes,
    "max_work_group_size": _integer,
    "max_work_item_sizes": _work_item_sizes,
    "vulkan": _vulkan,
    "features": _features,
}


def _bad(where: str, expected: str, found: str) -> InvalidError:
    return InvalidError(f"device configuration, {where}: expected {expected}, found {found}", code="LP1011")
