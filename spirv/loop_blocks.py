"""What a loop is made of: `Loop`.

In structured control flow (SPIR-V 1.6 §2.11) a loop is left through its merge block or by a return alone, so what is
inside is what its header reaches without passing the merge block.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .module_view import BlockView, ModuleView
from .tables import Op


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop; blocks are known by their labels."""

    header: int
    merge: int
    continue_target: int
    inside: frozenset[int]
    is_outermost: bool
    """Whether no loop of the function is around it."""
    is_alone: bool
    """Whether it has no loops inside, no calls of functions with loops, and no returns: work-items leave it in step,
    and no others' rounds pass meanwhile."""


def inside_of(header: int, merge: int, following: Mapping[int, tuple[int, ...]]) -> frozenset[int]:
    """Returns the blocks that a block reaches without passing another one."""
    seen, pending = {header}, [header]
    while pending:
        for label in following[pending.pop()]:
            if label != merge and label not in seen and label in following:
                seen.add(label)
                pending.append(label)
    return frozenset(seen)


def successors(block: BlockView, view: ModuleView) -> tuple[int, ...]:
    """Returns the labels that a block may go on to."""
    end = block.terminator
    words = view.switch_literal_words(end.operands[0]) if end is not None and end.opcode == Op.Switch else 1
    return block.successors(words)
