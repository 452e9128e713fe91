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
    from .command_buffer import CommandBuffer
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
        command_buffer: the open one.
        uses: the memory of its arrays; the command buffer keeps it alive.
        block: its packed argument block; empty where it is always the same.
        descriptor_set: None where it has none.
        groups: work-group counts.
        has_barrier: whether a barrier goes between it and the same launch again.
    """

    __slots__ = (
        "_args",
        "_barrier",
        "_block",
        "_command_buffer",
        "_dispatch",
        "_dispatch_groups",
        "_generation",
        "_pushed",
        "_record_barrier",
        "descriptor_set",
        "record",
        "uses",
    )

    def __init__(
        self,
        record: LaunchRecord,
        command_buffer: CommandBuffer,
        uses: Uses,
        block: bytes,
        descriptor_set: DescriptorSet | None,
        groups: tuple[int, int, int],
        *,
        has_barrier: bool,
    ) -> None:
        self.record = record
        self.uses = uses
        self.descriptor_set = descriptor_set
        self._command_buffer = command_buffer
        self._record_barrier, self._dispatch_groups = record.record_barrier, record.dispatch_groups
        # The arguments of the two calls: to put them together takes as long as one of them.
        self._barrier = command_buffer.between if has_barrier else None
        self._dispatch = (command_buffer.raw, *groups)
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
        event.timeline, event.timing = queue, None
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
                event.value = self.dispatch(queue)
            finally:
                logical.half_way = None
            if self._command_buffer.launch_count >= queue.submit_after:
                queue.flush()
            if trace.active:
                record.note_launch()
        finally:
            if is_locked:
                record.lock.release()
        return event

    def dispatch(self, queue: Queue) -> int:
        """Records the launch once more, with what it needs before; returns its timeline value.

        Call it with the device's lock held and `LogicalDevice.half_way` set, while the command buffer is open.
        """
        command_buffer = self._command_buffer
        if queue.latest is self:
            barrier = self._barrier
            if barrier is not None:
                # The epoch goes on: its arrays are marked with it, and so is nothing else behind the last barrier.
                self._record_barrier(*barrier)
            self._dispatch_groups(*self._dispatch)
        else:
            if self._pushed is None and self._block:
                self._pushed = ffi.new("char[]", self._block)
            queue.order(self.uses, command_buffer.value)
            self.record.bind_again(command_buffer, self.descriptor_set, self._pushed)
            self._dispatch_groups(*self._dispatch)
            queue.latest = self
        command_buffer.launch_count += 1
        return command_buffer.value


def are_fixed(args: Sequence[object]) -> bool:
    """Whether arguments can be known again by their identity; a NumPy array of no dimensions cannot."""
    return _FIXED.issuperset(map(type, args))
