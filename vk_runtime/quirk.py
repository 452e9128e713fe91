"""One row of the table of drivers' faults (`quirks`)."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]
"""A driver's, as far as it matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """One fault."""

    name: str
    drivers: tuple[int, ...]
    """VkDriverId of the drivers that have it."""
    versions: tuple[Version, Version] | None
    """The first version that is known to have it, and the first beyond of which that is not known; None: every one."""
    fault: str
    remedy: str
    """What we do, and where."""
    field: str = ""
    """Of `TargetEnv`, that asks for the remedy where a driver has the fault; "" where that is not all that decides."""
    test: str
    """The test that fails without the remedy."""
    shown_by: str = "tests/vk_runtime/test_driver_faults.py"
    """The test in which a shader without the remedy is wrong on drivers that have the fault."""
    mended_in: Version | None = None
    """The first version that is known not to have it."""
