"""Pipelines of planned launches, and what the driver says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..ir.kernel_info import KernelInfo
from ..spirv.device_image import DeviceImage
from .array_sizes import check_array_sizes, without_notes
from .launch_plan import LaunchPlan
from .pipeline import Pipeline
from .requirements import require_device, require_limits
from .specialization import SpecEntry, spec_entries

if TYPE_CHECKING:
    from .device import Device


def kernel_pipeline(
    device: Device,
    image: DeviceImage,
    kernel: KernelInfo,
    plan: LaunchPlan,
    spec_values: Mapping[str, bytes],
    shapes: tuple[SpecEntry, ...] = (),
) -> Pipeline | None:
    """Returns the pipeline of a planned launch, made where there is none yet; None where nothing runs.

    Args:
        device: where it runs.
        image: compiled for that device.
        kernel: of `image`.
        plan: the checked range.
        spec_values: host bytes by `SpecConstantInfo.symbol`.
        shapes: the extents of shared memory that the launch gives, see `local_entries`.

    Raises:
        KernelArgumentError: specialization values that do not fit the image.
        InvalidError: an array length below 1.
        KernelNotSupportedError: a limit is passed.
    """
    entries = _checked_entries(device, image, kernel, plan, spec_values, shapes)
    if plan.is_empty:
        return None
    logical = device.logical
    with logical.lock:
        return logical.pipelines.pipeline(image, kernel, entries, device.selector)


def pipeline_statistics(
    device: Device,
    image: DeviceImage,
    kernel: KernelInfo,
    plan: LaunchPlan,
    spec_values: Mapping[str, bytes],
) -> dict[str, int]:
    """Returns what the driver says of the pipeline of a planned launch, by its own names; empty where it says nothing.

    Raises: as `kernel_pipeline`.
    """
    entries = _checked_entries(device, image, kernel, plan, spec_values)
    logical = device.logical
    with logical.lock:
        return logical.pipelines.statistics(image, kernel, entries, device.selector)


def _checked_entries(
    device: Device,
    image: DeviceImage,
    kernel: KernelInfo,
    plan: LaunchPlan,
    spec_values: Mapping[str, bytes],
    shapes: tuple[SpecEntry, ...] = (),
) -> tuple[SpecEntry, ...]:
    """Returns the specialization of a planned launch's pipeline; raises as `kernel_pipeline` does."""
    require_device(device, kernel, image.requirements)
    require_limits(device, kernel)
    ids = kernel.abi.local_size_spec_ids
    entries = spec_entries(image.spec_constants, spec_values, None if ids is None else (ids, plan.local_xyz))
    entries += shapes
    limit = device.logical.physical.limits.max_shared_memory_bytes
    entries = without_notes(kernel, image.spec_constants, entries, limit, device.name)
    check_array_sizes(kernel, image.spec_constants, entries, limit, device.name)
    return entries
