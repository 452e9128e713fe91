"""A program that uses most of the runtime, step by step: what the tests of faults run."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import lapilli as lp


@lp.kernel
def add(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = y[i] + a * x[i]


@lp.struct
class Large:
    values: lp.FixedArray[lp.f32, 64]


@lp.kernel
def spill(s: Large, y: lp.Array[lp.f32]):
    """Arguments that are too large for push constants."""
    i = lp.global_id(0)
    y[i] = y[i] + s.values[i % 64]


@lp.kernel
def check(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    assert y[i] >= 0.0
    print(i)


@lp.kernel
def tell(y: lp.In[lp.f32], out: lp.Stream):
    out << lp.global_id(0) << lp.Stream.endl


class Program:
    """Its steps in order; each may be the one that fails, and those after it are tried all the same."""

    def __init__(self, device: lp.Device) -> None:
        self.device = device
        self.kept: dict[str, Any] = {}
        self.notes: list[str] = []
        """What its profile has to say."""

    @property
    def steps(self) -> tuple[Callable[[], object], ...]:
        """What to call, one after the other."""
        return (
            self.make_arrays,
            self.launch,
            self.read,
            self.copy,
            self.overlap,
            self.time,
            self.profile,
            self.record,
            self.replay,
            self.report,
            self.indirect,
            self.stream,
            self.group,
            self.callback,
            self.poll,
            self.release,
        )

    def make_arrays(self) -> None:
        self.kept["x"] = lp.asarray(np.arange(100, dtype=np.float32), device=self.device)
        self.kept["y"] = lp.zeros(100, device=self.device)

    def launch(self) -> None:
        x, y = self.kept["x"], self.kept["y"]
        add[100](2.0, x, y)
        spill[100](Large(), y).wait()

    def read(self) -> None:
        found = self.kept["x"].numpy()
        assert found.tolist() == list(range(100))

    def copy(self) -> None:
        x, y = self.kept["x"], self.kept["y"]
        y.copy_from(x)
        y.fill(1.5)
        assert (y.numpy() == 1.5).all()

    def overlap(self) -> None:
        x, y = self.kept["x"], self.kept["y"]
        first, second = lp.Queue(self.device), lp.Queue(self.device, in_order=True)
        event = add[100].on(first)(1.0, x, y)
        add[100].on(second, wait=[event])(1.0, x, y)
        second.wait()
        first.close()

    def time(self) -> None:
        timed = lp.Queue(self.device, profiling=True)
        assert add[100].on(timed)(1.0, self.kept["x"], self.kept["y"]).elapsed_ns > 0

    def profile(self) -> None:
        with lp.profile() as profile:
            add[100](1.0, self.kept["x"], self.kept["y"])
        self.notes += profile.notes

    def record(self) -> None:
        x, y = self.kept["x"], self.kept["y"]
        with lp.graph() as graph:
            add[100](1.0, x, y)
            y.copy_from(x)
        self.kept["graph"] = graph

    def replay(self) -> None:
        graph = self.kept["graph"]
        graph.replay()
        graph.replay(a=3.0).wait()
        assert (self.kept["y"].numpy() == self.kept["x"].numpy()).all()

    def report(self) -> None:
        check[100](self.kept["y"]).wait()

    def indirect(self) -> None:
        """A range that lies on the device, of a launch and in a graph."""
        counts = lp.asarray(np.array([100], np.uint32), device=self.device)
        x, y = self.kept["x"], self.kept["y"]
        add[lp.IndirectRange(counts)](1.0, x, y).wait()
        with lp.graph() as graph:
            add[lp.IndirectRange(counts)](1.0, x, y)
        graph.replay().wait()

    def stream(self) -> None:
        tell[10](self.kept["y"], lp.Stream(4096, 80, file=io.StringIO())).wait()

    def group(self) -> None:
        queue = lp.Queue(self.device, context=lp.Context([self.device]))
        with queue.submit() as h:
            h.copy(self.kept["x"], self.kept["y"])
        queue.submit(lambda h: h.fill(self.kept["y"], 1.0)).wait()
        view = self.kept["y"].reshape(10, 10)
        assert (view.numpy() == 1).all()
        queue.close()

    def callback(self) -> None:
        called = threading.Event()
        add[100](1.0, self.kept["x"], self.kept["y"]).add_done_callback(lambda _: called.set())
        assert called.wait(60)

    def poll(self) -> None:
        event = add[100](1.0, self.kept["x"], self.kept["y"])
        for _ in range(10):
            if event.done:
                return
        event.wait()

    def release(self) -> None:
        for array in (self.kept.pop("x"), self.kept.pop("y")):
            array.release()
        self.kept.clear()

    def run(self) -> list[Exception | None]:
        """Runs every step; returns what each raised, a KeyError where an earlier one left nothing to work on."""
        found: list[Exception | None] = []
        for step in self.steps:
            try:
                step()
                found.append(None)
            except (lp.Error, KeyError) as error:
                found.append(error)
        return found
