"""The argument block of a kernel: scalars, array extents, the launch range, tables, and where each lies.

The kernel asks for fields as it is lowered, so only what it uses gets a place.  Hidden fields come first,
then those of the parameters in signature order, each at its natural alignment; tables of constants come last.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from xdsl.dialects.builtin import UnitAttr, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.types import ArrayType, StructMember, StructType
from ...ir.kernel_info import ConstantTable
from ...ir.target_env import TargetEnv
from ..errors import PassError
from ..insertion import Before
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
MOST_UNIFORM_BYTES = 1 << 14
"""Of a uniform buffer on every device (maxUniformBufferRange)."""
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


@dataclass(slots=True)
class _Table:
    loads: list[tuple[Operation, SSAValue]]
    """Each without operand until the block is laid out, and the number of the word."""
    offset_bytes: int = 0


class ArgumentBlock:
    """Fields asked for so far, and after `finish` the layout."""

    def __init__(self, fn: FunctionLowering) -> None:
        self._fn = fn
        self._fields: dict[FieldKey, _Field] = {}
        self._tables: dict[tuple[int, ...], _Table] = {}
        """By their words."""
        self.storage_class = StorageClass.PushConstant
        """Where the block lies; after `finish`."""
        self.size_bytes = 0
        """A multiple of 4; of 8 where a field has 8 bytes."""

    def field(self, key: FieldKey, type_: Attribute) -> SSAValue:
        """Returns the value of a field, which gets a place in the block."""
        known = self._fields.get(key)
        if known is None:
            load = create(spirv.LoadOp, result_types=(type_,), location=self._fn.location)
            known = self._fields[key] = _Field(type_, load)
        return known.load.results[0]

    def table_word(self, words: tuple[int, ...], number: SSAValue) -> SSAValue:
        """Returns one of unsigned words that are the same at every launch, and get a place in the block."""
        known = self._tables.get(words)
        if known is None:
            if sum(map(len, self._tables)) + len(words) > MOST_TABLE_WORDS:
                raise PassError(
                    f"the constant tables that kernel '{self._fn.name}' looks numbers up in have more than "
                    f"{4 * MOST_TABLE_WORDS:,} bytes; pass some of them as arrays"
                )
            known = self._tables[words] = _Table([])
        load = create(spirv.LoadOp, result_types=(i32,), location=self._fn.location)
        self._fn.add(load)
        known.loads.append((load, number))
        return load.results[0]

    @property
    def tables(self) -> tuple[ConstantTable, ...]:
        """The tables and where they lie; after `finish`."""
        return tuple(
            ConstantTable(offset_bytes=table.offset_bytes, data=struct.pack(f"<{len(words)}I", *words))
            for words, table in self._tables.items()
        )

    @property
    def has_addresses(self) -> bool:
        """Whether the kernel reaches arrays by their addresses."""
        return any(key.kind is FieldKind.ADDRESS for key in self._fields)

    def offset_bytes(self, key: FieldKey) -> int | None:
        """Returns where a field lies, None where the kernel does not use it; after `finish`."""
        known = self._fields.get(key)
        return None if known is None else known.offset_bytes

    def finish(self, env: TargetEnv, spill_binding: int, variable_name: str) -> int | None:
        """Lays the block out and adds the loads of its fields and words to the function.

        Returns:
            None if the block is push constants, else the binding of its buffer.
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
        block = self._choose_layout(order, env)
        spills = self.storage_class is not StorageClass.PushConstant
        module = self._fn.module
        pointer = module.types.pointer(block, self.storage_class)
        if spills:
            variable = spirv.GlobalVariableOp(variable_name, pointer, binding=spill_binding, descriptor_set=0)
            if self.storage_class is StorageClass.StorageBuffer:
                variable.attributes["non_writable"] = UnitAttr()
        else:
            variable = spirv.GlobalVariableOp(variable_name, pointer)
        module.add_global(variable)
        self._add_loads(order, variable_name, pointer)
        return spill_binding if spills else None

    def _choose_layout(self, order: list[FieldKey], env: TargetEnv) -> StructType:
        """Finds out where the block lies; returns its type."""
        if self._tables and env.tables_are_uniform:
            self.storage_class = StorageClass.Uniform
            block = self._lay_out(order)
            if self.size_bytes <= MOST_UNIFORM_BYTES:
                return block
        self.storage_class = StorageClass.StorageBuffer
        block = self._lay_out(order)
        if not self._tables and self.size_bytes <= env.max_push_constant_bytes:
            self.storage_class = StorageClass.PushConstant
        return block

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
        for words, table in self._tables.items():
            type_ = self._table_type(words)
            stride = type_.stride.data
            offset = -(-offset // stride) * stride
            table.offset_bytes = offset
            members.append(StructMember(type_, offset))
            offset += stride * type_.count.data
            alignment = max(alignment, stride)
        self.size_bytes = -(-offset // alignment) * alignment
        return StructType.get(members)

    def _table_type(self, words: Sequence[int]) -> ArrayType:
        """Returns the type of a table: Vulkan wants elements of arrays in uniform buffers 16 bytes apart."""
        if self.storage_class is StorageClass.Uniform:
            return ArrayType.get(self._fn.type(VectorType(i32, [4])), -(-len(words) // 4), 16)
        return ArrayType.get(i32, len(words), 4)

    def _add_loads(self, order: list[FieldKey], variable_name: str, pointer: Attribute) -> None:
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
                result_types=(fn.module.types.pointer(field.type, self.storage_class),),
                location=field.load.location,
            )
            field.load.operands = [chain.results[0]]
            ops += (chain, field.load)
        for number, (words, table) in enumerate(self._tables.items(), len(order)):
            chain = create(
                spirv.AccessChainOp,
                operands=(base.results[0], fn.index(number)),
                result_types=(fn.module.types.pointer(self._table_type(words), self.storage_class),),
                location=table.loads[0][0].location,
            )
            ops.append(chain)
            for load, place in table.loads:
                self._add_word(chain.results[0], load, place)
        fn.prepend(ops)

    def _add_word(self, table: SSAValue, load: Operation, number: SSAValue) -> None:
        """Gives the load of a word its address."""
        before, types = Before(load), self._fn.module.types
        path = [number]
        if self.storage_class is StorageClass.Uniform:
            path = [
                before.add(kind, number, self._fn.index(word))
                for kind, word in ((spirv.ShiftRightLogicalOp, 2), (spirv.BitwiseAndOp, 3))
            ]
        pointer = types.pointer(i32, self.storage_class)
        load.operands = [before.add(spirv.AccessChainOp, table, *path, type_=pointer)]
