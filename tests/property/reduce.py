"""Makes the kernel of a failing seed small, for as long as it fails in the same way.

python -m tests.property.reduce 1744080 values --seconds 300 --jobs 8 --output small.py

Every text is tried in a process of its own, so that those which end their process can be made small, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from .parts import NO_PROGRAM, WITH_TEXT
from .text_edits import smaller_texts

TEXT_SECONDS = 60.0


def reduced(
    text: str, fails: Callable[[Sequence[str]], Sequence[bool]], *, at_once: int, seconds: float
) -> str:
    """Returns the smallest text found that still fails.

    Args:
        text: one that fails.
        fails: whether each of some texts does.
        at_once: how many are tried together, of which the smallest one is gone on with.
        seconds: when to be content with what there is.
    """
    end, tried = time.monotonic() + seconds, {text}
    while time.monotonic() < end:
        found = next(_failing(_new(smaller_texts(text), tried), fails, at_once, end), None)
        if found is None:
            return text
        text = found
    return text


def _new(texts: Iterable[str], tried: set[str]) -> Iterator[str]:
    for text in texts:
        if text not in tried:
            tried.add(text)
            yield text


def _failing(
    texts: Iterator[str], fails: Callable[[Sequence[str]], Sequence[bool]], at_once: int, end: float
) -> Iterator[str]:
    while (batch := list(islice(texts, at_once))) and time.monotonic() < end:
        found = [text for text, failed in zip(batch, fails(batch), strict=True) if failed]
        if found:
            yield min(found, key=len)


class Trials:
    """Runs texts in the place of a part's own."""

    def __init__(self, seed: int, part: str, jobs: int) -> None:
        self._command = [sys.executable, "-m", "tests.property.parts", str(seed), part]
        self._folder = Path(tempfile.mkdtemp(prefix="lapilli-reduce-"))
        self._pool = ThreadPoolExecutor(jobs)
        self._count = 0
        self.expected = 0
        """The exit status of a failure: negative where a signal ended the process."""

    def original(self, given: Path | None = None) -> str:
        """Returns the text of the part, or a given one, and takes its exit status for the failure."""
        path = given or self._folder / "original.py"
        self.expected = self._status(["--keep" if given is None else "--text", str(path)])
        return path.read_text()

    def fails(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text fails as the original does."""
        paths = []
        for text in texts:
            self._count += 1
            paths.append(self._folder / f"text_{self._count}.py")
            paths[-1].write_text(text)
        return [status == self.expected for status in self._pool.map(self._status_of, paths)]

    def _status_of(self, path: Path) -> int:
        return self._status(["--text", str(path)])

    def _status(self, arguments: list[str]) -> int:
        try:
            return subprocess.run(
                [*self._command, *arguments], capture_output=True, timeout=TEXT_SECONDS, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return NO_PROGRAM


def main() -> int:
    """Reduces one part of one seed."""
    parser = argparse.ArgumentParser(description="the smallest text that fails as the kernel of a seed does")
    parser.add_argument("seed", type=int)
    parser.add_argument("part", choices=WITH_TEXT)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=2, help="texts that are tried at once")
    parser.add_argument("--output", type=Path, help="where to write it; standard output")
    parser.add_argument("--text", type=Path, help="the --output of an earlier run, to go on with")
    options = parser.parse_args()
    trials = Trials(options.seed, options.part, options.jobs)
    text = trials.original(options.text)
    if trials.expected == 0:
        print(f"{options.part} of seed {options.seed} does not fail here")
        return 1
    if trials.fails([text]) != [True]:
        print(
            f"{options.part} of seed {options.seed} fails in the interpreter alone, or not in every process"
        )
        return 1
    text = reduced(text, trials.fails, at_once=2 * options.jobs, seconds=options.seconds)
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
