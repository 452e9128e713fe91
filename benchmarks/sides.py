"""The sides of a comparison: launches that are ready to be made over and over, and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import lapilli as lp
from lapilli.frontend.compile import environment_of, executable_for
from lapilli.frontend.kernel import KernelFunction
from lapilli.vk_runtime.array import Array
from lapilli.vk_runtime.coarse_record import Form, prepare_coarse
from lapilli.vk_runtime.coarsening import WIDTH
from lapilli.vk_runtime.launch import prepare

from .case import Case, Local
from .glsl import glsl_image
from .rounds import interleave

Launch = Callable[[lp.Queue], lp.Event]
"""Makes one launch."""


class Side:
    """One way to do a case on a queue, with one local size.

    Args:
        name: for messages.
        local: its local size; None: the runtime chooses.
        launches: made in this order; the last one is waited for.
        queue: where they run, in order.
    """

    def __init__(self, name: str, local: Local | None, launches: Sequence[Launch], queue: lp.Queue) -> None:
        self.name = name
        self.local = local
        self._launches = tuple(launches)
        self._queue = queue
        self.is_software = queue.device.has(lp.Aspect.CPU)
        """Whether the device's threads are this process's."""
        self.device_ms: list[float] = []
        """One a measured run; empty where the queue has no timestamps."""
        self.cpu_ms: list[float] = []
        """One a measured run: of all threads of this process, those of a software driver among them."""

    def run(self) -> list[lp.Event]:
        """Launches once and waits."""
        events = [launch(self._queue) for launch in self._launches]
        events[-1].wait()
        return events

    def measure(self) -> float:
        """Launches once; returns milliseconds from before the first launch to after the wait."""
        start, cpu_start = time.perf_counter(), time.process_time()
        events = self.run()
        elapsed_ms = (time.perf_counter() - start) * 1e3
        self.cpu_ms.append((time.process_time() - cpu_start) * 1e3)
        if self._queue.is_profiling:
            self.device_ms.append(sum(event.elapsed_ns for event in events) / 1e6)
        return elapsed_ms

    def forget(self) -> None:
        """Drops the times that were noted so far."""
        self.device_ms.clear()
        self.cpu_ms.clear()


class Sides:
    """Makes the sides of one case on one device.

    Args:
        device: where.
        case: what.
        queue: of `device`.
        arrays: the case's arrays on `device`.
    """

    def __init__(self, device: lp.Device, case: Case, queue: lp.Queue, arrays: Sequence[Array]) -> None:
        self._device, self._case, self._queue, self._arrays = device, case, queue, arrays

    @property
    def local_sizes(self) -> list[Local]:
        """The case's local sizes that the device can run in one dispatch."""
        return [size for size in self._case.local_sizes if self._can_run(size)]

    def _can_run(self, size: Local) -> bool:
        limits = self._device.physical.limits
        xyz = (*reversed(size), 1, 1)[:3]
        if math.prod(size) > limits.max_work_group_invocations:
            return False
        if any(n > most for n, most in zip(xyz, limits.max_work_group_size, strict=True)):
            return False
        return all(
            -(-n // s) <= most
            for stage in self._case.stages
            for n, s, most in zip(
                reversed(stage.extents(size)), reversed(size), limits.max_work_group_count, strict=False
            )
        )

    def as_launched(self) -> Side:
        """Returns lapilli's side as ``kernel[range](…)`` does it: the runtime chooses, coarsened kernels included."""
        launches = [self._user_launch(stage) for stage in range(len(self._case.stages))]
        return Side("as launched", None, launches, self._queue)

    def plain(self, local: Local) -> Side:
        """Returns lapilli's side with a local size, one work-item an invocation."""
        return Side("plain", local, [self._plain_launch(i, local) for i in self._stages], self._queue)

    def coarsened(self) -> Side | None:
        """Returns lapilli's side with several work-items an invocation, whether or not that pays on the device; None
        where a kernel has no such form."""
        try:
            launches = [self._coarse_launch(i) for i in self._stages]
        except _NoSuchFormError:
            return None
        return Side("coarsened", None, launches, self._queue)

    def glsl(self, local: Local) -> Side:
        """Returns the side of the GLSL with a local size."""
        return Side("GLSL", local, [self._glsl_launch(i, local) for i in self._stages], self._queue)

    @property
    def _stages(self) -> range:
        return range(len(self._case.stages))

    def _stage_arguments(self, index: int) -> tuple[object, ...]:
        return tuple(self._arrays[i] for i in self._case.stages[index].arrays)

    def _user_launch(self, index: int) -> Launch:
        stage, local = self._case.stages[index], self._case.local_sizes[0]
        kernel = cast("Any", stage.kernel(local))
        configured = kernel[stage.extents(local)]
        arguments = (*stage.scalars, *self._stage_arguments(index))
        return lambda queue: configured.on(queue)(*arguments)

    def _plain_launch(self, index: int, local: Local) -> Launch:
        stage, extents = self._case.stages[index], self._case.stages[index].extents(local)
        form = self._form(index, local, lanes=1)
        arguments = (*stage.scalars, *self._stage_arguments(index))
        record = prepare(self._device, form.image, form.kernel, extents, local, arguments, {})
        return lambda queue: record.launch(queue, arguments)

    def _coarse_launch(self, index: int) -> Launch:
        stage, local = self._case.stages[index], self._case.local_sizes[0]
        plain, coarse = (self._form(index, local, lanes=lanes) for lanes in (1, WIDTH))
        arguments = (*stage.scalars, *self._stage_arguments(index))
        record = prepare_coarse(self._device, coarse, plain, stage.extents(local), arguments)
        if record is None:
            raise _NoSuchFormError
        return lambda queue: record.launch(queue, arguments)

    def _form(self, index: int, local: Local, *, lanes: int) -> Form:
        stage = self._case.stages[index]
        kernel = stage.kernel(local)
        assert isinstance(kernel, KernelFunction)
        env = replace(environment_of(kernel, self._device.target_env), lanes_per_invocation=lanes)
        executable = executable_for(kernel, len(stage.extents(local)), self._device, env)
        return Form(image=executable.image, kernel=executable.kernel, spec_values={})

    def _glsl_launch(self, index: int, local: Local) -> Launch:
        stage, case = self._case.stages[index], self._case
        image = glsl_image(case, stage, local)
        arguments = (*self._stage_arguments(index), *stage.push_constants)
        record = prepare(self._device, image, image.kernels[0], stage.extents(local), local, arguments, {})
        return lambda queue: record.launch(queue, arguments)


class _NoSuchFormError(Exception):
    """A kernel that cannot be coarsened, or not for its range."""


def best(candidates: Sequence[Side], rounds: int = 6) -> Side:
    """Returns the fastest of several sides, each run once beforehand and then measured in interleaved rounds.

    On software drivers the least CPU time decides, which other programs disturb less.
    """
    for side in candidates:
        side.run()
        side.forget()
    if len(candidates) > 1:
        times = interleave({str(i): side.measure for i, side in enumerate(candidates)}, rounds)
        best_ms = [
            min(side.cpu_ms if side.is_software else times[str(i)]) for i, side in enumerate(candidates)
        ]
        candidates = [candidates[best_ms.index(min(best_ms))]]
    candidates[0].forget()
    return candidates[0]
