"""Interleaved rounds among processes: each side has its turn in every round, and one works at a time."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
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

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "case": self.case,
            "setting": self.setting,
            "side": self.side,
            "time": self.time.as_dict(),
            "unit": self.unit,
            "ratio": self.ratio and self.ratio.as_dict(),
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
    times = _rounds(session, ready, case, min(rounds, case.most_rounds), baseline)
    for process in ready:
        try:
            if case.counts_runs:
                _check(process, case, folder)
            process.release()
        except PeerError as error:
            times.pop(process.peer.name, None)
            session.drop(process, f"{case.name}: {error}")
    for path in inputs:
        path.unlink()
    return results_of(case.name, setting, case.unit, _scaled(times, case.per_second))


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


class _Failed(Exception):
    """Ends the rounds of a side."""


def _rounds(
    session: Session, ready: list[PeerProcess], case: PeerCase, rounds: int, baseline: str
) -> dict[str, list[float]]:
    """Returns seconds; a side that fails is dropped and the rounds begin again without it."""

    def turn(process: PeerProcess) -> float:
        try:
            return median(process.measure(untimed=case.untimed, timed=case.timed))
        except PeerError as error:
            ready.remove(process)
            session.drop(process, f"{case.name}: {error}")
            raise _Failed from error

    while True:
        sides = {process.peer.name: partial(turn, process) for process in ready}
        if baseline:
            sides[baseline] = partial(_copy, case.arrays[0])
        try:
            return interleave(sides, rounds)
        except _Failed:
            continue


def _copy(source: np.ndarray) -> float:
    target = np.zeros_like(source)
    np.copyto(target, source)
    seconds: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - start)
    return median(seconds)


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
    times = interleave(sides, rounds)
    return results_of("cold start", setting, "ms", _scaled(times, 1e3))


def start_to_result(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Returns the seconds until a program of cold/ has its result; CLOCK_MONOTONIC is one for all processes.

    Raises:
        PeerError: it fails.
    """
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(str(error)) from error
    words = done.stdout.split()
    try:
        return float(words[-1]) - began
    except (IndexError, ValueError):
        raise PeerError(done.stderr.strip()[-1000:] or f"wrote {done.stdout[-200:]!r}") from None


def _scaled(times: Mapping[str, Sequence[float]], factor: float) -> dict[str, list[float]]:
    return {side: [seconds * factor for seconds in found] for side, found in times.items()}


def results_of(case: str, setting: str, unit: str, times: Mapping[str, Sequence[float]]) -> list[PeerResult]:
    """Returns each side beside lapilli, round by round."""
    mine = times.get(LAPILLI)
    return [
        PeerResult(
            case=case,
            setting=setting,
            side=side,
            time=Spread.of(found),
            unit=unit,
            ratio=ratios(mine, found) if mine and side != LAPILLI else None,
        )
        for side, found in times.items()
    ]
