"""Functions of a module in the order of their calls, and how many calls there are where all are inlined.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from .binary import Module
from .tables import Op

MOST_COUNTED: Final = 1 << 64
"""Python writes no number of more than 4300 digits."""


def callees_first(calls: Mapping[int, Collection[int]]) -> list[int]:
    """Returns functions so that each stands behind those that it calls; any order where they call in a circle.

    Args:
        calls: the functions that each calls; others, which are not keys, are left out.
    """
    # Without recursion of Python's: a module from elsewhere may call as deep as it likes.
    order: dict[int, None] = {}
    waiting = list(calls)
    entered: set[int] = set()
    while waiting:
        name = waiting[-1]
        unknown = [callee for callee in calls[name] if callee in calls and callee not in order]
        if name not in entered and unknown:
            entered.add(name)
            waiting += [callee for callee in unknown if callee not in entered]
            continue
        order[name] = None
        waiting.pop()
    return list(order)


def inlined_calls(module: Module) -> int:
    """Returns how many calls a kernel comes to at most, those of the functions that it calls counted at each call.

    `MOST_COUNTED` stands for that many and more: a chain of functions may double them thousands of times.
    """
    calls: dict[int, Counter[int]] = {}
    function = Counter[int]()
    for item in module.instructions:
        if item.opcode == Op.Function and item.result_id is not None:
            function = calls.setdefault(item.result_id, Counter())
        elif item.opcode == Op.FunctionCall and item.operands:
            function[item.operands[0]] += 1
    totals: dict[int, int] = {}
    for name in callees_first(calls):
        total = sum(count * (1 + totals.get(callee, 0)) for callee, count in calls[name].items())
        totals[name] = min(total, MOST_COUNTED)
    return max(totals.values(), default=0)
