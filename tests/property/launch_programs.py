"""Random launches that depend on each other, over queues, command groups and graphs, with arguments that are views
or the same memory, from and to host arrays of any strides; NumPy does the same steps one after the other.
"""

from __future__ import annotations

import random

import numpy as np

import lapilli as lp

SIZE = 24
SHAPES = ((24,), (4, 6), (2, 3, 4))


@lp.kernel
def mix(a: lp.i32, x: lp.Array[lp.i32], y: lp.Array[lp.i32]):
    """Reads and writes its own elements only, so `x` and `y` may be one array."""
    i = lp.global_id(0)
    x[i] = x[i] * 3 + a
    y[i] = y[i] + x[i]


@lp.kernel
def turn(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = x[x.size - 1 - i] - i


@lp.kernel
def rows(x: lp.Array[lp.i32, 2], by: lp.i32):
    i, j = lp.global_id(0), lp.global_id(1)
    x[i, j] = x[i, j] ^ (i * x.shape[1] + by * j)


@lp.kernel
def count(x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    lp.atomic.add(y, x[lp.global_id(0)] % y.size, 1)


class LaunchProgram:
    """Steps of a seed; arrays hold `SIZE` numbers of i32."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def check(self, device: lp.Device) -> None:
        """Runs the steps on a device; raises AssertionError where an array differs."""
        pick = random.Random(self.seed)
        start = np.random.default_rng(self.seed).integers(-99, 99, (3, SIZE)).astype(np.int32)
        there = [strided(pick, row, lambda host: lp.asarray(host, device=device)) for row in start]
        here = list(start)
        queues = [lp.Queue(device, in_order=pick.random() < 0.5) for _ in range(2)]
        log: list[str] = []
        for _ in range(pick.randrange(2, 6)):
            steps = [self.step(pick) for _ in range(pick.randrange(1, 8))]
            form = pick.choice(("launches", "queues", "groups", "graph"))
            log.append(f"{form}: {steps}")
            times = pick.randrange(1, 4) if form == "graph" else 1
            for _ in range(times):
                for step in steps:
                    on_host(step, here)
            if form == "graph":
                with lp.graph() as graph:
                    for step in steps:
                        launch(step, there)
                for _ in range(times):
                    graph.replay(*([pick.choice(queues)] if pick.random() < 0.5 else []))
            for step in steps if form != "graph" else ():
                if form == "launches":
                    launch(step, there)
                elif form == "queues":
                    launch(step, there, pick.choice(queues))
                else:
                    with pick.choice(queues).submit() as group:
                        launch(step, there, group)
            if pick.random() < 0.4:
                place = pick.randrange(3)
                new = np.random.default_rng(len(log)).integers(-9, 9, SIZE).astype(np.int32)
                strided(pick, new, there[place].copy_from)
                here[place] = new.copy()
                log.append(f"copied to {place}")
        for place, (array, expected) in enumerate(zip(there, here, strict=True)):
            found = spread(pick)
            array.copy_to(found)
            np.testing.assert_array_equal(
                found, expected, f"seed {self.seed}, {device}, {place}\n" + "\n".join(log)
            )

    def step(self, pick: random.Random) -> tuple[str, int, int, int]:
        """Returns a kernel, two places and a number."""
        name = pick.choice(("mix", "mix", "turn", "rows", "count", "fill", "copy"))
        first, second = pick.randrange(3), pick.randrange(3)
        if name in ("turn", "count", "copy") and first == second:
            second = (first + 1) % 3
        return name, first, second, pick.randrange(-5, 9)


def on_host(step: tuple[str, int, int, int], arrays: list[np.ndarray]) -> None:
    """Does a step to NumPy arrays."""
    name, first, second, number = step
    x, y = arrays[first], arrays[second]
    if name == "mix":
        x[:] = x * 3 + np.int32(number)
        y += x
    elif name == "turn":
        y[:] = x[::-1] - np.arange(SIZE, dtype=np.int32)
    elif name == "rows":
        i, j = np.indices((4, 6), np.int32)
        x[:] = x ^ (i * 6 + np.int32(number) * j).ravel()
    elif name == "count":
        np.add.at(y, x % SIZE, 1)
    elif name == "fill":
        x[:] = number
    else:
        y[:] = x


def launch(step: tuple[str, int, int, int], arrays: list[lp.Array], where: object = None) -> None:
    """Does a step to arrays of a device: on the default queue, on a queue, or in a command group."""
    name, first, second, number = step
    x, y = arrays[first], arrays[second]
    found = {
        "mix": (SIZE, mix, (number, x, y.reshape(SIZE))),
        "turn": (SIZE, turn, (x, y)),
        "rows": ((4, 6), rows, (x.reshape(4, 6), number)),
        "count": (SIZE, count, (x.ravel(), y)),
    }.get(name)
    if found is not None:
        range_, kernel, arguments = found
        if where is None:
            kernel[range_](*arguments)
        else:
            where.parallel_for(range_, kernel, *arguments)  # pyright: ignore[reportAttributeAccessIssue]
    elif where is None:
        x.fill(number) if name == "fill" else y.copy_from(x)
    elif name == "fill":
        where.fill(x.reshape(2, 12), number)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        where.copy(x, y)  # pyright: ignore[reportAttributeAccessIssue]


def strided(pick: random.Random, row: np.ndarray, use):
    """Returns what `use` makes of the numbers in memory of other strides."""
    holder = spread(pick)
    holder[...] = row
    return use(holder)


def spread(pick: random.Random) -> np.ndarray:
    """Returns room for `SIZE` numbers: apart, backwards, in the middle, in columns, not aligned."""
    form = pick.randrange(5)
    if form == 0:
        return np.zeros(3 * SIZE, np.int32)[1::3]
    if form == 1:
        return np.zeros(SIZE, np.int32)[::-1]
    if form == 2:
        return np.zeros((SIZE, 5), np.int32)[:, 2]
    if form == 3:
        return np.zeros(4 * SIZE + 3, np.uint8)[3:].view(np.int32)
    return np.zeros(SIZE + 9, np.int32)[7:-2]
