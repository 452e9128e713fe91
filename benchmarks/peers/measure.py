"""Interleaved rounds among processes: each side has its turn in every round, and one works at a time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from ..rounds import Spread, interleave, ratios
from .cases import PeerCase
from .processes import Peer, PeerError, PeerProcess, Session, UnsupportedError

LAPILLI = "lapilli"
"""The side that all others are compared with."""
Turn = tuple[float, float]
"""Seconds on the clock, and of CPU."""
FLOORS = ("C floor", "memcpy")
"""Sides that are no packages and say what the machine can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerResult:
    """One side of one case."""

    case: str
    setting: str
    """What was different for all sides: ``1 CPU``, ``no cache``, …; empty: nothing."""
    side: str
    time: Spread
    """In `unit`; a round's value is the median of its timed runs."""
    unit: str
    ratio: Spread | None
    """lapilli's time / this side's within each round: below 1 lapilli is faster.  None for lapilli."""
    ratio_of_minima: float | None
    """lapilli's fastest round / this side's fastest: what other programs disturb least."""
    cpu_ratio: Spread | None
    """As `ratio`, of CPU time with all threads of a process, the driver's too; None where a clock shows no time."""

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "case": self.case,
            "setting": self.setting,
            "side": self.side,
            "time": self.time.as_dict(),
            "unit": self.unit,
            "ratio": self.ratio and self.ratio.as_dict(),
            "ratio_of_minima": self.ratio_of_minima,
            "cpu_ratio": self.cpu_ratio and self.cpu_ratio.as_dict(),
        }


def measure_case(
    session: Session, case: PeerCase, rounds: int, folder: Path, *, setting: str = "", baseline: str = ""
) -> list[PeerResult]:
    """Measures a case on all sides of a session that can do it.

    Args:
        session: its processes; those that fail, or whose result is wrong, are left out.
        case: what.
        rounds: interleaved; slow cases have fewer.
        folder: for inputs and results.
        setting: for the results.
        baseline: ``memcpy``: a copy of the first input within this process is a side, too.
    """
    inputs = _write_inputs(case, folder)
    ready: list[PeerProcess] = []
    for process in tuple(session.processes):
        try:
            process.prepare(case.name, inputs, case.parameters)
            process.measure(untimed=1, timed=0)
            if not case.counts_runs:
                _check(process, case, folder)
        except UnsupportedError:
            continue
        except PeerError as error:
            session.drop(process, f"{case.name}: {error}")
        else:
            ready.append(process)
    by_name = {process.peer.name: process for process in ready}

    def failed(name: str, error: PeerError) -> None:
        session.drop(by_name[name], f"{case.name}: {error}")

    sides = {name: partial(_turn, process, case) for name, process in by_name.items()}
    if baseline:
        sides[baseline] = partial(_copy, case.arrays[0])
    turns = Rounds(sides, failed).measure(min(rounds, case.most_rounds))
    for name, process in by_name.items():
        if name not in turns:
            continue
        try:
            if case.counts_runs:
                _check(process, case, folder)
            process.release()
        except PeerError as error:
            del turns[name]
            failed(name, error)
    for path in inputs:
        path.unlink()
    return results_of(case.name, setting, case.unit, turns, case.per_second)


def _write_inputs(case: PeerCase, folder: Path) -> list[Path]:
    paths = [folder / f"input{number}.npy" for number in range(len(case.arrays))]
    for path, array in zip(paths, case.arrays, strict=True):
        np.save(path, array)
    return paths


def _check(process: PeerProcess, case: PeerCase, folder: Path) -> None:
    path = folder / "result.npy"
    runs = process.result(path)
    try:
        result = np.load(path)
    except (OSError, ValueError) as error:
        raise PeerError(f"{process.peer.name}: no result: {error}") from error
    path.unlink()
    if not case.is_right(result, runs):
        raise PeerError(f"{process.peer.name}: the result differs from NumPy's; its time would mean nothing")


