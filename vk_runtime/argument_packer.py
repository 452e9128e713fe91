"""The argument block of a kernel: which value lies where, written by one `struct.Struct`."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..ir.errors import KernelArgumentError
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    KernelInfo,
    Parameter,
    ScalarParameter,
    ValueParameter,
)
from .element_counts import MOST_ELEMENTS, too_many_elements

if TYPE_CHECKING:
    from .arguments import CheckedArguments
    from .scalars import Scalar

# What `struct` calls each scalar in the argument block: 8- and 16-bit types are widened to 32 bits.
PACK_FORMATS = {
    "bool": "I",
    "i8": "i",
    "i16": "i",
    "i32": "i",
    "i64": "q",
    "u8": "I",
    "u16": "I",
    "u32": "I",
    "u64": "Q",
    "f16": "exx",
    "bf16": "Hxx",
    "f32": "f",
    "f64": "d",
}


def takes_addresses(kernel: KernelInfo) -> bool:
    """Whether a kernel takes addresses of its arrays: none is bound then, not even those that it does not use."""
    return any(
        isinstance(p, BufferParameter) and p.address_offset_bytes is not None for p in kernel.parameters
    )


class _Fields:
    """The fields of a kernel's argument block, in the order in which their values arrive."""

    def __init__(self, kernel: KernelInfo) -> None:
        abi = kernel.abi
        self._index = "q" if abi.index_bits == 64 else "i"
        self.fields: list[tuple[int, str]] = []
        """Offset and format of each."""
        self.sources: list[tuple[str, int, int]] = []
        """What a value is, and which one: of the scalars, of the arrays' memory, or of the arguments."""
        self.counted: list[tuple[int, str]] = []
        """Position and name of the arrays that are reached by address."""
        self.scalar_count = 0
        self._array_count = 0
        for offset in (*abi.range_offsets_bytes, *abi.base_offsets_bytes):
            if offset is not None:
                self.fields.append((offset, self._index))
        self.fields += [(field.offset_bytes, PACK_FORMATS[field.dtype]) for field in abi.spec_fields]
        self.fields += [(table.offset_bytes, f"{len(table.data)}s") for table in abi.tables]
        for position, parameter in enumerate(kernel.parameters):
            self._add_parameter(position, parameter)

    def _add_parameter(self, position: int, parameter: Parameter) -> None:
        if isinstance(parameter, ScalarParameter):
            self._add_scalar(parameter.offset_bytes, PACK_FORMATS[parameter.dtype])
        elif isinstance(parameter, ValueParameter):
            self._add_scalar(parameter.offset_bytes, f"{parameter.size_bytes}s")
        elif isinstance(parameter, ImageParameter):
            for dimension, offset in enumerate(parameter.scale_offsets_bytes):
                self._add(offset, "f", "scale", position, dimension)
        elif isinstance(parameter, BufferParameter):
            self._add_array(position, parameter)

    def _add(self, offset: int | None, format_: str, kind: str, number: int, dimension: int = 0) -> None:
        """Adds a field; a kernel that does not use a value has no offset for it."""
        if offset is not None:
            self.fields.append((offset, format_))
            self.sources.append((kind, number, dimension))

    def _add_scalar(self, offset: int | None, format_: str) -> None:
        self._add(offset, format_, "scalar", self.scalar_count)
        self.scalar_count += 1

    def _add_array(self, position: int, parameter: BufferParameter) -> None:
        self._add(parameter.address_offset_bytes, "Q", "address", self._array_count)
        if parameter.address_offset_bytes is not None and parameter.ndim:
            self.counted.append((position, parameter.name))
        for dimension, offset in enumerate(parameter.extent_offsets_bytes):
            self._add(offset, self._index, "extent", position, dimension)
        self._array_count += 1


