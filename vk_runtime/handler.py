"""Handler: what a command group is written with (SYCL 2020 section 4.9.4, ``sycl::handler``).

A group holds at most one command.  Nothing reaches the queue before the group is complete: an exception in
between leaves nothing behind, and the order of the calls does not matter where the rules do not say so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.public_names import PublicNames
from .bundle_errors import ConstraintError
from .event import Event
from .group_constants import GroupConstants
from .launchable import SINGLE_TASK, LaunchRequest, Selector, with_set_arguments
from .spec_placeholder import SpecConstant
from .submission import submitting
from .transfer_commands import checked_copy, checked_fill

if TYPE_CHECKING:
    from .array import Array
    from .image_base import ImageBase
    from .kernel_bundle import KernelBundle
    from .queue import Queue

_Command = Callable[[tuple[Event, ...]], Event]
"""Records the group's command behind events."""


class Handler(
    metaclass=PublicNames,
    internal="end launch run",
):
    """A command group that is being written.  Made by `Queue.submit`; of no use once the group ended."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._constants = GroupConstants()
        self._bundle: KernelBundle | None = None
        self._selector: Selector | None = None
        self._events: list[Event] = []
        self._assigned: dict[int | str, object] = {}
        self._what = ""
        self._command: _Command | None = None
        self._is_open = True

    # Kernel bundles

    def use_kernel_bundle(self, kb: KernelBundle) -> None:
        """Takes the group's kernel from an executable bundle, and from nowhere else.

        Raises:
            TypeError: it is no bundle, or not executable.
            InvalidError: another context than the queue's, a second bundle, or constants set under the SYCL 2020 name.
        """
        self.use_module(kb)

    def use_module(self, kb: KernelBundle, selector: Selector | None = None) -> None:
        """Does what `use_kernel_bundle` does.

        Args:
            kb: executable.
            selector: gets the bundle's device images and returns the one to take kernels from.
        """
        self._require_open()
        from .group_launch import executable_bundle

        executable_bundle(kb)
        if kb.context is not self._queue.context:
            raise InvalidError(
                "use_kernel_bundle: the kernel bundle belongs to another context than the queue; make the queue with "
                "lp.Queue(context=kb.context)"
            )
        if self._bundle is not None and self._bundle != kb:
            raise InvalidError(
                "use_kernel_bundle: expected one kernel bundle in a command group, found a second; join them first"
            )
        if selector is not None and not callable(selector):  # pyright: ignore[reportUnnecessaryComparison]
            raise ConstraintError(f"use_module(…, selector=…) expects a function, found {selector!r}")
        self._constants.bind(kb)
        self._bundle = kb
        self._selector = selector if selector is not None else self._selector

    # Specialization constants

    def set_specialization_constant(self, constant: object, value: object) -> None:
        """Sets a constant for the group's kernel; the last value counts.

        Raises:
            KernelArgumentError: no specialization id, or a value that does not fit it.
            InvalidError: the group uses a kernel bundle, or the constant was used under the older names.
        """
        self._require_open()
        self._constants.set(constant, value)

    def get_specialization_constant(self, constant: object) -> Any:
        """Returns the value that was set, else the default.

        Raises:
            KernelArgumentError: no specialization id.
            InvalidError: the group uses a kernel bundle, or the constant was used under the older names.
        """
        self._require_open()
        return self._constants.get(constant)

    def set_spec_constant(self, constant: object, value: object) -> SpecConstant:
        """Sets a constant under the Modules proposal's rules: once in a group, and to the bound bundle's value.

        Raises:
            KernelArgumentError: no specialization id, or a value that does not fit it.
            InvalidError: a second call for the constant, another value than the bundle's, or mixed names.
        """
        self._require_open()
        return self._constants.set_once(constant, value)

    def get_spec_constant(self, constant: object) -> SpecConstant:
        """Returns a constant under the Modules proposal's rules: once in a group.

        Raises:
            KernelArgumentError: no specialization id.
            InvalidError: a second call for the constant, or mixed names.
        """
        self._require_open()
        return self._constants.get_once(constant)

    # Arguments

    def set_arg(self, parameter: int | str, value: object) -> None:
        """Gives one argument of the group's kernel, by position or name; the last value counts.

        Raises:
            InvalidError: `parameter` is neither.
        """
        self._require_open()
        if isinstance(parameter, str):
            self._assigned[parameter] = value
            return
        try:
            index = operator.index(parameter)
        except TypeError:
            index = -1
        if index < 0 or isinstance(parameter, bool):
            raise InvalidError(
                f"set_arg: expected the position of a parameter from 0, or its name; found {parameter!r}"
            )
        self._assigned[index] = value

    def set_args(self, *values: object) -> None:
        """Gives all arguments of the group's kernel, by position."""
        self._require_open()
        self._assigned |= dict(enumerate(values))

    # Commands

    def parallel_for(
        self,
        range_: object,
        kernel: object,
        /,  # a kernel's parameters may be called so
        *args: object,
        spec: Mapping[Any, object] | None = None,
        **kwargs: object,
    ) -> None:
        """Launches a kernel over a range when the group is complete.

        Args:
            range_: total work-items, or an ``lp.NdRange``.
            kernel: a kernel function, or a kernel of a bundle.
            args: arguments by position.
            spec: values of specialization constants by id, as by `set_specialization_constant`.
            kwargs: arguments and ``lp.Spec`` parameters by name.

        Raises:
            InvalidError: no kernel, or the group has a command.
        """
        self._set_command("parallel_for", self._launch(range_, kernel, args, kwargs, spec, "parallel_for"))

    def launch(
        self, range_: object, kernel: object, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> None:
        """Does what `parallel_for` does; any of the kernel's parameters may be given by name."""
        self._set_command("parallel_for", self._launch(range_, kernel, args, kwargs, None, "parallel_for"))

    def single_task(
        self, kernel: object, /, *args: object, spec: Mapping[Any, object] | None = None, **kwargs: object
    ) -> None:
        """Launches a kernel with one work-item when the group is complete; see `parallel_for`."""
        self._set_command("single_task", self._launch(SINGLE_TASK, kernel, args, kwargs, spec, "single_task"))

    def copy(
        self,
        source: Array | ImageBase | np.ndarray[Any, Any],
        target: Array | ImageBase | np.ndarray[Any, Any],
    ) -> None:
        """Copies all elements, or pixels, of `source` to `target`; at least one of them is an `lp.Array` or an image.

        Raises:
            KernelArgumentError: an array or image of another device than the queue's.
            InvalidError: shapes, dtypes or formats differ, nothing to copy to, or the group has a command.
        """
        self._set_command("copy", checked_copy(self._queue, source, target))

    def fill(self, target: Array | ImageBase, value: object) -> None:
        """Sets every element, or pixel, of `target`.

        Raises:
            KernelArgumentError: an array or image of another device than the queue's.
            InvalidError: a value that does not fit, or the group has a command.
        """
        self._set_command("fill", checked_fill(self._queue, target, value))

    def depends_on(self, events: Event | Iterable[Event]) -> None:
        """Makes the group's command start after an event, or several.

        Raises:
            InvalidError: something that is no event.
        """
        self._require_open()
        from .array import Array  # which looks as if it could be iterated over

        several = isinstance(events, Iterable) and not isinstance(events, Event | Array)
        found = list(cast("Iterable[object]", events if several else [events]))
        for event in found:
            if not isinstance(event, Event):
                raise InvalidError(
                    f"depends_on expects lp.Event objects, found {event!r} of type {type(event).__name__}"
                )
        self._events += cast("list[Event]", found)

    def _launch(
        self,
        range_: object,
        kernel: object,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        spec: Mapping[Any, object] | None,
        what: str,
    ) -> _Command:
        self._require_open()
        from .group_launch import group_kernel, launch_in_group

        checked = group_kernel(kernel, f"h.{what}")
        constants = cast("object", {} if spec is None else spec)
        if not isinstance(constants, Mapping):
            raise KernelArgumentError(
                f"h.{what}: spec= takes a mapping of values of specialization constants by id, found {spec!r} of "
                f"type {type(spec).__name__}; an argument for a parameter called 'spec' is given by position",
                code="LP3011",
            )
        for constant, value in cast("Mapping[Any, object]", constants).items():
            self._constants.set(constant, value)

        def run(events: tuple[Event, ...]) -> Event:
            values = tuple(map(self._argument, args))
            named = {name: self._argument(value) for name, value in kwargs.items()}
            assigned = {key: self._argument(value) for key, value in self._assigned.items()}
            values, all_named = with_set_arguments(checked, values, named, assigned)
            request = LaunchRequest(
                queue=self._queue, range=range_, args=values, kwargs=all_named, wait_events=events
            )
            return launch_in_group(checked, request, self._constants, self._bundle, self._selector)

        return run

    def _argument(self, value: object) -> object:
        """Returns an argument; a placeholder stands for the value that its constant has in this group."""
        if not isinstance(value, SpecConstant):
            return value
        return value.constant.from_bytes(self._constants.bytes_of(value.constant))

    def _set_command(self, what: str, command: _Command) -> None:
        self._require_open()
        if self._command is not None:
            raise InvalidError(
                f"a command group has one command, found {what} after {self._what}; submit another group for it"
            )
        self._what, self._command = what, command

    def _require_open(self) -> None:
        if not self._is_open:
            raise InvalidError("this command group has ended; its handler works only inside of queue.submit")

    # The end of the group; called by `CommandGroup`

    def end(self) -> None:
        """Lets no further call in."""
        self._is_open = False

    def run(self) -> Event:
        """Records the command; returns its event."""
        events = tuple(self._events)
        if self._command is not None:
            if self._queue.is_profiling and self._what in ("copy", "fill"):
                from .event_times import timed_transfer

                return timed_transfer(self._queue, partial(self._command, events))
            return self._command(events)
        return self._queue.marker(events) if events else Event(self._queue, 0)


class CommandGroup:
    """What `Queue.submit` returns without a function: ``with queue.submit() as h: …`` submits at the end."""

    def __init__(self, queue: Queue) -> None:
        self._handler = Handler(queue)
        self._marks = ExitStack()
        self._event: Event | None = None
        self._is_begun = False

    @property
    def event(self) -> Event:
        """The event of the group's command.

        Raises:
            InvalidError: the group has not ended, or ended with an exception.
        """
        if self._event is None:
            raise InvalidError(
                "a command group has an event once its with block has ended without an exception"
            )
        return self._event

    def __enter__(self) -> Handler:
        if self._is_begun:
            raise InvalidError("this command group was begun before; call queue.submit() for another")
        self._is_begun = True
        self._marks.enter_context(submitting())
        return self._handler

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._event = self._handler.run()
        finally:
            self._handler.end()
            self._marks.close()


def run_group(queue: Queue, function: Callable[[Handler], object]) -> Event:
    """Calls `function` with a handler and submits what it asked for.

    Raises:
        InvalidError: `function` cannot be called.
    """
    if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidError(
            f"queue.submit expects a function of the handler, lambda h: …, found {function!r}; without one it is a "
            "context manager: with queue.submit() as h: …"
        )
    group = CommandGroup(queue)
    with group as handler:
        function(handler)
    return group.event


__all__: list[str] = ["CommandGroup", "Handler", "run_group"]
