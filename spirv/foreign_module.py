"""One entry point of a foreign module on its own, in the form that the runtime binds.

`isolate` drops what the entry point does not reach, so that a kernel asks only for what it uses itself, and what is
written for tools alone (NonSemantic instructions, strings of HLSL compilers), for which drivers want extensions.
`rebind` gives every buffer a binding of set 0: the runtime has one descriptor set.  Modules were validated before.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .binary import Instruction, Module, decode_string
from .module_view import DEBUG_LINES, FunctionView, ModuleView, is_behind_annotations
from .operands import id_operands
from .tables import BuiltIn, Capability, Decoration, LinkageType, Op, enumerant_value, instruction

_TOOL_EXTENSIONS = frozenset(
    {
        "SPV_KHR_non_semantic_info",
        "SPV_GOOGLE_decorate_string",
        "SPV_GOOGLE_hlsl_functionality1",
        "SPV_GOOGLE_user_type",
    }
)
"""Extensions that no driver needs for what is left."""

_TOOL_INSTRUCTIONS = frozenset(
    {
        Op.Source,
        Op.SourceContinued,
        Op.SourceExtension,
        Op.ModuleProcessed,
        Op.DecorateString,
        Op.MemberDecorateString,
    }
)

_WIDTH_CAPABILITIES = {
    (Op.TypeFloat, 64): Capability.Float64,
    (Op.TypeFloat, 16): Capability.Float16,
    (Op.TypeInt, 64): Capability.Int64,
    (Op.TypeInt, 16): Capability.Int16,
    (Op.TypeInt, 8): Capability.Int8,
}
"""Capabilities that are for nothing without a type."""

_STORAGE_CAPABILITIES = {
    16: (
        Capability.StorageBuffer16BitAccess,
        Capability.UniformAndStorageBuffer16BitAccess,
        Capability.StoragePushConstant16,
    ),
    8: (
        Capability.StorageBuffer8BitAccess,
        Capability.UniformAndStorageBuffer8BitAccess,
        Capability.StoragePushConstant8,
    ),
}
"""The same for any type of a width."""


def isolate(module: Module, function_id: int) -> Module:
    """Returns a module with one entry point, and nothing that it does not reach.

    Args:
        module: valid.
        function_id: of the entry point.  What the module exports for others is not exported any more.
    """
    return _part(module, (function_id,), function_id)


def library(module: Module, functions: Sequence[int]) -> Module:
    """Returns a module without entry points that has some functions, and what they reach."""
    return _part(module, tuple(functions), None)


def _part(module: Module, roots: tuple[int, ...], function_id: int | None) -> Module:
    view = ModuleView(module)
    tool_sets = _tool_sets(view)
    functions = _reached_functions(view, roots)
    live = _live_ids(view, functions, function_id, tool_sets)
    live.update(roots)
    kept: list[Instruction] = []
    for item in view.globals:
        found = _global(item, view, live, function_id, tool_sets)
        if found is not None and not (function_id is not None and _is_export(found)):
            kept.append(found)
    if not any(item.opcode == Op.Decorate and _is_linkage(item) for item in kept):
        kept = [i for i in kept if (i.opcode, i.operands) != (Op.Capability, (Capability.Linkage,))]
    outside = _function_ordinals(module, functions)
    kept += [
        item for item in module.instructions if item.ordinal in outside and not _is_tool(item, tool_sets)
    ]
    return _renumbered(module, _without_unused_capabilities(kept))


def without_tool_instructions(module: Module) -> Module:
    """Returns a module without NonSemantic instructions, which may stand where nothing else may."""
    tool_sets = _tool_sets(ModuleView(module))
    return _renumbered(module, (item for item in module.instructions if not _is_tool(item, tool_sets)))


def without_hints(module: Module) -> Module:
    """Returns a module without OpAssumeTrueKHR and OpExpectKHR: hints, for which few devices have the feature."""
    hints = (Op.Capability, (Capability.ExpectAssumeKHR,))
    if hints not in ((item.opcode, item.operands) for item in module.instructions):
        return module
    kept: list[Instruction] = []
    for item in module.instructions:
        is_named = item.opcode == Op.Extension and decode_string(item.operands)[0] == "SPV_KHR_expect_assume"
        if item.opcode == Op.ExpectKHR:
            kept.append(item._replace(opcode=Op.CopyObject, operands=item.operands[:1]))
        elif not (is_named or item.opcode == Op.AssumeTrueKHR or (item.opcode, item.operands) == hints):
            kept.append(item)
    return _renumbered(module, kept)


def _is_linkage(item: Instruction) -> bool:
    return item.opcode == Op.Decorate and item.operands[1] == Decoration.LinkageAttributes


def _is_export(item: Instruction) -> bool:
    return _is_linkage(item) and item.operands[-1] == LinkageType.Export


def _tool_sets(view: ModuleView) -> frozenset[int]:
    """Returns the ids of imported instruction sets that mean nothing to a driver."""
    return frozenset(
        item.result_id or 0
        for item in view.of_opcode(Op.ExtInstImport)
        if decode_string(item.operands)[0].startswith("NonSemantic.")
    )


def _is_tool(item: Instruction, tool_sets: frozenset[int]) -> bool:
    return item.opcode == Op.ExtInst and bool(item.operands) and item.operands[0] in tool_sets


def _reached_functions(view: ModuleView, roots: Sequence[int]) -> dict[int, FunctionView]:
    by_id = {function.result_id: function for function in view.functions}
    reached: dict[int, FunctionView] = {}
    pending = [*roots]
    while pending:
        number = pending.pop()
        if number in reached or number not in by_id:
            continue
        reached[number] = by_id[number]
        pending += [i.operands[0] for i in by_id[number].instructions() if i.opcode == Op.FunctionCall]
    return reached


def _live_ids(
    view: ModuleView,
    functions: Mapping[int, FunctionView],
    function_id: int | None,
    tool_sets: frozenset[int],
) -> set[int]:
    """Returns every id that the functions need, directly or through types and constants."""
    pending: list[int] = []
    for function in functions.values():
        for item in (function.definition, *function.parameters, *function.instructions()):
            if not _is_tool(item, tool_sets):
                pending += _ids(item, view)
    for item in view.of_opcode(Op.ExecutionModeId):
        if item.operands[0] == function_id:
            pending += id_operands(item)
    pending += work_group_size_ids(view)
    by_target = _id_decorations(view)
    live: set[int] = set()
    while pending:
        number = pending.pop()
        if number in live:
            continue
        live.add(number)
        pending += by_target.get(number, ())
        defined = view.definitions.get(number)
        if defined is not None and defined.opcode != Op.Function:
            pending += _ids(defined, view)
    return live


def work_group_size_ids(view: ModuleView) -> list[int]:
    """Returns what is decorated WorkgroupSize: it holds for every entry point, named or not."""
    return [
        target
        for target, uses in view.decorations.items()
        if any(use[:2] == (Decoration.BuiltIn, (BuiltIn.WorkgroupSize,)) for use in uses)
    ]


def _id_decorations(view: ModuleView) -> dict[int, tuple[int, ...]]:
    """Returns the ids that each id's decorations name."""
    found: dict[int, tuple[int, ...]] = {}
    for item in view.of_opcode(Op.DecorateId):
        found[item.operands[0]] = (*found.get(item.operands[0], ()), *id_operands(item)[1:])
    return found


