"""Launches over an `lp.IndirectRange`: which image they take, and their prepared records.

A kernel reads its range from the argument block.  The device can only write that where it lies in memory, so the
kernel is compiled for an environment without push constants; of kernels in bundles there is one image, see
`vk_runtime.bundle_launch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ..ir.errors import BuildError
from ..ir.target_env import BindingModel
from ..vk_runtime.errors import ArrayRangeError
from ..vk_runtime.event import Event
from ..vk_runtime.indirect_range import IndirectRange, check_indirect_range, extents_on_host
from ..vk_runtime.indirect_record import IndirectRecord, prepare_indirect
from ..vk_runtime.launch_plan import padded
from .captures import Captures
from .compile import environment_of, executable_for
from .constant_arguments import Constants
from .launch_local_size import launch_local_size
from .launch_preparation import RECORD_LIMIT, argument_checker_of
from .ranges import LaunchRange, NdRange

if TYPE_CHECKING:
    from ..vk_runtime.queue import Queue
    from .kernel import KernelFunction, LaunchConfiguration


@dataclass(frozen=True, slots=True)
class PreparedIndirect:
    """An indirect launch that was checked, apart from its arguments and its range."""

    record: IndirectRecord
    captures: Captures


def launch_indirect(
    kernel: KernelFunction,
    range_: IndirectRange,
    queue: Queue,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    shapes: tuple[object, ...],
    events: Sequence[Event],
) -> Event:
    """Launches a kernel over a range that the device reads; arguments as `launch.launch` has taken them apart.

    With an array that is larger than a descriptor shows, the kernel takes addresses, as in other launches.

    Raises: as `launch.launch`.
    """
    device = queue.device
    place = cast("tuple[object, ...]", (range_.offset, range_.dimensions, range_.local_size))
    is_known = type(place[0]) is int and type(place[1]) is int and type(place[2]) in (int, tuple, type(None))
    key = (IndirectRange, device, *place, spec, constants.key, shapes) if is_known else None

    def launch(model: BindingModel) -> Event:
        full_key = None if key is None else (*key, model)
        prepared: PreparedIndirect | None = kernel.records.get(full_key) if full_key is not None else None
        if prepared is None or not prepared.captures.are_current():
            prepared = _prepare(kernel, range_, queue, values, spec, constants, model)
            if len(kernel.records) >= RECORD_LIMIT:
                kernel.records.clear()
            if full_key is not None:
                kernel.records[full_key] = prepared
        else:
            check_indirect_range(kernel.name, range_, device)
        return prepared.record.launch_over(queue, values, range_.counts, events)

    try:
        return launch(BindingModel.DESCRIPTOR)
    except ArrayRangeError as error:
        if not device.logical.has_buffer_addresses:
            raise
        too_large = error
    try:
        return launch(BindingModel.ADDRESS)
    except BuildError:  # it takes images
        raise too_large from None


def _prepare(
    kernel: KernelFunction,
    range_: IndirectRange,
    queue: Queue,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    model: BindingModel,
) -> PreparedIndirect:
    device = queue.device
    argument_checker_of(kernel).check(values, device)
    checked = check_indirect_range(kernel.name, range_, device)
    env = replace(environment_of(kernel, device.target_env), max_push_constant_bytes=0, binding_model=model)
    found = executable_for(
        kernel, kernel.signature.rank or checked.dimensions, device, env, constants=constants
    )
    extents = LaunchRange((1,) * checked.dimensions, checked.local_size)
    local = launch_local_size(kernel, extents, found.kernel, device, dict(spec))
    read = {constant.symbol for constant in found.image.spec_constants}
    record = prepare_indirect(
        device,
        found.image,
        found.kernel,
        checked,
        None if local is None else padded(found.kernel, local),
        values,
        {symbol: value for symbol, value in spec if symbol in read},
    )
    return PreparedIndirect(record, found.captures)


def on_host(configuration: LaunchConfiguration) -> LaunchConfiguration:
    """Returns a configuration with the extents that an indirect range holds, for the interpreter; waits for them."""
    range_ = configuration.range
    assert isinstance(range_, IndirectRange)
    device = getattr(range_.counts, "device", None)
    checked = check_indirect_range(configuration.kernel.name, range_, device)  # pyright: ignore[reportArgumentType]
    extents = extents_on_host(range_)
    local = checked.local_size
    # The device masks the tail, which an NdRange refuses.
    is_whole = local is not None and not any(n % size for n, size in zip(extents, local, strict=True))
    plain = NdRange(extents, local) if local is not None and is_whole else extents
    return replace(configuration, range=plain, short=None, origin=None)
