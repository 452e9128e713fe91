"""Kernel time of the six cases: lapilli's code against hand-written GLSL, on the same driver and buffers.

Both sides are launched by the same runtime through prepared launch records, so a ratio compares what the
driver makes of two SPIR-V modules, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import lapilli as lp
from lapilli.frontend.compile import executable_for
from lapilli.frontend.kernel import KernelFunction
from lapilli.vk_runtime.array import Array
from lapilli.vk_runtime.launch import LaunchRecord, prepare

from .cases import Case
from .glsl import glsl_image
from .rounds import Spread, interleave, ratios

LAPILLI, GLSL = "lapilli", "GLSL"


class WrongResultError(Exception):
    """A kernel whose result differs from NumPy's; the text names case, side and device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """One case on one device.  Times are from before the launch to after the wait."""

    device: str
    """The device's selector."""
    case: str
    extents: tuple[int, ...]
    """Work-items, slowest dimension first."""
    lapilli_ms: Spread
    glsl_ms: Spread
    ratio: Spread
    """lapilli / GLSL within each round; below 1 lapilli is faster."""
    device_ratio: Spread | None
    """The same from the device's timestamps; None where it has none, or reports no time at all."""

    @property
    def ratio_of_minima(self) -> float:
        """Fastest lapilli round over fastest GLSL round: what other programs disturb least."""
        return self.lapilli_ms.min / self.glsl_ms.min

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "device": self.device,
            "case": self.case,
            "extents": list(self.extents),
            "lapilli_ms": self.lapilli_ms.as_dict(),
            "glsl_ms": self.glsl_ms.as_dict(),
            "ratio": self.ratio.as_dict(),
            "ratio_of_minima": self.ratio_of_minima,
            "device_ratio": self.device_ratio and self.device_ratio.as_dict(),
        }


class Side:
    """One side of a case on a queue: a prepared launch, and the times that its events reported.

    Args:
        name: for messages.
        record: the launch.
        queue: where it runs.
        arguments: in the record's parameter order.
    """

    def __init__(self, name: str, record: LaunchRecord, queue: lp.Queue, arguments: Sequence[object]) -> None:
        self.name = name
        self._record = record
        self._queue = queue
        self._arguments = arguments
        self.device_ns: list[float] = []
        """One a measured launch; empty where the queue has no timestamps."""

    def run(self) -> None:
        """Launches once and waits."""
        self._record.launch(self._queue, self._arguments).wait()

    def measure(self) -> float:
        """Launches once; returns milliseconds from before the launch to after the wait."""
        start = time.perf_counter()
        event = self._record.launch(self._queue, self._arguments).wait()
        elapsed_ms = (time.perf_counter() - start) * 1e3
        if self._queue.is_profiling:
            self.device_ns.append(event.elapsed_ns)
        return elapsed_ms


def measure_case(device: lp.Device, case: Case, rounds: int) -> KernelResult:
    """Checks both sides of a case against NumPy, then measures them.

    Args:
        device: where.
        case: what.
        rounds: interleaved; each launches both sides once.

    Raises:
        WrongResultError: a side computes something else than NumPy.
        RuntimeError: the GLSL does not compile.
    """
    queue = lp.Queue(device, profiling=device.has(lp.Aspect.QUEUE_PROFILING))
    arrays = [lp.asarray(array, device=device) for array in case.arrays]
    try:
        sides = (_lapilli_side(device, case, queue, arrays), _glsl_side(device, case, queue, arrays))
        for side in sides:
            _check(device, case, side, arrays)
        for _ in range(2):  # the first launches may still compile, or wake the driver's threads
            for side in sides:
                side.run()
        measures: dict[str, Callable[[], float]] = {side.name: side.measure for side in sides}
        times = interleave(measures, rounds)
    finally:
        queue.close()
        for array in arrays:
            array.release()
    has_device_times = all(side.device_ns and min(side.device_ns) > 0 for side in sides)
    return KernelResult(
        device=device.selector,
        case=case.name,
        extents=case.extents,
        lapilli_ms=Spread.of(times[LAPILLI]),
        glsl_ms=Spread.of(times[GLSL]),
        ratio=ratios(times[LAPILLI], times[GLSL]),
        device_ratio=ratios(sides[0].device_ns, sides[1].device_ns) if has_device_times else None,
    )


def _lapilli_side(device: lp.Device, case: Case, queue: lp.Queue, arrays: Sequence[Array]) -> Side:
    assert isinstance(case.kernel, KernelFunction), f"case '{case.name}' has no kernel: {case.kernel!r}"
    executable = executable_for(case.kernel, len(case.extents), device)
    arguments = (*case.scalars, *arrays)
    record = prepare(
        device, executable.image, executable.kernel, case.extents, case.local_size, arguments, {}
    )
    return Side(LAPILLI, record, queue, arguments)


def _glsl_side(device: lp.Device, case: Case, queue: lp.Queue, arrays: Sequence[Array]) -> Side:
    image = glsl_image(case)
    arguments = (*arrays, *case.push_constants)
    record = prepare(device, image, image.kernels[0], case.extents, case.local_size, arguments, {})
    return Side(GLSL, record, queue, arguments)


def _check(device: lp.Device, case: Case, side: Side, arrays: Sequence[Array]) -> None:
    """Launches a side once on the initial data and compares; the other side's result is gone by then."""
    arrays[-1].copy_from(case.arrays[-1])
    side.run()
    if not case.check(arrays[-1].numpy(), case.arrays):
        raise WrongResultError(
            f"case '{case.name}', {side.name}, on device '{device.name}': the result differs from NumPy's; "
            "its time would mean nothing"
        )
