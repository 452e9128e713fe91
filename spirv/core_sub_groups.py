"""Makes the operations of sub-groups that SPIR-V 1.3 has of those of older extensions: `with_core_sub_groups`.

    %b = OpSubgroupBallotKHR %uint4 %p        →       %b = OpGroupNonUniformBallot %uint4 %subgroup %p

glslang writes the older ones for GL_ARB_shader_ballot and GL_ARB_shader_group_vote, whatever Vulkan it compiles for.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction, Module, decode_string
from .module_editor import ModuleEditor
from .tables import Capability, Op

_EXTENSIONS = ("SPV_KHR_shader_ballot", "SPV_KHR_subgroup_vote")
_CAPABILITIES = {
    Capability.SubgroupBallotKHR: Capability.GroupNonUniformBallot,
    Capability.SubgroupVoteKHR: Capability.GroupNonUniformVote,
}
_OPERATIONS = {
    Op.SubgroupBallotKHR: Op.GroupNonUniformBallot,
    Op.SubgroupFirstInvocationKHR: Op.GroupNonUniformBroadcastFirst,
    Op.SubgroupReadInvocationKHR: Op.GroupNonUniformBroadcast,
    Op.SubgroupAllKHR: Op.GroupNonUniformAll,
    Op.SubgroupAnyKHR: Op.GroupNonUniformAny,
    Op.SubgroupAllEqualKHR: Op.GroupNonUniformAllEqual,
}
_SUBGROUP = 3
"""The scope."""


def with_core_sub_groups(module: Module) -> Module:
    """Returns a module that means the same without the older operations; itself where it declares none."""
    declared = {
        item.operands[0] for item in module.instructions if item.opcode == Op.Capability and item.operands
    }
    if declared.isdisjoint(_CAPABILITIES):
        return module
    editor = ModuleEditor(module)
    for old, new in _CAPABILITIES.items():
        if old in declared:
            editor.require(new)
    scope = editor.number(_SUBGROUP)
    if any(_is_chosen_at_run_time(editor, item) for item in module.instructions):
        editor.require(Capability.GroupNonUniformShuffle)

    def change(item: Instruction) -> Iterator[Instruction]:
        is_old = item.opcode == Op.Capability and item.operands[:1] and item.operands[0] in _CAPABILITIES
        if is_old or (item.opcode == Op.Extension and decode_string(item.operands)[0] in _EXTENSIONS):
            return
        code = _OPERATIONS.get(item.opcode)
        if code is None:
            yield item
            return
        code = Op.GroupNonUniformShuffle if _is_chosen_at_run_time(editor, item) else code
        yield item._replace(opcode=code, operands=(scope, *item.operands))

    return editor.finished(change)


def _is_chosen_at_run_time(editor: ModuleEditor, item: Instruction) -> bool:
    """Whether an instruction reads of a work-item that is no constant, which broadcasts need before SPIR-V 1.5."""
    if item.opcode != Op.SubgroupReadInvocationKHR or editor.module.version >= (1, 5):
        return False
    index = editor.view.definitions.get(item.operands[-1]) if item.operands else None
    return index is None or index.opcode not in (
        Op.Constant,
        Op.SpecConstant,
        Op.SpecConstantOp,
        Op.ConstantNull,
    )
