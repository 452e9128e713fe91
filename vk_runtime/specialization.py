"""Values of specialization constants, as VkSpecializationInfo wants them.

Drivers do not check what they get here, and SwiftShader ends the process over a short entry, so sizes are
checked before.  A bool is one byte in a host value and a 4-byte VkBool32 in the entry
(VUID-VkSpecializationMapEntry-constantID-00776).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.kernel_info import KernelInfo, LocalParameter, Parameter, SpecConstantInfo
from ..ir.local_memory import LocalMemory
from .dtypes import SIZE_BYTES
from .headers import NULL, ffi, make, make_array

Scalar = int | float | bytes

_HOST_FORMATS = {
    "bool": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f16": "e",
    "bf16": "H",
    "f32": "f",
    "f64": "d",
}
"""How `struct` reads a scalar of a host value; bf16 stays its 16 bits."""


@dataclass(frozen=True, slots=True)
class SpecEntry:
    """One scalar: a VkSpecializationMapEntry without its offset."""

    spec_id: int
    data: bytes


def spec_entries(
    constants: Sequence[SpecConstantInfo],
    values: Mapping[str, bytes],
    local_size: tuple[tuple[int | None, int | None, int | None], tuple[int, int, int]] | None = None,
) -> tuple[SpecEntry, ...]:
    """Returns an entry for each scalar of an image's native constants.

    Args:
        constants: those of the image.
        values: host bytes by `SpecConstantInfo.symbol`; absent constants take their default.
        local_size: SpecIds and values of the local size as (x, y, z), where it is specialisable; None for a size
            that is not.

    Raises:
        KernelArgumentError: a value for a constant that the image does not have, or of another size.
        InvalidError: the image's own description is not consistent.
    """
    known = {constant.symbol for constant in constants}
    for symbol in values:
        if symbol not in known:
            raise KernelArgumentError(
                f"there is no specialization constant '{symbol}' in this image; "
                f"it has {', '.join(sorted(known)) or 'none'}"
            )
    entries: list[SpecEntry] = []
    for constant in constants:
        data = values.get(constant.symbol, constant.default)
        if len(data) != constant.size_bytes:
            raise KernelArgumentError(
                f"specialization constant '{constant.name}' ({constant.type}) has {constant.size_bytes} "
                f"bytes; found {len(data)}"
            )
        if constant.is_emulated:
            continue
        entries += _leaf_entries(constant, data)
    if local_size is not None:
        ids, sizes = local_size
        entries += [
            SpecEntry(number, struct.pack("<I", size))
            for number, size in dict(zip(ids, sizes, strict=True)).items()
            if number is not None
        ]
    return tuple(entries)


def local_entries(parameters: Sequence[Parameter], args: Sequence[object]) -> tuple[SpecEntry, ...]:
    """Returns an entry for each extent of shared memory that a launch gives and the kernel uses.

    Args:
        parameters: of the kernel.
        args: checked arguments, in the same order.
    """
    return tuple(
        SpecEntry(spec_id, struct.pack("<i", length))
        for parameter, arg in zip(parameters, args, strict=True)
        if isinstance(parameter, LocalParameter) and isinstance(arg, LocalMemory)
        for spec_id, length in zip(parameter.spec_ids, arg.shape, strict=True)
        if spec_id is not None
    )


def hidden_values(
    kernel: KernelInfo, constants: Sequence[SpecConstantInfo], values: Mapping[str, bytes]
) -> tuple[Scalar, ...]:
    """Returns what goes into `LaunchAbi.spec_fields` and `LaunchAbi.tables`, as `struct` packs it.

    Args:
        kernel: has the fields.
        constants: those of its image; their sizes were checked by `spec_entries`.
        values: host bytes by `SpecConstantInfo.symbol`; absent constants take their default.

    Raises:
        InvalidError: the image describes a field of a constant that is none of it.
    """
    tables = tuple(table.data for table in kernel.abi.tables)
    if not kernel.abi.spec_fields:
        return tables
    known: dict[int, Scalar] = {}
    for constant in constants:
        data = values.get(constant.symbol, constant.default)
        for leaf in constant.leaves:
            raw = data[leaf.offset_bytes : leaf.offset_bytes + leaf.size_bytes]
            (known[leaf.spec_id],) = struct.unpack("<" + _HOST_FORMATS[leaf.dtype], raw)
    try:
        return (*(known[field.spec_id] for field in kernel.abi.spec_fields), *tables)
    except KeyError as error:
        raise InvalidError(
            f"kernel '{kernel.name}': its image has no specialization constant with SpecId {error}; build it again"
        ) from None


def _leaf_entries(constant: SpecConstantInfo, data: bytes) -> list[SpecEntry]:
    entries: list[SpecEntry] = []
    for leaf in constant.leaves:
        expected = SIZE_BYTES.get(leaf.dtype)
        end = leaf.offset_bytes + leaf.size_bytes
        if leaf.size_bytes != expected or leaf.offset_bytes < 0 or end > len(data):
            raise InvalidError(
                f"specialization constant '{constant.name}': its scalar SpecId {leaf.spec_id} "
                f"({leaf.dtype}, {leaf.size_bytes} bytes at {leaf.offset_bytes}) does not lie in "
                f"{len(data)} bytes; the image is damaged, build it again"
            )
        value = data[leaf.offset_bytes : end]
        if leaf.dtype == "bool":
            value = struct.pack("<I", value != b"\0")
        entries.append(SpecEntry(leaf.spec_id, value))
    return entries


def specialization_info(entries: Sequence[SpecEntry]) -> Any:
    """Returns a VkSpecializationInfo, or NULL where there are no entries."""
    if not entries:
        return NULL
    data = b"".join(entry.data for entry in entries)
    rows: list[Any] = []
    offset = 0
    for entry in entries:
        rows.append({"constantID": entry.spec_id, "offset": offset, "size": len(entry.data)})
        offset += len(entry.data)
    return make(
        "VkSpecializationInfo",
        mapEntryCount=len(rows),
        pMapEntries=make_array("VkSpecializationMapEntry", rows),
        dataSize=len(data),
        pData=ffi.new("char[]", data),
    )
