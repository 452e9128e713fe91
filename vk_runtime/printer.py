"""Printed lines on their way to where they belong: each once and in order, whatever comes in between.

What takes the text may do anything: raise, launch kernels that print and wait for them, be interrupted by Ctrl-C or by
a finaliser that does so.  Lines wait in a list until they are handed over, which is one step for Python; what a wait in
the midst of that finds is printed behind.  Lines whose writing raised are counted, and the next that are written tell.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter, call
from threading import RLock
from typing import NamedTuple, TextIO, cast

from ..ir.stream import Stream
from .print_order import Line

PATIENCE_S = 1.0
"""How long a thread waits for another one that prints lines of the same queue, which prints all in the end."""

in_one_step: Callable[[Iterable[object]], object] = deque[object](maxlen=0).extend
"""Runs an iterator of C to its end: Python looks for no signal meanwhile."""


_stream_of = attrgetter("stream")


class _Text(NamedTuple):
    """Neighbouring lines that go to the same place."""

    stream: Stream | None
    text: str
    line_count: int
    lost: int


class Printer:
    """The lines of one queue that have been read.  Threads may share it; no lock of a device is needed."""

    def __init__(self) -> None:
        self.sources: deque[Callable[[], Iterable[Line]]] = deque()
        """What gives lines that have been read, the same each time; those of the latest read at the end."""
        self._texts: deque[_Text] = deque()
        self._turn = RLock()
        self._unsure: dict[Stream | None, int] = {}
        """Lines whose writing raised, and nobody has been told, by where they belong."""

    @property
    def is_waiting(self) -> bool:
        """Whether there are lines to print."""
        return bool(self.sources or self._texts)

    def show(self) -> None:
        """Prints what there is; nothing where this thread is in the midst of that, which then prints it, too.

        Raises:
            Exception: whatever the place raises that takes the text; what comes behind waits for the next call.
        """
        if not self.is_waiting or self._turn._is_owned():  # type: ignore[attr-defined]
            return
        acquire, is_mine = partial(self._turn.acquire, timeout=PATIENCE_S), False
        try:
            for is_mine in iter(acquire, None):  # noqa: B007 - noted as it is taken, read in `finally`: Ctrl-C may come
                break
            if not is_mine:
                return
            # What writes may print without end: no more often than functions may call each other.
            for _ in range(len(self.sources) + sys.getrecursionlimit()):
                while self._texts:
                    self._write_next()
                if not self.sources:
                    return
                texts = list(_texts_of(self.sources[0]()))
                in_one_step(map(call, (self.sources.popleft, partial(self._texts.extend, texts))))
        finally:
            if is_mine:
                self._turn.release()

    def _write_next(self) -> None:
        stream, text, line_count, lost = self._texts[0]
        unsure = self._unsure.get(stream, 0)
        note_unsure, forget = (
            partial(self._unsure.__setitem__, stream),
            partial(self._unsure.pop, stream, None),
        )
        steps: list[Callable[[], object]] = [self._texts.popleft]
        if stream is not None and lost:
            before = stream.losses.get(self, 0)
            steps.append(partial(stream.losses.__setitem__, self, before + lost))
        write = _writer(stream)
        if write is not None:
            text = _notice(unsure) + text if unsure else text
            steps += [partial(note_unsure, unsure + line_count), partial(write, text), forget]
        try:
            in_one_step(map(call, steps))
        except UnicodeEncodeError as error:  # nothing was written then; a wait is no place for it
            assert write is not None
            try:
                safe = text.encode(error.encoding, "backslashreplace").decode(error.encoding)
            except (LookupError, UnicodeError):  # whatever took the text made the error up
                raise error from None
            write(safe)
            forget()


def _notice(count: int) -> str:
    lines = f"{count} printed line{'s' * (count > 1)}"
    return f"[lapilli: {lines} may be lost: what takes them raised or was interrupted]\n"


def _writer(stream: Stream | None) -> Callable[[str], object] | None:
    """Returns what takes text; for ``sys.stdout`` whatever it is now, None where there is none, as under pythonw:
    Python's print does nothing then."""
    if stream is not None and stream.file is not None:
        return stream.file.write
    stdout = cast("TextIO | None", sys.stdout)
    return None if stdout is None else stdout.write


def _texts_of(lines: Iterable[Line]) -> Iterator[_Text]:
    for stream, neighbours in groupby(lines, key=_stream_of):
        every = list(neighbours)
        yield _Text(
            stream, "".join([line.text for line in every]), len(every), sum([line.lost for line in every])
        )


def show(lines: Iterable[Line]) -> None:
    """Prints lines, each to where it belongs; neighbours at once."""
    printer, every = Printer(), tuple(lines)
    printer.sources.append(lambda: every)
    printer.show()