class Rounds:
    """Turns of several sides, and what they took.

    Args:
        sides: each has a turn and returns its seconds on the clock and of CPU; a `PeerError` is the last of its turns.
        failed: called with the name of a side that fails, and why.
    """

    def __init__(
        self, sides: Mapping[str, Callable[[], Turn]], failed: Callable[[str, PeerError], None]
    ) -> None:
        self._sides, self._failed = dict(sides), failed
        self._cpu: dict[str, list[float]] = {name: [] for name in sides}

    def measure(self, rounds: int) -> dict[str, list[Turn]]:
        """Returns the turns of each side that did not fail."""
        seconds = interleave({name: partial(self._turn, name) for name in self._sides}, rounds)
        return {name: list(zip(seconds[name], self._cpu[name], strict=True)) for name in self._sides}

    def _turn(self, name: str) -> float:
        if name not in self._sides:
            return 0.0
        try:
            seconds, cpu = self._sides[name]()
        except PeerError as error:
            del self._sides[name]
            self._failed(name, error)
            return 0.0
        self._cpu[name].append(cpu)
        return seconds


def _turn(process: PeerProcess, case: PeerCase) -> Turn:
    runs = process.measure(untimed=case.untimed, timed=case.timed)
    return median(seconds for seconds, _ in runs), median(cpu for _, cpu in runs)


def _copy(source: np.ndarray) -> Turn:
    """Returns what `np.copyto` takes, as another turn does: the median of three, into memory that is there."""
    target = np.zeros_like(source)
    np.copyto(target, source)
    seconds: list[float] = []
    cpu: list[float] = []
    for _ in range(3):
        start, cpu_start = time.perf_counter(), time.process_time()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    return median(seconds), median(cpu)


def measure_cold(
    peers: Sequence[Peer], environment: Mapping[str, str], rounds: int, skipped: list[str], *, setting: str
) -> list[PeerResult]:
    """Measures fresh processes, from before their start to the first right result of saxpy, teardown excluded.

    The first round, which fills all caches that the environment allows, does not count.
    """
    cold = {peer.name: peer.cold for peer in peers if peer.cold}
    for name, command in tuple(cold.items()):
        try:
            start_to_result(command, environment)
        except PeerError as error:
            skipped.append(f"cold start: {name}: {error}")
            del cold[name]
    sides = {name: partial(start_to_result, command, environment) for name, command in cold.items()}

    def failed(name: str, error: PeerError) -> None:
        skipped.append(f"cold start: {name}: {error}")

    return results_of("cold start", setting, "ms", Rounds(sides, failed).measure(rounds), 1e3)


def start_to_result(command: Sequence[str], environment: Mapping[str, str]) -> Turn:
    """Returns the seconds until a program of cold/ has its result, and of CPU until it has ended.

    CLOCK_MONOTONIC, which the program prints, is one clock for all processes.

    Raises:
        PeerError: it fails.
    """
    cpu_before, began = _cpu_of_children(), time.monotonic()
    try:
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(str(error)) from error
    words = done.stdout.split()
    try:
        return float(words[-1]) - began, _cpu_of_children() - cpu_before
    except (IndexError, ValueError):
        raise PeerError(done.stderr.strip()[-1000:] or f"wrote {done.stdout[-200:]!r}") from None


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def results_of(
    case: str, setting: str, unit: str, turns: Mapping[str, Sequence[Turn]], per_second: float
) -> list[PeerResult]:
    """Returns each side beside lapilli, round by round.

    Args:
        case: its name.
        setting: what was different for all sides.
        unit: of the results.
        turns: of each side, as many for all.
        per_second: of the unit.
    """
    seconds = {side: [turn[0] for turn in found] for side, found in turns.items()}
    cpu = {side: [turn[1] for turn in found] for side, found in turns.items()}
    results: list[PeerResult] = []
    for side, found in seconds.items():
        is_compared = LAPILLI in turns and side != LAPILLI
        has_cpu = is_compared and min(cpu[side]) > 0
        results.append(
            PeerResult(
                case=case,
                setting=setting,
                side=side,
                time=Spread.of([value * per_second for value in found]),
                unit=unit,
                ratio=ratios(seconds[LAPILLI], found) if is_compared else None,
                ratio_of_minima=min(seconds[LAPILLI]) / min(found) if is_compared else None,
                cpu_ratio=ratios(cpu[LAPILLI], cpu[side]) if has_cpu else None,
            )
        )
    return results
