"""Copies and fills as commands of a queue: checked when they are asked for, run when their group is complete.

Between an array and host memory the data has moved when the command returns; between arrays of the queue's device
it moves on the device, in order with the other commands that use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..ir.errors import InvalidError, KernelArgumentError
from . import graph_recording
from .array import Array
from .bundle_errors import OutOfContextError
from .event import Event
from .host_data import element, require_unmasked
from .image_base import ImageBase
from .transfer import copy_array, download, fill, upload_array

if TYPE_CHECKING:
    from .queue import Queue

_HostArray = np.ndarray[Any, Any]
_Command = Callable[[tuple[Event, ...]], Event]


def checked_copy(queue: Queue, source: object, target: object) -> _Command:
    """Returns the command that copies all elements, or pixels, of `source` to `target`.

    Raises:
        KernelArgumentError: an array or image of another device than the queue's, or a released one.
        InvalidError: neither is an `lp.Array` or an image, shapes, dtypes or formats differ, the target is read-only,
            or the queue was closed.
    """
    for what, value in (("source", source), ("target", target)):
        if isinstance(value, Array | ImageBase):
            _require_usable(queue, value, f"copy: the {what}")
        elif not isinstance(value, np.ndarray):
            raise InvalidError(
                f"copy: the {what} must be an lp.Array, an image or a NumPy array, found {value!r:.80} of type "
                f"{type(value).__name__}"
            )
    require_unmasked(source, "copy")
    if isinstance(source, ImageBase) or isinstance(target, ImageBase):
        return _of_images(queue, source, target)
    if isinstance(target, Array):
        if isinstance(source, Array):
            target.require_same(source.host_shape, source.dtype.base, "copy: the source")
            return _between(queue, source, target)
        host = cast(_HostArray, source)
        target.require_same(host.shape, host.dtype, "copy: the source")
        return _to_device(queue, host, target)
    if not isinstance(source, Array):
        raise InvalidError("copy: expected an lp.Array as source or target, found two NumPy arrays")
    out = cast(_HostArray, target)
    source.require_same(out.shape, out.dtype, "copy: the target")
    if not out.flags.writeable:
        raise InvalidError("copy: the target is read-only")
    return _to_host(queue, source, out)


def checked_fill(queue: Queue, target: object, value: object) -> _Command:
    """Returns the command that sets every element, or pixel, of `target`.

    Raises:
        KernelArgumentError: an array or image of another device than the queue's, or a released one.
        InvalidError: no `lp.Array` or image, or a value that does not fit, or the queue was closed.
    """
    if isinstance(target, ImageBase):
        return _fill_image(queue, target, value)
    if not isinstance(target, Array):
        raise InvalidError(
            f"fill: expected an lp.Array or an image, found {target!r:.80} of type {type(target).__name__}"
        )
    _require_usable(queue, target, "fill: the target")
    pattern = element(value, target.spelling)

    def run(events: tuple[Event, ...]) -> Event:
        _wait(queue, events)
        fill(queue, target, pattern)
        return queue.event()

    return run


def _between(queue: Queue, source: Array, target: Array) -> _Command:
    def run(events: tuple[Event, ...]) -> Event:
        if source is target:
            return queue.marker(events)
        if events:
            queue.marker(events)
        copy_array(queue, source, target)
        return queue.event()

    return run


def _of_images(queue: Queue, source: object, target: object) -> _Command:
    """Returns a copy of which one side at least is an image."""
    from .image_copy import copy_image, require_copyable
    from .image_transfer import download_image, upload_image
    from .images import Image

    device = queue.device.logical
    if isinstance(source, Array | Image) and isinstance(target, Array | Image):
        require_copyable(source, target)

        def between(events: tuple[Event, ...]) -> Event:
            if events or source.buffer is target.buffer:
                queue.marker(events)
            copy_image(queue, source, target)
            return queue.event()

        return between
    if isinstance(target, Image):
        pixels = cast(_HostArray, source)
        target.require_same(pixels, "copy: the source")
        return _behind(queue, lambda: upload_image(queue, device, target.buffer, pixels))
    assert isinstance(source, Image)
    out = cast(_HostArray, target)
    source.require_same(out, "copy: the target")
    if not out.flags.writeable:
        raise InvalidError("copy: the target is read-only")
    return _behind(queue, lambda: download_image(queue, device, source.buffer, out))


def _fill_image(queue: Queue, target: ImageBase, value: object) -> _Command:
    from .image_transfer import upload_image
    from .images import Image

    assert isinstance(target, Image)
    _require_usable(queue, target, "fill: the target")
    pixels = target.filled_with(value)
    return _behind(queue, lambda: upload_image(queue, queue.device.logical, target.buffer, pixels))


def _behind(queue: Queue, command: Callable[[], None]) -> _Command:
    """Returns a command of the host that runs when events have happened."""

    def run(events: tuple[Event, ...]) -> Event:
        _wait(queue, events)
        command()
        return queue.event()

    return run


def _to_device(queue: Queue, source: _HostArray, target: Array) -> _Command:
    def run(events: tuple[Event, ...]) -> Event:
        _wait(queue, events)
        converted = source.astype(target.dtype.base, copy=False)
        return upload_array(queue, target, converted) or queue.event()

    return run


def _to_host(queue: Queue, source: Array, target: _HostArray) -> _Command:
    def run(events: tuple[Event, ...]) -> Event:
        _wait(queue, events)
        download(queue, queue.device.logical, source.buffer, target)
        return queue.event()

    return run


def _wait(queue: Queue, events: tuple[Event, ...]) -> None:
    if graph_recording.active and graph_recording.recorder() is not None:
        queue.marker(events)
        return
    for event in events:
        event.wait()


def _require_usable(queue: Queue, memory: Array | ImageBase, what: str) -> None:
    queue.require_open()  # memory that the host writes where it lies needs no command, which would be refused
    kind, maker = ("array", "lp.asarray") if isinstance(memory, Array) else ("image", "lp.UnsampledImage")
    if memory.device is not queue.device:
        is_native = isinstance(memory, Array) and not memory.is_released and memory.buffer.is_borrowed
        raise (OutOfContextError if is_native else KernelArgumentError)(
            f"{what}: expected an {kind} on device '{queue.device.selector}' of the queue, found one on "
            f"'{memory.device.selector}'; copy it with {maker}(a, device=…)"
        )
    if memory.is_released:
        raise KernelArgumentError(f"{what}: the {kind} was released; make a new one")
