"""Texts of checks and prints in kernels, the same for devices and for the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import KernelTrap
from .kernel_info import Site

_CODES = {"index": "LP4110", "uninitialised": "LP4111", "barrier": "LP4113"}
"""Codes of checks that the interpreter makes as well."""


def trap_of(kernel: str, site: Site, work_item: tuple[int, ...], values: Sequence[object]) -> KernelTrap:
    """Returns the error of a failed check.

    Args:
        kernel: its name.
        site: the check.
        work_item: global id, slowest dimension first.
        values: what the text shows, as `shown` gives them.
    """
    where = "" if site.location is None else f"{site.location}: "
    return KernelTrap(
        f"{where}kernel '{kernel}', work-item {work_item}: {text_of(site, values)}; the arrays that the kernel "
        "writes are undefined",
        kernel=kernel,
        code=_CODES.get(site.kind),
        work_item=work_item,
        values=tuple(values),
        location=site.location,
    )


def shown(scalar: np.generic, dtype: str) -> object:
    """Returns a number as a Python number that prints as Python prints it.

    Args:
        scalar: the number; an f16 may come as an f32.
        dtype: its type as lapilli spells it.
    """
    if dtype == "bool":
        return bool(scalar)
    if dtype == "f16":
        return ShortFloat(np.float16(scalar))
    return ShortFloat(np.float32(scalar)) if dtype == "f32" else scalar.item()


class ShortFloat(float):
    """A float of fewer bits than Python's: prints with the digits that tell it from its neighbours."""

    def __new__(cls, value: np.floating[Any]) -> ShortFloat:
        made = super().__new__(cls, value)
        made._digits = _digits(value)
        return made

    def __repr__(self) -> str:
        return self._digits

    def __format__(self, spec: str) -> str:
        return float.__format__(self, spec) if spec else self._digits

    __str__ = __repr__
    _digits: str


def _digits(value: np.floating[Any]) -> str:
    """Returns the shortest digits of a NumPy float in the layout of Python's repr."""
    text = np.format_float_scientific(value, unique=True, trim="0") if np.isfinite(value) else ""
    if not text:
        return repr(float(value))
    return repr(float(text))


def text_of(site: Site, values: Sequence[object]) -> str:
    """Returns the text of a check or print with its values."""
    try:
        return site.text.format(*values)
    except (
        ValueError,
        OverflowError,
    ) as error:  # a format that does not suit the value, such as {:d} of a float
        return f"{site.text!r} of {values}: {error}\n"
