"""Launching a kernel of an executable bundle: `launch_kernel`.

The bundle's pipelines are there, so that a launch of the usual local size makes neither module nor pipeline, but for
the first with an array that is larger than a descriptor shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..ir.config import config
from ..ir.errors import InvalidError, NdRangeError
from ..ir.kernel_info import KernelInfo
from .bundle_addresses import by_address
from .bundle_image import DeviceImage
from .bundle_pipelines import bundle_local_size, values_for
from .errors import ArrayRangeError
from .event import Event
from .indirect_range import IndirectRange
from .indirect_record import launch_over
from .kernel_object import Kernel
from .launch import launch
from .launch_plan import normalise_range, padded
from .launchable import LaunchRequest
from .preset_launch import launch_preset
from .queue import Queue


@runtime_checkable
class GroupedRange(Protocol):
    """A range with a local size; `frontend.ranges.NdRange` is one."""

    @property
    def global_(self) -> object:
        """Total work-items."""
        ...

    @property
    def local_(self) -> object:
        """Work-items of a work-group."""
        ...


def launch_kernel(
    queue: Queue,
    kernel: Kernel,
    range_: object,
    args: tuple[object, ...] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    spec_values: Mapping[str, bytes] | None = None,
    wait_events: Sequence[Event] = (),
    image: DeviceImage | None = None,
) -> Event:
    """Records a kernel of a bundle on a queue.

    Args:
        queue: of a device of the bundle.
        kernel: of an executable bundle.
        range_: work-items, an `lp.NdRange`, or an `lp.IndirectRange`.
        args: arguments by position.
        kwargs: arguments by name.
        spec_values: host bytes of specialization constants by symbol, instead of the bundle's.
        wait_events: the kernel starts after these.
        image: the image of the bundle to take the kernel from; None: the first that the device can run.

    Raises:
        KernelArgumentError: arguments that do not suit the parameters.
        KernelNotSupportedError: the bundle has no image of the kernel for the queue's device, or a limit is passed.
        NdRangeError: a range that cannot be, or of another number of dimensions than the kernel was compiled for.
    """
    if config.interpret:
        return _interpret(queue, kernel, range_, args, kwargs or {}, wait_events, image)
    values = () if kernel.preset is not None else kernel.bind_arguments(args, kwargs or {})
    bundle, device = kernel.kernel_bundle, queue.device
    spec = {**bundle.spec_values.by_symbol(), **(spec_values or {})}
    chosen = image or bundle.image_of(kernel.kernel_id, device)
    try:
        return _launch_from(chosen, queue, kernel, range_, args, kwargs or {}, values, spec, wait_events)
    except ArrayRangeError:
        larger = by_address(chosen, device)
        if larger is None:
            raise
    return _launch_from(larger, queue, kernel, range_, args, kwargs or {}, values, spec, wait_events)


def _launch_from(
    image: DeviceImage,
    queue: Queue,
    kernel: Kernel,
    range_: object,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    values: Sequence[object],
    spec: Mapping[str, bytes],
    wait_events: Sequence[Event],
) -> Event:
    """Records a kernel as an image has it.

    Args:
        image: of the kernel's bundle, or made of one of its images.
        queue: this and what is not named here as in `launch_kernel`.
        values: the arguments bound to the parameters; nothing for a kernel whose arguments are set already.
        spec: host bytes of all specialization constants that are not at their defaults, by symbol.

    Raises:
        ArrayRangeError: an array is larger than a descriptor shows.
    """
    name = image.name_of(kernel.kernel_id)
    assert name is not None, "the bundle chose an image that has the kernel"
    binary, info, device = image.binary, image.info(name), queue.device
    read, records = values_for(binary, spec), kernel.kernel_bundle.launches
    if isinstance(range_, IndirectRange):
        local = bundle_local_size(info, device, kernel.kernel_id, spec)
        return launch_over(queue, binary, info, range_, local, values, read, wait_events, records=records)
    is_nd_range = isinstance(range_, GroupedRange)
    try:
        extents, local = _range(info, range_)
    except NdRangeError:
        if kernel.preset is None:
            # A launch over nothing checks what comes before the range: the arguments.
            launch(queue, binary, info, (0,) * info.abi.rank, None, values, read, records=records)
        raise
    local = local or bundle_local_size(info, device, kernel.kernel_id, spec)
    if kernel.preset is not None:
        return launch_preset(
            queue, binary, info, extents, local, kernel.preset, args, kwargs, read, wait_events,
            is_nd_range=is_nd_range,
        )  # fmt: skip
    return launch(
        queue, binary, info, extents, local, values, read, wait_events, is_nd_range=is_nd_range, records=records
    )  # fmt: skip


def _interpret(
    queue: Queue,
    kernel: Kernel,
    range_: object,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    wait_events: Sequence[Event],
    image: DeviceImage | None,
) -> Event:
    """Launches the function that a kernel was made of, for the interpreter: with the bundle's constants and rank.

    Raises:
        InvalidError: the program has no such function, or the kernel has its arguments already.
    """
    function, id_, bundle = kernel.kernel_id.function(), kernel.kernel_id, kernel.kernel_bundle
    if function is None or kernel.preset is not None:
        no_function = "it is no function with @lp.kernel of this program"
        reason = no_function if function is None else "its arguments are set"
        raise InvalidError(
            f"kernel '{kernel.name}' cannot be interpreted: {reason}, so there is SPIR-V of it alone; launch it with "
            "lp.config.override(interpret=False)"
        )
    chosen = image or bundle.image_of(id_, queue.device)
    name = chosen.name_of(id_)
    assert name is not None, "the bundle chose an image that has the kernel"
    if not isinstance(range_, IndirectRange):
        extents, local = _range(chosen.info(name), range_)
        grouped: Any = type(range_)  # lp.NdRange, which this folder does not know
        range_ = extents if local is None else grouped(extents, local)
    request = LaunchRequest(
        queue=queue,
        range=range_,
        args=args,
        kwargs=kwargs,
        spec_values=bundle.specialization_constants,
        wait_events=tuple(wait_events),
    )
    return function.submit(request)


def _range(info: KernelInfo, value: object) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Returns range and local size with as many dimensions as the kernel was compiled for, where it can have them."""
    if not isinstance(value, GroupedRange):
        return padded(info, normalise_range(value)), None
    extents, local = (
        normalise_range(value.global_, "global range"),
        normalise_range(value.local_, "local range"),
    )
    if len(extents) != len(local):
        raise NdRangeError(
            f"lp.NdRange: global range {extents} has {len(extents)} dimensions, local range {local} has {len(local)}; "
            "expected as many"
        )
    return padded(info, extents), padded(info, local)


__all__ = ["GroupedRange", "launch_kernel"]
