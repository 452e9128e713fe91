"""The order in which a graph's nodes are visited so that each comes before those that only it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def reverse_post_order(entry: int, successors: Mapping[int, Sequence[int]]) -> list[int]:
    """Returns the nodes that `entry` reaches; of the successors of a node the first comes first.

    Without recursion: a module may come from anywhere, and its branches may be as many as it has words.
    """
    order: list[int] = []
    seen = {entry}
    stack: list[tuple[int, Iterator[int]]] = [(entry, reversed(successors[entry]))]
    while stack:
        label, rest = stack[-1]
        following = next((s for s in rest if s not in seen), None)
        if following is None:
            order.append(label)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, reversed(successors[following])))
    order.reverse()
    return order
