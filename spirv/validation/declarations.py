"""Types, constants and variables.

* Types are made of types: vectors of 2 to 4 scalars, matrices of float vectors, arrays of a positive integer
  constant length, functions with type parameters, structs of types; widths exist.
* Void is used as a return type only.
* No two non-aggregate types are equal.
* Scalar constants have a fitting type and as many words; composites have as many constituents, of the right
  types, and are made of constants.
* A variable's type is a pointer of its storage class, its initializer a constant of the pointee's type;
  module variables are not of class Function, local ones are.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction
from ..tables import NewerOp, Op, StorageClass, opcode_name
from ..type_info import constant_value
from .context import SCALAR_TYPES, Context
from .finding import Finding

RULE = "declarations"

_UNIQUE_TYPES = frozenset(
    (Op.TypeVoid, Op.TypeBool, Op.TypeInt, Op.TypeFloat, Op.TypeVector, Op.TypeMatrix, Op.TypeFunction)
)
_CONSTANT_COMPOSITES = frozenset((Op.ConstantComposite, Op.SpecConstantComposite))
_BOOL_CONSTANTS = frozenset((Op.ConstantTrue, Op.ConstantFalse, Op.SpecConstantTrue, Op.SpecConstantFalse))
_WIDTHS = {Op.TypeInt: (8, 16, 32, 64), Op.TypeFloat: (16, 32, 64)}


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    seen: dict[tuple[int, tuple[int, ...]], int] = {}
    for item in ctx.view.globals:
        for message in _global(ctx, item):
            yield Finding(message, item.ordinal, RULE)
        if item.opcode in _UNIQUE_TYPES:
            first = seen.setdefault((item.opcode, item.operands), item.result_id or 0)
            if first != item.result_id:
                message = f"{item.name} {ctx.spell(item.result_id or 0)} is the type {ctx.spell(first)} again"
                yield Finding(message, item.ordinal, RULE)
    for function in ctx.view.functions:
        for item in function.instructions():
            if item.opcode == Op.Variable:
                for message in _variable(ctx, item, is_local=True):
                    yield Finding(message, item.ordinal, RULE)


def _global(ctx: Context, item: Instruction) -> Iterator[str]:
    code = item.opcode
    if code in _WIDTHS:
        if item.operands[0] not in _WIDTHS[code]:
            yield f"{item.name} has a width of {item.operands[0]}; expected one of {_WIDTHS[code]}"
    elif code in _TYPE_CHECKS:
        yield from _TYPE_CHECKS[code](ctx, item)
    elif code in (Op.Constant, Op.SpecConstant):
        yield from _scalar_constant(ctx, item)
    elif code in _BOOL_CONSTANTS:
        if ctx.opcode(item.result_type or 0) != Op.TypeBool:
            yield f"{item.name} is not of a bool type"
    elif code in _CONSTANT_COMPOSITES:
        yield from _composite(ctx, item)
    elif code == Op.Variable:
        yield from _variable(ctx, item, is_local=False)


def _is_type(ctx: Context, number: int) -> bool:
    return opcode_name(ctx.opcode(number) or 0).startswith("OpType")


def _is_data_type(ctx: Context, number: int) -> bool:
    return _is_type(ctx, number) and ctx.opcode(number) not in (Op.TypeVoid, Op.TypeFunction)


def _vector(ctx: Context, item: Instruction) -> Iterator[str]:
    element, count = item.operands
    if ctx.opcode(element) not in SCALAR_TYPES:
        yield f"OpTypeVector of {ctx.spell(element)}, which is no scalar type"
    if not 2 <= count <= 4:
        yield f"OpTypeVector has {count} components; expected 2 to 4"


def _matrix(ctx: Context, item: Instruction) -> Iterator[str]:
    column, count = item.operands
    if ctx.opcode(column) != Op.TypeVector or not ctx.is_float(column):
        yield f"OpTypeMatrix of {ctx.spell(column)}, which is no vector of floats"
    if not 2 <= count <= 4:
        yield f"OpTypeMatrix has {count} columns; expected 2 to 4"


def _array(ctx: Context, item: Instruction) -> Iterator[str]:
    element = item.operands[0]
    if not _is_data_type(ctx, element):
        yield f"{item.name} of {ctx.spell(element)}, which is no type of data"
    if item.opcode == Op.TypeRuntimeArray:
        return
    length = ctx.definition(item.operands[1])
    if length is None or not ctx.is_int(length.result_type or 0) or "Constant" not in length.name:
        yield f"the length {ctx.spell(item.operands[1])} of OpTypeArray is no integer constant"
    elif constant_value(ctx.view, item.operands[1]) == 0:
        yield "the length of OpTypeArray is 0; expected at least 1"


def _struct(ctx: Context, item: Instruction) -> Iterator[str]:
    for index, member in enumerate(item.operands):
        if not _is_data_type(ctx, member):
            yield f"member {index} of OpTypeStruct is {ctx.spell(member)}, which is no type of data"
        is_last = index == len(item.operands) - 1
        if ctx.is_vulkan and ctx.opcode(member) == Op.TypeRuntimeArray and not is_last:
            yield f"member {index} of OpTypeStruct is a run-time array, but not its last member"


def _pointer(ctx: Context, item: Instruction) -> Iterator[str]:
    if not _is_type(ctx, item.operands[1]) or ctx.opcode(item.operands[1]) == Op.TypeVoid:
        yield f"OpTypePointer to {ctx.spell(item.operands[1])}, which is no type of data"


def _function(ctx: Context, item: Instruction) -> Iterator[str]:
    if not _is_type(ctx, item.operands[0]):
        yield f"the return type {ctx.spell(item.operands[0])} of OpTypeFunction is no type"
    for parameter in item.operands[1:]:
        if not _is_data_type(ctx, parameter):
            yield f"the parameter type {ctx.spell(parameter)} of OpTypeFunction is no type of data"


_TYPE_CHECKS = {
    Op.TypeVector: _vector,
    Op.TypeMatrix: _matrix,
    Op.TypeArray: _array,
    Op.TypeRuntimeArray: _array,
    Op.TypeStruct: _struct,
    Op.TypePointer: _pointer,
    Op.TypeFunction: _function,
}


def _scalar_constant(ctx: Context, item: Instruction) -> Iterator[str]:
    kind = ctx.definition(item.result_type or 0)
    if kind is None or kind.opcode not in (Op.TypeInt, Op.TypeFloat):
        yield f"{item.name} is not of an integer or float type"
        return
    expected = (kind.operands[0] + 31) // 32
    if len(item.operands) != expected:
        yield f"{item.name} has {len(item.operands)} words of value; its type has {expected}"


def _composite(ctx: Context, item: Instruction) -> Iterator[str]:
    expected = _constituent_types(ctx, item.result_type or 0)
    if expected is None:
        return
    if len(expected) != len(item.operands):
        yield f"{item.name} has {len(item.operands)} constituents; its type has {len(expected)}"
    for constituent, kind in zip(item.operands, expected, strict=False):
        definition = ctx.definition(constituent)
        is_constant = definition is not None and (
            "Constant" in definition.name or definition.opcode == Op.Undef
        )
        if not is_constant:
            yield f"the constituent {ctx.spell(constituent)} of {item.name} is no constant"
        elif ctx.type_id(constituent) != kind:
            yield f"the constituent {ctx.spell(constituent)} of {item.name} is not of type {ctx.spell(kind)}"


def _constituent_types(ctx: Context, type_id: int) -> tuple[int, ...] | None:
    """Types of the constituents; None where their number is not known here."""
    item = ctx.definition(type_id)
    if item is None:
        return None
    if item.opcode in (Op.TypeVector, Op.TypeMatrix):
        return (item.operands[0],) * min(item.operands[1], 16)
    if item.opcode == Op.TypeStruct:
        return item.operands
    if item.opcode == NewerOp.TypeCooperativeMatrixKHR:
        return (item.operands[0],)
    length = ctx.definition(item.operands[1]) if item.opcode == Op.TypeArray else None
    if length is None or length.opcode != Op.Constant:
        return None
    count = constant_value(ctx.view, item.operands[1])
    # An instruction has at most 65,535 words: longer arrays cannot be composites.
    return None if count is None or count > 0xFFFF else (item.operands[0],) * count


def _variable(ctx: Context, item: Instruction, *, is_local: bool) -> Iterator[str]:
    storage_class = item.operands[0]
    pointer = ctx.pointer(item.result_type or 0)
    if pointer is None:
        yield "the type of OpVariable is no pointer"
        return
    if pointer[0] != storage_class:
        yield "the storage class of OpVariable is not that of its pointer type"
    if is_local != (storage_class == StorageClass.Function):
        where = "inside" if is_local else "outside"
        yield f"OpVariable of this storage class cannot stand {where} a function"
    if len(item.operands) > 1:
        initializer = ctx.definition(item.operands[1])
        is_constant = initializer is not None and (
            "Constant" in initializer.name or initializer.opcode in (Op.Variable, Op.Undef)
        )
        if not is_constant:
            yield f"the initializer {ctx.spell(item.operands[1])} of OpVariable is no constant"
        elif ctx.type_id(item.operands[1]) != pointer[1]:
            yield f"the initializer {ctx.spell(item.operands[1])} of OpVariable is not of the pointee's type"