def _ids(item: Instruction, view: ModuleView) -> tuple[int, ...]:
    words = view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
    ids = id_operands(item, switch_literal_words=words)
    return ids if item.result_type is None else (item.result_type, *ids)


_BY_TARGET = frozenset({Op.Name, Op.MemberName, Op.Decorate, Op.DecorateId, Op.MemberDecorate})
_OF_ENTRY_POINT = frozenset({Op.ExecutionMode, Op.ExecutionModeId})


def _global(
    item: Instruction, view: ModuleView, live: set[int], function_id: int | None, tool_sets: frozenset[int]
) -> Instruction | None:
    """Returns an instruction before the functions as it is kept, None where it is dropped."""
    code, words = item.opcode, item.operands
    if code in _TOOL_INSTRUCTIONS or code in DEBUG_LINES or _is_tool(item, tool_sets):
        return None
    if code == Op.EntryPoint:
        if words[1] != function_id:
            return None
        end = decode_string(words, 2)[1]
        return item._replace(operands=(*words[:end], *(number for number in words[end:] if number in live)))
    if code in _OF_ENTRY_POINT:
        return item if words[0] == function_id else None
    if code in _BY_TARGET:
        is_group = view.definitions.get(words[0], item).opcode == Op.DecorationGroup
        return item if words[0] in live or words[0] == function_id or is_group else None
    if code == Op.GroupDecorate:
        return item._replace(operands=(words[0], *(number for number in words[1:] if number in live)))
    if code == Op.GroupMemberDecorate:
        pairs = zip(words[1::2], words[2::2], strict=True)
        kept = [word for pair in pairs if pair[0] in live for word in pair]
        return item._replace(operands=(words[0], *kept))
    if code == Op.Extension:
        return None if decode_string(words)[0] in _TOOL_EXTENSIONS else item
    if code == Op.TypeForwardPointer:
        return item if words[0] in live else None
    if item.result_id is None or code == Op.DecorationGroup:
        return item
    return item if item.result_id in live else None


