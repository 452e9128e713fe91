"""Launching kernels: what ``k[n](…)`` calls, where the arguments of a call meet a prepared launch.

A launch is prepared once for each range, device and set of specialization values (`launch_preparation`); what is
here runs every time and is kept short.  The order of a launch is the contract's: arguments, requirements, build,
range; what fails leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ..ir.config import config
from ..ir.errors import InvalidError, KernelArgumentError, NdRangeError
from ..vk_runtime.array import Array
from ..vk_runtime.device_list import device
from ..vk_runtime.errors import ArrayRangeError
from ..vk_runtime.event import Event
from ..vk_runtime.image_base import ImageBase
from ..vk_runtime.launch_record import LaunchRecord
from ..vk_runtime.launchable import SINGLE_TASK
from ..vk_runtime.queue import Queue
from .arguments import bind_arguments, taken_apart
from .constant_arguments import NO_CONSTANTS
from .first_launch import first_launch
from .launch_preparation import RECORD_LIMIT, Prepared, prepare_launch, prepared_by_address
from .ranges import WIDE_INDEX_LIMIT, exact_key, launch_range
from .spec_constant import SpecializationId

if TYPE_CHECKING:
    from ..vk_runtime.indirect_range import IndirectRange
    from .constant_arguments import Constants
    from .kernel import KernelFunction, LaunchConfiguration

_FIXED = frozenset((bool, int, float))
"""Types of specialization values that never change."""


def launch(
    kernel: KernelFunction,
    configuration: LaunchConfiguration,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> Event:
    """Launches a kernel; what ``k[n](…)`` calls.

    A launch like an earlier one, whatever its arguments, goes to that one's `LaunchRecord`, which checks the
    arguments and records the dispatch; everything else is the same every time.

    Raises:
        KernelArgumentError: arguments or specialization values that do not suit.
        KernelNotSupportedError: the device lacks an aspect or a limit that the kernel needs.
        BuildError: the kernel cannot be compiled.
        NdRangeError: the range cannot be.
        RuntimeFailure: there is no usable device.
    """
    generation: object = config.generation  # before what it stands for is read
    is_interpreted, is_debug = config.interpret, config.debug  # each looks into the environment
    is_indirect = _is_indirect(configuration.range)
    if is_interpreted and is_indirect:
        from .indirect_launch import on_host

        configuration, is_indirect = on_host(configuration), False
    signature, spec_values = kernel.signature, configuration.spec_values
    if kwargs and signature.specialization_ids:
        kwargs, spec_values = _split_keywords(kernel, kwargs, spec_values)
        if spec_values is not configuration.spec_values:
            generation = None  # the next launch may say other constants
    values = bind_arguments(signature, args, kwargs, kernel.name)
    constants, shapes = NO_CONSTANTS, ()
    if signature.has_composites:
        taken = taken_apart(signature, values, kernel.name)
        values, constants, shapes = taken.values, taken.constants, taken.shapes
    queue = _queue_of(kernel, configuration, values)
    spec = _spec_bytes(kernel, spec_values) if spec_values else ()
    shape = _shape_of(configuration.range)
    key = (queue.device, shape, spec, is_interpreted, is_debug, constants.key, shapes)
    events = _events(kernel, configuration.wait_events) if configuration.wait_events else ()
    if is_indirect:
        from .indirect_launch import launch_indirect

        range_ = cast("IndirectRange", configuration.range)
        return launch_indirect(kernel, range_, queue, values, spec, constants, shapes, events)

    prepared = kernel.records.get(key) if shape is not None else None
    if prepared is None or not prepared.is_current():
        with first_launch(queue):
            prepared = prepare_launch(kernel, configuration.range, queue.device, values, spec, constants)
            if len(kernel.records) >= RECORD_LIMIT:
                kernel.records.clear()
            if shape is not None:
                kernel.records[key] = prepared
            if not is_interpreted:
                return _begin(
                    prepared, kernel, configuration, queue, values, spec, constants, events, generation, key
                )
    if is_interpreted:
        return _interpret(prepared, kernel, queue, values, spec, constants, events)
    return _begin(prepared, kernel, configuration, queue, values, spec, constants, events, generation, key)


def _begin(
    prepared: Prepared,
    kernel: KernelFunction,
    configuration: LaunchConfiguration,
    queue: Queue,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    events: tuple[Event, ...],
    generation: object,
    key: tuple[object, ...],
) -> Event:
    """Records what was prepared; by addresses where an array is larger than descriptors may cover.

    Args:
        generation: `config.generation` from before what it stands for was read; None: this launch is no example.
        key: what `prepared` is kept under.
    """
    if generation is not None:
        _shorten(configuration, prepared, values, generation)
    try:
        return prepared.record.launch(queue, values, events)
    except ArrayRangeError as error:
        if not queue.device.logical.has_buffer_addresses:
            raise
        by_address = prepared_by_address(
            kernel, configuration.range, queue.device, values, spec, constants, key, error
        )
    return by_address.record.launch(queue, values, events)


def _interpret(
    prepared: Prepared,
    kernel: KernelFunction,
    queue: Queue,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    events: tuple[Event, ...],
) -> Event:
    """Interprets what was prepared."""
    from .interpretation import interpret_launch

    assert isinstance(prepared.record, LaunchRecord), "interpreted launches are not coarsened"
    return interpret_launch(kernel, prepared.record, queue, values, spec, events, constants)


def _split_keywords(
    kernel: KernelFunction, kwargs: Mapping[str, object], spec_values: Mapping[object, object] | None
) -> tuple[Mapping[str, object], Mapping[object, object] | None]:
    """Takes the values of `Spec` parameters out of the keyword arguments of a launch; they win over ``.spec``."""
    ids = kernel.signature.specialization_ids
    given: dict[object, object] = {ids[name]: value for name, value in kwargs.items() if name in ids}
    if not given:
        return kwargs, spec_values
    rest = {name: value for name, value in kwargs.items() if name not in ids}
    return rest, {**(spec_values or {}), **given}


def _shorten(
    configuration: LaunchConfiguration, prepared: Prepared, values: Sequence[object], generation: object
) -> None:
    """Lets later launches like this one skip what depends only on kernel, range, device and options."""
    signature = configuration.kernel.signature
    has_each = signature.positional_count == len(signature.parameters) and not signature.has_composites
    if not has_each or configuration.wait_events or not _are_fixed(configuration.spec_values):
        return
    found = [configuration]
    # Arguments in memory say which device it is; without them only the queue does.
    if configuration.origin is not None and any(isinstance(value, Array | ImageBase) for value in values):
        found.append(configuration.origin)
    again = prepared.record.launch_again if prepared.captures.is_empty else prepared.launch_again
    short = (generation, again)
    for each in found:
        each.short = short


def _are_fixed(spec_values: Mapping[object, object] | None) -> bool:
    """Whether specialization values are the same at the next launch: an array or a list may hold others by then."""
    return not spec_values or _FIXED.issuperset(map(type, spec_values.values()))


def _is_indirect(range_: object) -> bool:
    """Whether a range is an `IndirectRange`, whose module a launch without one need not load."""
    return getattr(type(range_), "__lapilli_indirect__", False)


def _shape_of(range_: object) -> object:
    """Returns a range as a dictionary key, None where it is none, or only known on the device."""
    if range_ is SINGLE_TASK:
        return range_
    exact = exact_key(range_)
    if exact is not None or _is_indirect(range_):
        return exact
    try:
        return launch_range(range_, limit=WIDE_INDEX_LIMIT)  # of NumPy's integers, or in a list
    except NdRangeError:  # said when the range's turn comes
        return None


def _queue_of(kernel: KernelFunction, configuration: LaunchConfiguration, values: Sequence[object]) -> Queue:
    """Returns the queue of ``.on``, else the default queue of the first array's device."""
    queue = configuration.queue
    if queue is None:
        for value in values:
            if isinstance(value, Array | ImageBase):
                return value.device.default_queue
        return device().default_queue
    if not isinstance(queue, Queue):
        raise InvalidError(
            f"kernel '{kernel.name}': .on(…) expects an lp.Queue, found {queue!r} of type "
            f"{type(queue).__name__}"
        )
    return queue


def _events(kernel: KernelFunction, events: tuple[object, ...]) -> tuple[Event, ...]:
    for event in events:
        if not isinstance(event, Event):
            raise InvalidError(
                f"kernel '{kernel.name}': .on(…, wait=…) expects lp.Event objects, found {event!r} of type "
                f"{type(event).__name__}"
            )
    return cast("tuple[Event, ...]", events)


def _spec_bytes(kernel: KernelFunction, values: Mapping[object, object]) -> tuple[tuple[str, bytes], ...]:
    """Returns the host bytes of specialization values by symbol, in the order of the symbols."""
    packed: dict[str, bytes] = {}
    for constant, value in values.items():
        if not isinstance(constant, SpecializationId):
            raise KernelArgumentError(
                f"kernel '{kernel.name}': .spec(…) expects lp.SpecializationId objects as keys, found {constant!r}; "
                f"write .spec({{ID: value}}) with the object, {kernel.name}[…](…, NAME=value) for an lp.Spec parameter",
                code="LP3011",
            )
        packed[constant.symbol] = constant.to_bytes(value)
    return tuple(sorted(packed.items()))
