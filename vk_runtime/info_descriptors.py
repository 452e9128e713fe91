"""What ``x.get_info(…)`` takes: `Descriptor`, one for each public member of ``x.info``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..ir.errors import closest
from .bundle_errors import ConstraintError, type_name


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One question to an object, ``lp.info.device.max_work_group_size``."""

    area: str
    """Whom it is asked: ``device``, ``kernel``."""
    name: str
    """What is asked, as SYCL spells it."""

    def __repr__(self) -> str:
        return f"lp.info.{self.area}.{self.name}"


class Descriptors:
    """The descriptors of one kind of object; iterating gives them all."""

    def __init__(self, area: str, view: type) -> None:
        self._area = area
        self._found = {name: Descriptor(area, name) for name in dir(view) if not name.startswith("_")}

    def __getattr__(self, name: str) -> Descriptor:
        found = self.__dict__.get("_found", {}).get(name)
        if found is None:
            area, known = self.__dict__.get("_area"), self.__dict__.get("_found", {})
            meant = "" if name.startswith("_") else closest(name, known)
            hint = f"; did you mean {meant}?" if meant else ""
            raise AttributeError(f"lp.info.{area} has no descriptor {name!r}{hint}", name=name)
        return found

    def __iter__(self) -> Iterator[Descriptor]:
        return iter(self._found.values())

    def __dir__(self) -> list[str]:
        return sorted(self._found)

    def __repr__(self) -> str:
        return f"<lp.info.{self._area}: {', '.join(self._found)}>"


def answer(what: str, area: str, view: object, descriptor: object, function: str = "get_info") -> Any:
    """Returns what a view says to a descriptor of its area.

    Args:
        what: the class that was asked, for messages.
        area: of the descriptors that it knows.
        view: its ``info``.
        descriptor: what the user gave.
        function: that was called, for messages.

    Raises:
        ConstraintError: no descriptor, or one of another kind of object.
    """
    if not isinstance(descriptor, Descriptor):
        raise ConstraintError(
            f"{what}.{function} takes a descriptor such as lp.info.{area}.…, found {descriptor!r} of type "
            f"{type_name(descriptor)}"
        )
    if descriptor.area != area:
        raise ConstraintError(f"{what}.{function} takes descriptors of lp.info.{area}, found {descriptor!r}")
    return getattr(view, descriptor.name)
