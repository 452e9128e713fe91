"""What `lapilli doctor` reports, apart from how it is found and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "missing", "note"]
"""``missing`` needs a repair or explains why something does not work; ``note`` is neither good nor bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report."""

    status: Status
    subject: str
    """What was looked at: ``loader``."""
    text: str
    """What was found: version and path, or why it cannot be used."""
    repair: str | None = None
    """The exact command that repairs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Findings under one heading."""

    heading: str
    findings: tuple[Finding, ...]


def ok(subject: str, text: str) -> Finding:
    """Something that is there and works."""
    return Finding(status="ok", subject=subject, text=text)


def note(subject: str, text: str) -> Finding:
    """Something worth knowing."""
    return Finding(status="note", subject=subject, text=text)


def missing(subject: str, text: str, repair: str | None = None) -> Finding:
    """Something that is absent or unusable."""
    return Finding(status="missing", subject=subject, text=text, repair=repair)


def repairs(sections: tuple[Section, ...]) -> tuple[str, ...]:
    """Returns the repair commands of all findings, each once, in order."""
    found = (finding.repair for section in sections for finding in section.findings)
    return tuple(dict.fromkeys(repair for repair in found if repair is not None))
