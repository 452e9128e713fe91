"""Preparing a launch: everything that its repetitions need not do again.

A launch is checked, and its kernel compiled, in the form that suits range and arrays: as written, coarsened where that
pays on the device, or with addresses of arrays where one is larger than a descriptor shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ..ir.config import config
from ..ir.errors import BuildError
from ..ir.kernel_info import KernelInfo
from ..ir.target_env import BindingModel, TargetEnv
from ..vk_runtime.arguments import ArgumentChecker
from ..vk_runtime.device import Device
from ..vk_runtime.errors import ArrayRangeError
from ..vk_runtime.event import Event
from ..vk_runtime.launch import prepare
from ..vk_runtime.launch_plan import padded
from ..vk_runtime.launch_record import LaunchRecord
from ..vk_runtime.launchable import SINGLE_TASK
from ..vk_runtime.pipeline import forget_launches
from . import units
from .captures import Captures
from .compile import Executable, environment_of, executable_for
from .constant_arguments import Constants
from .function_attributes import attributes_of
from .launch_local_size import launch_local_size
from .ranges import LaunchRange, dimensions_of, launch_range

if TYPE_CHECKING:
    from ..vk_runtime.coarse_record import CoarseRecord
    from .kernel import KernelFunction

RECORD_LIMIT = 1024
"""Prepared launches that a kernel keeps; a program with more shapes than that starts over."""

forget_launches.append(units.forget_launches)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that was checked, apart from its arguments."""

    record: LaunchRecord | CoarseRecord
    captures: Captures

    def is_current(self) -> bool:
        """Whether every captured name still means what it meant at compilation."""
        return self.captures.are_current()

    def launch_again(self, queue: object, args: tuple[object, ...]) -> Event | None:
        """Launches on a queue, None: the default queue; None where the kernel or its arguments need a closer look."""
        return self.record.launch_again(queue, args) if self.captures.are_current() else None


def prepare_launch(
    kernel: KernelFunction,
    range_: object,
    device: Device,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    env: TargetEnv | None = None,
) -> Prepared:
    """Checks a launch in the order of the contract and makes what its repetitions use.

    Args:
        env: what to compile for; None: the device's environment, for some ranges with coarsening.
    """
    argument_checker_of(kernel).check(values, device)
    rank = kernel.signature.rank or (1 if range_ is SINGLE_TASK else dimensions_of(range_))
    executable = executable_for(kernel, rank, device, env, constants=constants)
    limit = 1 << (kernel.options.index.bits - 1)
    checked = _single(executable.kernel) if range_ is SINGLE_TASK else launch_range(range_, limit=limit)
    given = launch_local_size(kernel, checked, executable.kernel, device, dict(spec))
    if executable.captures.of_several_dimensions is not None:
        from .unnamed_dimensions import warn_of_unnamed_dimensions

        warn_of_unnamed_dimensions(executable.captures, checked)

    extents = padded(executable.kernel, checked.extents)

    coarse = None if env else _coarse_executable(kernel, executable, checked, device, constants)
    if coarse is not None:
        from ..vk_runtime.coarse_record import Form, prepare_coarse

        lanes, plain = (
            Form(image=chosen.image, kernel=chosen.kernel, spec_values=_read_values(chosen, spec))
            for chosen in (coarse, executable)
        )
        found = prepare_coarse(device, lanes, plain, extents, values)
        if found is not None:
            return Prepared(found, coarse.captures)
    record = prepare(
        device,
        executable.image,
        executable.kernel,
        extents,
        None if given is None else padded(executable.kernel, given),
        values,
        _read_values(executable, spec),
        is_nd_range=checked.local is not None,
    )
    return Prepared(record, executable.captures)


def argument_checker_of(kernel: KernelFunction) -> ArgumentChecker:
    """Returns what checks arguments against a kernel's parameters, before anything is compiled."""
    found = kernel.compiled.get("checker")
    if found is None:
        found = kernel.compiled["checker"] = ArgumentChecker(kernel.name, kernel.signature.runtime_parameters)
    return cast(ArgumentChecker, found)


def _read_values(executable: Executable, spec: tuple[tuple[str, bytes], ...]) -> dict[str, bytes]:
    """Returns the values of constants that an image reads: others may be set, whose reads the optimiser removed."""
    read = {constant.symbol for constant in executable.image.spec_constants}
    return {symbol: value for symbol, value in spec if symbol in read}


def _coarse_executable(
    kernel: KernelFunction, plain: Executable, range_: LaunchRange, device: Device, constants: Constants
) -> Executable | None:
    """Returns the coarsened form of a kernel where it pays on the device; it is the kernel itself where it has none."""
    if plain.kernel.abi.index_bits != 32 or kernel.signature.rank not in (None, len(range_.extents)):
        return None
    attributes = attributes_of(kernel)
    sizes = (
        range_.local,
        kernel.options.local_size,
        attributes.reqd_work_group_size,
        attributes.work_group_size_hint,
    )
    is_plain = config.interpret or any(size is not None for size in sizes)
    if is_plain or not device.coarsening.is_worthwhile(plain.kernel, range_.extents):
        return None
    env = environment_of(kernel, device.target_env)
    choice = device.coarsening
    env = replace(env, lanes_per_invocation=choice.lanes, splits_branches=choice.splits_branches)
    return executable_for(kernel, len(range_.extents), device, env, constants=constants)


def prepared_by_address(
    kernel: KernelFunction,
    range_: object,
    device: Device,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    key: tuple[object, ...],
    error: ArrayRangeError,
) -> Prepared:
    """Returns the launch of the form of a kernel that takes addresses of arrays: they may have any size.

    Raises:
        ArrayRangeError: `error`, where the kernel has no such form: it takes images.
    """
    key = (*key, BindingModel.ADDRESS)
    found = kernel.records.get(key)
    if found is None or not found.is_current():
        env = replace(environment_of(kernel, device.target_env), binding_model=BindingModel.ADDRESS)
        try:
            found = prepare_launch(kernel, range_, device, values, spec, constants, env)
        except BuildError:
            raise error from None
        kernel.records[key] = found
    return cast(Prepared, found)


def _single(info: KernelInfo) -> LaunchRange:
    """Returns the range of one work-item, in a group of its own unless the kernel requires another size."""
    return LaunchRange((1,), (1,) if info.required_work_group_size is None else None)
