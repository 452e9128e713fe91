"""Choosing a device by what it has (SYCL 2020, ``aspect_selector`` and device selectors)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from ..ir.aspects import Aspect, aspect_spelling
from ..ir.errors import InvalidError, RuntimeFailure
from .device import Device
from .runtime import require_devices


def select_device(
    score: Callable[[Device], float] | None = None,
    *,
    aspects: Iterable[Aspect] = (),
    deny: Iterable[Aspect] = (),
) -> Device:
    """Returns the best device that has some aspects.

    Args:
        score: called with each device that has them; the highest result wins, one below 0 excludes the device.  None:
            the first in the order of `devices`.
        aspects: what it must have.
        deny: what it must not have.

    Raises:
        InvalidError: something that is no aspect, or a `score` that is no function of a device.
        RuntimeFailure: no device is like that, or there is none; the text says what each lacks, or what to install.
    """
    needed, denied = _aspects("aspects", aspects), _aspects("deny", deny)
    if score is not None and not callable(score):  # pyright: ignore[reportUnnecessaryComparison] - called by users
        raise InvalidError(f"select_device takes a function that scores a device, found {score!r}")
    listed = require_devices().devices
    suited = [d for d in listed if not _problem(d, needed, denied)]
    scored = [(1.0 if score is None else _score(score, d), d) for d in suited]
    best = max((value for value, _ in scored), default=-1.0)
    if best < 0:
        lines = "\n".join(
            f"  {d.selector:20} {_problem(d, needed, denied) or 'scored below 0'}" for d in listed
        )
        raise RuntimeFailure(f"select_device: no device is as asked for:\n{lines}")
    return next(d for value, d in scored if value == best)


def _aspects(what: str, values: object) -> tuple[Aspect, ...]:
    items = tuple(cast("Iterable[object]", values)) if isinstance(values, Iterable) else (values,)
    for item in items:
        if not isinstance(item, Aspect):
            raise InvalidError(f"select_device({what}=…) takes a list of lp.Aspect members, found {item!r}")
    return cast("tuple[Aspect, ...]", items)


def _problem(device: Device, needed: tuple[Aspect, ...], denied: tuple[Aspect, ...]) -> str:
    lacks = [aspect_spelling(aspect) for aspect in needed if not device.has(aspect)]
    has = [aspect_spelling(aspect) for aspect in denied if device.has(aspect)]
    return "; ".join(
        [*(["lacks " + ", ".join(lacks)] if lacks else []), *(["has " + ", ".join(has)] if has else [])]
    )


def _score(score: Callable[[Device], object], device: Device) -> float:
    value = score(device)
    if not isinstance(value, int | float):
        raise InvalidError(
            f"select_device: expected a number as the score of '{device.selector}', found {value!r}"
        )
    return float(value)
