"""The property set "SYCL/device requirements": what an image needs of a device, as bytes.

The layout is that of DPC++'s design for optional kernel features, little-endian uint32 throughout:

    aspect                 aspect numbers, ascending
    reqd_sub_group_size    numeric sizes, ascending
    reqd_work_group_size   for each size: the number of its dimensions, 1 to 3, then the dimensions as declared
    fixed_target           the aspect numbers of the targets; there, even if empty, where they were given

A property whose set is empty is left out, except the last.  Readable without opening the image's code, so that a
device can be refused first.  Standard library only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from .errors import InvalidError
from .kernel_info import Requirements

REQUIREMENT_SET: Final = "SYCL/device requirements"
PROPERTY_TYPE: Final = "BYTE_ARRAY"
"""Type of every property of the set."""

ASPECT: Final = "aspect"
ASPECT_ALIASES: Final = (ASPECT, "aspects")
"""How files spell it: the design, and DPC++'s tools."""
SUB_GROUP_SIZE: Final = "reqd_sub_group_size"
WORK_GROUP_SIZE: Final = "reqd_work_group_size"
FIXED_TARGET: Final = "fixed_target"

MAX_PROPERTY_BYTES: Final = 1 << 20
UINT32_MAX: Final = 0xFFFFFFFF


def requirement_properties(requirements: Requirements) -> dict[str, dict[str, bytes]]:
    """Returns the set with its properties: ``{"SYCL/device requirements": {"aspect": b"…"}}``.

    Sizes that a uint32 cannot hold, which no device can run, become its largest value.

    Raises:
        InvalidError: a work-group size without 1 to 3 dimensions.
    """
    properties: dict[str, bytes] = {}
    if requirements.aspects:
        properties[ASPECT] = _packed(sorted(requirements.aspects))
    if requirements.sub_group_sizes:
        properties[SUB_GROUP_SIZE] = _packed(sorted(requirements.sub_group_sizes))
    if requirements.work_group_sizes:
        entries = [(len(size), *size) for size in map(_checked_size, requirements.work_group_sizes)]
        properties[WORK_GROUP_SIZE] = b"".join(map(_packed, entries))
    if requirements.fixed_targets is not None:
        properties[FIXED_TARGET] = _packed(sorted(requirements.fixed_targets))
    return {REQUIREMENT_SET: properties}


def requirements_of_properties(properties: Mapping[str, Mapping[str, bytes]]) -> Requirements:
    """Reads what `requirement_properties` wrote, and what DPC++'s tools write; other sets and names are ignored.

    Raises:
        InvalidError: a property that has not its layout.
    """
    given = properties.get(REQUIREMENT_SET, {})
    aspects = {number for name in ASPECT_ALIASES for number in _unpacked(name, given.get(name, b""))}
    targets = given.get(FIXED_TARGET)
    return Requirements(
        aspects=tuple(sorted(aspects)),
        work_group_sizes=_sizes(_unpacked(WORK_GROUP_SIZE, given.get(WORK_GROUP_SIZE, b""))),
        sub_group_sizes=tuple(sorted(set(_unpacked(SUB_GROUP_SIZE, given.get(SUB_GROUP_SIZE, b""))))),
        fixed_targets=None if targets is None else tuple(sorted(set(_unpacked(FIXED_TARGET, targets)))),
    )


def _packed(numbers: Iterable[int]) -> bytes:
    values = [min(number, UINT32_MAX) for number in numbers]
    if any(value < 0 for value in values):
        raise InvalidError(f"a device requirement is a number from 0, found {min(values)}")
    return struct.pack(f"<{len(values)}I", *values)


def _unpacked(name: str, data: bytes) -> tuple[int, ...]:
    if len(data) % 4 or len(data) > MAX_PROPERTY_BYTES:
        raise InvalidError(
            f"property '{name}' of '{REQUIREMENT_SET}': expected a multiple of 4 bytes up to {MAX_PROPERTY_BYTES}, "
            f"found {len(data)}"
        )
    return struct.unpack(f"<{len(data) // 4}I", data)


def _checked_size(size: tuple[int, ...]) -> tuple[int, ...]:
    if not 1 <= len(size) <= 3:
        raise InvalidError(f"a required work-group size has 1 to 3 dimensions, found {size}")
    return size


def _sizes(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Reads entries one after the other: each says how long it is."""
    found: list[tuple[int, ...]] = []
    position = 0
    while position < len(numbers):
        count = numbers[position]
        entry = numbers[position + 1 : position + 1 + count] if count <= 3 else ()
        if not 1 <= count <= 3 or len(entry) != count or 0 in entry:
            raise InvalidError(
                f"property '{WORK_GROUP_SIZE}' of '{REQUIREMENT_SET}': expected 1 to 3 dimensions of at least 1 behind "
                f"their count, found count {count} with {len(entry)} dimensions"
            )
        found.append(entry)
        position += 1 + count
    return tuple(dict.fromkeys(found))
