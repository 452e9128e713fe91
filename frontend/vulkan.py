"""What users get as ``lp.vulkan``: interoperability with programs that use Vulkan themselves."""

from __future__ import annotations

from ..vk_runtime.interop.buffers import make_buffer
from ..vk_runtime.interop.bundles import get_descriptor_set_layout
from ..vk_runtime.interop.contexts import MINIMUM_FEATURES, make_context, release_context
from ..vk_runtime.interop.devices import make_device
from ..vk_runtime.interop.events import make_event
from ..vk_runtime.interop.get_native import get_native
from ..vk_runtime.interop.handle_refs import get_reference_count, release, retain
from ..vk_runtime.interop.images import make_sampled_image, make_unsampled_image
from ..vk_runtime.interop.natives import Native
from ..vk_runtime.interop.platforms import make_platform, release_instance
from ..vk_runtime.interop.queries import (
    SYCL_BACKEND_VULKAN,
    backend_input_type,
    backend_return_type,
    get_error_code,
    get_proc,
    has_extension,
    is_backend_active,
)
from ..vk_runtime.interop.queues import make_queue
from .built_in_bundles import create_with_builtin_kernels
from .native_kernels import (
    create_bundle,
    create_with_binary,
    create_with_il,
    create_with_source,
    import_module,
    make_kernel,
    make_kernel_bundle,
)

__all__ = [
    "MINIMUM_FEATURES",
    "SYCL_BACKEND_VULKAN",
    "Native",
    "backend_input_type",
    "backend_return_type",
    "create_bundle",
    "create_with_binary",
    "create_with_builtin_kernels",
    "create_with_il",
    "create_with_source",
    "get_descriptor_set_layout",
    "get_error_code",
    "get_native",
    "get_proc",
    "get_reference_count",
    "has_extension",
    "import_module",
    "is_backend_active",
    "make_buffer",
    "make_context",
    "make_device",
    "make_event",
    "make_kernel",
    "make_kernel_bundle",
    "make_platform",
    "make_queue",
    "make_sampled_image",
    "make_unsampled_image",
    "release",
    "release_context",
    "release_instance",
    "retain",
]
