"""What a device can do with an image format, and the named errors for what it cannot.

Vulkan asks for each format, number of dimensions and use by itself (`VkFormatFeatureFlags`,
`vkGetPhysicalDeviceImageFormatProperties`): storage images of three dimensions, for one, are a device's choice, as
writing 3D images is in SYCL's OpenCL backend (cl_khr_3d_image_writes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.aspects import Aspect
from ..ir.errors import FeatureNotSupportedError, InvalidError
from ..ir.image_formats import ImageFormat
from .constants import (
    VK_ERROR_FORMAT_NOT_SUPPORTED,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT,
    VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT,
    VK_IMAGE_TILING_OPTIMAL,
    VK_IMAGE_TYPE_1D,
    VK_IMAGE_TYPE_2D,
    VK_IMAGE_TYPE_3D,
    VK_IMAGE_USAGE_SAMPLED_BIT,
    VK_IMAGE_USAGE_STORAGE_BIT,
    VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
)
from .headers import ffi

if TYPE_CHECKING:
    from .device import Device
    from .physical_device import PhysicalDevice

IMAGE_TYPES = {1: VK_IMAGE_TYPE_1D, 2: VK_IMAGE_TYPE_2D, 3: VK_IMAGE_TYPE_3D}
"""VkImageType by number of dimensions."""
_TRANSFER = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSupport:
    """What a device does with images of one format and number of dimensions."""

    format: ImageFormat
    ndim: int
    reads: bool
    """Whether kernels read and sample them."""
    filters: bool
    """Whether samplers may take means of their pixels."""
    writes: bool
    """Whether kernels write them."""
    max_shape: tuple[int, ...]
    """Largest extents, slowest first; zeros where there are no such images."""

    @property
    def usage(self) -> int:
        """VkImageUsageFlags of such images: all that there is."""
        return (
            _TRANSFER
            | (VK_IMAGE_USAGE_SAMPLED_BIT if self.reads else 0)
            | (VK_IMAGE_USAGE_STORAGE_BIT if self.writes else 0)
        )


def read_image_support(physical: PhysicalDevice, image_format: ImageFormat, ndim: int) -> ImageSupport:
    """Asks a driver what it does with a format."""
    vk = physical.instance.vk
    properties = ffi.new("VkFormatProperties*")
    vk.vkGetPhysicalDeviceFormatProperties(physical.raw, image_format.vk_format, properties)
    features = properties.optimalTilingFeatures
    reads = _extents(physical, image_format, ndim, _TRANSFER | VK_IMAGE_USAGE_SAMPLED_BIT)
    both = _TRANSFER | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT
    writes = _extents(physical, image_format, ndim, both)
    is_read = reads is not None and bool(features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)
    # Formats that SPIR-V has no name for are beyond what StorageImageWriteWithoutFormat promises.
    is_written = (
        writes is not None
        and bool(features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT)
        and image_format.spirv_name is not None
    )
    return ImageSupport(
        format=image_format,
        ndim=ndim,
        reads=is_read,
        filters=is_read and bool(features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT),
        writes=is_written,
        max_shape=(writes if is_written else reads) or (0,) * ndim,
    )


def _extents(
    physical: PhysicalDevice, image_format: ImageFormat, ndim: int, usage: int
) -> tuple[int, ...] | None:
    found: Any = ffi.new("VkImageFormatProperties*")
    result = physical.instance.vk.vkGetPhysicalDeviceImageFormatProperties(
        physical.raw, image_format.vk_format, IMAGE_TYPES[ndim], VK_IMAGE_TILING_OPTIMAL, usage, 0, found
    )
    if result == VK_ERROR_FORMAT_NOT_SUPPORTED or result < 0:
        return None
    extent = found.maxExtent
    return (extent.depth, extent.height, extent.width)[3 - ndim :]


def no_support(image_format: ImageFormat, ndim: int) -> ImageSupport:
    """Returns the support of a device that has no images."""
    return ImageSupport(
        format=image_format, ndim=ndim, reads=False, filters=False, writes=False, max_shape=(0,) * ndim
    )


def require_images(device: Device) -> None:
    """Raises FeatureNotSupportedError where a device has not the aspect image."""
    if not device.has(Aspect.IMAGE):
        raise FeatureNotSupportedError(
            f"device '{device.name}' ({device.selector}) has no images (aspect image); use arrays, or a device for "
            "which device.has(lp.Aspect.IMAGE) holds"
        )


def require_shape(device: Device, support: ImageSupport, shape: tuple[int, ...]) -> None:
    """Raises where a device has no images of a format and shape.

    Raises:
        FeatureNotSupportedError: it has none of the format.
        InvalidError: an extent over the limit.
    """
    what = f"{support.ndim}-D images of {support.format.name}"
    if not support.reads:
        raise FeatureNotSupportedError(
            f"device '{device.name}' ({device.selector}) has no {what}; it has "
            f"{_readable(device, support.format, support.ndim)}"
        )
    if any(extent > most for extent, most in zip(shape, support.max_shape, strict=True)):
        raise InvalidError(
            f"an image of shape {shape} is too large for device '{device.name}': its {what} have at most "
            f"{support.max_shape} (maxImageDimension{support.ndim}D); use several images, or an lp.Array"
        )


def _readable(device: Device, image_format: ImageFormat, ndim: int) -> str:
    store = device.logical.images
    able = [f.name for f in ImageFormat if f.kind == image_format.kind and store.support(f, ndim).reads]
    return ", ".join(able) or "none of that kind"


def unwritable(device: Device, support: ImageSupport) -> FeatureNotSupportedError:
    """Returns the error for a kernel that writes images that its device does not write."""
    store, wanted = device.logical.images, support.format
    able = [f.name for f in ImageFormat if f.kind == wanted.kind and store.support(f, support.ndim).writes]
    hint = f"it writes {', '.join(able)}" if able else "write an lp.Array, or use fewer dimensions"
    return FeatureNotSupportedError(
        f"device '{device.name}' ({device.selector}) does not write {support.ndim}-D images of {wanted.name} in "
        f"kernels (VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT); {hint}"
    )


def unfiltered(device: Device, support: ImageSupport) -> FeatureNotSupportedError:
    """Returns the error for a sampler that takes means of pixels that the device does not."""
    store = device.logical.images
    able = [f.name for f in ImageFormat if store.support(f, support.ndim).filters]
    return FeatureNotSupportedError(
        f"device '{device.name}' ({device.selector}) does not filter {support.ndim}-D images of {support.format.name} "
        "linearly (VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT); use filtering='nearest', or one of "
        f"{', '.join(able)}"
    )
