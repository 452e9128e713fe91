"""The local size that a launch of a kernel gets: from its range, the kernel's decorator, or its hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..ir.errors import KernelNotSupportedError, NdRangeError
from ..ir.kernel_info import KernelInfo
from ..vk_runtime.device import Device
from ..vk_runtime.launch_plan import check_local_size, padded
from ..vk_runtime.requirements import work_group_problem
from .function_attributes import attributes_of
from .ranges import LaunchRange

if TYPE_CHECKING:
    from .kernel import KernelFunction


def launch_local_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device, spec: Mapping[str, bytes]
) -> tuple[int, ...] | None:
    """Returns the local size that range, decorator or hint give a launch, None where the runtime chooses.

    Raises: as `_local_size`.
    """
    given = _local_size(kernel, range_, info, device, spec)
    return given or _hinted_size(kernel, range_, info, device)


def _local_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device, spec: Mapping[str, bytes]
) -> tuple[int, ...] | None:
    """Returns the local size of a launch, None where the runtime chooses.

    Raises:
        NdRangeError: another number of dimensions than the range.
        InvalidError: a size computed from specialization constants that is below 1.
        KernelNotSupportedError: one that the device does not allow; names expression and constants.
    """
    if range_.local is not None or kernel.local_size is None:
        return range_.local
    local = kernel.local_size.sizes(spec, kernel.name)
    if len(local) != len(range_.extents):
        raise NdRangeError(
            f"kernel '{kernel.name}': range {range_.extents} has {len(range_.extents)} dimensions, its "
            f"local_size {local} has {len(local)}; expected as many"
        )
    if not kernel.local_size.is_fixed:
        try:
            check_local_size(info, padded(info, local), device.logical.physical.limits, device.name)
        except KernelNotSupportedError as error:
            explained = f"{error.message}; {kernel.local_size.explain(spec)}"
            raise KernelNotSupportedError(explained, code=error.code) from None
    return local


def _hinted_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device
) -> tuple[int, ...] | None:
    """Returns the local size of ``work_group_size_hint`` where nothing else says one and the device has room."""
    hint = attributes_of(kernel).work_group_size_hint
    if hint is None or info.required_work_group_size is not None or not info.abi.is_masked:
        return None
    return hint if len(hint) == len(range_.extents) and work_group_problem(device, hint) is None else None
