"""The arguments of the last launch in a queue's open command buffer, once they have come a second time.

A launch of the same record with the same arrays finds everything bound and kept: a barrier, its scalars and the
dispatch are what is left.  The very same arguments need not even be looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING

from . import tracked
from .array import Array

if TYPE_CHECKING:
    from .arguments import Uses
    from .launch_record import LaunchRecord

Latest = tuple["LaunchRecord", "Uses", bytes]
"""A launch: its record, the memory of its arrays, its packed argument block, empty where that is always the same."""

_FIXED = frozenset((Array, bool, int, float))
"""Arguments that mean the same as long as they are the same objects, and no array has let go of its memory."""


class SameArguments:
    """Arguments that were checked, as long as nobody needs to check them again.

    Args:
        latest: the launch that they were checked for.
        args: its arguments, or those of a launch behind it with the same arrays and block; see `are_fixed`.
    """

    __slots__ = ("_args", "_generation", "latest")

    def __init__(self, latest: Latest, args: Sequence[object]) -> None:
        self.latest = latest
        self._args = args
        self._generation = tracked.generation

    def are(self, args: Sequence[object]) -> bool:
        """Whether these are the very same arguments, and still mean the same."""
        known = self._args
        return (
            len(args) == len(known) and all(map(is_, args, known)) and self._generation is tracked.generation
        )


def are_fixed(args: Sequence[object]) -> bool:
    """Whether arguments can be known again by their identity; a NumPy array of no dimensions cannot."""
    return _FIXED.issuperset(map(type, args))
