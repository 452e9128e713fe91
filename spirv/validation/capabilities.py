"""Capabilities (SPIR-V 1.6 §2.16.1 and §3.31).

* An instruction or enumerant is used only where one of its capabilities is declared, or implied by one that
  is.
* Types of other widths than 32 bits are declared with the capability of their width, 8- and 16-bit types at
  least with one for storing them.
* Atomics on 64-bit integers and on floats have the capability of their width and operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..binary import Instruction
from ..tables import Capability, NewerCapability, Op, enumerant, enumerant_value, instruction
from .context import Context
from .finding import Finding

RULE = "capabilities"

_STORAGE_8 = (
    *(Capability.StorageBuffer8BitAccess, Capability.UniformAndStorageBuffer8BitAccess),
    Capability.StoragePushConstant8,
)
_STORAGE_16 = (
    *(Capability.StorageBuffer16BitAccess, Capability.UniformAndStorageBuffer16BitAccess),
    *(Capability.StoragePushConstant16, Capability.StorageInputOutput16),
)
_TYPES: dict[tuple[int, int], tuple[int, ...]] = {
    (Op.TypeInt, 8): (Capability.Int8, *_STORAGE_8),
    (Op.TypeInt, 16): (Capability.Int16, *_STORAGE_16),
    (Op.TypeInt, 64): (Capability.Int64,),
    (Op.TypeFloat, 16): (Capability.Float16, Capability.Float16Buffer, *_STORAGE_16),
    (Op.TypeFloat, 64): (Capability.Float64,),
}
_FLOAT_ATOMICS: dict[tuple[int, int], int] = {
    (Op.AtomicFAddEXT, 16): Capability.AtomicFloat16AddEXT,
    (Op.AtomicFAddEXT, 32): Capability.AtomicFloat32AddEXT,
    (Op.AtomicFAddEXT, 64): Capability.AtomicFloat64AddEXT,
    **{
        (code, width): capability
        for code in (Op.AtomicFMinEXT, Op.AtomicFMaxEXT)
        for width, capability in (
            (16, Capability.AtomicFloat16MinMaxEXT),
            (32, Capability.AtomicFloat32MinMaxEXT),
            (64, Capability.AtomicFloat64MinMaxEXT),
        )
    },
}

_ATOMICS = frozenset((*range(Op.AtomicLoad, Op.AtomicXor + 1), *(code for code, _ in _FLOAT_ATOMICS)))


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    for item in ctx.uses_of_opcodes(lambda info: _lacks(ctx, info.capabilities)):
        info = instruction(item.opcode)
        if info is not None:
            yield Finding(_message(info.name, info.capabilities), item.ordinal, RULE)
    for item, row in ctx.enumerants:
        # What a capability lists, it implies.
        if row.kind != "Capability" and _lacks(ctx, row.capabilities):
            yield Finding(_message(f"{row.kind} {row.name}", row.capabilities), item.ordinal, RULE)
    for item in ctx.module.instructions:
        for name, numbers in _by_width(ctx, item):
            if ctx.capabilities.isdisjoint(numbers):
                yield Finding(_message(name, [_spell(number) for number in numbers]), item.ordinal, RULE)


def _lacks(ctx: Context, names: Sequence[str]) -> bool:
    return bool(names) and ctx.capabilities.isdisjoint(enumerant_value("Capability", n) for n in names)


def _message(name: str, capabilities: Sequence[str]) -> str:
    return f"{name} needs the capability {' or '.join(capabilities)}"


def _spell(number: int) -> str:
    row = enumerant("Capability", number)
    return row.name if row is not None else str(number)


def _by_width(ctx: Context, item: Instruction) -> Iterator[tuple[str, Sequence[int]]]:
    if item.opcode in (Op.TypeInt, Op.TypeFloat):
        width = item.operands[0]
        is_bfloat16 = item.opcode == Op.TypeFloat and len(item.operands) > 1
        if is_bfloat16:
            yield "OpTypeFloat of encoding BFloat16KHR", (NewerCapability.BFloat16TypeKHR,)
        elif (item.opcode, width) in _TYPES:
            yield f"{item.name} of {width} bits", _TYPES[item.opcode, width]
    elif item.opcode in _ATOMICS:
        # OpAtomicStore has no result: its value is the last operand.
        kind = item.result_type or ctx.type_id(item.operands[-1])
        width = ctx.width(kind)
        if ctx.is_int(kind) and width == 64:
            yield f"{item.name} of 64 bits", (Capability.Int64Atomics,)
        if (item.opcode, width) in _FLOAT_ATOMICS:
            yield f"{item.name} of {width} bits", (_FLOAT_ATOMICS[item.opcode, width],)
