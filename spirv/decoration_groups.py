"""Writes decoration groups out at their targets: they are deprecated, and nothing else here looks into them.

    OpDecorate %group Restrict                OpDecorate %a Restrict
    %group = OpDecorationGroup                OpDecorate %b Restrict
    OpGroupDecorate %group %a %b       →

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .binary import Instruction, Module
from .errors import SpirvError
from .tables import Op

MAX_FLAT_DECORATIONS: Final = 1 << 20
"""Hostile groups would grow without end."""

_GROUPS = frozenset((Op.GroupDecorate, Op.GroupMemberDecorate))
_OF_MEMBERS: dict[int, int] = {Op.Decorate: Op.MemberDecorate, Op.DecorateString: Op.MemberDecorateString}


def without_groups(module: Module) -> Module:
    """Returns a module that means the same without decoration groups; the module itself where it has none.

    Raises:
        SpirvError: a group is malformed, or stands for too many decorations.
    """
    if not any(item.opcode == Op.DecorationGroup for item in module.instructions):
        return module
    kept = flattened(module.instructions)
    numbered = (item._replace(ordinal=place) for place, item in enumerate(kept))
    return replace(module, instructions=tuple(numbered))


def flattened(annotations: Sequence[Instruction]) -> list[Instruction]:
    """Returns instructions with every group among them written out at its targets; SpirvError as `without_groups`."""
    groups = {item.result_id for item in annotations if item.opcode == Op.DecorationGroup}
    if not groups:
        return list(annotations)
    of_group: dict[int, list[Instruction]] = {}
    found: list[Instruction] = []
    for item in annotations:
        if item.opcode in (Op.Decorate, Op.DecorateId, Op.DecorateString) and item.operands[:1]:
            found_in = of_group.setdefault(item.operands[0], []) if item.operands[0] in groups else found
            found_in.append(item)
        elif item.opcode in _GROUPS and not groups.isdisjoint(item.operands[:1]):
            uses = of_group.get(item.operands[0], ())
            targets = _targets(item)
            if len(uses) * len(targets) + len(found) > MAX_FLAT_DECORATIONS + len(annotations):
                raise SpirvError(f"decoration groups stand for more than {MAX_FLAT_DECORATIONS} decorations")
            found += [_on(use, target) for target in targets for use in uses]
        elif item.opcode != Op.DecorationGroup:
            found.append(item)
    return found


def _targets(item: Instruction) -> list[tuple[int, ...]]:
    if item.opcode == Op.GroupDecorate:
        return [(target,) for target in item.operands[1:]]
    if len(item.operands) % 2 == 0:
        raise SpirvError(f"instruction {item.ordinal}, {item.name}: its last target has no member")
    return list(zip(item.operands[1::2], item.operands[2::2], strict=True))


def _on(use: Instruction, target: tuple[int, ...]) -> Instruction:
    opcode = use.opcode if len(target) == 1 else _OF_MEMBERS.get(use.opcode, use.opcode)
    return use._replace(opcode=opcode, operands=(*target, *use.operands[1:]))
