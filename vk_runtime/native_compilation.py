"""Making native images: the pipelines of an image on a driver, one by one or as the data of a VkPipelineCache."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..ir.errors import BuildError, Error, InvalidError, KernelNotSupportedError, NdRangeError, RuntimeFailure
from ..ir.kernel_info import KernelInfo
from ..ir.lazy_logging import logger_of
from ..spirv.device_image import DeviceImage as SpirvImage
from .array_sizes import check_array_sizes
from .bundle_pipelines import bundle_local_size
from .device import Device
from .headers import NULL
from .kernel_id import KernelId
from .launch_plan import plan_launch
from .native_code import PIPELINE_BINARY, PIPELINE_CACHE, NativeCode, tag_of
from .native_pipelines import encoded
from .pipeline_binary import PipelineBinary, capturing_struct
from .pipeline_cache import UnsavedCache
from .requirements import require_device, require_limits
from .specialization import SpecEntry, spec_entries

logger = logger_of(__name__)


MakePipeline = Callable[[KernelInfo, tuple[SpecEntry, ...]], None]
"""Makes a kernel's pipeline and keeps its code."""


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
    for kind, compile_ in ((PIPELINE_BINARY, _as_binaries), (PIPELINE_CACHE, _as_cache)):
        data = compile_(image, ids, device)
        if data is not None:
            return NativeCode(target, tag_of(device.physical, kind), data)
    return None


def _as_binaries(image: SpirvImage, ids: Mapping[str, KernelId], device: Device) -> bytes | None:
    """Returns the code pipeline by pipeline; None where the driver has no VK_KHR_pipeline_binary, or fails at it."""
    logical = device.logical
    functions = logical.pipelines.native.functions
    if functions is None:
        return None
    flags, found = capturing_struct(), dict[bytes, tuple[PipelineBinary, ...]]()

    def make(kernel: KernelInfo, entries: tuple[SpecEntry, ...]) -> None:
        pipelines = logical.pipelines
        with pipelines.compile_into(NULL, image, kernel, entries, device.selector, flags) as made:
            found[pipelines.digest(image, kernel, entries)] = functions.capture(made.raw)

    try:
        for kernel in image.kernels:
            _compile(image, kernel, ids.get(kernel.name), device, make)
        return encoded(functions.global_key(), found) if found else None
    except Error as error:
        logger.info("'%s' gives no pipeline binaries: %s", device.name, error)
        return None


def _as_cache(image: SpirvImage, ids: Mapping[str, KernelId], device: Device) -> bytes | None:
    """Returns the data of a VkPipelineCache with the pipelines; None where the driver gives none."""
    logical = device.logical
    with UnsavedCache(logical) as cache:

        def make(kernel: KernelInfo, entries: tuple[SpecEntry, ...]) -> None:
            logical.pipelines.compile_into(cache.raw, image, kernel, entries, device.selector)

        for kernel in image.kernels:
            _compile(image, kernel, ids.get(kernel.name), device, make)
        return cache.data()


def _compile(
    image: SpirvImage, kernel: KernelInfo, id_: KernelId | None, device: Device, make: MakePipeline
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
            make(kernel, entries)
    except (KernelNotSupportedError, InvalidError, NdRangeError) as error:
        logger.info("no native code of kernel %s on %s: %s", kernel.name, device.selector, error)
    except RuntimeFailure as error:
        raise BuildError(
            f"kernel '{kernel.name}': the driver of device '{device.selector}' makes no pipeline of it: {error}"
        ) from error
