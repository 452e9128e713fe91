"""A package that does the cases in NumPy, and what can go wrong with one, by the word after the module's name.

``wrong``: results differ.  ``dies``: ends in its second turn.  ``fails``: raises in its second turn.  ``chatty``:
prints on standard output.  ``absent``: cannot be imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.driver import Driver, Unsupported, Work

MODE = sys.argv[2] if len(sys.argv) > 2 else ""
if MODE == "absent":
    raise ImportError("no such package")
print("a package that greets its user")


def _launches(inputs: Sequence[np.ndarray], parameters: Mapping[str, Any]) -> Work:
    x = inputs[0].copy()

    def run(number: int) -> None:
        if MODE == "dies" and number > 1:
            print("the driver aborted", file=sys.stderr, flush=True)
            os._exit(3)
        if MODE == "fails" and number > 1:
            raise RuntimeError("out of memory")
        if MODE == "chatty":
            print('{"seconds": [0.0]}', flush=True)
        x[:] += parameters["launches"] - (MODE == "wrong")

    return Work(run=run, result=lambda: x)


def _copy(inputs: Sequence[np.ndarray], _: Mapping[str, Any]) -> Work:
    out = np.zeros_like(inputs[0])
    return Work(run=lambda _: np.copyto(out, inputs[0]), result=lambda: out + (MODE == "wrong"))


def _unsupported(inputs: Sequence[np.ndarray], _: Mapping[str, Any]) -> Work:
    raise Unsupported("graphs")


def make() -> Driver:
    """Returns the driver."""
    return Driver(
        version="1.2",
        device="NumPy",
        cases={"launch + wait": _launches, "upload": _copy, "graph node": _unsupported},
    )