class ArgumentPacker:
    """Writes the argument block of a kernel: hidden fields, extents, scalars, addresses.

    Fields are packed by one `struct.Struct`; their values arrive in the order range, base, emulated specialization
    constants, tables, then parameter by parameter: address, extents, scalar.
    """

    def __init__(self, kernel: KernelInfo) -> None:
        abi, block = kernel.abi, _Fields(kernel)
        fields = block.fields
        self.range_dimensions = _used(abi.range_offsets_bytes)
        self.base_dimensions = _used(abi.base_offsets_bytes)
        self.has_addresses = takes_addresses(kernel)
        self._sources = tuple(block.sources)
        self._kernel = kernel
        self._most = MOST_ELEMENTS if abi.index_bits == 32 else (1 << 63) - 1
        self._counted = tuple(block.counted) if abi.index_bits == 32 else ()
        """Position and name of the arrays all of whose elements the kernel must reach by one number of 32 bits."""
        self.has_values = bool(self._sources)
        """Whether the block differs between launches of one range."""
        is_plain = all(kind == "scalar" for kind, _, _ in self._sources)
        self.is_scalars_only = is_plain and len(self._sources) == block.scalar_count
        """Whether the scalar arguments are all of the values, so that `values` need not be called."""
        self._order = sorted(range(len(fields)), key=lambda i: fields[i][0])
        self.nbytes = abi.argument_block_bytes
        self._struct = struct.Struct(_format(kernel, [fields[i] for i in self._order]))
        is_ordered = self._order == list(range(len(fields)))
        self.pack_into: Callable[..., None] = self._struct.pack_into if is_ordered else self._pack_in_order
        """Writes the block: takes a writable buffer, an offset in it, the hidden fields and `values`."""

    def values(self, args: Sequence[Any], checked: CheckedArguments) -> list[Scalar]:
        """Returns the values that follow range and base, in the packer's order.

        Args:
            args: all arguments.
            checked: the same, taken apart.
        """
        uses, scalars = checked
        most = self._most
        for position, name in self._counted:
            count = math.prod(args[position]._shape)
            if count > most:
                raise too_many_elements(self._kernel, name, count)
        found: list[Scalar] = []
        memory: Any
        for kind, index, dimension in self._sources:
            if kind == "scalar":
                found.append(scalars[index])
            elif kind == "extent":
                extent = args[index]._shape[dimension]
                if extent > most:
                    raise too_many_elements(self._kernel, self._kernel.parameters[index].name, extent)
                found.append(extent)
            elif kind == "scale":
                found.append(args[index].scales[dimension])
            else:
                memory = uses[index][0]
                found.append(memory.device_address or _no_address(args))
        return found

    def _pack_in_order(self, memory: Any, offset: int, *values: Scalar) -> None:
        self._struct.pack_into(memory, offset, *[values[i] for i in self._order])


def _no_address(args: Sequence[Any]) -> NoReturn:
    raise KernelArgumentError(
        "an array of more bytes than maxStorageBufferRange is reached by its address, and so are the others of the "
        f"launch; found a native buffer without an address among {args!r:.200}; copy it with "
        "lp.asarray(a.numpy(), device=…)"
    )


def _used(offsets: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(dimension for dimension, offset in enumerate(offsets) if offset is not None)


def _format(kernel: KernelInfo, fields: Sequence[tuple[int, str]]) -> str:
    """Returns the struct format of fields in ascending order, padded between and behind."""
    parts = ["<"]
    position = 0
    for offset, code in fields:
        if offset < position:
            raise KernelArgumentError(f"kernel '{kernel.name}': its image describes overlapping arguments")
        parts.append(f"{offset - position}x{code}")
        position = offset + struct.calcsize("<" + code)
    tail = kernel.abi.argument_block_bytes - position
    if tail < 0:
        raise KernelArgumentError(
            f"kernel '{kernel.name}': its image describes arguments beyond its block of "
            f"{kernel.abi.argument_block_bytes} bytes"
        )
    return "".join([*parts, f"{tail}x"])
