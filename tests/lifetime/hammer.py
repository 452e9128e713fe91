"""Threads that use the same queues, arrays and graphs at random, and arrays of their own; the sums must come out.

What is shared is only added to, so that any order gives the same; what is a thread's own has a mirror in NumPy.
Whatever is refused, because another thread has closed a queue or it comes in the middle of a launch, adds nothing.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

import lapilli as lp
from lapilli.vk_runtime import graph_recording

from ..interruption import Finalised

SIZE = 64
LOCAL = 32
SHARED, QUEUES, GRAPHS = 3, 3, 3
AMOUNTS = tuple(range(1, 6))


@lp.kernel
def add(x: lp.Array[lp.i32], amount: lp.i32):
    x[lp.global_id(0)] += amount


@lp.kernel
def increment(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] += 1


@lp.kernel
def combine(x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[i] = 3 * y[i] + x[i]


class Hammer:
    """What the threads share.

    Args:
        device: where.
        seed: of what they do; in which order they come is the system's.
    """

    def __init__(self, device: lp.Device, seed: int) -> None:
        self.device = device
        self.seed = seed
        self.arrays = [lp.zeros(SIZE, lp.i32, device=device) for _ in range(SHARED)]
        self.count = lp.asarray([SIZE], lp.u32, device=device)
        self.queues = [lp.Queue(device, in_order=number == 0) for number in range(QUEUES)]
        self.graphs = [self._graph(number) for number in range(GRAPHS)]
        self.failures: list[BaseException] = []
        self.unfinalised: deque[None] = deque()
        """One entry for each finaliser that has not run to its end."""

    def _graph(self, number: int) -> tuple[lp.Graph, Counter[int]]:
        """Returns a graph, and how often it adds its amount to each shared array."""
        chooser, times = random.Random(number), Counter[int]()
        with lp.graph() as graph:
            for _ in range(chooser.randrange(1, 6)):
                index = chooser.randrange(SHARED)
                add[SIZE](self.arrays[index], 1)
                times[index] += 1
        return graph, times

    def run(self, threads: int, steps: int) -> Counter[str]:
        """Runs the threads to their end; returns what they have done.

        Raises:
            AssertionError: a sum is wrong.
            Exception: the first that a thread has met.
        """
        workers = [Worker(self, number) for number in range(threads)]
        started = [threading.Thread(target=worker.run, args=(steps,)) for worker in workers]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for thread in started:
                thread.start()
            for thread in started:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        if self.failures:
            raise self.failures[0]
        while self.unfinalised:  # finalisers that have not launched yet
            gc.collect()  # does nothing while another thread collects
        added = sum((worker.added for worker in workers), Counter[int]())
        for late in [late for worker in workers for late in worker.late]:
            added.update(late)
        found = [array.numpy() for array in self.arrays]
        for index, array in enumerate(found):
            assert (array == added[index]).all(), (
                f"array {index}: {array.min()} to {array.max()}, {added[index]} added"
            )
        for worker in workers:
            worker.check()
        for queue in self.queues:
            queue.close()
        return sum((worker.counts for worker in workers), Counter[str]())


class Worker:
    """What one thread does."""

    def __init__(self, hammer: Hammer, number: int) -> None:
        self.hammer = hammer
        self.chooser = random.Random(1000 * hammer.seed + number)
        self.added: Counter[int] = Counter()
        """To each shared array."""
        self.late: list[dict[int, int]] = []
        """The same by finalisers, in any thread."""
        self.counts: Counter[str] = Counter()
        device = hammer.device
        self.own = [lp.ones(SIZE, lp.i32, device=device) for _ in range(2)]
        self.mirrors = [np.ones(SIZE, np.int32) for _ in range(2)]
        self.queue = lp.Queue(device)
        self.events: list[lp.Event] = []
        self.steps = (
            *(3 * (self.launch, self.launch_in_a_row, self.replay)),
            *(self.launch_over_memory, self.in_turn, self.one_by_one, self.own_graph, self.wait, self.mark),
            *(self.renew, self.finalise, self.tell, self.read_again),
        )
        self.rare = (self.profile, self.renew_shared, self.collect)

    def run(self, steps: int) -> None:
        try:
            for _ in range(steps):
                step = self.chooser.choice(self.rare if self.chooser.random() < 0.02 else self.steps)
                self.counts[step.__name__] += 1
                step()
        except BaseException as error:
            self.hammer.failures.append(error)

    def queue_or_none(self) -> lp.Queue | None:
        return self.chooser.choice([None, self.queue, *self.hammer.queues])

    def adding(self) -> tuple[Callable[[], lp.Event], dict[int, int]]:
        """Returns a launch that adds to a shared array, and how much to which."""
        chooser, queue = self.chooser, self.queue_or_none()
        index, amount = chooser.randrange(SHARED), chooser.choice(AMOUNTS)
        range_: Any = SIZE if chooser.random() < 0.6 else lp.NdRange(SIZE, LOCAL)
        array = self.hammer.arrays[index]
        kernel: Any = add
        args: tuple[Any, ...] = (array, amount)
        if chooser.random() < 0.3:
            kernel, amount, args = increment, 1, (array,)

        def launch() -> lp.Event:
            return (kernel[range_] if queue is None else kernel[range_].on(queue))(*args)

        return launch, {index: amount}

    def attempt(self, launch: Callable[[], lp.Event], added: dict[int, int]) -> lp.Event | None:
        """Launches, unless another thread has closed the queue."""
        try:
            event = launch()
        except lp.InvalidError as error:
            assert "closed" in str(error), error
            return None
        self.added.update(added)
        self.events.append(event)
        del self.events[:-20]
        return event

    # Shared

    def launch(self) -> None:
        self.attempt(*self.adding())

    def launch_in_a_row(self) -> None:
        launch, added = self.adding()
        for _ in range(self.chooser.randrange(2, 9)):
            self.attempt(launch, added)

    def one_by_one(self) -> None:
        launch, added = self.adding()
        for _ in range(self.chooser.randrange(3, 7)):
            event = self.attempt(launch, added)
            if event is not None:
                event.wait()

    def launch_over_memory(self) -> None:
        index = self.chooser.randrange(SHARED)
        increment[lp.IndirectRange(self.hammer.count)].on(self.queue)(self.hammer.arrays[index])
        self.added[index] += 1

    def replay(self) -> None:
        graph, times = self.chooser.choice(self.hammer.graphs)
        queue, amount = self.queue_or_none(), self.chooser.choice(AMOUNTS)
        wait = self.chooser.sample(self.events, min(len(self.events), self.chooser.randrange(2)))
        added = {index: amount * count for index, count in times.items()}
        self.attempt(lambda: graph.replay(queue, wait, amount=amount), added)

    def renew_shared(self) -> None:
        position = self.chooser.randrange(1, QUEUES)
        closed, self.hammer.queues[position] = self.hammer.queues[position], lp.Queue(self.hammer.device)
        closed.close()

    def finalise(self) -> None:
        """Launches from a finaliser, which may come at any point of any thread and be refused."""
        launch, added = self.adding()
        unfinalised = self.hammer.unfinalised

        def action() -> None:
            try:
                if graph_recording.recorder() is None:  # a graph would hold it
                    launch()
                    self.late.append(added)
            except lp.InvalidError:
                pass
            finally:
                unfinalised.pop()

        unfinalised.append(None)
        Finalised(action)

    # Its own

    def in_turn(self) -> None:
        first, second = self.own
        for _ in range(self.chooser.randrange(1, 6)):
            queue = self.chooser.choice([self.queue, self.hammer.device.default_queue])
            combine[SIZE].on(queue)(first, second)
            add[SIZE].on(queue)(first, 2)
            self.mirrors[1][:] = 3 * self.mirrors[1] + self.mirrors[0]
            self.mirrors[0] += 2

    def own_graph(self) -> None:
        first, second = self.own
        with lp.graph() as graph:
            combine[SIZE](first, second)
            event = add[SIZE](first, 5)
        for amount in (5, 7):
            graph.update(event, amount=amount).replay(self.chooser.choice([None, self.queue]))
            self.mirrors[1][:] = 3 * self.mirrors[1] + self.mirrors[0]
            self.mirrors[0] += amount
        if self.chooser.random() < 0.5:
            graph.release()

    def wait(self) -> None:
        if self.events:
            event = self.chooser.choice(self.events)
            self.chooser.choice((event.wait, lambda: event.done))()
        if self.chooser.random() < 0.3:
            self.check()

    def read_again(self) -> None:
        """Launches and reads in turn."""
        array, mirror = self.own[0], self.mirrors[0]
        for _ in range(self.chooser.randrange(2, 12)):
            add[SIZE](array, 1)
            mirror += 1
            np.testing.assert_array_equal(array.numpy(), mirror)

    def mark(self) -> None:
        self.events.append(self.queue.marker(self.events[-2:]))

    def tell(self) -> None:
        if self.events:
            self.events[-1].add_done_callback(lambda _: None)

    def renew(self) -> None:
        """Other arrays in place of its own, and sometimes another queue."""
        for index, mirror in enumerate(self.mirrors):
            old, self.own[index] = self.own[index], lp.asarray(mirror, device=self.hammer.device)
            np.testing.assert_array_equal(old.numpy(), mirror)
            old.release()
        if self.chooser.random() < 0.3:
            self.queue.close()
            self.queue = lp.Queue(self.hammer.device, in_order=self.chooser.random() < 0.3)

    def profile(self) -> None:
        with lp.profile():
            self.in_turn()
            self.replay()

    def collect(self) -> None:
        gc.collect()

    def check(self) -> None:
        for array, mirror in zip(self.own, self.mirrors, strict=True):
            np.testing.assert_array_equal(array.numpy(), mirror)
