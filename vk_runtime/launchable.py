"""What a command group needs of a kernel: `Launchable`, and what it tells it: `LaunchRequest`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..ir.errors import KernelArgumentError

if TYPE_CHECKING:
    from .event import Event
    from .kernel_object import Kernel
    from .queue import Queue

Selector = Callable[[Sequence[Any]], object]
"""Chooses one of the device images that hold a kernel."""


class SingleTask:
    """The range of ``single_task``: one work-item, in a group of its own."""

    global_ = local_ = 1

    def __repr__(self) -> str:
        return "a single task"


SINGLE_TASK = SingleTask()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """One launch by a command group."""

    queue: Queue
    range: object
    """As the user gave it, unchecked; `SINGLE_TASK` for one work-item."""
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict[str, object])
    """Arguments and ``lp.Spec`` parameters by name."""
    spec_values: Mapping[Any, object] = field(default_factory=dict[Any, object])
    """Values of specialization constants by id."""
    wait_events: tuple[Event, ...] = ()


class Launchable(Protocol):
    """A kernel function."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters that a launch gives arguments for, in order."""
        ...

    def submit(self, request: LaunchRequest) -> Event:
        """Checks everything and records the kernel."""
        ...


def launchable(value: object) -> Launchable | None:
    """Returns `value` as a kernel function, None where it is none."""
    return cast(Launchable, value) if getattr(type(value), "__lapilli_launchable__", False) else None


def with_set_arguments(
    kernel: Launchable | Kernel,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    assigned: Mapping[int | str, object],
) -> tuple[tuple[object, ...], Mapping[str, object]]:
    """Adds what ``set_arg`` gave to the arguments of a launch.

    Args:
        kernel: says the parameters.
        args: by position.
        kwargs: by name.
        assigned: by position or name.

    Raises:
        KernelArgumentError: there is no such parameter, or it has a value already.
    """
    if not assigned:
        return args, kwargs
    names = kernel.parameter_names
    values: dict[str, object] = dict(zip(names, args, strict=False))
    extra = args[len(names) :]
    named = dict(kwargs)
    for key, value in assigned.items():
        name = _parameter(kernel, key)
        if name in values or name in named:
            raise KernelArgumentError(
                f"kernel '{kernel.name}': parameter '{name}': expected one value, found two, by h.set_arg and by the "
                "launch or by position and by name",
                code="LP3004",
            )
        values[name] = value
    first_open = next((i for i, name in enumerate(names) if name not in values), len(names))
    positional = tuple(values[name] for name in names[:first_open])
    named |= {name: value for name, value in values.items() if name not in names[:first_open]}
    return (*positional, *extra), named


def _parameter(kernel: Launchable | Kernel, key: int | str) -> str:
    names = kernel.parameter_names
    if isinstance(key, str):
        if key in names:
            return key
    elif 0 <= key < len(names):
        return names[key]
    raise KernelArgumentError(
        f"kernel '{kernel.name}': h.set_arg found no parameter {key!r}; its parameters are "
        f"{', '.join(names) or 'none'}",
        code="LP3003",
    )
