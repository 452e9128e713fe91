"""Flusher: what was recorded runs, though nobody waits for it.

Launches are submitted together when somebody waits, because a submission costs as much as ten launches.  A host that
goes on with work of its own, or that waits for another queue first, would leave the device idle meanwhile.  So one
thread for each device looks every `config.flush_after` seconds, and submits what it has seen at the last look, too:
loops that launch and wait never meet it, and everything else starts within two looks.  It sleeps while nothing is
recorded, and ends when that lasts.  Where the application has a VkQueue of the device it does nothing: only one thread
at a time may submit to that, and the application knows of its own only.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from ..ir.config import config
from ..ir.errors import Error
from .handle import living
from .one_cpu import with_patient_threads

if TYPE_CHECKING:
    from .command_stream import CommandStream
    from .logical_device import LogicalDevice

LOOKS = 20
"""Looks in a row that find nothing, before the thread sleeps: waking it costs a launch several microseconds."""

OFF_S = 0.001
"""Between two looks of a thread that was turned off, until it sleeps."""

LONGEST_S = 3600.0
"""Between two looks at most: `time.sleep` takes no more than a few centuries."""

IDLE_S = 1.0
"""How long the thread sleeps before it ends."""


class Flusher:
    """Submits the open command buffers of one device that nobody has waited for.

    Args:
        device: borrowed; the thread keeps it while it runs.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_awake = False
        """Whether the thread will see what is recorded now; else call `wake`."""

    def wake(self) -> None:
        """Makes the thread look from now on.  Call it with the device's lock held, and `half_way` set."""
        if self._device.has_shared_queues or not config.flush_after:
            return
        self._woken.set()
        if self._thread is None:
            # A daemon: whatever it would submit is submitted when the runtime is closed.
            thread = threading.Thread(target=self._run, name="lapilli submissions", daemon=True)
            try:
                if self._device.takes_turns:
                    with_patient_threads(thread.start)
                else:
                    thread.start()
            except RuntimeError:
                # No more threads, or the interpreter is shutting down: then whoever waits submits.
                return
            self._thread = thread
        self.is_awake = True

    def _run(self) -> None:
        device = self._device
        seen: frozenset[tuple[int, int]] = frozenset()
        empty_looks = 0
        while not device.is_unusable:
            time.sleep(min(_period() or OFF_S, LONGEST_S))
            seen = self._look(seen)
            empty_looks = 0 if seen else empty_looks + 1
            if empty_looks > LOOKS and not self._sleep():
                return

    def _look(self, seen: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        """Submits what is in `seen` and still pending; returns what is pending: queues by id, with timeline values.

        No queue itself is returned, which would keep it alive until the next look.
        """
        if not _period():
            return frozenset()
        pending = {(id(queue), value): queue for queue, value in self._pending()}
        for key in seen & pending.keys():
            self._flush(pending.pop(key), key[1])
        return frozenset(pending)

    def _pending(self) -> list[tuple[CommandStream, int]]:
        """Returns the queues with an open command buffer, each with its timeline value."""
        found = [(queue, queue.recording) for queue in living(self._device.busy)]
        return [(queue, recording.value) for queue, recording in found if recording is not None]

    def _flush(self, queue: CommandStream, value: int) -> None:
        with self._device.lock:
            recording = queue.recording
            is_ours = not self._device.has_shared_queues
            if is_ours and recording is not None and recording.value == value:
                with contextlib.suppress(Error):  # the device is lost: whoever uses it next is told
                    queue.flush()

    def _sleep(self) -> bool:
        """Waits for `wake`; returns whether it came, else the thread has ended."""
        with self._device.lock:
            if _period() and self._pending():
                return True
            self.is_awake = False
            self._woken.clear()
        if self._woken.wait(IDLE_S):
            return True
        with self._device.lock:
            if not self._woken.is_set():
                self._thread = None
            return self._thread is not None


def _period() -> float:
    """Returns the seconds between two looks; 0: nothing is submitted here."""
    try:
        return config.flush_after
    except Error:  # the environment says nonsense by now: the next launch raises that
        return 0.0
