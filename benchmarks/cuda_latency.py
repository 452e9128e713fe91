"""Latencies beside CUDA's: a launch and its wait, recording a launch, a node of a graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import lapilli as lp

from .cuda_cases import SOURCE
from .cuda_sides import OPTIONS
from .latency import GRAPH_NODES, WORK_GROUP, increment

Sides = dict[str, Callable[[], float]]
"""What measures each side once, in microseconds a launch."""
ENQUEUES = 48
"""Launches that are recorded before a wait; fewer than a queue submits by itself."""


def latency_sides(device: lp.Device, cupy: Any, *, small: bool) -> Iterator[tuple[str, Sides]]:
    """Yields each kind of latency with its sides; the array counts the launches and is checked at the end.

    Args:
        device: the GPU, as lapilli sees it.
        cupy: the module, None to leave CUDA out.
        small: few launches a round.
    """
    launches = 20 if small else 1000
    mine = _Lapilli(device, launches)
    other = None if cupy is None else _Cuda(cupy, launches)
    for what, method in (
        ("launch + wait", "launch_and_wait"),
        ("enqueue", "enqueue"),
        (f"graph node of {GRAPH_NODES}", "graph"),
    ):
        sides: Sides = {"lapilli": getattr(mine, method)}
        if other is not None:
            sides["CUDA C"] = getattr(other, method)
        for measure in sides.values():
            measure()
        yield what, sides
    mine.check()


class _Lapilli:
    def __init__(self, device: lp.Device, launches: int) -> None:
        self._array = lp.zeros(WORK_GROUP, device=device)
        self._queue = device.default_queue
        self._launches = launches
        self._count = 0
        with lp.graph() as self._graph:
            for _ in range(GRAPH_NODES):
                increment[WORK_GROUP](self._array)

    def launch_and_wait(self) -> float:
        array = self._array
        start = time.perf_counter()
        for _ in range(self._launches):
            increment[WORK_GROUP](array).wait()
        return self._done(start, self._launches)

    def enqueue(self) -> float:
        array = self._array
        start = time.perf_counter()
        for _ in range(ENQUEUES):
            increment[WORK_GROUP](array)
        result = self._done(start, ENQUEUES)
        self._queue.wait()
        return result

    def graph(self) -> float:
        start = time.perf_counter()
        self._graph.replay().wait()
        return self._done(start, GRAPH_NODES)

    def _done(self, start: float, launches: int) -> float:
        self._count += launches
        return (time.perf_counter() - start) / launches * 1e6

    def check(self) -> None:
        found = self._array.numpy()
        if not (found == self._count).all():
            raise RuntimeError(f"{self._count} launches each added 1; found {found.min()} to {found.max()}")


class _Cuda:
    def __init__(self, cupy: Any, launches: int) -> None:
        self._array = cupy.zeros(WORK_GROUP, dtype="float32")
        self._kernel = cupy.RawKernel(SOURCE, "increment", options=OPTIONS)
        self._launches = launches
        self._stream = cupy.cuda.Stream(non_blocking=True)
        with self._stream:
            self._launch()
            self._stream.synchronize()
            self._stream.begin_capture()
            for _ in range(GRAPH_NODES):
                self._launch()
            self._graph = self._stream.end_capture()
            self._graph.upload(self._stream)
        self._stream.synchronize()

    def _launch(self) -> None:
        self._kernel((1,), (WORK_GROUP,), (self._array,))

    def launch_and_wait(self) -> float:
        with self._stream:
            start = time.perf_counter()
            for _ in range(self._launches):
                self._launch()
                self._stream.synchronize()
            return (time.perf_counter() - start) / self._launches * 1e6

    def enqueue(self) -> float:
        with self._stream:
            start = time.perf_counter()
            for _ in range(ENQUEUES):
                self._launch()
            result = (time.perf_counter() - start) / ENQUEUES * 1e6
            self._stream.synchronize()
            return result

    def graph(self) -> float:
        start = time.perf_counter()
        self._graph.launch(self._stream)
        self._stream.synchronize()
        return (time.perf_counter() - start) / GRAPH_NODES * 1e6
