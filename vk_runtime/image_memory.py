"""ImageMemory: a VkImage with its memory and its view, and which launches use it.  ImageStore: what images share.

Every image stays in the layout GENERAL, in which kernels read, sample and write and copies run: ordering its uses is
then the same as for buffers, and needs no word about layouts.  Software drivers have one layout anyway; on GPUs it may
cost compression of textures that are only sampled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.errors import InvalidError
from ..ir.image_formats import ImageFormat
from .constants import (
    VK_IMAGE_ASPECT_COLOR_BIT,
    VK_IMAGE_LAYOUT_UNDEFINED,
    VK_IMAGE_TILING_OPTIMAL,
    VK_IMAGE_VIEW_TYPE_1D,
    VK_IMAGE_VIEW_TYPE_2D,
    VK_IMAGE_VIEW_TYPE_3D,
    VK_SAMPLE_COUNT_1_BIT,
)
from .headers import ffi, make
from .image_sampler import NATIVE_PIXEL_DIMENSIONS, ImageSampler, Sampler
from .image_support import IMAGE_TYPES, ImageSupport, read_image_support
from .made import Made
from .tracked import Tracked

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .memory_block import Place

_VIEW_TYPES = {1: VK_IMAGE_VIEW_TYPE_1D, 2: VK_IMAGE_VIEW_TYPE_2D, 3: VK_IMAGE_VIEW_TYPE_3D}


class ImageMemory(Tracked):
    """A VkImage with a view of all of it.  Call it with the device's lock held.

    Args:
        device: borrowed.
        support: of its format and number of dimensions.
        shape: extents, slowest first; checked.
        borrowed: a VkImage of the application, which is used and never destroyed.
    """

    def __init__(
        self, device: LogicalDevice, support: ImageSupport, shape: tuple[int, ...], borrowed: Any = None
    ) -> None:
        nbytes = support.format.pixel_bytes
        for extent in shape:
            nbytes *= extent
        super().__init__(device.memory.next_serial(), nbytes)
        self.support = support
        self.shape = shape
        self.layout = VK_IMAGE_LAYOUT_UNDEFINED
        """Of before its first use, see `image_transfer.begin`."""
        self.is_borrowed = borrowed is not None
        self.is_copied_from = self.is_copied_to = True
        """Whether its usage lets commands copy from it, and to it; not every VkImage of an application has that."""
        image, view = Made(device, "Image"), Made(device, "ImageView")
        places: list[Place] = []

        def destroy() -> None:
            view.destroy()
            image.destroy()
            device.memory.give_back(places)

        self._own(device.graveyard, destroy)
        try:
            if borrowed is None:
                _create(device, image, places, support, shape)
            self.raw: Any = image.raw if borrowed is None else borrowed
            _create_view(device, view, self.raw, support.format, len(shape))
        except BaseException:
            self.close()
            raise
        self.view: Any = view.raw

    def require_copies(self, *, is_target: bool) -> None:
        """Raises InvalidError where the application made the VkImage without the usage that a copy needs."""
        if not (self.is_copied_to if is_target else self.is_copied_from):
            name = "DST" if is_target else "SRC"
            raise InvalidError(
                f"the VkImage was made without VK_IMAGE_USAGE_TRANSFER_{name}_BIT, as usage= says, so nothing can be "
                f"copied {'to' if is_target else 'from'} it; make it with that usage, or use a kernel"
            )

    @property
    def format(self) -> ImageFormat:
        """How its pixels lie in memory."""
        return self.support.format


def xyz(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Returns extents, slowest first, as Vulkan's width, height and depth."""
    x, y, z = (*reversed(shape), 1, 1)[:3]
    return x, y, z


def _create(
    device: LogicalDevice,
    image: Made,
    places: list[Place],
    support: ImageSupport,
    shape: tuple[int, ...],
) -> None:
    """Makes a VkImage and binds it to memory, which `places` gets."""
    device.collect()
    width, height, depth = xyz(shape)
    info = make(
        "VkImageCreateInfo",
        imageType=IMAGE_TYPES[len(shape)],
        format=support.format.vk_format,
        extent={"width": width, "height": height, "depth": depth},
        mipLevels=1,
        arrayLayers=1,
        samples=VK_SAMPLE_COUNT_1_BIT,
        tiling=VK_IMAGE_TILING_OPTIMAL,
        usage=support.usage,
        initialLayout=VK_IMAGE_LAYOUT_UNDEFINED,
    )
    vk = device.vk
    device.memory.retried("one image more", lambda: image.create(info))
    needs = ffi.new("VkMemoryRequirements*")
    vk.vkGetImageMemoryRequirements(device.raw, image.raw, needs)
    device.memory.place_image(needs, places)
    result = vk.vkBindImageMemory(device.raw, image.raw, places[0].block.raw, places[0].offset_bytes)
    device.check(result, "vkBindImageMemory")


def _create_view(device: LogicalDevice, view: Made, raw: Any, image_format: ImageFormat, ndim: int) -> None:
    info = make(
        "VkImageViewCreateInfo",
        image=raw,
        viewType=_VIEW_TYPES[ndim],
        format=image_format.vk_format,
        subresourceRange={"aspectMask": VK_IMAGE_ASPECT_COLOR_BIT, "levelCount": 1, "layerCount": 1},
    )
    device.memory.retried("one image more", lambda: view.create(info))


class ImageStore:
    """What the images of a device share: samplers, and what the driver said of formats."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._support: dict[tuple[ImageFormat, int], ImageSupport] = {}
        self._samplers: dict[tuple[ImageSampler, bool, bool], Sampler] = {}

    def support(self, image_format: ImageFormat, ndim: int) -> ImageSupport:
        """Returns what the device does with a format."""
        key = (image_format, ndim)
        found = self._support.get(key)
        if found is None:
            found = self._support[key] = read_image_support(self._device.physical, image_format, ndim)
        return found

    def sampler(self, sampler: ImageSampler, image_format: ImageFormat, ndim: int) -> Sampler:
        """Returns the VkSampler for images of a format; there are few, so they are kept for good."""
        key = (sampler, image_format.kind != "float", ndim <= NATIVE_PIXEL_DIMENSIONS)
        with self._device.lock:
            found = self._samplers.get(key)
            if found is None:
                self._device.require_usable()
                found = self._samplers[key] = Sampler(
                    self._device, sampler, is_integer=key[1], is_native=key[2]
                )
        return found
