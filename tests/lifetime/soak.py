"""``make soak``: everything at random for as long as it is given, under the validation layer, with results checked.

python -m tests.lifetime.soak --seconds 600 --seed 1 [--staged]

Arrays, images, queues, graphs and kernels come and go; every array has a mirror in NumPy that it is compared with.
The process fails where results differ, the layer says anything, something is left on a device after everything was
released, or memory grows.  The runtime keeps a thousand pipelines, each a quarter of a megabyte of code on a software
driver: so every kernel runs over every size before anything is measured, and none is new later.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lapilli as lp
from lapilli.vk_runtime import loader
from lapilli.vk_runtime.device import Device

from .hammer import Hammer

ARRAYS, QUEUES, GRAPHS, KERNELS, IMAGES = 24, 6, 4, 12, 4
"""How many of each live at a time, at most."""

TEXTS = 40
"""Different kernels, each made again and again."""

SIZES = (1, 7, 64, 1000, 4096, 20_000)

SHAPES = ((1, 1), (3, 40), (17, 5), (32, 32))
"""Of images."""

SAMPLE_EVERY_S = 2.0

GROWTH_BYTES_PER_S = 20_000
"""Growth of the process's memory that is taken for noise: 12 MB in ten minutes."""


@lp.kernel
def brighten(img: lp.UnsampledImage[lp.u32x4, 2], by: lp.u32):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] += by


