"""The commands of a graph: launches, copies and fills, each with what it touches and how it is recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.kernel_info import ImageParameter
from ..ir.local_memory import LocalMemory
from .array import Array
from .event import Event
from .headers import make
from .image_copy import encode_image_copy
from .images import Image

if TYPE_CHECKING:
    from .arguments import CheckedArguments
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .device import Device
    from .launch_record import LaunchRecord
    from .preset_launch import BoundKernel
    from .profile_events import ProfileKind
    from .queue import Queue
    from .reports import KernelReport


class Node(ABC):
    """One command of a graph.  Changed arguments make a new node, so that what was recorded is told by identity."""

    what: str
    """What messages call it."""
    arrays: tuple[tuple[Array | Image, bool], ...]
    """The arrays and images that it touches, and whether it writes them."""
    waits: tuple[int, ...] = ()
    """Earlier commands that it was told to wait for; set by the graph."""

    @property
    def timed_as(self) -> tuple[ProfileKind, str, int]:
        """Kind and name that profiles show, and the bytes that it moves."""
        return "copy", self.what, self.nbytes

    nbytes = 0
    """Bytes that it moves."""
    kind = -1
    """The same for launches of one record, which have in common what is bound for them."""

    @abstractmethod
    def encode(self, command_buffer: CommandBuffer) -> None:
        """Records the command.  Its arrays are there; call it with the device's lock held."""

    @abstractmethod
    def replaced(self, old: Array | Image, new: Array | Image) -> Node:
        """Returns the command with another array in place of `old`; raises KernelArgumentError where it does not
        suit."""

    def uses(self) -> list[tuple[object, bool]]:
        """Returns the memory that it touches, and whether it writes it."""
        return [(array.buffer, writes) for array, writes in self.arrays]


class LaunchNode(Node):
    """A launch."""

    def __init__(self, record: LaunchRecord, args: Sequence[object], checked: CheckedArguments) -> None:
        self.record = record
        self.kind = record.serial
        self.what = f"kernel '{record.kernel.name}'"
        # A 0-d NumPy array is a number that may change afterwards: its value is taken now.
        self.args: tuple[Any, ...] = tuple(map(_frozen, args))
        self.arrays = tuple(_arrays(record, self.args, checked))
        self.reports: tuple[KernelReport, ...] | None = None
        """Where the kernel tells what it prints or finds wrong; made when it is recorded."""
        self.reporting_queue: Queue | None = None
        """The queue that reads the report."""

    @property
    def timed_as(self) -> tuple[ProfileKind, str, int]:
        """As `Node.timed_as`."""
        return "kernel", self.record.kernel.name, 0

    @property
    def names(self) -> tuple[str, ...]:
        """Its parameters, in order."""
        return tuple(parameter.name for parameter in self.record.kernel.parameters)

    def argument(self, name: str) -> object:
        """Returns what a parameter is bound to."""
        return self.args[self.names.index(name)]

    def with_arguments(self, arguments: Mapping[str, object]) -> LaunchNode:
        """Returns the launch with other arguments for some parameters.

        Raises:
            KernelArgumentError: no such parameter, or an argument that does not suit it.
        """
        names, args = self.names, list(self.args)
        for name, value in arguments.items():
            if name not in names:
                raise KernelArgumentError(
                    f"{self.what} has no parameter '{name}'; it has {', '.join(names) or 'none'}",
                    code="LP3020",
                )
            position = names.index(name)
            old = args[position]
            if isinstance(old, Array | Image) and isinstance(value, Array | Image):
                require_same(f"{self.what}, argument '{name}'", old, value)
            if isinstance(old, LocalMemory) and getattr(value, "shape", old.shape) != old.shape:
                raise KernelArgumentError(
                    f"{self.what}, argument '{name}': expected {old!r}, as recorded, found {value!r}; record another "
                    "graph for other shared memory",
                    code="LP3021",
                )
            args[position] = value
        return LaunchNode(self.record, args, self.record.check(args))

    def replaced(self, old: Array | Image, new: Array | Image) -> LaunchNode:
        args = [new if arg is old else arg for arg in self.args]
        return LaunchNode(self.record, args, self.record.check(args))

    def encode(self, command_buffer: CommandBuffer) -> None:
        if self.reports is None:
            self.reports = self.record.new_reports(self.args)
        command_buffer.keep.append(self.reports)
        self.record.encode(command_buffer, self.args, self.reports)

    def note_replay(self, queue: Queue, value: int) -> None:
        """Lets a queue read what the launch reports.  Call it with the device's lock held."""
        for report in self.reports or ():
            queue.reports.note_launch(report, value)
        self.reporting_queue = queue


def _arrays(
    record: LaunchRecord, args: Sequence[object], checked: CheckedArguments
) -> Generator[tuple[Array | Image, bool]]:
    """Yields the arrays and images of a launch, and whether it writes them."""
    uses = iter(checked[0])
    # An indirect launch has the array of its range behind its arguments.
    for parameter, arg in zip_longest(record.kernel.parameters, args):
        if isinstance(arg, Array | Image):
            yield arg, next(uses)[1]
            if isinstance(parameter, ImageParameter) and parameter.descriptor == "sampled":
                next(uses)  # its sampler
        elif isinstance(parameter, ImageParameter):
            next(uses)  # a sampler


def _frozen(arg: Any) -> Any:
    return cast("np.ndarray[Any, Any]", arg)[()] if isinstance(arg, np.ndarray) else arg


