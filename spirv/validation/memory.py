"""Types of the operands of memory, composite, call and return instructions.

* OpLoad gives the pointee's type; OpStore takes a value of it; nothing is stored to read-only classes.
* OpAccessChain walks existing members, by constants through structs, to a pointer of the base's class.
* OpCompositeExtract, -Insert and -Construct walk and fill existing members.
* OpFunctionCall and the returns fit the function's type.
* Atomics work on a pointer to the result's scalar, with 32-bit integers as scope and semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..binary import Instruction
from ..module_view import FunctionView
from ..tables import NewerOp, Op, StorageClass
from ..type_info import constant_value
from .context import Context
from .finding import Finding

RULE = "memory"

_READ_ONLY = frozenset((StorageClass.UniformConstant, StorageClass.Input, StorageClass.PushConstant))
_ATOMIC_VALUES: dict[int, bool] = {
    **dict.fromkeys(
        (Op.AtomicExchange, Op.AtomicIAdd, Op.AtomicISub, Op.AtomicSMin, Op.AtomicUMin, Op.AtomicSMax), True
    ),
    **dict.fromkeys((Op.AtomicUMax, Op.AtomicAnd, Op.AtomicOr, Op.AtomicXor, Op.AtomicFAddEXT), True),
    **dict.fromkeys((Op.AtomicFMinEXT, Op.AtomicFMaxEXT, Op.AtomicCompareExchange), True),
    **dict.fromkeys((Op.AtomicLoad, Op.AtomicIIncrement, Op.AtomicIDecrement), False),
}
"""Atomics with a result → whether their last operand is a value of its type."""


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    functions = {function.result_id: function for function in ctx.view.functions}
    for function in ctx.view.functions:
        for message in _signature(ctx, function):
            yield Finding(message, function.definition.ordinal, RULE)
        for item in function.instructions():
            if item.opcode == Op.FunctionCall:
                messages = _call(ctx, item, functions)
            elif item.opcode in (Op.Return, Op.ReturnValue):
                messages = _return(ctx, item, function)
            elif item.opcode in _ATOMIC_VALUES:
                messages = _atomic(ctx, item)
            elif item.opcode in _CHECKS:
                messages = _CHECKS[item.opcode](ctx, item)
            else:
                continue
            yield from (Finding(message, item.ordinal, RULE) for message in messages)


def _load(ctx: Context, item: Instruction) -> Iterator[str]:
    pointer = ctx.pointer(ctx.type_id(item.operands[0]))
    if pointer is None:
        yield f"OpLoad from {ctx.spell(item.operands[0])}, which is no pointer"
    elif pointer[1] != item.result_type:
        yield f"OpLoad from {ctx.spell(item.operands[0])} gives another type than its pointee's"


def _store(ctx: Context, item: Instruction) -> Iterator[str]:
    target, value = item.operands[:2]
    pointer = ctx.pointer(ctx.type_id(target))
    if pointer is None:
        yield f"OpStore to {ctx.spell(target)}, which is no pointer"
    elif pointer[0] in _READ_ONLY:
        yield f"OpStore to {ctx.spell(target)}, which is read-only"
    elif pointer[1] != ctx.type_id(value):
        yield f"OpStore of {ctx.spell(value)}, which is not of the type that {ctx.spell(target)} points to"


def _access_chain(ctx: Context, item: Instruction) -> Iterator[str]:
    base, *indices = item.operands
    start, result = ctx.pointer(ctx.type_id(base)), ctx.pointer(item.result_type or 0)
    if start is None or result is None:
        yield f"{item.name} takes and gives pointers"
        return
    kind = start[1]
    for index in indices:
        if not ctx.is_int(ctx.type_id(index)) or ctx.components(ctx.type_id(index)) != 1:
            yield f"the index {ctx.spell(index)} of {item.name} is no integer"
            return
        reached = _member(ctx, kind, index)
        if isinstance(reached, str):
            yield f"the index {ctx.spell(index)} of {item.name} {reached}"
            return
        kind = reached
    if start[0] != result[0]:
        yield f"{item.name} gives a pointer of another storage class than its base"
    if result[1] != kind:
        yield f"{item.name} gives a pointer to {ctx.spell(result[1])}; it reaches {ctx.spell(kind)}"


def _member(ctx: Context, kind: int, index: int) -> int | str:
    """Type that an index reaches, or what is wrong with it."""
    item = ctx.definition(kind)
    if item is None or item.opcode != Op.TypeStruct:
        reached = _element(ctx, kind)
        return "goes into what is no composite" if reached is None else reached
    definition = ctx.definition(index)
    if definition is None or definition.opcode != Op.Constant:
        return "goes into a struct and is no constant"
    number = constant_value(ctx.view, index)
    if number is None or number >= len(item.operands):
        return f"is {number}; the struct has {len(item.operands)} members"
    return item.operands[number]


def _element(ctx: Context, kind: int) -> int | None:
    item = ctx.definition(kind)
    composites = (Op.TypeVector, Op.TypeMatrix, Op.TypeArray, Op.TypeRuntimeArray)
    if item is None or item.opcode not in (*composites, NewerOp.TypeCooperativeMatrixKHR):
        return None
    return item.operands[0]


def _walk(ctx: Context, kind: int, literals: Sequence[int]) -> int | str:
    """Type that literal indices reach, or what is wrong."""
    for literal in literals:
        item = ctx.definition(kind)
        element = _element(ctx, kind)
        if item is None or (element is None and item.opcode != Op.TypeStruct):
            return "an index goes into what is no composite"
        count = _count(ctx, item)
        if count is not None and literal >= count:
            return f"index {literal} in a composite of {count}"
        kind = item.operands[literal] if element is None else element
    return kind


def _count(ctx: Context, kind: Instruction) -> int | None:
    """Members of a composite type; None where only the run time knows."""
    if kind.opcode == Op.TypeStruct:
        return len(kind.operands)
    if kind.opcode in (Op.TypeVector, Op.TypeMatrix):
        return kind.operands[1]
    length = ctx.definition(kind.operands[1]) if kind.opcode == Op.TypeArray else None
    if length is None or length.opcode != Op.Constant:
        return None
    return constant_value(ctx.view, kind.operands[1])


def _extract(ctx: Context, item: Instruction) -> Iterator[str]:
    reached = _walk(ctx, ctx.type_id(item.operands[0]), item.operands[1:])
    if isinstance(reached, str):
        yield f"OpCompositeExtract: {reached}"
    elif reached != item.result_type:
        yield f"OpCompositeExtract reaches {ctx.spell(reached)}, which is not the result type"


def _insert(ctx: Context, item: Instruction) -> Iterator[str]:
    value, composite, *literals = item.operands
    if ctx.type_id(composite) != item.result_type:
        yield "the composite of OpCompositeInsert is not of the result type"
        return
    reached = _walk(ctx, ctx.type_id(composite), literals)
    if isinstance(reached, str):
        yield f"OpCompositeInsert: {reached}"
    elif reached != ctx.type_id(value):
        yield f"OpCompositeInsert of {ctx.spell(value)}, which is not of type {ctx.spell(reached)}"


def _construct(ctx: Context, item: Instruction) -> Iterator[str]:
    kind = ctx.definition(item.result_type or 0)
    if kind is None:
        return
    element, count = _element(ctx, item.result_type or 0), _count(ctx, kind)
    if kind.opcode == Op.TypeStruct:
        expected = list(kind.operands)
    elif element is None or kind.opcode == Op.TypeRuntimeArray:
        yield "the result type of OpCompositeConstruct is no composite"
        return
    elif kind.opcode == Op.TypeVector:
        yield from _construct_vector(ctx, item, element, count or 0)
        return
    elif kind.opcode == NewerOp.TypeCooperativeMatrixKHR or count is None:
        return
    else:
        # Longer arrays than an instruction has words fail by their number.
        expected = [element] * min(count, 0x10000)
    if len(expected) != len(item.operands):
        yield f"OpCompositeConstruct has {len(item.operands)} constituents; its type has {len(expected)}"
    for value, wanted in zip(item.operands, expected, strict=False):
        if ctx.type_id(value) != wanted:
            yield f"the constituent {ctx.spell(value)} is not of type {ctx.spell(wanted)}"


def _construct_vector(ctx: Context, item: Instruction, element: int, count: int) -> Iterator[str]:
    """Scalars and vectors of the element type, together as many components."""
    total = 0
    for value in item.operands:
        kind = ctx.type_id(value)
        scalar = ctx.scalar(kind)
        if scalar is None or scalar.result_id != element:
            yield f"the constituent {ctx.spell(value)} is not made of {ctx.spell(element)}"
        total += ctx.components(kind)
    if total != count:
        yield f"OpCompositeConstruct has {total} components; its type has {count}"


_CHECKS: dict[int, Callable[[Context, Instruction], Iterator[str]]] = {
    Op.Load: _load,
    Op.Store: _store,
    Op.AccessChain: _access_chain,
    Op.InBoundsAccessChain: _access_chain,
    Op.CompositeExtract: _extract,
    Op.CompositeInsert: _insert,
    Op.CompositeConstruct: _construct,
}


def _atomic(ctx: Context, item: Instruction) -> Iterator[str]:
    pointer, result = ctx.pointer(ctx.type_id(item.operands[0])), item.result_type or 0
    if pointer is None or pointer[1] != result:
        yield f"{item.name} is on {ctx.spell(item.operands[0])}, which is no pointer to the result type"
    if not (ctx.is_int(result) or ctx.is_float(result)) or ctx.components(result) != 1:
        yield f"the result type of {item.name} is no numeric scalar"
    for number in item.operands[1:3]:
        kind = ctx.type_id(number)
        if ctx.opcode(kind) != Op.TypeInt or ctx.width(kind) != 32:
            yield f"scope and semantics of {item.name} are 32-bit integers; {ctx.spell(number)} is not"
    if _ATOMIC_VALUES[item.opcode] and ctx.type_id(item.operands[-1]) != result:
        yield f"the value {ctx.spell(item.operands[-1])} of {item.name} is not of the result type"


def _function_type(ctx: Context, function: FunctionView) -> tuple[int, ...] | None:
    kind = ctx.definition(function.definition.operands[1])
    return kind.operands if kind is not None and kind.opcode == Op.TypeFunction else None


def _signature(ctx: Context, function: FunctionView) -> Iterator[str]:
    kind = _function_type(ctx, function)
    name = ctx.spell(function.result_id)
    if kind is None:
        yield f"the type of function {name} is no OpTypeFunction"
        return
    if kind[0] != function.definition.result_type:
        yield f"the result type of function {name} is not its type's return type"
    if tuple(parameter.result_type for parameter in function.parameters) != kind[1:]:
        yield f"the parameters of function {name} are not those of its type"


def _call(ctx: Context, item: Instruction, functions: dict[int, FunctionView]) -> Iterator[str]:
    callee, *arguments = item.operands
    if callee not in functions:
        yield f"OpFunctionCall of {ctx.spell(callee)}, which is no function"
        return
    kind = _function_type(ctx, functions[callee])
    if kind is None:
        return
    if item.result_type != kind[0]:
        yield f"OpFunctionCall gives another type than {ctx.spell(callee)} returns"
    if len(arguments) != len(kind) - 1:
        counts = f"{len(arguments)} arguments; expected {len(kind) - 1}"
        yield f"OpFunctionCall of {ctx.spell(callee)} has {counts}"
    for argument, wanted in zip(arguments, kind[1:], strict=False):
        if ctx.type_id(argument) != wanted:
            yield f"the argument {ctx.spell(argument)} is not of the parameter's type {ctx.spell(wanted)}"


def _return(ctx: Context, item: Instruction, function: FunctionView) -> Iterator[str]:
    wanted = function.definition.result_type or 0
    if item.opcode == Op.Return:
        if ctx.opcode(wanted) != Op.TypeVoid:
            yield f"OpReturn in {ctx.spell(function.result_id)}, which returns a value"
    elif ctx.type_id(item.operands[0]) != wanted:
        yield f"OpReturnValue of {ctx.spell(item.operands[0])}, which is not of the return type"
