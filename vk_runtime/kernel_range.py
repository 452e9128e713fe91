"""KernelRange: ``kernel[n]`` of a kernel of a bundle, launched as kernel functions are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..ir.errors import no_events, user_facing
from .array import Array
from .bundle_errors import ConstraintError
from .image_base import ImageBase

if TYPE_CHECKING:
    from .event import Event
    from .handler import Handler
    from .kernel_object import Kernel
    from .queue import Queue


class KernelRange:
    """A kernel of a bundle with a range, and a queue if the user names one; calling it with arguments launches it."""

    __slots__ = ("_events", "_kernel", "_queue", "_range")

    def __init__(
        self, kernel: Kernel, range_: object, queue: Queue | None = None, events: tuple[Event, ...] = ()
    ) -> None:
        self._kernel, self._range, self._queue, self._events = kernel, range_, queue, events

    @user_facing
    def on(self, queue: Queue | None, wait: Iterable[Event] = ()) -> KernelRange:
        """Returns the same on a queue, behind events: ``kernel[n].on(queue, wait=[event])(…)``; None stays where it is.

        Raises:
            InvalidError: `queue` is none, or `wait` no sequence of events.
        """
        from .queue import Queue  # which imports launches

        if not isinstance(queue, Queue | None):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise ConstraintError(
                f"kernel '{self._kernel.name}': .on(…) expects an lp.Queue, found {queue!r} of type "
                f"{type(queue).__name__}"
            )
        if not isinstance(wait, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise no_events(self._kernel.name, wait)
        return KernelRange(self._kernel, self._range, queue or self._queue, (*self._events, *wait))

    @user_facing
    def __call__(self, /, *args: object, **kwargs: Any) -> Event:
        """Launches the kernel and returns an `lp.Event`.

        Without `on` the queue is the default one of the arguments' device, or of the bundle's first device, which is
        of the device's default context.

        Raises:
            InvalidError: the kernel belongs to another context than the queue.
        """
        queue = self._queue
        if queue is None:
            given = (arg.device for arg in (*args, *kwargs.values()) if isinstance(arg, Array | ImageBase))
            queue = next(given, self._kernel.kernel_bundle.devices[0]).default_queue

        def group(h: Handler) -> None:
            h.depends_on(self._events)
            h.launch(self._range, self._kernel, args, kwargs)

        return queue.submit(group)

    def spec(self, values: Mapping[object, object] | None = None, /, **named: object) -> NoReturn:
        """Raises InvalidError: the bundle was built with the values of its specialization constants."""
        raise ConstraintError(
            f"kernel '{self._kernel.name}' is of a kernel bundle, which was built with the values of its "
            "specialization constants; set them on the input bundle before the build"
        )

    def __repr__(self) -> str:
        return f"<{self._kernel!r} over {self._range!r}; call it>"
