"""Launch latency of a trivial kernel: lapilli's whole path against the raw floor, in the same rounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import lapilli as lp

from .kernels import WrongResultError
from .raw_vulkan import RawLauncher
from .rounds import Spread, interleave, ratios

if TYPE_CHECKING:
    from lapilli.frontend.kernel import KernelFunction

WORK_GROUP = 64
"""Work-items of a launch, and its local size."""
ENQUEUES = 48
"""Launches a measured batch without a wait; fewer than a queue submits by itself."""
GRAPH_NODES = 1000
"""Launches of a graph, each after a barrier: they write one array."""


@lp.kernel
def increment(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@lp.kernel
def checked_increment(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    assert x[i] >= 0.0
    x[i] = x[i] + 1.0


_SPREADS = ("lapilli_us", "raw_us", "raw_for_host_us", "ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyResult:
    """One way of launching on one device."""

    device: str
    """The device's selector."""
    what: str
    """``launch + wait``, ``checked`` (the same of a kernel that checks), ``enqueue``, or a replay and its wait, by the
    number of nodes: ``graph node``, each after the one before, and ``free graph node``, each on an array of its own."""
    is_pinned: bool
    """Whether the process, the driver's threads among it, was on one CPU from its start.

    A software driver hands every submission to a thread of its own: on one CPU no hand-over crosses CPUs, and
    what is left is the work of the software.
    """
    lapilli_us: Spread
    """Per launch, means of a round."""
    raw_us: Spread
    """Per launch, means of a round."""
    raw_for_host_us: Spread | None
    """The raw loop with the barrier that lets the host read the result; None for the others."""
    ratio: Spread
    """lapilli / raw within each round."""

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> LatencyResult:
        """Reads what `as_dict` made."""
        spreads: dict[str, Any] = {name: fields[name] and Spread(**fields[name]) for name in _SPREADS}
        return LatencyResult(**{**fields, **spreads})

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "device": self.device,
            "what": self.what,
            "is_pinned": self.is_pinned,
            "lapilli_us": self.lapilli_us.as_dict(),
            "raw_us": self.raw_us.as_dict(),
            "raw_for_host_us": self.raw_for_host_us and self.raw_for_host_us.as_dict(),
            "ratio": self.ratio.as_dict(),
        }


def measure_latency(device: lp.Device, *, rounds: int, launches: int) -> list[LatencyResult]:
    """Measures launch + wait, enqueue and graph nodes, here and in a process that is pinned to one CPU.

    Args:
        device: where.
        rounds: interleaved.
        launches: with a wait each, a side and round.

    Raises:
        WrongResultError: the array does not hold the number of launches.
        RuntimeError: the pinned process failed; the text holds its messages.
    """
    results = _measure_here(device, rounds, launches, is_pinned=False)
    return (
        results + _measure_pinned(device, rounds, launches) if hasattr(os, "sched_setaffinity") else results
    )


def _measure_here(device: lp.Device, rounds: int, launches: int, *, is_pinned: bool) -> list[LatencyResult]:
    array = lp.zeros(WORK_GROUP, device=device)
    others = [lp.zeros(WORK_GROUP, device=device) for _ in range(GRAPH_NODES)]
    raw = RawLauncher(device, cast("KernelFunction", increment), array, WORK_GROUP, others)
    counter = _Counter(array, others, raw)
    try:
        counter.warm_up()
        results = _measure(device, counter, rounds, launches, is_pinned=is_pinned)
        counter.check(device)
    finally:
        raw.close()
        for each in (array, *others):
            each.release()
    return results


def _measure_pinned(device: lp.Device, rounds: int, launches: int) -> list[LatencyResult]:
    """Measures in a process of its own: drivers choose their number of threads by the CPUs they find at the start."""
    command = (sys.executable, "-m", "benchmarks.latency", device.selector, str(rounds), str(launches))
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"latency on one CPU, device '{device.name}': {done.stderr.strip()}")
    return [LatencyResult.from_dict(item) for item in json.loads(done.stdout)]


