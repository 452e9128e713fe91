"""Measuring what takes time: ``with lp.profile() as p``, and ``LAPILLI_PROFILE=trace.json`` for a whole process.

Here is what the runtime tells the profiles that run, which is nothing, for one look at `active`, while none does;
`profile_recording` has the rest.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from ..ir.errors import InvalidError
from .handle import living

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from .command_buffer import CommandBuffer
    from .command_stream import CommandStream
    from .graph_commands import Batch
    from .logical_device import LogicalDevice
    from .profile_events import ProfileKind
    from .profile_recording import Profile


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a queue while it is recorded and runs."""

    kind: ProfileKind
    name: str
    queue: CommandStream
    nbytes: int
    profiles: tuple[Profile, ...]
    """Those that ran when it was recorded."""


lock = threading.RLock()
"""Guards the two lists of profiles that run; see `Profile`."""

active: list[Profile] = []
"""The profiles that run now.  Test ``if active`` before anything else: it costs nothing while none does."""

_of_process: list[Profile] = []
"""The profile of the option `profile`, once it runs."""

devices: WeakSet[LogicalDevice] = WeakSet()
"""Every VkDevice of the process."""

now = time.perf_counter_ns
"""The host's clock, nanoseconds."""

_NOTHING: AbstractContextManager[None] = nullcontext()


def profile() -> Profile:
    """Returns a context manager that measures kernels, copies, compilations and waits; see `Profile`.

    with lp.profile() as p:
        blur[shape](source, result)
    print(p)
    p.save("trace.json")
    """
    # Here, and not in the block: a finaliser that launches may interrupt an import.
    from .profile_recording import Profile

    return Profile()


def profile_process(path: Path) -> None:
    """Starts the profile of the process, once; it is written to `path` when the process ends."""
    with lock:
        if _of_process:
            return
        _of_process.append(profile())
    running = _of_process[0].__enter__()

    def end() -> None:
        from sys import stderr

        running.__exit__(None, None, None)
        try:
            running.save(path)
        except InvalidError as error:
            print(f"lapilli: {error}", file=stderr)

    atexit.register(end)


def command(
    kind: ProfileKind, name: str, queue: CommandStream, value: int, nbytes: int = 0
) -> Command | None:
    """Returns what stands for a command that is being recorded; None while no profile runs."""
    if not active:
        return None
    profiles = tuple(active)
    for running in profiles:
        running.expect(queue, value)
    return Command(kind, name, queue, nbytes, profiles)


def span(kind: ProfileKind, name: str, *, device: str = "", nbytes: int = 0) -> AbstractContextManager[None]:
    """Returns a context manager that measures what the host does in it; one that does nothing while none runs."""
    return _span(kind, name, device, nbytes) if active else _NOTHING


@contextmanager
def _span(kind: ProfileKind, name: str, device: str, nbytes: int) -> Generator[None]:
    start = now()
    try:
        yield
    finally:
        end = now()
        for running in tuple(active):
            running.add_host(kind, name, start, end, device=device, nbytes=nbytes)


class Stages:
    """Times the stages of a compilation: each call of `done` ends one and begins the next."""

    def __init__(self, kernel: str, device: str = "") -> None:
        self._kernel = kernel
        self._device = device
        self._start_ns = now()

    def done(self, stage: str) -> None:
        """Ends the stage that is called `stage`."""
        start, self._start_ns = self._start_ns, now()
        for running in tuple(active):
            name = f"{self._kernel}: {stage}"
            running.add_host("compile", name, start, self._start_ns, device=self._device)


def note_submission(submitted: CommandBuffer | Batch) -> None:
    """Notes when a command buffer is submitted."""
    submitted.submitted_ns = now()


def note_replay(queue: CommandStream) -> None:
    """Notes that a graph is replayed."""
    for running in tuple(active):
        running.add_host("graph", "replay", now(), 0, device=queue.device.selector)


def note_command(command: Command, submitted_ns: int, ticks: tuple[int, int] | None) -> None:
    """Tells the profiles of a command that it has run; see `Profile.add_command`."""
    for running in command.profiles:
        running.add_command(command, submitted_ns, ticks)


def submit_what_is_recorded() -> None:
    """Lets the open command buffers go, so that the next commands come into ones with timestamps."""
    for device in living(devices):
        if not (device.is_closed or device.is_lost or device.is_forked):
            with device.lock:
                device.submit_everything()
