"""Making native images: the pipelines of an image on a driver, as the data of a VkPipelineCache."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..ir.errors import BuildError, InvalidError, KernelNotSupportedError, NdRangeError, RuntimeFailure
from ..ir.kernel_info import KernelInfo
from ..spirv.device_image import DeviceImage as SpirvImage
from .array_sizes import check_array_sizes
from .bundle_pipelines import bundle_local_size
from .device import Device
from .kernel_id import KernelId
from .launch_plan import plan_launch
from .native_code import NativeCode, tag_of
from .pipeline_cache import UnsavedCache
from .requirements import require_device, require_limits
from .specialization import spec_entries

logger = logging.getLogger(__name__)


def compile_native(
    image: SpirvImage, ids: Mapping[str, KernelId], device: Device, target: str
) -> NativeCode | None:
    """Compiles the kernels of an image on a device's driver.

    Args:
        image: linked; the device can run it.
        ids: of its kernels, by its names for them.
        device: whose driver compiles.
        target: what to call it.

    Returns:
        The code; None where the driver gives none.

    Raises:
        BuildError: the driver refuses a pipeline.
    """
    logical = device.logical
    cache = UnsavedCache(logical)
    try:
        for kernel in image.kernels:
            _compile(image, kernel, ids.get(kernel.name), device, cache)
        data = cache.data()
    finally:
        cache.close()
    return None if data is None else NativeCode(target, tag_of(device.physical), data)


def _compile(
    image: SpirvImage, kernel: KernelInfo, id_: KernelId | None, device: Device, cache: UnsavedCache
) -> None:
    """Makes the pipeline of a usual launch; one that only the launch can make is left out, as in bundles."""
    limits, logical = device.physical.limits, device.logical
    try:
        require_device(device, kernel, image.requirements)
        require_limits(device, kernel)
        local = bundle_local_size(kernel, device, id_, {}) or kernel.required_work_group_size
        if local is None:
            return
        plan = plan_launch(kernel, local, local, limits, device.name)
        ids = kernel.abi.local_size_spec_ids
        entries = spec_entries(image.spec_constants, {}, None if ids is None else (ids, plan.local_xyz))
        check_array_sizes(kernel, image.spec_constants, entries, limits.max_shared_memory_bytes, device.name)
        with logical.lock:
            logical.pipelines.compile_into(cache.raw, image, kernel, entries, device.selector)
    except (KernelNotSupportedError, InvalidError, NdRangeError) as error:
        logger.info("no native code of kernel %s on %s: %s", kernel.name, device.selector, error)
    except RuntimeFailure as error:
        raise BuildError(
            f"kernel '{kernel.name}': the driver of device '{device.selector}' makes no pipeline of it: {error}"
        ) from error
