"""Entry points and execution modes (SPIR-V 1.6 §2.16.1).

* An entry point is a defined function of type void(), called by no other function.
* No two entry points have the same name and execution model.
* The interface lists global variables, each once; from version 1.4 on all that the call graph uses, before it
  those of class Input and Output.
* Execution modes name entry points; OpExecutionModeId those modes that take ids, OpExecutionMode the others.
* A GLCompute entry point of Vulkan has a local size, and its components are not 0.
* The static call graph has no cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..binary import Instruction, decode_string
from ..errors import SpirvError
from ..module_view import FunctionView
from ..tables import BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass, enumerant_name
from ..type_info import constant_value
from .context import Context
from .finding import Finding

RULE = "entry_points"

_ID_MODES = frozenset(
    (ExecutionMode.LocalSizeId, ExecutionMode.LocalSizeHintId, ExecutionMode.SubgroupsPerWorkgroupId)
)
_INTERFACE_CLASSES = frozenset((StorageClass.Input, StorageClass.Output))


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    functions = {function.result_id: function for function in ctx.view.functions}
    calls = {number: _calls(function) for number, function in functions.items()}
    entries = list(ctx.view.of_opcode(Op.EntryPoint))
    seen: set[tuple[int, str]] = set()
    called = set[int]().union(*calls.values())
    for item in entries:
        for message in _entry_point(ctx, item, functions, called, seen):
            yield Finding(message, item.ordinal, RULE)
        for message in _interface(ctx, item, functions, calls):
            yield Finding(message, item.ordinal, RULE)
    for item in ctx.view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId):
        for message in _mode(item, entries):
            yield Finding(message, item.ordinal, RULE)
    if ctx.is_vulkan:
        yield from _local_sizes(ctx, entries)
    yield from _cycles(ctx, functions, calls)


def _calls(function: FunctionView) -> set[int]:
    return {item.operands[0] for item in function.instructions() if item.opcode == Op.FunctionCall}


def _name(item: Instruction) -> tuple[str, int]:
    try:
        return decode_string(item.operands, 2)
    except SpirvError:
        return "", len(item.operands)


def _entry_point(
    ctx: Context,
    item: Instruction,
    functions: Mapping[int, FunctionView],
    called: set[int],
    seen: set[tuple[int, str]],
) -> Iterator[str]:
    model, function_id = item.operands[:2]
    name = _name(item)[0]
    if (model, name) in seen:
        yield f"two entry points of one execution model are called {name!r}"
    seen.add((model, name))
    function = functions.get(function_id)
    if function is None or not function.blocks:
        yield f"entry point {name!r} is {ctx.spell(function_id)}, which is no function with a body"
        return
    kind = ctx.definition(function.definition.operands[1])
    if kind is not None and (len(kind.operands) != 1 or ctx.opcode(kind.operands[0]) != Op.TypeVoid):
        yield f"entry point {name!r} has parameters or a result"
    if function_id in called:
        yield f"entry point {name!r} is called by a function"


def _interface(
    ctx: Context, item: Instruction, functions: Mapping[int, FunctionView], calls: Mapping[int, set[int]]
) -> Iterator[str]:
    name, start = _name(item)
    listed = item.operands[start:]
    lists_all = ctx.module.version >= (1, 4)
    if lists_all and len(set(listed)) != len(listed):
        yield f"the interface of entry point {name!r} lists an id twice"
    for number in listed:
        variable = ctx.definition(number)
        if variable is None or variable.opcode != Op.Variable:
            yield f"the interface of entry point {name!r} lists {ctx.spell(number)}, which is no variable"
        elif variable.operands[0] == StorageClass.Function:
            yield f"the interface of entry point {name!r} lists {ctx.spell(number)} of a function"
        elif not lists_all and variable.operands[0] not in _INTERFACE_CLASSES:
            yield f"before SPIR-V 1.4 an interface lists Input and Output only, not {ctx.spell(number)}"
    for number in sorted(_used_variables(ctx, item.operands[1], functions, calls) - set(listed)):
        variable = ctx.view.definitions[number]
        if lists_all or variable.operands[0] in _INTERFACE_CLASSES:
            yield f"entry point {name!r} uses {ctx.spell(number)} and does not list it in its interface"


def _used_variables(
    ctx: Context, start: int, functions: Mapping[int, FunctionView], calls: Mapping[int, set[int]]
) -> set[int]:
    variables = {item.result_id or 0 for item in ctx.view.of_opcode(Op.Variable)}
    seen, pending, used = {start}, [start], set[int]()
    while pending:
        number = pending.pop()
        if number not in functions:
            continue
        for item in functions[number].instructions():
            used.update(variables.intersection(ctx.ids(item)))
        fresh = calls[number] - seen
        seen |= fresh
        pending.extend(fresh)
    return used


def _mode(item: Instruction, entries: list[Instruction]) -> Iterator[str]:
    target, mode = item.operands[:2]
    name = enumerant_name("ExecutionMode", mode)
    if all(entry.operands[1] != target for entry in entries):
        yield f"execution mode {name} is of %{target}, which is no entry point"
    if (item.opcode == Op.ExecutionModeId) != (mode in _ID_MODES):
        expected = "OpExecutionModeId" if mode in _ID_MODES else "OpExecutionMode"
        yield f"execution mode {name} is given by {expected}"


def _local_sizes(ctx: Context, entries: list[Instruction]) -> Iterator[Finding]:
    has_builtin = any(
        use.decoration == Decoration.BuiltIn and use.operands[:1] == (BuiltIn.WorkgroupSize,)
        for uses in ctx.view.decorations.values()
        for use in uses
    )
    modes = (ExecutionMode.LocalSize, ExecutionMode.LocalSizeId)
    sized: set[int] = set()
    for item in ctx.view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId):
        if item.operands[1] not in modes:
            continue
        sized.add(item.operands[0])
        sizes = item.operands[2:]
        is_literal = item.operands[1] == ExecutionMode.LocalSize
        if 0 in (sizes if is_literal else [constant_value(ctx.view, number) for number in sizes]):
            yield Finding("a local size has a component of 0", item.ordinal, RULE)
    for item in entries:
        is_compute = item.operands[0] == ExecutionModel.GLCompute
        if is_compute and not has_builtin and item.operands[1] not in sized:
            message = f"entry point {_name(item)[0]!r} has no LocalSize, LocalSizeId or WorkgroupSize"
            yield Finding(message, item.ordinal, RULE)


def _cycles(
    ctx: Context, functions: Mapping[int, FunctionView], calls: Mapping[int, set[int]]
) -> Iterator[Finding]:
    done: set[int] = set()
    for start in functions:
        path: dict[int, Iterator[int]] = {} if start in done else {start: iter(calls[start])}
        while path:
            number = next(reversed(path))
            callee = next(path[number], None)
            if callee is None:
                done.add(number)
                del path[number]
            elif callee in path:
                message = f"function {ctx.spell(callee)} calls itself, directly or through others"
                yield Finding(message, functions[callee].definition.ordinal, RULE)
            elif callee in functions and callee not in done:
                path[callee] = iter(calls[callee])