class Soak:
    """The state of one device's run."""

    def __init__(self, device: lp.Device, chooser: random.Random) -> None:
        self.device = device
        self.chooser = chooser
        self.arrays: list[tuple[lp.Array[Any], np.ndarray[Any, Any]]] = []
        self.images: list[tuple[Any, np.ndarray[Any, Any]]] = []
        self.queues: list[lp.Queue] = [lp.Queue(device)]
        self.graphs: list[tuple[lp.Graph, Callable[[], None], set[int]]] = []
        self.kernels: list[tuple[Any, Callable[..., Any]]] = []
        self.events: list[lp.Event] = []
        self.counts: Counter[str] = Counter()
        self.warm_up()
        for _ in range(4):
            self.make_array()
            self.make_kernel()
        self.steps = (
            *(4 * (self.launch,)),
            *(self.make_array, self.release_array, self.read, self.write, self.fill, self.copy, self.view),
            self.read_again,
            *(self.wait, self.make_queue, self.record, self.replay, self.replay, self.tell),
        )
        self.rare = (self.make_kernel, self.profile, self.image, self.empty_range, self.collect, self.hammer)

    def warm_up(self) -> None:
        """Makes every pipeline that there will be."""
        for number in range(TEXTS):
            kernel, compute = kernel_of(number)
            for size in SIZES:
                x, y = np.arange(size, dtype=np.int32), np.full(size, 3, np.int32)
                target = lp.asarray(y, device=self.device)
                kernel[size](7, lp.asarray(x, device=self.device), target)
                np.testing.assert_array_equal(target.numpy(), applied(compute, 7, x, y))
        for shape in SHAPES:
            image = lp.UnsampledImage(np.zeros((*shape, 4), np.uint32), device=self.device)
            brighten[shape].on(self.device.default_queue)(image, 1)
            assert (image.numpy() == 1).all()
        self.hammer()

    def step(self) -> None:
        chosen = self.chooser.choice(self.rare if self.chooser.random() < 0.03 else self.steps)
        self.counts[chosen.__name__] += 1
        chosen()

    # Arrays

    def make_array(self) -> None:
        if len(self.arrays) >= ARRAYS:
            self.release_array()
        size = self.chooser.choice(SIZES)
        host = np.random.default_rng(self.chooser.randrange(2**32)).integers(-(2**31), 2**31, size, np.int32)
        self.arrays.append((lp.asarray(host, device=self.device), host.copy()))

    def release_array(self) -> None:
        if len(self.arrays) > 4:
            array, _ = self.arrays.pop(self.chooser.randrange(len(self.arrays)))
            self.graphs = [item for item in self.graphs if not item[2] & {id(array)}]
            if self.chooser.random() < 0.5:
                array.release()

    def pick(self, size: int | None = None) -> tuple[lp.Array[Any], np.ndarray[Any, Any]]:
        """Returns an array with its mirror, of a size if one is asked for."""
        found = [item for item in self.arrays if size is None or item[0].size == size]
        return self.chooser.choice(found)

    def read(self) -> None:
        array, mirror = self.pick()
        np.testing.assert_array_equal(array.numpy(), mirror)

    def read_again(self) -> None:
        """Launches and reads in turn, of which a device that stages copies makes one submission."""
        kernel, compute = self.chooser.choice(self.kernels)
        (first, x), a = self.pick(), self.chooser.randrange(-1000, 1000)
        second, y = self.pick(first.size)
        for _ in range(self.chooser.randrange(2, 12)):
            kernel[first.size](a, first, second)
            y[:] = applied(compute, a, x, y)
            np.testing.assert_array_equal(second.numpy(), y)

    def view(self) -> None:
        array, mirror = self.pick()
        np.testing.assert_array_equal(np.asarray(array), mirror)

    def write(self) -> None:
        array, mirror = self.pick()
        mirror[:] = self.chooser.randrange(2**20) + np.arange(mirror.size, dtype=np.int32)
        array.copy_from(mirror)

    def fill(self) -> None:
        array, mirror = self.pick()
        mirror[:] = self.chooser.randrange(-(2**31), 2**31)
        array.fill(int(mirror[0]))

    def copy(self) -> None:
        source, expected = self.pick()
        target, mirror = self.pick(source.size)
        mirror[:] = expected
        if target is not source:
            self.events.append(self.queue().copy(source, target))

    # Kernels and launches

    def make_kernel(self) -> None:
        """Makes one of the kernels again."""
        self.kernels.append(kernel_of(self.chooser.randrange(TEXTS)))
        if len(self.kernels) > KERNELS:
            self.kernels.pop(self.chooser.randrange(KERNELS))

    def queue(self) -> lp.Queue:
        return self.chooser.choice([*self.queues, self.device.default_queue])

    def command(self) -> tuple[Callable[[lp.Queue], lp.Event], Callable[[], None], set[int]]:
        """Returns how to launch a kernel on two arrays, what it does to their mirrors, and the arrays."""
        kernel, compute = self.chooser.choice(self.kernels)
        first, x = self.pick()
        second, y = self.pick(first.size)
        a = self.chooser.randrange(-1000, 1000)
        waits = self.chooser.sample(self.events, min(len(self.events), self.chooser.randrange(3)))

        def launch(queue: lp.Queue) -> lp.Event:
            return kernel[first.size].on(queue, wait=waits)(a, first, second)

        def mirror() -> None:
            y[:] = applied(compute, a, x, y)

        return launch, mirror, {id(first), id(second)}

    def launch(self) -> None:
        launch, mirror, _ = self.command()
        self.events.append(launch(self.queue()))
        mirror()
        del self.events[:-20]

    def wait(self) -> None:
        if self.events:
            event = self.chooser.choice(self.events)
            self.chooser.choice((event.wait, lambda: event.done, lambda: asyncio.run(awaited(event))))()
        elif self.queues:
            self.chooser.choice(self.queues).wait()

    def tell(self) -> None:
        if self.events:
            self.events[-1].add_done_callback(lambda _: self.counts.update(called=1))

    def make_queue(self) -> None:
        if len(self.queues) >= QUEUES:
            queue = self.queues.pop(self.chooser.randrange(len(self.queues)))
            if self.chooser.random() < 0.5:
                queue.close()
        is_profiling = self.chooser.random() < 0.2 and self.device.has(lp.Aspect.QUEUE_PROFILING)
        self.queues.append(
            lp.Queue(self.device, in_order=self.chooser.random() < 0.3, profiling=is_profiling)
        )

    # Graphs

    def record(self) -> None:
        self.events.clear()  # a launch in a graph waits for events of the graph only
        mirrors: list[Callable[[], None]] = []
        arrays: set[int] = set()
        with lp.graph() as graph:
            for _ in range(self.chooser.randrange(1, 8)):
                launch, mirror, used = self.command()
                launch(self.device.default_queue)
                mirrors.append(mirror)
                arrays |= used

        def mirror_all() -> None:
            for mirror in mirrors:
                mirror()

        self.graphs.append((graph, mirror_all, arrays))
        if len(self.graphs) > GRAPHS:
            old = self.graphs.pop(0)[0]
            if self.chooser.random() < 0.5:
                old.release()

    def replay(self) -> None:
        if self.graphs:
            graph, mirror, _ = self.chooser.choice(self.graphs)
            self.events.append(graph.replay(self.queue()))
            mirror()

    # Rare

    def image(self) -> None:
        """Makes, changes and reads an image."""
        if not self.images or (len(self.images) < IMAGES and self.chooser.random() < 0.5):
            shape = self.chooser.choice(SHAPES)
            host = np.random.default_rng(self.chooser.randrange(1000)).integers(
                0, 1000, (*shape, 4), np.uint32
            )
            self.images.append((lp.UnsampledImage(host, device=self.device), host.copy()))
        image, mirror = self.chooser.choice(self.images)
        by = self.chooser.randrange(1000)
        brighten[image.shape].on(self.queue())(image, by)
        mirror += np.uint32(by)
        np.testing.assert_array_equal(image.numpy(), mirror)
        if self.chooser.random() < 0.2:
            self.images.clear()

    def profile(self) -> None:
        with lp.profile() as profile:
            for _ in range(3):
                self.launch()
        assert profile.events

    def empty_range(self) -> None:
        """Launches an empty range, and looks at the statistics."""
        array, _ = self.pick()
        self.kernels[0][0][0](1, array, array)
        assert self.device.memory_stats()

    def collect(self) -> None:
        gc.collect()

    def hammer(self) -> None:
        """Lets threads use queues, arrays and graphs at the same time."""
        Hammer(self.device, self.chooser.randrange(2**20)).run(threads=4, steps=20)

    # The end

    def check_all(self) -> None:
        for array, mirror in self.arrays:
            np.testing.assert_array_equal(array.numpy(), mirror)

    def release_all(self) -> None:
        for queue in self.queues:
            queue.close()
        self.arrays.clear()
        self.graphs.clear()
        self.queues.clear()
        self.images.clear()
        self.events.clear()
        self.kernels.clear()


