"""lapilli: kernels written in Python on any Vulkan device.

    import numpy as np, lapilli as lp

    @lp.kernel
    def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        y[i] = a * x[i] + y[i]

    x = lp.asarray(np.arange(1_000_000, dtype=np.float32))
    y = lp.zeros_like(x)
    saxpy[x.size](2.0, x, y)

Names are imported when first used (PEP 562): importing lapilli costs nothing, and a process that only runs
compiled kernels never imports the compiler.
"""

from __future__ import annotations

import builtins
import importlib
import sys

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "frontend.types": "Target bool_ i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
    "frontend.fixed_array_annotation": "FixedArray",
    "frontend.vector_types": "Vec "
    + " ".join(
        f"{name}x{size}"
        for name in (
            "bool",
            "i8",
            "i16",
            "i32",
            "i64",
            "u8",
            "u16",
            "u32",
            "u64",
            "f16",
            "bf16",
            "f32",
            "f64",
        )
        for size in (1, 2, 3, 4, 8, 16)
    ),
    "frontend.struct_types": "struct Aligned",
    "frontend.annotations": "In Out",
    "frontend.parameter_types": "Item NdItem Group Id Const LocalArray",
    "frontend.spec_constant": "SpecializationId",
    "frontend.spec_parameters": "KernelHandler Spec",
    "frontend.ranges": "NdRange Range",
    "frontend.kernel": "kernel",
    "frontend.source": "func",
    "frontend.compile_options": "compile_options",
    "frontend.externals": "external extern",
    "frontend.function_attributes": (
        "device_has uses_aspects reqd_work_group_size reqd_sub_group_size work_group_size_hint SubGroupSize"
    ),
    "frontend.kernel_from_source": "kernel_from_source",
    "frontend.sources": "create_kernel_bundle_from_source SourceLanguage SYCL_EXT_ONEAPI_KERNEL_COMPILER",
    "frontend.intrinsics": (
        "global_id local_id group_id global_range local_range group_range global_linear_id local_linear_id "
        "group_linear_id barrier group_barrier mem_fence select bitcast shuffle popcount clz ctz reverse_bits "
        "static_range math local private atomic group sub_group"
    ),
    "ir.aspects": "Aspect",
    "ir.config": "config",
    "ir.image_formats": "ImageFormat",
    "ir.stream": "Stream",
    "ir.errors": (
        "Errc Location Diagnostic Error BuildError CompileError LinkError InvalidError UnknownKernelError "
        "KernelArgumentError NdRangeError KernelNotSupportedError KernelNotFoundError MemoryAllocationError "
        "KernelWarning AspectWarning KernelTrap DeviceLostError BackendMismatchError FeatureNotSupportedError "
        "RuntimeFailure"
    ),
    "frontend.bundles": (
        "get_kernel_id get_kernel_ids get_kernel_bundle has_kernel_bundle is_compatible compile link build join"
    ),
    "frontend.this_module": "this_module",
    "frontend.lpk_loading": "load_kernel_bundle",
    "vk_runtime.array": "Array",
    "vk_runtime.array_sharing": "from_dlpack from_host import_fd page_aligned",
    "vk_runtime.interop.queries": "SYCL_BACKEND_VULKAN is_backend_active",
    "vk_runtime.bundle_image": "DeviceImage",
    "vk_runtime.bundle_state": "BundleState",
    "vk_runtime.build_properties": "properties",
    "vk_runtime.context": "Context",
    "vk_runtime.backend": "Backend",
    "vk_runtime.kernel_bundle": "KernelBundle",
    "vk_runtime.kernel_id": "KernelId",
    "vk_runtime.kernel_object": "Kernel",
    "vk_runtime.array_creation": "asarray empty empty_like full ones zeros zeros_like",
    "vk_runtime.device": "Device",
    "vk_runtime.device_list": "Platform device devices platforms",
    "vk_runtime.device_selection": "select_device",
    "vk_runtime.image_sampler": "AddressingMode CoordinateNormalizationMode FilteringMode ImageSampler",
    "vk_runtime.images": "SampledImage UnsampledImage",
    "vk_runtime.indirect_range": "IndirectRange",
    "vk_runtime.info": "info",
    "vk_runtime.event": "Event",
    "vk_runtime.external_semaphore": "ExternalSemaphore import_semaphore_fd",
    "vk_runtime.graph": "Graph graph",
    "vk_runtime.memory_stats": "HeapStats",
    "vk_runtime.profile": "profile",
    "vk_runtime.profile_recording": "Profile",
    "vk_runtime.profile_events": "ProfileEvent",
    "vk_runtime.queue": "Queue",
    "vk_runtime.source_options": "BuildOptions SaveLog SpecValues",
    "vk_runtime.spec_placeholder": "SpecConstant",
    "vk_runtime.handler": "Handler",
    "vk_runtime.trace": "TraceEvent trace",
}
"""Public names by the module that defines them."""

_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}

# `from lapilli import *` must not hide Python's own names.
__all__ = sorted(name for name in _MODULE_OF if name not in vars(builtins))  # pyright: ignore[reportUnsupportedDunderAll]


_PUBLIC_PACKAGES = ("spirv", "vulkan")
"""Subpackages with public names of their own: ``lp.spirv.link``."""


def __getattr__(name: str) -> object:
    if name in _PUBLIC_PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    module = _MODULE_OF.get(name)
    if module is None:
        from .frontend.elsewhere import hint_on_the_host

        hint = "" if name.startswith("_") else hint_on_the_host(name, _MODULE_OF)
        message = f"module 'lapilli' has no attribute {name!r}{hint}"
        # With name and obj, Python adds what may have been meant.
        raise AttributeError(message, name=name, obj=None if hint else sys.modules[__name__])
    from .ir.deferred_definitions import deferred_definitions

    with deferred_definitions():
        loaded = importlib.import_module(f".{module}", __name__)
    value = loaded.PUBLIC_INTRINSICS[name] if module == "frontend.intrinsics" else getattr(loaded, name)
    globals()[name] = value  # next time Python finds it without asking
    return value


def __dir__() -> list[str]:
    return sorted(
        {*globals(), *_MODULE_OF, *_PUBLIC_PACKAGES} - {"annotations", "builtins", "importlib", "sys"}
    )
