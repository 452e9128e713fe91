"""The modules and pipelines of executable images: made when a bundle becomes executable, so that launches make none.

A pipeline is made for the local size that a launch without one takes.  What cannot be made for a reason that a launch
tells better (a limit of the device, an array of length 0 by its specialization constants, a kernel whose
work-group size only the launch knows) is left to the launch, of which only the pipeline is made then: it must not keep
other kernels from running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.errors import (
    BuildError,
    InvalidError,
    KernelNotSupportedError,
    NdRangeError,
    RuntimeFailure,
)
from ..ir.kernel_info import KernelInfo, LocalParameter
from ..ir.lazy_logging import logger_of
from ..spirv.device_image import DeviceImage as SpirvImage
from .bundle_image import DeviceImage
from .device import Device
from .handle import Handle
from .kernel_id import KernelId
from .kernel_pipeline import kernel_pipeline
from .launch_plan import check_local_size, default_local_size, plan_launch
from .pipeline import Pipeline, ShaderModule
from .warm_up import warm_up

logger = logger_of(__name__)

_WIDE = 1 << 20
"""An extent that is no reason to choose a small local size."""


def bundle_local_size(
    kernel: KernelInfo,
    device: Device,
    id_: KernelId | None = None,
    values: Mapping[str, bytes] | None = None,
) -> tuple[int, ...] | None:
    """Returns the local size of launches that give none, slowest dimension first; None: the kernel's own, or none.

    Args:
        kernel: as the image describes it.
        device: where it runs.
        id_: of the kernel; says how its size depends on specialization constants.
        values: of these, by symbol.

    Raises:
        InvalidError: a size below 1 by its specialization constants.
        KernelNotSupportedError: one by its specialization constants that the device does not allow.
    """
    if id_ is not None and id_.local_size is not None:
        sizes = id_.local_size.sizes(values or {}, kernel.name)
        if len(sizes) != kernel.abi.rank:
            return None
        try:
            check_local_size(kernel, sizes, device.physical.limits, device.name)
        except KernelNotSupportedError as error:
            explained = f"{error.message}; {id_.local_size.explain(values or {})}"
            raise KernelNotSupportedError(explained, code=error.code) from None
        return sizes
    if kernel.required_work_group_size is not None or kernel.default_local_size is not None:
        return kernel.default_local_size
    if not kernel.abi.is_masked:
        return None
    rank = kernel.abi.rank
    # A kernel of any rank is mostly launched over one dimension.
    return default_local_size(
        (*[1 if kernel.has_any_rank else _WIDE] * (rank - 1), _WIDE), device.physical.limits
    )


def values_for(image: SpirvImage, values: Mapping[str, bytes]) -> dict[str, bytes]:
    """Returns those of a bundle's values that an image reads, by symbol."""
    read = {constant.symbol for constant in image.spec_constants}
    return {symbol: data for symbol, data in values.items() if symbol in read}


def make_pipelines(
    images: Sequence[DeviceImage], devices: Sequence[Device], values: Mapping[str, bytes]
) -> tuple[Handle, ...]:
    """Makes the modules of executable images, and the pipelines of all their kernels, on the devices that can run them,
    down to their machine code.

    Args:
        images: linked.
        devices: of the bundle.
        values: of the specialization constants that are set, by symbol.

    Raises:
        BuildError: a driver refuses a module or a pipeline.
    """
    made: list[Handle] = []
    for device in devices:
        pipelines: list[tuple[KernelInfo, Pipeline]] = []
        for image in _launched([image for image in images if image.is_compatible(device)], values):
            made.append(_module(image, device))
            spec = values_for(image.binary, values)
            for kernel in image.binary.kernels:
                pipeline = default_pipeline(image, kernel, device, spec, values)
                if pipeline is not None:
                    pipelines.append((kernel, pipeline))
        warm_up(device, pipelines)
        made += (pipeline for _, pipeline in pipelines)
    return tuple(made)


def _module(image: DeviceImage, device: Device) -> ShaderModule:
    logical = device.logical
    try:
        with logical.lock:
            return logical.pipelines.module(image.binary, device.selector)
    except RuntimeFailure as error:
        raise BuildError(
            f"the driver of device '{device.selector}' makes no shader module of the image with "
            f"{', '.join(image.kernels)}: {error}"
        ) from error


def _launched(images: Sequence[DeviceImage], values: Mapping[str, bytes]) -> list[DeviceImage]:
    """Returns the images that launches take kernels from: a frozen one instead of its generic twin, or the reverse."""
    used = [image for image in images if not image.frozen or _has_defaults(image, values)]
    frozen = {image.id_of(name) for image in used if image.frozen for name in image.kernels}
    return [i for i in used if i.frozen or not frozen.issuperset(i.id_of(name) for name in i.kernels)]


def _has_defaults(image: DeviceImage, values: Mapping[str, bytes]) -> bool:
    """Whether every constant that an image reads has its default."""
    return all(values.get(s, c.default_bytes) == c.default_bytes for s, c in image.spec_symbols.items())


def default_pipeline(
    image: DeviceImage,
    kernel: KernelInfo,
    device: Device,
    spec: Mapping[str, bytes],
    values: Mapping[str, bytes],
) -> Pipeline | None:
    """Returns the pipeline of launches that give no local size, None where only a launch knows it.

    Raises:
        BuildError: the driver refuses it.
    """
    if any(isinstance(parameter, LocalParameter) for parameter in kernel.parameters):
        return None  # its pipelines depend on the shapes that launches give, so the first of each makes one
    limits = device.physical.limits
    try:
        local = bundle_local_size(kernel, device, image.id_of(kernel.name), values)
        local = local or kernel.required_work_group_size
        if local is None:
            return None
        plan = plan_launch(kernel, local, local, limits, device.name)
        return kernel_pipeline(device, image.binary, kernel, plan, spec)
    except (KernelNotSupportedError, InvalidError, NdRangeError) as error:
        logger.info("no pipeline of kernel %s on %s yet: %s", kernel.name, device.selector, error)
        return None
    except RuntimeFailure as error:
        raise BuildError(
            f"kernel '{kernel.name}': the driver of device '{device.selector}' makes no pipeline of it: {error}"
        ) from error
