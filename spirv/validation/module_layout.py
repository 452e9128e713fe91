"""The order of a module (SPIR-V 1.6 §2.4).

* Sections stand in order: capabilities, extensions, imports of instruction sets, memory model, entry points,
  execution modes, debug information, annotations, types with constants and variables, functions.
* There is exactly one memory model and at least one capability.
* Only what may be global stands outside functions.
* A function is OpFunction, its parameters, blocks, OpFunctionEnd; declarations stand before definitions.
* A block is OpLabel, instructions, one terminator; OpPhi stand first, OpVariable at the start of the first
  block.
* A merge instruction stands right before the terminator.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction, Section
from ..module_view import DEBUG_LINES, MERGES, TERMINATORS, BlockView, FunctionView
from ..tables import Op, opcode_name
from .context import Context
from .finding import Finding

RULE = "module_layout"

_SECTIONS: dict[int, Section] = {
    Op.Capability: Section.CAPABILITIES,
    Op.Extension: Section.EXTENSIONS,
    Op.ExtInstImport: Section.EXT_INST_IMPORTS,
    Op.MemoryModel: Section.MEMORY_MODEL,
    Op.EntryPoint: Section.ENTRY_POINTS,
    Op.ExecutionMode: Section.EXECUTION_MODES,
    Op.ExecutionModeId: Section.EXECUTION_MODES,
    Op.String: Section.DEBUG_STRINGS,
    Op.Source: Section.DEBUG_STRINGS,
    Op.SourceExtension: Section.DEBUG_STRINGS,
    Op.SourceContinued: Section.DEBUG_STRINGS,
    Op.Name: Section.DEBUG_NAMES,
    Op.MemberName: Section.DEBUG_NAMES,
    Op.ModuleProcessed: Section.DEBUG_PROCESSED,
    Op.Decorate: Section.ANNOTATIONS,
    Op.DecorateId: Section.ANNOTATIONS,
    Op.DecorateString: Section.ANNOTATIONS,
    Op.MemberDecorate: Section.ANNOTATIONS,
    Op.MemberDecorateString: Section.ANNOTATIONS,
    Op.DecorationGroup: Section.ANNOTATIONS,
    Op.GroupDecorate: Section.ANNOTATIONS,
    Op.GroupMemberDecorate: Section.ANNOTATIONS,
    Op.Variable: Section.GLOBALS,
    Op.Undef: Section.GLOBALS,
    Op.Line: Section.GLOBALS,
    Op.NoLine: Section.GLOBALS,
    # Only instructions of non-semantic sets.
    Op.ExtInst: Section.GLOBALS,
}
_BOTH = frozenset((Op.Variable, Op.Undef, Op.Line, Op.NoLine, Op.ExtInst, Op.Nop))
"""What may stand inside functions as well."""


def section_of(code: int) -> Section | None:
    """Returns the section of an instruction outside functions; None for what stands only inside."""
    if code in _SECTIONS:
        return _SECTIONS[code]
    name = opcode_name(code)
    is_global = name.startswith(("OpType", "OpConstant", "OpSpecConstant"))
    return Section.GLOBALS if is_global else None


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    yield from _globals(ctx)
    models = list(ctx.view.of_opcode(Op.MemoryModel))
    if len(models) != 1:
        ordinal = models[1].ordinal if models else None
        yield Finding(f"a module has one OpMemoryModel; found {len(models)}", ordinal, RULE)
    if not any(ctx.view.of_opcode(Op.Capability)):
        yield Finding("a module declares at least one capability", None, RULE)
    yield from _function_brackets(ctx)
    has_definition = False
    for function in ctx.view.functions:
        if not function.blocks and has_definition:
            message = (
                f"the declaration of function {ctx.spell(function.result_id)} stands behind a definition"
            )
            yield Finding(message, function.definition.ordinal, RULE)
        has_definition |= bool(function.blocks)
        yield from _blocks(ctx, function)


def _globals(ctx: Context) -> Iterator[Finding]:
    last = Section.CAPABILITIES
    for item in ctx.view.globals:
        section = section_of(item.opcode)
        if section is None:
            if item.opcode != Op.Nop:
                yield Finding(f"{item.name} cannot stand outside a function", item.ordinal, RULE)
        elif section < last and item.opcode not in DEBUG_LINES:
            yield Finding(f"{item.name} stands behind the section {last.name}", item.ordinal, RULE)
        elif item.opcode not in DEBUG_LINES:
            last = section


def _function_brackets(ctx: Context) -> Iterator[Finding]:
    """OpFunction, parameters, labels and OpFunctionEnd, in that order."""
    inside = has_label = False
    for item in ctx.module.instructions[len(ctx.view.globals) :]:
        if item.opcode == Op.Function:
            if inside:
                yield Finding("a function starts inside another", item.ordinal, RULE)
            inside, has_label = True, False
        elif not inside:
            if item.opcode in DEBUG_LINES:
                continue  # the line of the next OpFunction
            yield Finding(f"{item.name} stands behind OpFunctionEnd", item.ordinal, RULE)
        elif item.opcode == Op.FunctionEnd:
            inside = False
        elif item.opcode == Op.Label:
            has_label = True
        elif item.opcode == Op.FunctionParameter:
            if has_label:
                yield Finding("OpFunctionParameter stands behind a label", item.ordinal, RULE)
        elif section_of(item.opcode) is not None and item.opcode not in _BOTH:
            yield Finding(f"{item.name} cannot stand inside a function", item.ordinal, RULE)
        elif not has_label and item.opcode not in DEBUG_LINES:
            yield Finding(f"{item.name} stands before the first label", item.ordinal, RULE)
    if inside:
        yield Finding("the last function has no OpFunctionEnd", None, RULE)


def _blocks(ctx: Context, function: FunctionView) -> Iterator[Finding]:
    for index, block in enumerate(function.blocks):
        if block.terminator is None:
            yield Finding(f"block {ctx.spell(block.label)} has no terminator", block.ordinal, RULE)
        yield from _block(block, is_first=index == 0)


def _block(block: BlockView, *, is_first: bool) -> Iterator[Finding]:
    phis_may_follow, variables_may_follow = True, is_first
    for index, item in enumerate(block.body):
        if item.opcode in DEBUG_LINES:
            continue
        is_last = index == len(block.body) - 1
        if item.opcode in TERMINATORS and not is_last:
            yield Finding(f"{item.name} is followed by more of its block", item.ordinal, RULE)
        if item.opcode == Op.Phi and not phis_may_follow:
            yield Finding("OpPhi stands behind other instructions of its block", item.ordinal, RULE)
        if item.opcode == Op.Variable and not variables_may_follow:
            message = "OpVariable stands elsewhere than at the start of its function's first block"
            yield Finding(message, item.ordinal, RULE)
        if item.opcode in MERGES and not _stands_before_end(block.body, index):
            yield Finding(f"{item.name} does not stand right before a branch", item.ordinal, RULE)
        phis_may_follow &= item.opcode == Op.Phi
        # Debug declarations of non-semantic sets may stand between variables.
        variables_may_follow &= item.opcode in (Op.Variable, Op.ExtInst)


def _stands_before_end(body: list[Instruction], index: int) -> bool:
    following = [item for item in body[index + 1 :] if item.opcode not in DEBUG_LINES]
    return len(following) == 1 and following[0].opcode in TERMINATORS
