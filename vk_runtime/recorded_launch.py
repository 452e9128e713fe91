"""RecordedLaunch: a launch in a queue's open command buffer, which may come again.

What a launch of the same record with the same arrays needs is there already: pipeline and descriptors, and everything
kept alive.  Right behind itself it is a barrier, its scalars where they changed, and the dispatch; behind other
commands it is bound again.  The very same arguments need not even be looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from . import graph_recording, trace, tracked
from .array import Array
from .event import Event
from .headers import ffi

if TYPE_CHECKING:
    from .arguments import Uses
    from .descriptors import DescriptorSet
    from .launch_record import LaunchRecord
    from .queue import Queue

_FIXED = frozenset((Array, bool, int, float))
"""Arguments that mean the same as long as they are the same objects, and no array has let go of its memory."""

_new_event: Any = Event.__new__


class RecordedLaunch:
    """The last launch of a record in a queue's open command buffer.  Use it with the device's lock held.

    Args:
        record: of the launch.
        uses: the memory of its arrays; the command buffer keeps it alive.
        block: its packed argument block; empty where it is always the same.
        descriptor_set: None where it has none.
    """

    __slots__ = ("_args", "_block", "_generation", "_pushed", "descriptor_set", "record", "uses")

    def __init__(
        self, record: LaunchRecord, uses: Uses, block: bytes, descriptor_set: DescriptorSet | None
    ) -> None:
        self.record = record
        self.uses = uses
        self.descriptor_set = descriptor_set
        self._block = block
        self._pushed: Any = None
        self._args: Sequence[object] | None = None
        self._generation = tracked.generation

    @property
    def block(self) -> bytes:
        """Its packed argument block; another one makes it forget the arguments."""
        return self._block

    @block.setter
    def block(self, block: bytes) -> None:
        self._args = self._pushed = None
        self._block = block

    def remember(self, args: Sequence[object]) -> None:
        """Lets `launch` know these arguments, which are those that it was recorded with, where that can be."""
        generation = tracked.generation  # first: a finaliser or another thread may release arrays meanwhile
        arrays: list[Any] = [arg for arg in args if type(arg) is Array]
        if are_fixed(args) and [array._buffer for array in arrays] == [memory for memory, _ in self.uses]:
            self._generation, self._args = generation, args

    def launch(self, queue: Queue, args: Sequence[object], known: object) -> Event | None:
        """Records the launch once more; without the lock.

        Args:
            queue: has recorded it.
            args: of this launch; None is returned for others than those of `remember`.
            known: `queue.known` where it was found: another one means that the command buffer is not open any more.
        """
        before = self._args
        if (
            before is None
            or len(args) != len(before)
            or not all(map(is_, args, before))
            or self._generation is not tracked.generation
            or graph_recording.active
        ):
            return None
        record = self.record
        logical = record.logical
        event = _new_event(Event)
        event._queue, event.elapsed_ticks = queue, None
        is_locked = False
        try:
            for is_locked in record.locking:  # noqa: B007 - read in `finally`
                break
            if logical.half_way is not None:
                logical.require_whole()
            try:
                logical.half_way = queue
                if queue.known is not known or self._args is not before:
                    return None
                event.value = record.dispatch_recorded(queue, self)
            finally:
                logical.half_way = None
            recording = queue.recording
            if recording is not None and recording.launch_count >= queue.submit_after:
                queue.flush()
            if trace.active:
                record.note_launch()
        finally:
            if is_locked:
                record.lock.release()
        return event

    def pushed(self) -> Any:
        """Returns its argument block as C memory."""
        if self._pushed is None:
            self._pushed = ffi.new("char[]", self._block)
        return self._pushed


def are_fixed(args: Sequence[object]) -> bool:
    """Whether arguments can be known again by their identity; a NumPy array of no dimensions cannot."""
    return _FIXED.issuperset(map(type, args))
