"""Kernels and kernel bundles: VkPipeline with its layout, and VkShaderModule."""

from __future__ import annotations

from ...ir.errors import InvalidError
from ...ir.kernel_info import KernelInfo
from ..bundle_errors import ConstraintError, type_name
from ..bundle_pipelines import default_pipeline, values_for
from ..bundle_state import BundleState
from ..context import Context
from ..kernel_bundle import KernelBundle
from ..kernel_object import Kernel
from ..pipeline import Pipeline
from .handle_refs import given_out, owners, share
from .natives import Native, handle


def kernel_info(kernel: Kernel) -> KernelInfo:
    """Returns what the image for the first device of the bundle says of a kernel."""
    image = kernel.kernel_bundle.image_of(kernel.kernel_id, kernel.kernel_bundle.devices[0])
    name = image.name_of(kernel.kernel_id)
    assert name is not None, "the bundle chose an image that has the kernel"
    return image.info(name)


def get_descriptor_set_layout(kernel: Kernel) -> Native:
    """Returns the VkDescriptorSetLayout of a kernel on the first device of its bundle, for sets of one's own.

    Its bindings are numbered from 0, in the order of the module's buffers by set and binding.

    Raises:
        InvalidError: the kernel has no buffers, or only a launch knows its local size or shared memory.
        TypeError: no kernel.
    """
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise ConstraintError(f"get_descriptor_set_layout takes an lp.Kernel, found {type_name(kernel)}")
    layout = _pipeline_of(kernel, "get_descriptor_set_layout").layout.set_layout
    if layout is None:
        raise InvalidError(f"get_descriptor_set_layout: kernel '{kernel.name}' has no buffers")
    return given_out("VkDescriptorSetLayout", layout.raw, kernel, (kernel, layout))


def native_kernel(kernel: Kernel) -> tuple[Native, Native, str]:
    """Returns (VkPipeline, VkPipelineLayout, entry point) on the first device of the bundle.

    The pipeline is that of launches without a local size, for the bundle's specialization values.

    Raises:
        InvalidError: only a launch knows its local size or shared memory.
    """
    pipeline = _pipeline_of(kernel, "get_native")
    return (
        given_out("VkPipeline", pipeline.raw, kernel, (kernel, pipeline)),
        given_out("VkPipelineLayout", pipeline.layout.raw, kernel, (kernel, pipeline.layout)),
        kernel_info(kernel).entry_point,
    )


def _pipeline_of(kernel: Kernel, what: str) -> Pipeline:
    """Returns the pipeline of a kernel on the first device of its bundle."""
    bundle, device = kernel.kernel_bundle, kernel.kernel_bundle.devices[0]
    image, values = bundle.image_of(kernel.kernel_id, device), bundle.spec_values.by_symbol()
    with device.logical.lock:
        pipeline = default_pipeline(
            image, kernel_info(kernel), device, values_for(image.binary, values), values
        )
    if pipeline is None:
        raise InvalidError(
            f"{what}: kernel '{kernel.name}' has a pipeline for each launch only: its work-group size or shared "
            "memory is given there"
        )
    return pipeline


def native_bundle(bundle: KernelBundle) -> list[Native]:
    """Returns the VkShaderModule of each image on the first device; of a bundle of native modules, these.

    Raises:
        InvalidError: the bundle is not executable: drivers take no other code.
    """
    if bundle.native_modules:
        return [
            given_out("VkShaderModule", handle("VkShaderModule", n), bundle) for n in bundle.native_modules
        ]
    if bundle.state is not BundleState.EXECUTABLE:
        raise InvalidError(
            f"get_native: a kernel bundle in state {bundle.state.name} has no native modules; expected EXECUTABLE"
        )
    natives: list[Native] = []
    for image in bundle:
        device = next((item for item in bundle.devices if image.is_compatible(item)), None)
        if device is not None:
            with device.logical.lock:
                module = device.logical.pipelines.module(image.binary, device.selector)
            natives.append(given_out("VkShaderModule", module.raw, bundle, (bundle, module)))
    return natives


def known_module(number: int, ctx: Context) -> tuple[bytes, bool] | None:
    """Returns the SPIR-V of a VkShaderModule that a living bundle has, and whether it is of executable ones alone.

    None where no bundle has it.

    Raises:
        InvalidError: the bundles that have it are all of other VkDevices than the context's.
    """
    found = [bundle for bundle in owners("VkShaderModule", number) if isinstance(bundle, KernelBundle)]
    own = {device.logical for device in ctx.devices}
    of_context = [
        bundle for bundle in found if not own.isdisjoint(device.logical for device in bundle.devices)
    ]
    is_executable = all(bundle.state is BundleState.EXECUTABLE for bundle in of_context)
    for bundle in of_context:
        if (code := _code_of(bundle, number)) is not None:
            return code, is_executable
    if found:
        raise InvalidError(
            f"the VkShaderModule {number:#x} is of another VkDevice than those of the context; make one for these"
        )
    return None


def _code_of(bundle: KernelBundle, number: int) -> bytes | None:
    if number in bundle.native_modules:
        return bundle.native_code[bundle.native_modules.index(number)]
    images = zip(bundle, native_bundle(bundle), strict=False)
    return next((image.spirv() for image, native in images if int(native) == number), None)


def known_kernel(number: int) -> Kernel | None:
    """Returns the kernel that a VkPipeline was asked of, while it lives."""
    return next((item for item in owners("VkPipeline", number) if isinstance(item, Kernel)), None)


def set_natives(bundle: KernelBundle, modules: list[int], code: list[bytes]) -> None:
    """Notes the application's modules that a bundle was made of, and their SPIR-V."""
    bundle.native_modules, bundle.native_code = tuple(modules), tuple(code)
    for number in modules:
        share("VkShaderModule", number, bundle)
