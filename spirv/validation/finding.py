"""A fault of a module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken in one place."""

    message: str
    """What is wrong, with the ids concerned."""
    ordinal: int | None
    """The instruction at fault, counted from 0; None where the fault belongs to none."""
    rule: str
    """The rule family: the name of a file of this folder."""

    def __str__(self) -> str:
        where = "" if self.ordinal is None else f"instruction {self.ordinal}: "
        return f"{where}{self.message} [{self.rule}]"
