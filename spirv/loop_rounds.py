"""What drivers run again of loops while work-items that have left them wait: `rounds_of`.  Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .loop_blocks import Loop

Following = Mapping[int, tuple[int, ...]]
"""Label → the labels of the blocks that a block may go on to."""


class Round(NamedTuple):
    """Blocks that a driver may run again for other work-items."""

    header: int
    blocks: frozenset[int]
    last: frozenset[int]
    """Those from which a work-item may leave in the same round."""


def rounds_of(loops: Sequence[Loop], following: Following) -> list[Round]:
    """Returns the blocks of loops, with and without those that end in a break.

    Args:
        loops: of a function.
        following: of its blocks.
    """
    return [
        Round(loop.header, blocks, _before_an_end(loop.header, blocks, following))
        for loop in loops
        for blocks in {loop.inside, _run_again(loop, following)}
    ]


def _leading_to(
    targets: Iterable[int], blocks: frozenset[int], following: Following, end: int
) -> frozenset[int]:
    """Returns those of some blocks that lead to targets among them, the way not being through `end`."""
    leading = defaultdict[int, list[int]](list)
    for label in blocks:
        for target in following.get(label, ()):
            leading[target].append(label)
    found = set(targets)
    todo = [target for target in found if target != end]
    while todo:
        more = [label for label in leading[todo.pop()] if label not in found]
        found.update(more)
        todo += [label for label in more if label != end]
    return frozenset(found)


def _before_an_end(header: int, blocks: frozenset[int], following: Following) -> frozenset[int]:
    """Returns from which blocks a work-item may leave without another test in the header."""
    ends = [label for label in blocks if not following.get(label) or not blocks.issuperset(following[label])]
    return _leading_to(ends, blocks, following, header)


def _run_again(loop: Loop, following: Following) -> frozenset[int]:
    """Returns the blocks of a loop that lead to its header.

    A block that ends in a break does not: SwiftShader runs those behind the loop, llvmpipe inside.
    """
    again = [label for label in loop.inside if loop.header in following.get(label, ())]
    return _leading_to(again, loop.inside, following, loop.header) | {loop.header}
