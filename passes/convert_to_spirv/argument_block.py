"""The argument block of a kernel: scalars, array extents, the launch range, tables, and where each lies.

The kernel asks for fields as it is lowered, so only what it uses gets a place.  Hidden fields come first,
then those of the parameters in signature order, each at its natural alignment; tables of constants come last.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.types import ArrayType, StructMember, StructType
from ...ir.kernel_info import ConstantTable
from ..errors import PassError
from .function_lowering import FunctionLowering
from .types import scalar_bytes


class FieldKind(IntEnum):
    """What a field holds; the order of kinds is the order in the block."""

    RANGE = 0
    """Extent n of ``k[n]`` along a dimension."""
    BASE = 1
    """First work-group index of this dispatch along a dimension."""
    ADDRESS = 2
    """Device address of an array."""
    EXTENT = 3
    """Extent of an array along a dimension."""
    SCALAR = 4
    """A scalar argument."""
    SPEC_CONSTANT = 5
    """A scalar of an emulated specialization constant."""
    SCALE = 6
    """Factor of a coordinate of a sampled image."""


MOST_FIELDS = 16_383
"""Members that a struct of SPIR-V may have (SPIR-V 1.6 §2.16.1)."""
MOST_TABLE_WORDS = 1 << 17
"""Words of all tables of a kernel: each launch writes them."""
HIDDEN = -1
"""Stands for the parameter's number in fields that the runtime fills by itself."""


@dataclass(frozen=True, slots=True, order=True)
class FieldKey:
    """Identifies a field, and orders the block."""

    parameter: int
    """Number in the signature, or `HIDDEN`."""
    kind: FieldKind
    dimension: int = 0
    """Lapilli's: slowest first; of an emulated specialization constant the SpecId."""


@dataclass(slots=True)
class _Field:
    type: Attribute
    load: Operation
    """Without operand until the block is laid out."""
    offset_bytes: int = 0


class ArgumentBlock:
    """Fields asked for so far, and after `finish` the layout."""

    def __init__(self, fn: FunctionLowering) -> None:
        self._fn = fn
        self._fields: dict[FieldKey, _Field] = {}
        self._tables: dict[tuple[int, ...], Operation] = {}
        """The words of each table, and the access chain to it, without operands until the block is laid out."""
        self._table_offsets: list[int] = []
        self.size_bytes = 0
        """A multiple of 4; of 8 where a field has 8 bytes."""

    def field(self, key: FieldKey, type_: Attribute) -> SSAValue:
        """Returns the value of a field, which gets a place in the block."""
        known = self._fields.get(key)
        if known is None:
            load = create(spirv.LoadOp, result_types=(type_,), location=self._fn.location)
            known = self._fields[key] = _Field(type_, load)
        return known.load.results[0]

    def table(self, words: Sequence[int]) -> SSAValue:
        """Returns a pointer to an array of unsigned words that are the same at every launch."""
        key = tuple(words)
        known = self._tables.get(key)
        if known is None:
            if sum(map(len, self._tables)) + len(key) > MOST_TABLE_WORDS:
                raise PassError(
                    f"the constant tables that kernel '{self._fn.name}' looks numbers up in have more than "
                    f"{4 * MOST_TABLE_WORDS:,} bytes; pass some of them as arrays"
                )
            pointer = self._fn.module.types.pointer(_table_type(key), StorageClass.StorageBuffer)
            known = create(spirv.AccessChainOp, result_types=(pointer,), location=self._fn.location)
            self._tables[key] = known
        return known.results[0]

    @property
    def tables(self) -> tuple[ConstantTable, ...]:
        """The tables and where they lie; after `finish`."""
        return tuple(
            ConstantTable(offset_bytes=offset, data=struct.pack(f"<{len(words)}I", *words))
            for offset, words in zip(self._table_offsets, self._tables, strict=True)
        )

    @property
    def has_addresses(self) -> bool:
        """Whether the kernel reaches arrays by their addresses."""
        return any(key.kind is FieldKind.ADDRESS for key in self._fields)

    def offset_bytes(self, key: FieldKey) -> int | None:
        """Returns where a field lies, None where the kernel does not use it; after `finish`."""
        known = self._fields.get(key)
        return None if known is None else known.offset_bytes

    def finish(self, max_push_constant_bytes: int, spill_binding: int, variable_name: str) -> int | None:
        """Lays the block out and adds the loads of its fields to the function.

        Returns:
            None if the block is push constants, else the binding of its storage buffer.
        """
        if not self._fields and not self._tables:
            return None
        count = len(self._fields)
        if count > MOST_FIELDS:
            raise PassError(
                f"the arguments that kernel '{self._fn.name}' uses are {count:,} numbers; expected at most "
                f"{MOST_FIELDS:,}, as many as a SPIR-V struct has members; pass large values as arrays"
            )
        order = sorted(self._fields)
        block = self._lay_out(order)
        spills = bool(self._tables) or self.size_bytes > max_push_constant_bytes
        storage_class = StorageClass.StorageBuffer if spills else StorageClass.PushConstant
        module = self._fn.module
        pointer = module.types.pointer(block, storage_class)
        if spills:
            variable = spirv.GlobalVariableOp(variable_name, pointer, binding=spill_binding, descriptor_set=0)
            variable.attributes["non_writable"] = UnitAttr()
        else:
            variable = spirv.GlobalVariableOp(variable_name, pointer)
        module.add_global(variable)
        self._add_loads(order, variable_name, storage_class, pointer)
        return spill_binding if spills else None

    def _lay_out(self, order: list[FieldKey]) -> StructType:
        offset, alignment = 0, 4
        members: list[StructMember] = []
        for key in order:
            field = self._fields[key]
            size = scalar_bytes(field.type)
            offset = -(-offset // size) * size
            field.offset_bytes = offset
            members.append(StructMember(field.type, offset))
            offset += size
            alignment = max(alignment, size)
        for words in self._tables:
            offset = -(-offset // 4) * 4
            self._table_offsets.append(offset)
            members.append(StructMember(_table_type(words), offset))
            offset += 4 * len(words)
        self.size_bytes = -(-offset // alignment) * alignment
        return StructType.get(members)

    def _add_loads(
        self, order: list[FieldKey], variable_name: str, storage_class: StorageClass, pointer: Attribute
    ) -> None:
        fn = self._fn
        base = create(
            spirv.AddressOfOp,
            properties={"variable": fn.module.symbol(variable_name)},
            result_types=(pointer,),
        )
        ops: list[Operation] = [base]
        for number, key in enumerate(order):
            field = self._fields[key]
            chain = create(
                spirv.AccessChainOp,
                operands=(base.results[0], fn.index(number)),
                result_types=(fn.module.types.pointer(field.type, storage_class),),
                location=field.load.location,
            )
            field.load.operands = [chain.results[0]]
            ops += (chain, field.load)
        for number, chain in enumerate(self._tables.values(), len(order)):
            chain.operands = [base.results[0], fn.index(number)]
            ops.append(chain)
        fn.prepend(ops)


def _table_type(words: Sequence[int]) -> ArrayType:
    return ArrayType.get(i32, len(words), 4)