def kernel_of(number: int) -> tuple[Any, Callable[..., Any]]:
    """Returns the kernel of a number, made anew: a random expression, which NumPy computes as well."""
    chooser = random.Random(number)
    text = "x"
    for _ in range(chooser.randrange(1, 6)):
        other = chooser.choice(["x", "y", "a", str(chooser.randrange(1, 1000))])
        text = f"({text} {chooser.choice('+-*&|^')} {other})"
    source = (
        f"@lp.kernel\ndef soak_{number}(a: lp.i32, p: lp.Array[lp.i32], q: lp.Array[lp.i32]):\n"
        f"    i = lp.global_id(0)\n    x, y = p[i], q[i]\n    q[i] = {text}\n"
    )
    return lp.kernel_from_source(source), eval(f"lambda a, x, y: {text}")


def applied(compute: Callable[..., Any], a: int, x: Any, y: Any) -> Any:
    """Returns what a kernel makes of two arrays, as NumPy computes it."""
    with np.errstate(over="ignore"):
        return compute(np.int32(a), x, y)


async def awaited(event: lp.Event) -> None:
    """Awaits an event."""
    await event


def resident_bytes() -> int:
    """Returns the memory of the process that is in use, without what the C library keeps for later."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Messages(logging.Handler):
    """Collects what the validation layer and the runtime say from warnings on."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def run(seconds: float, seed: int, *, is_staged: bool = False) -> int:
    """Runs on every device in turn, as a discrete GPU where `is_staged`; returns how many things were wrong."""
    messages = Messages()
    logging.getLogger("lapilli").addHandler(messages)
    chooser = random.Random(seed)
    devices = lp.devices()
    if is_staged:
        devices = [Device(device.physical, device.selector, staged_memory=True) for device in devices]
    soaks = [Soak(device, chooser) for device in devices]
    validated = [soak.device.selector for soak in soaks if soak.device.physical.instance.is_validated]
    start, samples, steps = time.monotonic(), list[tuple[float, int]](), 0
    while (passed := time.monotonic() - start) < seconds:
        for soak in soaks:
            for _ in range(50):
                soak.step()
            soak.check_all()
            steps += 50
        if not samples or passed - samples[-1][0] >= SAMPLE_EVERY_S:
            samples.append((passed, resident_bytes()))
            if len(samples) % 20 == 0:
                print(f"{passed:.0f} s: {steps} steps, {samples[-1][1] / 2**20:.1f} MiB", flush=True)
    counts = sum((soak.counts for soak in soaks), Counter[str]())
    growth = slope(samples)
    for soak in soaks:
        soak.release_all()
    gc.collect()
    left = [memory_left(soak.device) for soak in soaks]
    print(f"{steps} steps in {seconds:.0f} s, seed {seed}, validated: {', '.join(validated) or 'none'}")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"memory {samples[-1][1] / 2**20:.0f} MiB, grew by {growth / 1e3:.1f} kB/s in the second half")
    print(f"left on the devices after everything was released: {left} bytes; {len(messages.texts)} messages")
    for text in messages.texts[:20]:
        print("message:", text[:2000])
    problems = len(messages.texts) + sum(map(bool, left)) + (growth > GROWTH_BYTES_PER_S and seconds > 60)
    return 1 if problems else 0


