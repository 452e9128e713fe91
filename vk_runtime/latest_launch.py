"""What a queue knows of the last launch in its open command buffer.

A launch of the same record with the same arrays finds everything bound and kept: a barrier, its scalars and the
dispatch are what is left.  The very same arguments need not even be looked at again.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from . import tracked
from .array import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .arguments import Uses
    from .launch_record import LaunchRecord

_FIXED = frozenset((Array, bool, int, float))
"""Arguments that mean the same as long as they are the same objects, and no array has let go of its memory."""


class LatestLaunch:
    """A launch, as long as it is the last command of an open command buffer.

    Args:
        record: launched it.
        uses: the memory of its arrays.
        block: its packed argument block; empty where it is always the same.
    """

    _args: Sequence[object] | None = None
    _generation: object = None

    def __init__(self, record: LaunchRecord, uses: Uses, block: bytes) -> None:
        self.record = record
        self.uses = uses
        self.block = block

    def note_arguments(self, args: Sequence[object]) -> None:
        """Remembers the arguments of a launch behind it that were checked, and lead to the same arrays and block."""
        if self._args is None and _FIXED.issuperset(map(type, args)):
            self._generation = tracked.generation
            self._args = args

    def has(self, args: Sequence[object]) -> bool:
        """Whether these are the very arguments that were checked, and still mean the same."""
        known = self._args
        return (
            known is not None
            and len(args) == len(known)
            and all(map(is_, args, known))
            and self._generation is tracked.generation
        )
