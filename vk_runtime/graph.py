"""Graphs: commands that are recorded once and then submitted again and again, by one call.

``with lp.graph() as g`` records what the block launches, copies and fills into command buffers that stay; nothing runs.
See `graph_recording` for what other threads and tasks do meanwhile.
`Graph.replay` checks that the arrays are still there and submits: its cost hardly depends on the number of commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..ir.config import config
from ..ir.errors import InvalidError, KernelArgumentError, user_facing
from ..ir.process_object import ProcessObject
from ..ir.public_names import PublicNames
from . import graph_recording, profile, trace, tracked
from .array import Array
from .device_list import device as default_device
from .event import Event
from .graph_nodes import (
    CopyNode,
    FillNode,
    LaunchNode,
    MarkerNode,
    Node,
    PresetNode,
    RecordedEvent,
    require_same,
)
from .graph_program import GraphProgram
from .images import Image
from .queue import Queue

if TYPE_CHECKING:
    from .arguments import CheckedArguments
    from .device import Device
    from .launch_record import LaunchRecord
    from .preset_launch import BoundKernel


class Graph(
    ProcessObject,
    GraphProgram,
    metaclass=PublicNames,
    internal="add_copy add_fill add_launch add_marker add_preset last_event",
):
    """Commands of one device, recorded by a ``with`` block, run by `replay`.  Threads may share it."""

    def __init__(self) -> None:
        super().__init__()
        self._waits_of_all: tuple[int, ...] = ()
        """Commands that all later ones wait for."""
        self._state = "new"

    # Recording

    def __enter__(self) -> Self:
        if self._state != "new":
            raise InvalidError(
                "a graph is recorded once; make another with lp.graph(), or change arguments with g.update and g.bind"
            )
        graph_recording.refuse("a graph")
        if config.interpret:
            raise InvalidError(
                "graphs are not interpreted; switch LAPILLI_INTERPRET off, or launch without a graph"
            )
        self._state = "recording"
        try:
            graph_recording.begin(self)
            return self
        except BaseException:  # Ctrl-C: the block is not entered, so nothing would end the recording
            graph_recording.end(self)
            raise

    @user_facing
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        graph_recording.end(self)
        if self._state == "released":  # by its own block
            self._nodes.clear()
            return
        if self._state != "recording":
            raise InvalidError(
                "this graph is not being recorded; record one with lp.graph() as g: …", code="LP1605"
            )
        self._state = "failed"
        if error is None:
            try:
                if self._device is not None:
                    with self._device.logical.lock:
                        self._build()
                self._state = "ready"
            finally:
                if self._state != "ready":
                    self._nodes.clear()
        else:
            self._nodes.clear()

    def add_launch(
        self,
        record: LaunchRecord,
        queue: Queue,
        args: Sequence[object],
        checked: CheckedArguments,
        wait_events: Sequence[Event],
    ) -> Event:
        """Takes a launch, whose arguments are checked; called by `LaunchRecord`."""
        self._require_device(record.device)
        return self._add(queue, LaunchNode(record, args, checked), map(self._index_of, wait_events))

    def add_preset(self, queue: Queue, bound: BoundKernel | None, wait_events: Sequence[Event]) -> Event:
        """Takes a kernel with arguments of its own, None where it has no work-items; called by `preset_launch`."""
        self._require_device(queue.device)
        for event in wait_events:
            self._index_of(event)
        node = MarkerNode() if bound is None else PresetNode(bound)
        event = self._add(queue, node, range(len(self._nodes)))
        self._waits_of_all = (*self._waits_of_all, len(self._nodes) - 1)
        return event

    def add_marker(self, queue: Queue, events: Sequence[Event]) -> Event:
        """Makes all later commands wait for events; called by `Queue.marker`."""
        waits = tuple(map(self._index_of, events))
        event = self._add(queue, MarkerNode(), range(len(self._nodes)))
        self._waits_of_all = (*self._waits_of_all, *waits)
        return event

    def add_copy(self, queue: Queue, source: Array | Image, target: Array | Image) -> None:
        """Takes a copy; called by `transfer` and `image_copy`."""
        self._require_device(queue.device)
        self._add(queue, CopyNode(queue.device, source, target, source.nbytes))

    def add_fill(self, queue: Queue, target: Array, pattern: np.ndarray[Any, Any]) -> None:
        """Takes a fill; called by `transfer`."""
        self._require_device(queue.device)
        self._add(queue, FillNode(queue.device, target, pattern.copy()))

    def last_event(self, queue: Queue) -> Event:
        """Returns what stands for the last command; called by `Queue.event`."""
        return RecordedEvent(queue, self, len(self._nodes) - 1) if self._nodes else Event(queue, 0)

    def _add(self, queue: Queue, node: Node, waits: Iterable[int] = ()) -> Event:
        node.waits = (*self._waits_of_all, *waits)
        self._nodes.append(node)
        return RecordedEvent(queue, self, len(self._nodes) - 1)

    def _require_device(self, device: Device) -> None:
        if self._device is None:
            self._device = device
        elif self._device is not device:
            raise InvalidError(
                f"a graph runs on one device: it has commands of '{self._device.selector}', found one of "
                f"'{device.selector}'; record a graph for each device",
                code="LP1603",
            )

    def _index_of(self, event: Event) -> int:
        if isinstance(event, RecordedEvent) and event.graph is self:
            return event.index
        raise InvalidError(
            f"a launch in a graph can wait for events of the same graph only, found {event!r}; what must have happened "
            "before the graph goes into g.replay(queue, [event])",
            code="LP1604",
        )

    @property
    def _guard(self) -> AbstractContextManager[object]:
        """The device's lock, which what changes the graph holds: other threads may update, replay and release it."""
        return nullcontext() if self._device is None else self._device.logical.lock

    # Changing arguments

    @user_facing
    def update(self, event: Event, **arguments: object) -> Self:
        """Binds parameters of one launch anew: ``g.update(e, a=3.0, x=other)``; they stay so from the next replay on.

        Args:
            event: what the launch returned while it was recorded.
            arguments: by the kernel's parameter names; arrays of the same shape as before.

        Raises:
            InvalidError: no event of a launch of this graph.
            KernelArgumentError: no such parameter, or an argument that does not suit it; nothing is changed.
        """
        with self._guard:
            self._require_ready()
            index = event.index if isinstance(event, RecordedEvent) and event.graph is self else None
            node = None if index is None else self._nodes[index]
            if index is None or not isinstance(node, LaunchNode):
                raise InvalidError(
                    f"g.update takes what a launch returned while g was recorded, found {event!r}"
                )
            self._replace({index: node.with_arguments(arguments)})
        return self

    @user_facing
    def bind(self, old: Array | Image, new: Array | Image) -> Self:
        """Puts the array or image `new` wherever the graph has `old`, from the next replay on.

        Args:
            old: an array or image of the graph; it may be released.
            new: of the same device, shape and dtype or format.

        Raises:
            InvalidError: the graph does not have `old`.
            KernelArgumentError: `new` does not suit, or overlaps where it must not; nothing is changed.
        """
        with self._guard:
            self._require_ready()
            changed = [
                index
                for index, node in enumerate(self._nodes)
                if any(old is array for array, _ in node.arrays)
            ]
            if self._device is None or not changed:
                raise InvalidError(f"g.bind: the graph does not use {old!r}")
            require_same("g.bind", old, new)
            if new.device is not self._device or new.is_released:
                found = "a released one" if new.is_released else f"one on '{new.device.selector}'"
                raise KernelArgumentError(
                    f"g.bind: expected an array on device '{self._device.selector}', found {found}"
                )
            self._replace({index: self._nodes[index].replaced(old, new) for index in changed})
        return self

    def _update_by_name(self, arguments: dict[str, object]) -> None:
        """Binds each name wherever launches have a parameter of that name; they must agree about it."""
        launches = [(i, node) for i, node in enumerate(self._nodes) if isinstance(node, LaunchNode)]
        changes: dict[int, dict[str, object]] = {}
        for name, value in arguments.items():
            found = [(index, node) for index, node in launches if name in node.names]
            if not found:
                known = ", ".join(sorted({n for _, node in launches for n in node.names})) or "none"
                raise KernelArgumentError(
                    f"g.replay: no kernel of the graph has a parameter '{name}'; they have {known}",
                    code="LP3020",
                )
            first = found[0][1].argument(name)
            for index, node in found:
                if not _is_same(node.argument(name), first):
                    raise KernelArgumentError(
                        f"g.replay: the launches of the graph have different arguments for '{name}'; say which one to "
                        "change: g.update(event, …) for one launch, g.bind(old, new) for an array",
                        code="LP3022",
                    )
                changes.setdefault(index, {})[name] = value
        self._replace(
            {
                index: cast(LaunchNode, self._nodes[index]).with_arguments(new)
                for index, new in changes.items()
            }
        )

    # Running

    @user_facing
    def replay(self, queue: Queue | None = None, wait: Iterable[Event] = (), /, **arguments: object) -> Event:
        """Submits all commands; returns the event of the last to end.  Does not wait, nor for an earlier replay.

        Args:
            queue: where it runs, of the graph's device; None: its default queue.
            wait: events that must have happened before.
            arguments: parameters to bind anew, by name, in every launch that has a parameter of that name; they
                stay bound.  Where the launches have different arguments for it, use `update` or `bind`.

        Raises:
            InvalidError: the graph was not recorded to its end, the queue is none, of another device or closed, or
                what to wait for is no event.
            KernelArgumentError: an array was released, or an argument does not suit; nothing runs.
            DeviceLostError: the driver lost the device.
        """
        self._require_ready()
        graph_recording.refuse("the replay of a graph")
        events = _checked_events(queue, wait)
        device = self._device
        if device is None:
            if arguments:
                self._update_by_name(arguments)
            return Event(queue or default_device().default_queue, 0)
        if queue is None:
            queue = device.default_queue
        elif queue.device is not device:
            raise InvalidError(
                f"g.replay: the graph runs on device '{device.selector}', the queue on '{queue.device.selector}'"
            )
        queue.wait_for_other_devices(events)
        with device.logical.lock:
            self._require_ready()  # another thread may have released it
            was_replaying, self._is_replaying = self._is_replaying, True
            try:
                value = self._replay(device, queue, events, arguments)
            finally:
                self._is_replaying = was_replaying
                if self._state == "released":  # by a finaliser, in between
                    self.release()
        return Event(queue, value)

    def _replay(
        self, device: Device, queue: Queue, events: Sequence[Event], arguments: dict[str, object]
    ) -> int:
        """Does what `replay` does, and returns the timeline value of its end.  Call it with the device's lock held."""
        if arguments:
            self._update_by_name(arguments)
        if self._generation is not tracked.generation:
            self._note_moves()
        if self._is_stale:
            self._build()
        memory = [array._buffer for array in self._arrays]
        if None in memory:
            self._name_released()
        for event in events:
            if event.timeline.device is device and event.timeline is not queue:
                queue.wait_on_device(event.timeline, event.value)
        for node in self._reporting:
            if node.reporting_queue not in (None, queue):
                raise InvalidError(
                    f"g.replay: {node.what} prints, checks, or has an indirect range that is checked, so the graph "
                    "replays on one queue; record another graph for the other queue",
                    code="LP1606",
                )
        if self._reporting:
            self._note_order(queue)
        value = self._replay_timed(queue) if profile.active else self._submit(queue, memory)
        if trace.active:
            for node in self._nodes:
                if isinstance(node, LaunchNode):
                    node.record.note_launch()
        return value

    def release(self) -> None:
        """Gives up what was recorded, once replays in flight have ended; idempotent."""
        with self._guard:  # a replay sees all of it or nothing
            self._state = "released"
            if not self._is_replaying:  # else the replay does it at its end
                self._nodes, self._segments, self._pool = [], (), None
                self._arrays = self._writes = ()

    def _require_ready(self) -> None:
        if self._state != "ready":
            reason = {
                "new": "has not been recorded; launch inside of with lp.graph() as g: …",
                "recording": "is being recorded; replay it after the with block",
                "failed": "holds nothing, because its with block ended with an exception; record another",
                "released": "was released; record another",
            }[self._state]
            raise InvalidError(f"this graph {reason}", code="LP1605")

    def __len__(self) -> int:
        """Number of commands."""
        return len(self._nodes)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        place = "" if self._device is None else f" on {self._device.selector}"
        count = len(self._nodes)
        return f"<lapilli.Graph of {count} command{'s' if count != 1 else ''}{place}, {self._state}>"


def graph() -> Graph:
    """Returns a graph to record: ``with lp.graph() as g: …`` and then ``g.replay()``."""
    return Graph()


def _checked_events(queue: object, wait: object) -> tuple[Event, ...]:
    """Returns the events that a replay waits for."""
    if queue is not None and not isinstance(queue, Queue):
        raise InvalidError(f"g.replay(queue, events): expected an lp.Queue, found {queue!r:.80}")
    try:
        events = tuple(cast("Iterable[Event]", wait))
    except TypeError as error:
        raise InvalidError(
            f"g.replay(queue, events): expected a list of lp.Events, found {wait!r:.80}; write [event] for one"
        ) from error
    for event in events:
        if not isinstance(event, Event):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise InvalidError(f"g.replay(queue, events): expected lp.Events, found {event!r:.80}")
    return events


def _is_same(a: object, b: object) -> bool:
    if isinstance(a, Array | Image) or isinstance(b, Array | Image):
        return a is b
    return type(a) is type(b) and bool(a == b or (a != a and b != b))