def memory_left(device: lp.Device) -> int:
    """Returns the bytes that arrays and images hold; those of kernels' reports live as long as their queues."""
    device.default_queue.wait()
    with device.logical.lock:
        device.logical.collect()
        return device.logical.memory.used_bytes


def slope(samples: list[tuple[float, int]]) -> float:
    """Returns the growth in bytes per second over the second half, between medians of its first and last third."""
    half = samples[len(samples) // 2 :]
    third = max(len(half) // 3, 1)
    first, last = half[:third], half[-third:]
    seconds = statistics.median(t for t, _ in last) - statistics.median(t for t, _ in first)
    grown = statistics.median(n for _, n in last) - statistics.median(n for _, n in first)
    return grown / seconds if seconds > 0 else 0.0


def environment(folder: Path) -> dict[str, str]:
    """Returns the environment in which both drivers are behind the loader, and so under the validation layer."""
    found = os.environ | {"LAPILLI_VALIDATE": "1", "LAPILLI_CACHE": "0", "LAPILLI_SOAK": "1"}
    library = loader.embedded_library()
    if library is not None and library.is_file():
        manifest = folder / "swiftshader.json"
        content = {"library_path": str(library), "api_version": "1.3.0"}
        manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": content}))
        found["VK_ADD_DRIVER_FILES"] = str(manifest)
    return found


def main() -> int:
    """Starts the process under the layer, and in it, runs."""
    parser = argparse.ArgumentParser(description="a random program under the validation layer")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--staged", action="store_true", help="copy through staging memory, as on a discrete GPU"
    )
    options = parser.parse_args()
    if os.environ.get("LAPILLI_SOAK"):
        return run(options.seconds, options.seed, is_staged=options.staged)
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "tests.lifetime.soak", *sys.argv[1:])
        return subprocess.run(command, env=environment(Path(folder)), check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