def _function_ordinals(module: Module, functions: Mapping[int, FunctionView]) -> set[int]:
    """Returns the places of all instructions of some functions."""
    found: set[int] = set()
    is_inside = False
    for item in module.instructions:
        if item.opcode == Op.Function:
            is_inside = item.result_id in functions
        if is_inside:
            found.add(item.ordinal)
        if item.opcode == Op.FunctionEnd:
            is_inside = False  # an OpLine may stand in front of the next function
    return found


def _without_unused_capabilities(items: list[Instruction]) -> list[Instruction]:
    """Drops capabilities that only the dropped instructions needed; one that may be needed stays."""
    widths = {(item.opcode, item.operands[0]) for item in items if item.opcode in (Op.TypeInt, Op.TypeFloat)}
    bits = {width for _, width in widths}
    unused = {capability for key, capability in _WIDTH_CAPABILITIES.items() if key not in widths}
    for width, capabilities in _STORAGE_CAPABILITIES.items():
        if width not in bits:
            unused.update(capabilities)
    used = {item.opcode for item in items}
    enabling = _capabilities_of(used)
    unused.update(number for number in _BY_INSTRUCTION if number not in enabling)
    return [item for item in items if item.opcode != Op.Capability or item.operands[0] not in unused]


_BY_INSTRUCTION = frozenset(
    {
        Capability.GroupNonUniformVote,
        Capability.GroupNonUniformArithmetic,
        Capability.GroupNonUniformShuffle,
        Capability.GroupNonUniformShuffleRelative,
        Capability.GroupNonUniformClustered,
        Capability.GroupNonUniformQuad,
        Capability.AtomicFloat32AddEXT,
        Capability.AtomicFloat64AddEXT,
        Capability.AtomicFloat32MinMaxEXT,
    }
)
"""Capabilities that are for nothing but instructions."""


def _capabilities_of(opcodes: Iterable[int]) -> frozenset[int]:
    """Returns every capability that one of some opcodes may need."""
    infos = [instruction(code) for code in opcodes]
    names = {name for info in infos if info is not None for name in info.capabilities}
    return frozenset(enumerant_value("Capability", name) for name in names)


def rebind(module: Module, bindings: Mapping[int, int]) -> Module:
    """Returns a module whose variables have other bindings, all of set 0.

    Structs of a module that copies from one type to another lose their names: Mesa tells types apart by them
    (`vk_runtime.quirks`, copied-names).

    Args:
        module: may have decoration groups.
        bindings: the binding of each variable by id.
    """
    items: list[Instruction] = []
    nameless = _copied_structs(module)
    added = False
    for item in module.instructions:
        if item.opcode == Op.Name and item.operands[0] in nameless:
            continue
        if item.opcode == Op.Decorate and item.operands[1] in (Decoration.DescriptorSet, Decoration.Binding):
            continue
        if not added and is_behind_annotations(item):
            added = True
            items += [_decorate(number, Decoration.DescriptorSet, 0) for number in bindings]
            items += [_decorate(number, Decoration.Binding, binding) for number, binding in bindings.items()]
        items.append(item)
    return _renumbered(module, items)


def _copied_structs(module: Module) -> frozenset[int | None]:
    """Returns the structs of a module that has OpCopyLogical."""
    codes = {item.opcode for item in module.instructions}
    if Op.CopyLogical not in codes:
        return frozenset()
    return frozenset(item.result_id for item in module.instructions if item.opcode == Op.TypeStruct)


def _decorate(target: int, decoration: int, word: int) -> Instruction:
    return Instruction(Op.Decorate, None, None, (target, decoration, word))


def _renumbered(module: Module, items: Iterable[Instruction]) -> Module:
    """Returns a module of instructions with new places."""
    return replace(
        module, instructions=tuple(item._replace(ordinal=place) for place, item in enumerate(items))
    )
