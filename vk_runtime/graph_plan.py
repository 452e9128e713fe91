"""In which order the commands of a graph run, and where barriers go.  Pure.

A command must come after those that it shares memory with, where one of the two writes, and after those that it was
told to wait for.  The longest chain of such predecessors is its *level*; commands of one level run in any order, and
one barrier stands between a level and the next.  Running level by level needs the fewest barriers, whatever the
order of recording: of two independent chains that were recorded one after the other, the steps run side by side.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

Uses = Sequence[tuple[Hashable, bool]]
"""What a command touches, and whether it writes it."""


def plan_order(
    commands: Sequence[tuple[Uses, Sequence[int]]], kinds: Sequence[int] = ()
) -> list[tuple[int, bool]]:
    """Returns the commands in the order to run in, each with whether a barrier goes before it.

    Args:
        commands: what each touches, and the numbers of earlier commands that it waits for.
        kinds: a number for each; in a level equal ones go together, because they have in common what is bound for them.
    """
    levels: list[int] = []
    # Per memory: one past the level of the last write, and of the last read.
    after_write: dict[Hashable, int] = {}
    after_read: dict[Hashable, int] = {}
    for uses, waits in commands:
        level = max((levels[index] + 1 for index in waits), default=0)
        for memory, writes in uses:
            level = max(level, after_write.get(memory, 0))
            if writes:
                level = max(level, after_read.get(memory, 0))
        levels.append(level)
        for memory, writes in uses:
            after = after_write if writes else after_read
            after[memory] = max(after.get(memory, 0), level + 1)
    # Stable: the order of recording within a level, and a kind.
    order = sorted(range(len(levels)), key=list(zip(levels, kinds or levels, strict=True)).__getitem__)
    return [
        (index, position > 0 and levels[index] != levels[order[position - 1]])
        for position, index in enumerate(order)
    ]
