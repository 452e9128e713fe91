"""What a module of drivers/ makes: the cases of one package, ready to be run; standard library and NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Work:
    """A case that is ready to be run."""

    run: Callable[[int], object]
    """Runs once and waits for the result; takes how many runs there were before."""
    result: Callable[[], np.ndarray]
    """Returns what the last run made."""


@dataclass
class Driver:
    """One package."""

    version: str
    device: str
    """As the package names it; empty where it does not."""
    cases: Mapping[str, Callable[[Sequence[np.ndarray], Mapping[str, Any]], Work]]
    """Takes the inputs of a case, the last of which has the shape and the type of the result, and its parameters."""


class Unsupported(Exception):
    """The package has no such thing; the text says what."""
