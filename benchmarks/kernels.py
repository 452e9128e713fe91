"""Kernel time: lapilli's code against hand-written GLSL, on the same driver and buffers.

Both sides are launched by the same runtime, each with the local size that it is fastest with, so a ratio compares
what the driver makes of two SPIR-V modules, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import lapilli as lp
from lapilli.vk_runtime.array import Array

from .case import Case, Local
from .rounds import Spread, interleave, ratios
from .sides import Side, Sides, best

LAUNCHED, PLAIN, COARSENED, GLSL = "as launched", "plain", "coarsened", "GLSL"
_SECONDS_A_CASE = 60.0
"""About how long the rounds of a slow case may take; there are five at least."""


_TUPLES = ("extents", "lapilli_local", "glsl_local")
_SPREADS = (
    *("lapilli_ms", "glsl_ms", "ratio", "plain_ratio"),
    *("coarsened_ratio", "device_ratio", "cpu_ratio"),
)


class WrongResultError(Exception):
    """A kernel whose result differs from NumPy's; the text names case, side and device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """One case on one device.  Times are from before the launch to after the wait."""

    device: str
    """The device's selector."""
    case: str
    extents: tuple[int, ...]
    """Work-items of the first launch, slowest dimension first."""
    rounds: int
    lapilli_local: Local | None
    """lapilli's best local size; None: a launch that names none, which may be coarsened."""
    glsl_local: Local | None
    lapilli_ms: Spread
    glsl_ms: Spread
    ratio: Spread
    """lapilli / GLSL within each round; below 1 lapilli is faster."""
    plain_ratio: Spread
    """The same with one work-item an invocation and the best local size of that."""
    coarsened_ratio: Spread | None
    """Coarsened / plain, whether or not launches are coarsened on this device; None: the kernel has no such form."""
    device_ms: float | None
    """lapilli's by the device's timestamps, the median; None where it has none, or reports no time at all."""
    device_ratio: Spread | None
    """lapilli / GLSL by the device's timestamps."""
    cpu_ratio: Spread | None
    """lapilli / GLSL by the CPU time of the process, which other programs disturb less; None for GPUs."""

    @property
    def ratio_of_minima(self) -> float:
        """Fastest lapilli round over fastest GLSL round: what other programs disturb least."""
        return self.lapilli_ms.min / self.glsl_ms.min

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> KernelResult:
        """Reads what `as_dict` made."""
        found = {name: value for name, value in fields.items() if name != "ratio_of_minima"}
        tuples = {name: fields[name] and tuple(fields[name]) for name in _TUPLES}
        spreads = {name: fields[name] and Spread(**fields[name]) for name in _SPREADS}
        return KernelResult(**{**found, **tuples, **spreads})

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "device": self.device,
            "case": self.case,
            "extents": list(self.extents),
            "rounds": self.rounds,
            "lapilli_local": self.lapilli_local and list(self.lapilli_local),
            "glsl_local": self.glsl_local and list(self.glsl_local),
            "lapilli_ms": self.lapilli_ms.as_dict(),
            "glsl_ms": self.glsl_ms.as_dict(),
            "ratio": self.ratio.as_dict(),
            "ratio_of_minima": self.ratio_of_minima,
            "plain_ratio": self.plain_ratio.as_dict(),
            "coarsened_ratio": self.coarsened_ratio and self.coarsened_ratio.as_dict(),
            "device_ms": self.device_ms,
            "device_ratio": self.device_ratio and self.device_ratio.as_dict(),
            "cpu_ratio": self.cpu_ratio and self.cpu_ratio.as_dict(),
        }


def measure_case(device: lp.Device, case: Case, rounds: int) -> KernelResult:
    """Checks all sides of a case against NumPy, then measures them.

    Args:
        device: where.
        case: what.
        rounds: interleaved; each launches all sides once.  Slow cases have fewer.

    Raises:
        WrongResultError: a side computes something else than NumPy.
        RuntimeError: the GLSL does not compile.
    """
    queue = lp.Queue(device, profiling=device.has(lp.Aspect.QUEUE_PROFILING), in_order=True)
    arrays = case.arrays_on(device)
    try:
        sides = _fastest(Sides(device, case, queue, arrays), case)
        for name, side in sides.items():
            check_side(device, case, name, side, arrays)
        round_s = sum(side.measure() for side in sides.values()) / 1e3
        for side in sides.values():
            side.forget()
        rounds = min(rounds, max(5, int(_SECONDS_A_CASE / round_s)))
        measures: dict[str, Callable[[], float]] = {name: side.measure for name, side in sides.items()}
        times = interleave(measures, rounds)
    finally:
        queue.close()
        for array in arrays:
            array.release()
    return _result(device, case, sides, times)


def _fastest(sides: Sides, case: Case) -> dict[str, Side]:
    """Returns each side with the local size that is best for it."""
    found = {PLAIN: best([sides.plain(local) for local in sides.local_sizes])}
    if not case.works_in_groups:
        found[LAUNCHED] = sides.as_launched()
        coarsened = sides.coarsened()
        if coarsened is not None:
            found[COARSENED] = coarsened
    found[GLSL] = best([sides.glsl(local) for local in sides.local_sizes])
    return found


def _result(
    device: lp.Device, case: Case, sides: dict[str, Side], times: dict[str, list[float]]
) -> KernelResult:
    mine = min((name for name in (LAUNCHED, PLAIN) if name in times), key=lambda n: median(times[n]))
    lapilli, glsl = sides[mine], sides[GLSL]
    coarsened_ms = times.get(COARSENED)
    has_device_times = all(side.device_ms and min(side.device_ms) > 0 for side in (lapilli, glsl))
    is_software = device.has(lp.Aspect.CPU)
    return KernelResult(
        device=device.selector,
        case=case.name,
        extents=case.extents,
        rounds=len(times[GLSL]),
        lapilli_local=lapilli.local,
        glsl_local=glsl.local,
        lapilli_ms=Spread.of(times[mine]),
        glsl_ms=Spread.of(times[GLSL]),
        ratio=ratios(times[mine], times[GLSL]),
        plain_ratio=ratios(times[PLAIN], times[GLSL]),
        coarsened_ratio=None if coarsened_ms is None else ratios(coarsened_ms, times[PLAIN]),
        device_ms=Spread.of(lapilli.device_ms).median if has_device_times else None,
        device_ratio=ratios(lapilli.device_ms, glsl.device_ms) if has_device_times else None,
        cpu_ratio=ratios(lapilli.cpu_ms, glsl.cpu_ms) if is_software else None,
    )


def check_side(device: lp.Device, case: Case, name: str, side: Side, arrays: Sequence[Array]) -> None:
    """Launches a side once on the initial data and compares; the other sides' results are gone by then."""
    arrays[-1].copy_from(case.arrays[-1])
    side.run()
    if not case.check(arrays[-1].numpy(), case.arrays):
        raise WrongResultError(
            f"case '{case.name}', {name}, on device '{device.name}': the result differs from NumPy's; "
            "its time would mean nothing"
        )
