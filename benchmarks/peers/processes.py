"""The processes of a comparison, and how to talk to them: see serve.py for the protocol."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300.0
"""For one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A side of the comparison."""

    name: str
    command: tuple[str, ...]
    """Starts the process that speaks the protocol."""
    cold: tuple[str, ...] = ()
    """Starts a process that ends with the clock of its first result on standard output; empty: none is measured."""


class PeerError(Exception):
    """A process failed, does not answer, or answers with an error; the text says whose and what it wrote."""


class UnsupportedError(Exception):
    """A package has no such thing; the text says what."""


class PeerProcess:
    """One running side.

    Args:
        peer: what to start.
        environment: of the process.
        cpu: the only one it may use; None: all.

    Raises:
        PeerError: it does not start.
    """

    def __init__(self, peer: Peer, environment: Mapping[str, str], *, cpu: int | None = None) -> None:
        self.peer = peer
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 -- not a pipe: nobody reads while the process runs
        try:
            with on_cpu(cpu):
                self._process = subprocess.Popen(
                    peer.command,
                    cwd=ROOT,
                    env=dict(environment),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._messages,
                )
        except OSError as error:
            self._messages.close()
            raise PeerError(f"{peer.name}: {error}") from error
        try:
            hello = self._answer()
        except PeerError:
            self.close()
            raise
        self.version = str(hello.get("version", ""))
        self.device = str(hello.get("device", ""))

    def prepare(self, case: str, inputs: Sequence[Path], parameters: Mapping[str, object]) -> None:
        """Makes a case ready.

        Raises:
            UnsupportedError: the package has no such thing.
            PeerError: it failed.
        """
        self._ask(do="prepare", case=case, inputs=[str(path) for path in inputs], parameters=parameters)

    def measure(self, *, untimed: int, timed: int) -> list[tuple[float, float]]:
        """Runs the case; returns the seconds of each timed run, on the clock and of CPU."""
        reply = self._ask(do="measure", untimed=untimed, timed=timed)
        return list(zip(map(float, reply["seconds"]), map(float, reply["cpu_seconds"]), strict=True))

    def result(self, path: Path) -> int:
        """Writes the case's result as .npy; returns how often the case has run."""
        return int(self._ask(do="result", path=str(path))["runs"])

    def release(self) -> None:
        """Forgets the case."""
        self._ask(do="release")

    def close(self) -> None:
        """Ends the process, which has five seconds for that."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()  # end of the requests
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._messages.close()

    def _ask(self, **request: object) -> dict[str, Any]:
        requests = cast("IO[bytes]", self._process.stdin)
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
        except OSError as error:
            raise self._failure("has ended") from error
        reply = self._answer()
        if "unsupported" in reply:
            raise UnsupportedError(str(reply["unsupported"]))
        return reply

    def _answer(self) -> dict[str, Any]:
        answers = cast("IO[bytes]", self._process.stdout)
        with selectors.DefaultSelector() as waiting:
            waiting.register(answers, selectors.EVENT_READ)
            if not waiting.select(TIMEOUT_S):
                self._process.kill()
                raise self._failure(f"has not answered for {TIMEOUT_S:g} s")
        line = answers.readline()
        try:
            reply = json.loads(line)
        except ValueError:
            raise self._failure("has ended" if not line else f"wrote {line!r}") from None
        if not isinstance(reply, dict):
            raise self._failure(f"wrote {line!r}")
        answer = cast("dict[str, Any]", reply)
        if "error" in answer:
            raise PeerError(f"{self.peer.name}: {str(answer['error']).strip()}")
        return answer

    def _failure(self, what: str) -> PeerError:
        self._messages.seek(0)
        said = self._messages.read().decode(errors="replace").strip()[-1000:]
        return PeerError(f"{self.peer.name} {what}{': ' if said else ''}{said}")


class Session:
    """Processes of several sides, of which one works at a time.  A side that fails is left out from then on.

    Args:
        peers: in this order.
        environment: of all processes.
        skipped: gets a line for each side that does not start.
        cpu: the only one they may use; None: all.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        environment: Mapping[str, str],
        skipped: list[str],
        *,
        cpu: int | None = None,
    ) -> None:
        self._peers, self._environment, self._cpu, self._skipped = peers, environment, cpu, skipped
        self._open = ExitStack()
        self.processes: list[PeerProcess] = []

    def __enter__(self) -> Session:
        for peer in self._peers:
            try:
                process = PeerProcess(peer, self._environment, cpu=self._cpu)
            except PeerError as error:
                self._skipped.append(str(error))
                continue
            self._open.callback(process.close)
            self.processes.append(process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def drop(self, process: PeerProcess, reason: str) -> None:
        """Goes on without a side."""
        self._skipped.append(reason)
        self.processes = [other for other in self.processes if other is not process]


@contextmanager
def on_cpu(cpu: int | None) -> Iterator[None]:
    """Binds this thread, and what it starts meanwhile, to one CPU; None: to nothing."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