def main(selector: str, rounds: str, launches: str) -> None:
    """Pins this process to one CPU, measures a device and prints the results as JSON."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results = _measure_here(lp.device(selector), int(rounds), int(launches), is_pinned=True)
    print(json.dumps([result.as_dict() for result in results]))


class _Counter:
    """The sides; each measures itself and counts its launches, which the kernel counts too."""

    def __init__(self, array: lp.Array, others: Sequence[lp.Array], raw: RawLauncher) -> None:
        self._array, self._others = array, others
        self._raw = raw
        self._queue = array.device.default_queue
        self._launches = self._free_replays = 0
        with lp.graph() as self._graph:
            for _ in range(GRAPH_NODES):
                increment[WORK_GROUP](array)
        with lp.graph() as self._free_graph:
            for other in others:
                increment[WORK_GROUP](other)

    def warm_up(self) -> None:
        for _ in range(2):
            self.lapilli(20)
            self.lapilli_checked(20)
            self.time_raw(self._raw.launch_and_wait, 20)
            self.lapilli_enqueue(ENQUEUES)
            self.raw_enqueue(ENQUEUES)

    def lapilli(self, launches: int) -> float:
        array = self._array
        start = time.perf_counter()
        for _ in range(launches):
            increment[WORK_GROUP](array).wait()
        return self._microseconds(start, launches)

    def lapilli_checked(self, launches: int) -> float:
        array = self._array
        start = time.perf_counter()
        for _ in range(launches):
            checked_increment[WORK_GROUP](array).wait()
        return self._microseconds(start, launches)

    def time_raw(self, launch: Callable[[], None], launches: int) -> float:
        start = time.perf_counter()
        for _ in range(launches):
            launch()
        return self._microseconds(start, launches)

    def raw(self, launches: int) -> float:
        return self.time_raw(self._raw.launch_and_wait, launches)

    def raw_for_host(self, launches: int) -> float:
        return self.time_raw(self._raw.launch_for_host, launches)

    def lapilli_enqueue(self, launches: int) -> float:
        array = self._array
        increment[WORK_GROUP](array)  # opens the command buffer and binds, as `begin` does for the raw side
        start = time.perf_counter()
        for _ in range(launches):
            increment[WORK_GROUP](array)
        elapsed = self._microseconds(start, launches)
        self._queue.wait()
        self._launches += 1
        return elapsed

    def raw_enqueue(self, launches: int) -> float:
        raw = self._raw
        raw.begin()
        start = time.perf_counter()
        for _ in range(launches):
            raw.record()
        elapsed = self._microseconds(start, launches)
        raw.submit_and_wait()
        return elapsed

    def lapilli_graph(self, replays: int) -> float:
        start = time.perf_counter()
        for _ in range(replays):
            self._graph.replay().wait()
        return self._microseconds(start, replays * GRAPH_NODES)

    def raw_graph(self, replays: int) -> float:
        self._raw.record_many(GRAPH_NODES)
        start = time.perf_counter()
        for _ in range(replays):
            self._raw.resubmit_and_wait()
        return self._microseconds(start, replays * GRAPH_NODES)

    def lapilli_free_graph(self, replays: int) -> float:
        start = time.perf_counter()
        for _ in range(replays):
            self._free_graph.replay().wait()
        return self._free_microseconds(start, replays)

    def raw_free_graph(self, replays: int) -> float:
        self._raw.record_each()
        start = time.perf_counter()
        for _ in range(replays):
            self._raw.resubmit_and_wait()
        return self._free_microseconds(start, replays)

    def _free_microseconds(self, start: float, replays: int) -> float:
        self._free_replays += replays
        return (time.perf_counter() - start) / (replays * GRAPH_NODES) * 1e6

    def _microseconds(self, start: float, launches: int) -> float:
        self._launches += launches
        return (time.perf_counter() - start) / launches * 1e6

    def check(self, device: lp.Device) -> None:
        counts = [self._launches, *[self._free_replays] * len(self._others)]
        wrong = [
            f"array {number}: {found.min():.0f} to {found.max():.0f} after {launches}"
            for number, (array, launches) in enumerate(zip((self._array, *self._others), counts, strict=True))
            if not np.array_equal(found := array.numpy(), np.full(WORK_GROUP, launches, np.float32))
        ]
        if wrong:
            # One array alone, two that exchange launches, or all of them: that says where to look.
            raise WrongResultError(
                f"latency on device '{device.name}': launches each add 1 to every element of their array; "
                f"{len(wrong)} of {len(counts)} are wrong: {'; '.join(wrong[:8])}"
            )


def _measure(
    device: lp.Device, counter: _Counter, rounds: int, launches: int, *, is_pinned: bool
) -> list[LatencyResult]:
    waited = interleave(
        {
            "lapilli": partial(counter.lapilli, launches),
            "raw": partial(counter.raw, launches),
            "raw for host": partial(counter.raw_for_host, launches),
        },
        rounds,
    )
    checked = interleave(
        {
            "lapilli": partial(counter.lapilli_checked, launches),
            "raw": partial(counter.raw, launches),
        },
        rounds,
    )
    enqueued = interleave(
        {
            "lapilli": partial(counter.lapilli_enqueue, ENQUEUES),
            "raw": partial(counter.raw_enqueue, ENQUEUES),
        },
        rounds,
    )
    replays = max(launches // 50, 1)
    replayed, freely = (
        interleave({"lapilli": partial(mine, replays), "raw": partial(raw, replays)}, rounds)
        for mine, raw in (
            (counter.lapilli_graph, counter.raw_graph),
            (counter.lapilli_free_graph, counter.raw_free_graph),
        )
    )
    return [
        LatencyResult(
            device=device.selector,
            what=what,
            is_pinned=is_pinned,
            lapilli_us=Spread.of(times["lapilli"]),
            raw_us=Spread.of(times["raw"]),
            raw_for_host_us=Spread.of(times["raw for host"]) if "raw for host" in times else None,
            ratio=ratios(times["lapilli"], times["raw"]),
        )
        for what, times in (
            ("launch + wait", waited),
            ("checked", checked),
            ("enqueue", enqueued),
            ("graph node", replayed),
            ("free graph node", freely),
        )
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