class PresetNode(Node):
    """A launch of a kernel whose arguments lie in a descriptor set of the application.

    Nobody knows what it touches: it waits for all before, all later commands wait for it, and it has barriers of its
    own for what runs behind the graph.
    """

    arrays = ()

    def __init__(self, bound: BoundKernel) -> None:
        self._bound = bound
        self.what = f"kernel '{bound.name}'"

    @property
    def timed_as(self) -> tuple[ProfileKind, str, int]:
        """As `Node.timed_as`."""
        return "kernel", self._bound.name, 0

    def replaced(self, old: Array | Image, new: Array | Image) -> PresetNode:
        del old, new
        return self

    def encode(self, command_buffer: CommandBuffer) -> None:
        barriers = self._bound.device.barriers
        barriers.record(command_buffer.raw, *barriers.between)
        self._bound.encode(command_buffer)
        barriers.record(command_buffer.raw, *barriers.between)


class MarkerNode(Node):
    """Nothing: other commands wait for it, and it waits for others."""

    what = "marker"
    arrays = ()

    def replaced(self, old: Array | Image, new: Array | Image) -> MarkerNode:
        del old, new
        return self

    def encode(self, command_buffer: CommandBuffer) -> None:
        del command_buffer


class CopyNode(Node):
    """A copy between two arrays or images of one device."""

    what = "copy"

    def __init__(self, device: Device, source: Array | Image, target: Array | Image, nbytes: int) -> None:
        self._device, self.nbytes = device, nbytes
        self._source, self._target = source, target
        self.arrays = ((source, False), (target, True))

    def replaced(self, old: Array | Image, new: Array | Image) -> CopyNode:
        source, target = (new if side is old else side for side in (self._source, self._target))
        return CopyNode(self._device, source, target, self.nbytes)

    def encode(self, command_buffer: CommandBuffer) -> None:
        source, target = self._source, self._target
        if source.buffer is target.buffer:
            return
        if isinstance(source, Array) and isinstance(target, Array):
            _encode_copy(self._device, command_buffer, source.buffer, target.buffer, self.nbytes)
        else:
            encode_image_copy(self._device.logical, command_buffer, source.buffer, target.buffer)


class FillNode(Node):
    """A fill.

    Args:
        device: of the array.
        target: the array.
        pattern: an array of one element.
    """

    what = "fill"

    def __init__(self, device: Device, target: Array, pattern: np.ndarray[Any, Any]) -> None:
        self._device, self._target, self._pattern = device, target, pattern
        self.arrays = ((target, True),)
        self.nbytes = target.size * pattern.itemsize
        self._source: Buffer | None = None

    def replaced(self, old: Array | Image, new: Array | Image) -> FillNode:
        del old
        assert isinstance(new, Array), "only arrays are filled"
        made = FillNode(self._device, new, self._pattern)
        made._source = self._source
        return made

    def encode(self, command_buffer: CommandBuffer) -> None:
        pattern, logical, target = self._pattern, self._device.logical, self._target.buffer
        repeated = pattern.tobytes() * (4 // pattern.itemsize) if pattern.itemsize < 4 else pattern.tobytes()
        words = set(np.frombuffer(repeated, np.uint32).tolist()) if len(repeated) % 4 == 0 else set[int]()
        nbytes = self.nbytes
        if len(words) == 1 and target.takes_words(nbytes):
            size = (nbytes + 3) & ~3
            logical.vk.vkCmdFillBuffer(command_buffer.raw, target.raw, target.offset_bytes, size, words.pop())
            return
        # vkCmdFillBuffer repeats 32 bits; a longer element is copied from memory that holds it often enough.
        if self._source is None:
            self._source = logical.memory.allocate(nbytes, for_host=True)
            np.frombuffer(self._source.host_bytes(nbytes), pattern.dtype)[:] = pattern
        command_buffer.keep.append(self._source)
        _encode_copy(self._device, command_buffer, self._source, target, nbytes)


def _encode_copy(
    device: Device, command_buffer: CommandBuffer, source: Buffer, target: Buffer, nbytes: int
) -> None:
    region = make("VkBufferCopy", srcOffset=source.offset_bytes, dstOffset=target.offset_bytes, size=nbytes)
    device.logical.vk.vkCmdCopyBuffer(command_buffer.raw, source.raw, target.raw, 1, region)


def require_same(what: str, old: Array | Image, new: object) -> None:
    """Raises KernelArgumentError where `new` cannot stand for `old` in commands that were recorded."""
    if not isinstance(new, type(old)):
        raise KernelArgumentError(f"{what}: expected an lp.{type(old).__name__}, found {new!r:.80}")
    if old.is_released and isinstance(old, Image):
        return  # what it was is not known any more; the launch checks the new one
    if new.signature != old.signature or new.shape != old.shape:
        raise KernelArgumentError(
            f"{what}: expected an lp.{old.signature} of shape {old.shape}, as recorded, found an lp.{new.signature} of "
            f"shape {new.shape}; record another graph for it",
            code="LP3021",
        )


class RecordedEvent(Event):
    """What a launch returns while a graph is recorded: it stands for the command, which has not been submitted.

    `Graph.update` takes it, and later launches of the same graph may wait for it.
    """

    __slots__ = ("graph", "index")

    def __init__(self, queue: Queue, graph: object, index: int) -> None:
        super().__init__(queue, 0)
        self.graph = graph
        self.index = index

    is_recorded = True

    def _refuse(self) -> NoReturn:
        raise InvalidError(
            "this command was recorded in a graph and runs at each replay; wait for the event that g.replay() returns",
            code="LP1602",
        )

    @property
    def done(self) -> bool:
        self._refuse()

    def wait(self) -> Self:
        self._refuse()

    def __await__(self) -> Generator[Any, None, Self]:
        self._refuse()

    def add_done_callback(self, function: Callable[[Self], object]) -> None:
        self._refuse()

    @property
    def elapsed_ns(self) -> float:
        self._refuse()

    def __repr__(self) -> str:
        return f"<lapilli.Event of command {self.index} of {self.graph!r}>"
