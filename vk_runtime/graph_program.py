"""GraphProgram: the commands of a graph in the order in which they run, recorded into command buffers, and submitted.

Other arguments change what was recorded.  The scalars of a launch are push constants, which a command buffer holds by
value, and arrays are in descriptor sets that may be in use.  So a graph whose arguments change is cut into segments of
`SEGMENT_COMMANDS` commands, each a command buffer, and those with a changed command are recorded again at the next
replay; until the first change it is one segment, which drivers run faster than several.  The other way, argument blocks
in memory, needs new memory for every replay in flight and each kernel compiled a second time, and saves tens of
microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..ir.errors import KernelArgumentError
from . import profile, tracked
from .graph_commands import Batch, CommandPool, Segment, content_of
from .graph_nodes import LaunchNode, MarkerNode, Node
from .graph_plan import plan_order
from .headers import ffi

if TYPE_CHECKING:
    from .array import Array
    from .command_buffer import CommandBuffer
    from .device import Device
    from .images import Image
    from .queue import Queue
    from .tracked import Tracked

SEGMENT_COMMANDS = 128
"""Commands of one command buffer, once arguments have changed.  A changed one costs all of them to record again, about
3 µs each; a software driver takes 7 µs for each further command buffer of a submission."""


class GraphProgram:
    """Commands of one device, and what was recorded of them.  Use it with the device's lock held."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._device: Device | None = None
        self._pool: CommandPool | None = None
        self._segments: tuple[Segment, ...] = ()
        self._submitted: Any = None
        self._arrays: tuple[Any, ...] = ()
        """The arrays and images that its commands touch."""
        self._writes: tuple[bool, ...] = ()
        """Whether they write each of them."""
        self._order: list[tuple[int, bool]] | None = None
        """In which order the commands run, None: to be planned, because they touch other arrays than before."""
        self._is_stale = True
        self._is_cut = False
        """Whether arguments have changed, and will again: it is recorded in segments from then on."""
        self._is_replaying = False
        """Whether this thread, which has the lock, is in the middle of a replay: finalisers may run there."""
        self._generation: object = None
        """`tracked.generation` for which the arrays have the memory that was recorded."""
        self._memory: list[int] = []
        """The serials of that memory, in the order of the arrays."""
        self._reporting: tuple[LaunchNode, ...] = ()
        """The launches that print or check."""
        self._kernel_names: tuple[str, ...] = ()

    def _replace(self, nodes: Mapping[int, Node]) -> None:
        """Puts changed commands in the place of others.  Call it with the device's lock held."""
        replaced = [*self._nodes]
        for index, node in nodes.items():
            node.waits = replaced[index].waits
            replaced[index] = node
        if any(node.arrays != self._nodes[index].arrays for index, node in nodes.items()):
            self._order = None
        self._nodes, self._is_stale, self._is_cut = replaced, True, True

    def _note_moves(self) -> None:
        """Has the commands recorded again where an array has other memory than they use, as after `Array.export_fd`."""
        self._generation = tracked.generation
        if not self._is_stale and self._memory != self._serials():
            self._is_stale, self._order = True, None

    def _serials(self) -> list[int]:
        """Returns the serials of the memory of the arrays, -1 for one that was released."""
        return [-1 if array.is_released else array.buffer.serial for array in self._arrays]

    def _build(self) -> None:
        """Records the segments that changed.  Call it with the device's lock held."""
        assert self._device is not None, "a graph with commands has a device"
        logical = self._device.logical
        logical.require_usable()
        if self._pool is None:
            self._pool = CommandPool(logical)
        nodes = self._nodes  # a finaliser may change arguments meanwhile, and then there is another list
        order = self._order or self._plan()
        self._require_arrays()
        # What came before on the queue, an earlier replay too, ends first.
        steps = [(nodes[i], has_barrier or position == 0) for position, (i, has_barrier) in enumerate(order)]
        made: list[Segment] = []
        count = SEGMENT_COMMANDS if self._is_cut else max(len(steps), 1)
        for number, start in enumerate(range(0, len(steps), count)):
            piece = tuple(steps[start : start + count])
            is_last = start + count >= len(steps)
            old = self._segments[number] if number < len(self._segments) else None
            is_same = old is not None and old.content == content_of(logical, piece, is_last)
            made.append(old if old is not None and is_same else Segment(logical, self._pool, piece, is_last))
        self._segments = tuple(made)
        self._submitted = ffi.new("VkCommandBuffer[]", [segment.raw for segment in made])
        launches = [node for node in nodes if isinstance(node, LaunchNode)]
        self._reporting = tuple(node for node in launches if node.reports)
        self._kernel_names = tuple(dict.fromkeys(node.record.kernel.name for node in launches))
        self._memory = self._serials()
        self._is_stale = self._nodes is not nodes

    def _plan(self) -> list[tuple[int, bool]]:
        """Returns in which order the commands run, and notes what they touch."""
        nodes = self._nodes
        written: dict[Array | Image, bool] = {}
        for node in nodes:
            for array, writes in node.arrays:
                written[array] = written.get(array, False) or writes
        self._arrays, self._writes = tuple(written), tuple(written.values())
        self._require_arrays()
        first: dict[int, int] = {}
        kinds = [first.setdefault(node.kind, index) for index, node in enumerate(nodes)]
        order = plan_order([(node.uses(), node.waits) for node in nodes], kinds)
        if self._nodes is nodes:
            self._order = order
        return order

    def _require_arrays(self) -> None:
        if any(array.is_released for array in self._arrays):
            self._name_released()

    def _name_released(self) -> NoReturn:
        for node in self._nodes:
            for array, _ in node.arrays:
                if array.is_released:
                    raise KernelArgumentError(
                        f"the graph's {node.what} uses {array!r}, which was released; bind another one with "
                        "g.bind(old, new)",
                        code="LP3023",
                    )
        raise AssertionError("some array was released")

    def _submit(self, queue: Queue, memory: Sequence[Any]) -> int:
        """Submits what is recorded; returns the timeline value of its end."""
        batch = Batch(self._submitted, len(self._segments), (self._segments, memory), self._kernel_names)
        if self._reporting:
            batch.begin = partial(self._note_reports, queue)
        queue.submit_batch(batch, memory, self._writes)
        return batch.value

    def _note_order(self, queue: Queue) -> None:
        """Notes that the kernels of the graph print next.  Call it with the device's lock held."""
        order = queue.reports.order
        reports = [report for node in self._reporting for report in node.reports or () if report.prints]
        if reports and order.is_open:
            order.prepare(queue.device.logical)
            queue.record(partial(order.begin, queue, reports))
        elif reports:
            order.begin(queue, reports)

    def _note_reports(self, queue: Queue, value: int) -> None:
        for node in self._reporting:
            node.note_replay(queue, value)

    def _replay_timed(self, queue: Queue) -> int:
        """Records the commands into command buffers of the queue, where each is timed; returns as `_submit`.

        They run one after the other then, as all commands do while a profile runs.
        """
        profile.note_replay(queue)
        value = queue.last_value
        for index, _ in self._order or self._plan():
            node = self._nodes[index]
            if isinstance(node, MarkerNode):  # timed commands run one after the other anyway
                continue
            if not queue.open().is_timed:  # the command buffer was begun before the profile
                queue.flush()
            value = queue.record(partial(_encode_timed, queue, node))
        return value


def _encode_timed(queue: Queue, node: Node, command_buffer: CommandBuffer) -> None:
    """Records a command into a command buffer of a queue, in order with what else is there."""
    value, uses = command_buffer.value, cast("list[tuple[Tracked, bool]]", node.uses())
    queue.order(uses, value)
    command_buffer.keep.append(uses)
    kind, name, nbytes = node.timed_as
    if command_buffer.is_timed:  # another thread may have ended the profile since
        command_buffer.begin_timing(None, profile.command(kind, name, queue, value, nbytes))
    if isinstance(node, LaunchNode):
        node.note_replay(queue, value)
    node.encode(command_buffer)
    if command_buffer.is_timed:
        command_buffer.end_timing()
