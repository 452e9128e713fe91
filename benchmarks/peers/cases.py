"""What is measured: data, how often, and what NumPy says about the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..cases import make_cases
from ..references import Check

Part = Literal["cold", "second", "latency", "copies", "kernels"]
PARTS: tuple[Part, ...] = ("cold", "second", "latency", "copies", "kernels")
LAUNCHES = 200
"""Of one measured run of launches."""
NODES = 1000
"""Of a graph."""
ITEMS = 64
"""Work-items of a launch whose latency is measured."""


@dataclass(frozen=True, kw_only=True)
class PeerCase:
    """One thing that every side does."""

    name: str
    arrays: tuple[np.ndarray, ...]
    """Inputs; the last one has the shape and the type of the result."""
    check: Check
    """Whether the result of the first run is right, given the inputs."""
    parameters: dict[str, object] = field(default_factory=dict[str, object])
    unit: str = "ms"
    per_second: float = 1e3
    """Of the unit in a second of one run: what a run's seconds are multiplied by."""
    untimed: int = 1
    """Runs at the beginning of a side's turn, after which caches are its own again."""
    timed: int = 3
    """Runs of a turn; the median counts."""
    most_rounds: int = 1000
    counts_runs: bool = False
    """Whether every run adds to the result: then it is checked at the end, with their number."""

    def is_right(self, result: np.ndarray, runs: int) -> bool:
        """Returns whether the result is what NumPy says."""
        if self.counts_runs:
            launches = self.parameters["launches"]
            assert isinstance(launches, int)
            return bool(np.array_equal(result, np.full(ITEMS, runs * launches, np.float32)))
        return result.shape == self.arrays[-1].shape and self.check(result, self.arrays)


def kernel_cases(*, small: bool) -> list[PeerCase]:
    """Returns the six kernels."""
    names = ("saxpy", "sum", "matmul", "mandelbrot", "n-body", "stencil")
    found = {case.name: case for case in make_cases("tiny" if small else "full")}
    return [
        PeerCase(
            name=name,
            arrays=found[name].arrays,
            check=found[name].check,
            # A matrix product takes seconds, beside which the state of the caches is nothing.
            **({"untimed": 0, "timed": 1, "most_rounds": 3} if name == "matmul" else {}),
        )
        for name in names
    ]


def latency_cases(*, small: bool) -> list[PeerCase]:
    """Returns launches with a wait each, launches with one wait, and the replay of a graph."""
    sizes = {"launch + wait": LAUNCHES, "pipelined launch": LAUNCHES, "graph node": NODES}
    return [
        PeerCase(
            name=name,
            arrays=(np.zeros(ITEMS, np.float32),),
            check=_never,
            parameters={"launches": 3 if small else launches},
            unit="µs",
            per_second=1e6 / (3 if small else launches),
            counts_runs=True,
        )
        for name, launches in sizes.items()
    ]


def copy_cases(*, small: bool) -> list[PeerCase]:
    """Returns copies of 64 MiB from the host to the device and back."""
    data = np.random.default_rng(0).random(1 << (10 if small else 24), dtype=np.float32)
    return [PeerCase(name=name, arrays=(data,), check=_is_input) for name in ("upload", "download")]


def second_case(rounds: int) -> PeerCase:
    """Returns a kernel that is another one in every run, in a process that has run one before."""
    constants = [1.25 + 0.015625 * number for number in range(rounds + 1)]  # exact in 32 bits
    x = np.random.default_rng(0).random(1024, dtype=np.float32)
    return PeerCase(
        name="second kernel",
        arrays=(x, np.zeros_like(x)),
        check=_is_second(constants[0]),
        parameters={"constants": constants},
        untimed=0,
        timed=1,
        most_rounds=rounds,
    )


def _is_second(c: float) -> Check:
    def check(result: np.ndarray, arrays: tuple[np.ndarray, ...]) -> bool:
        v, s = arrays[0].astype(np.float64), np.zeros(arrays[0].shape)
        for _ in range(12):
            s = s * 0.5 + v * c
            s = np.where(s > 1.0, 2.0 - s, s)
            v = v * 0.75 + 0.125
        return bool(np.allclose(result, s + v, rtol=1e-4, atol=1e-4))

    return check


def _is_input(result: np.ndarray, arrays: Sequence[np.ndarray]) -> bool:
    return bool(np.array_equal(result, arrays[0]))


def _never(result: np.ndarray, arrays: Sequence[np.ndarray]) -> bool:
    raise AssertionError("counted, not compared")
