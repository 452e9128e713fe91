"""UnsampledImage and SampledImage: pictures of one to three dimensions on a device, as SYCL 2020 has them.

An image has a format, which says how its pixels lie in memory; kernels see floats or integers.  On the host it is a
NumPy array of its shape, with one more dimension of channels where the format has several.
"""

from __future__ import annotations

import math
from contextlib import suppress
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..ir.errors import InvalidError, user_facing
from ..ir.image_formats import ImageFormat
from ..ir.public_names import PublicNames
from .array_creation import device_of, normalise_shape
from .dtypes import spelling_of
from .host_data import host_array, require_unmasked
from .image_base import ImageBase
from .image_data import checked_format, host_image, image_shape
from .image_memory import ImageMemory
from .image_sampler import NATIVE_PIXEL_DIMENSIONS, ImageSampler, Sampler
from .image_support import require_images, require_shape, unfiltered
from .image_transfer import begin, download_image, upload_image

if TYPE_CHECKING:
    from .device import Device
    from .queue import Queue


class Image(
    ImageBase,
    metaclass=PublicNames,
    internal="buffer filled_with of_memory require_same sampler_object scales signature",
):
    """What images with and without a sampler have in common."""

    __slots__ = ("__weakref__",)

    def __init__(self, device: Device, memory: ImageMemory) -> None:
        self._device = device
        self._buffer = memory

    def __class_getitem__(cls, parameters: object) -> GenericAlias:
        return GenericAlias(cls, cast("Any", parameters))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, slowest first: (height, width) in two dimensions."""
        return self.buffer.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 to 3, channels not counted."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def format(self) -> ImageFormat:
        """How a pixel lies in memory."""
        return self.buffer.format

    @property
    def channels(self) -> int:
        """Channels of a pixel: 1, 2 or 4."""
        return self.format.channels

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of one channel on the host."""
        return np.dtype(self.format.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of all pixels on the host."""
        return self.buffer.nbytes

    @property
    def host_shape(self) -> tuple[int, ...]:
        """Shape of the NumPy array that `numpy` returns: several channels add a dimension."""
        return self.shape if self.channels == 1 else (*self.shape, self.channels)

    @property
    def buffer(self) -> ImageMemory:
        """The memory.

        Raises:
            InvalidError: the image was released.
        """
        if self._buffer is None:
            raise InvalidError(f"this {type(self).__name__} was released; make a new one")
        return self._buffer

    @property
    def signature(self) -> str:
        """How messages name it: ``UnsampledImage[r8g8b8a8_unorm, 2]``."""
        rank = "" if self.ndim == 1 else f", {self.ndim}"
        return f"{type(self).__name__}[{self.format.name}{rank}]"

    @user_facing
    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns a copy in host memory, after the launches that write the image."""
        out = np.empty(self.host_shape, self.dtype)
        download_image(self._device.default_queue, self._device.logical, self.buffer, out)
        return out

    @user_facing
    def copy_to(self, out: np.ndarray[Any, Any]) -> None:
        """Copies all pixels into `out`, of `host_shape` and `dtype`.

        Raises:
            InvalidError: another shape or dtype, or an array that cannot be written.
        """
        if not isinstance(out, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise InvalidError(f"copy_to needs a NumPy array; found {type(out).__name__}")
        self.require_same(out, "copy_to: the target")
        if not out.flags.writeable:
            raise InvalidError("copy_to: the target is read-only")
        download_image(self._device.default_queue, self._device.logical, self.buffer, out)

    @user_facing
    def copy_from(self, source: object) -> Self:
        """Copies all pixels from an array of `host_shape` and `dtype`; returns this image.

        Args:
            source: a NumPy array, what NumPy takes for one, as a PIL image, or a nested sequence.

        Raises:
            InvalidError: another shape or dtype, or a number in a sequence that does not fit the dtype.
        """
        require_unmasked(source, "copy_from")
        if isinstance(source, list | tuple):
            host = host_array(cast(object, source), spelling_of(self.dtype), "copy_from")
        else:
            host = np.asarray(source)
        self.require_same(host, "copy_from: the source")
        upload_image(self._device.default_queue, self._device.logical, self.buffer, host)
        return self

    @user_facing
    def fill(self, value: object) -> Self:
        """Sets every pixel to `value`: a number in each channel, or one number for each; returns this image.

        Raises:
            InvalidError: it does not fit `dtype`, or is no pixel.
        """
        upload_image(self._device.default_queue, self._device.logical, self.buffer, self.filled_with(value))
        return self

    def filled_with(self, value: object) -> np.ndarray[Any, Any]:
        """Returns what `fill` makes of it on the host: one pixel, broadcast.  Raises as `fill`."""
        pixel = None
        with suppress(ValueError):  # a ragged list
            pixel = np.asarray(value)
        wanted = () if self.channels == 1 else (self.channels,)
        kinds = "iufb" if self.dtype.kind == "f" else "iub"
        if pixel is None or pixel.dtype.kind not in kinds or pixel.shape not in ((), wanted):
            raise InvalidError(
                f"fill: a pixel of {self.format.name} is a number, or {self.channels} of {self.dtype}; found {value!r}"
            )
        converted = pixel.astype(self.dtype)
        if self.dtype.kind != "f" and not np.array_equal(converted, pixel):
            raise InvalidError(
                f"fill: {value!r} does not fit {self.dtype}, the channels of {self.format.name}"
            )
        return np.broadcast_to(converted, self.host_shape)

    def require_same(self, host: np.ndarray[Any, Any], what: str) -> None:
        """Raises InvalidError where `what` has not this image's host shape and dtype."""
        if host.shape != self.host_shape:
            raise InvalidError(f"{what} has shape {host.shape}; expected {self.host_shape}")
        if host.dtype.newbyteorder("=") != self.dtype:
            raise InvalidError(
                f"{what} has dtype {host.dtype}; expected {self.dtype}; convert it with astype first"
            )

    def release(self) -> None:
        """Gives the memory back once the launches that use it have ended; idempotent."""
        memory, self._buffer = self._buffer, None
        del memory  # submissions in flight hold it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @user_facing
    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Returns the pixels for NumPy, always as a copy.

        Raises:
            ValueError: ``copy=False``.
        """
        if copy is False:
            raise ValueError(f"an lp.{type(self).__name__} lies in device memory: reading it always copies")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: object) -> object:
        raise InvalidError("an image cannot be indexed on the host; index img.numpy() instead")

    def __setitem__(self, index: object, value: object) -> None:
        raise InvalidError("an image cannot be indexed on the host; use copy_from or fill instead")

    def __iter__(self) -> object:
        raise InvalidError("an image cannot be iterated on the host; iterate over img.numpy() instead")

    def __repr__(self) -> str:
        if self._buffer is None:
            return f"<lapilli.{type(self).__name__}, released>"
        return f"<lapilli.{self.signature} shape={self.shape} on {self._device.selector}>"


class UnsampledImage(Image):
    """An image that kernels read and write pixel by pixel (SYCL's ``unsampled_image``).

    ``UnsampledImage[pixel, ndim]`` is the annotation of a kernel's parameter.

    Args:
        source: pixels: a NumPy array or what NumPy takes for one, of the image's shape, several channels last; another
            image, which then shares its memory; None for zeros of `shape`.
        format: an `lp.ImageFormat` or its name; by default that of the array: floats stay floats, 8 and 16 bits
            unsigned are taken for pictures (unorm), other integers stay integers.
        shape: extents where there is no `source`, slowest first.
        ndim: dimensions, where they do not follow: an array whose last extent is 2 or 4 has so many channels unless
            format or `ndim` say otherwise.
        device: a device or selector; by default that of `queue`, else the default device.
        queue: only says which device.

    Raises:
        InvalidError: shape, dtype or format that do not go together, or an image that is too large.
        FeatureNotSupportedError: the device has no images, or none of the format.
        MemoryAllocationError: larger than the device can hold.
    """

    __lapilli_annotation__ = "unsampled_image"
    __slots__ = ()

    @user_facing
    def __init__(
        self,
        source: object = None,
        format: ImageFormat | str | None = None,
        *,
        shape: int | tuple[int, ...] | None = None,
        ndim: int | None = None,
        device: Device | str | None = None,
        queue: Queue | None = None,
    ) -> None:
        super().__init__(*_made("lp.UnsampledImage", source, format, shape, ndim, device, queue))

    @classmethod
    def of_memory(cls, device: Device, memory: ImageMemory) -> UnsampledImage:
        """Makes an image of memory that is there; for `interop.images`."""
        made = cls.__new__(cls)
        Image.__init__(made, device, memory)
        return made


class SampledImage(Image):
    """An image that kernels sample through a sampler, and do not write (SYCL's ``sampled_image``).

    ``SampledImage[pixel, ndim]`` is the annotation of a kernel's parameter.

    Args:
        source: as of `UnsampledImage`; of an image of the device the memory is shared, so that one kernel can write
            what another samples.
        sampler: how it is sampled.
        format: as of `UnsampledImage`.
        shape: as of `UnsampledImage`.
        ndim: as of `UnsampledImage`.
        device: as of `UnsampledImage`.
        queue: as of `UnsampledImage`.

    Raises: as `UnsampledImage`; FeatureNotSupportedError also where the device does not filter the format linearly.
    """

    __lapilli_annotation__ = "sampled_image"
    __slots__ = ("_image_sampler", "sampler_object", "scales")

    @user_facing
    def __init__(
        self,
        source: object = None,
        sampler: ImageSampler | None = None,
        format: ImageFormat | str | None = None,
        *,
        shape: int | tuple[int, ...] | None = None,
        ndim: int | None = None,
        device: Device | str | None = None,
        queue: Queue | None = None,
    ) -> None:
        chosen = ImageSampler() if sampler is None else sampler
        if not isinstance(chosen, ImageSampler):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise InvalidError(
                f"lp.SampledImage: expected an lp.ImageSampler as sampler, found {sampler!r:.80}"
            )
        super().__init__(*_made("lp.SampledImage", source, format, shape, ndim, device, queue))
        self._bind(chosen)

    @classmethod
    def of_memory(cls, device: Device, memory: ImageMemory, sampler: ImageSampler) -> SampledImage:
        """Makes an image of memory that is there; for `interop.images`."""
        made = cls.__new__(cls)
        Image.__init__(made, device, memory)
        made._bind(sampler)
        return made

    def _bind(self, sampler: ImageSampler) -> None:
        memory, device = self.buffer, self.device
        if sampler.is_linear and not memory.support.filters:
            raise unfiltered(device, memory.support)
        self._image_sampler = sampler
        self.sampler_object: Sampler = device.logical.images.sampler(sampler, memory.format, self.ndim)
        """The VkSampler."""
        self.scales: tuple[float, ...] = _scales(sampler, self.shape)
        """Factors that make coordinates normalised where the driver does not, slowest dimension first: 0 where nothing
        is to do; negative for the nearest pixel."""

    @property
    def sampler(self) -> ImageSampler:
        """How it is sampled."""
        return self._image_sampler


def _scales(sampler: ImageSampler, shape: tuple[int, ...]) -> tuple[float, ...]:
    if sampler.is_normalized or len(shape) <= NATIVE_PIXEL_DIMENSIONS:
        return (0.0,) * len(shape)
    sign = 1.0 if sampler.is_linear else -1.0
    return tuple(sign / extent for extent in shape)


def _made(
    what: str,
    source: object,
    given: object,
    shape: int | tuple[int, ...] | None,
    ndim: int | None,
    device: Device | str | None,
    queue: Queue | None,
) -> tuple[Device, ImageMemory]:
    """Returns device and memory of a new image; see `UnsampledImage`."""
    if isinstance(source, Image) and (device is None and queue is None):
        device = source.device
    target = device_of(device, queue)
    require_images(target)
    wanted = checked_format(what, given)
    if isinstance(source, Image):
        if shape is not None or ndim is not None or wanted not in (None, source.format):
            raise InvalidError(
                f"{what}: an image that shares the memory of {source!r} has its shape and format"
            )
        if source.device is target:
            return target, source.buffer
        source, wanted, ndim = source.numpy(), source.format, source.ndim
    if source is None:
        if shape is None or wanted is None or ndim is not None:
            raise InvalidError(f"{what}: expected pixels, or shape= and format=")
        return target, _new(target, wanted, normalise_shape(shape), None)
    if shape is not None:
        raise InvalidError(f"{what}: the shape is that of the pixels; leave shape= out")
    host = host_image(what, source)
    image_format, extents = image_shape(what, host, wanted, ndim)
    return target, _new(target, image_format, extents, host)


def _new(
    device: Device, image_format: ImageFormat, shape: tuple[int, ...], host: np.ndarray[Any, Any] | None
) -> ImageMemory:
    """Makes the memory of an image: zeros, or `host`."""
    if 0 in shape:
        raise InvalidError(f"an image has at least one pixel in each dimension; found shape {shape}")
    logical, queue = device.logical, device.default_queue
    logical.require_usable()
    support = logical.images.support(image_format, len(shape))
    require_shape(device, support, shape)
    with logical.lock:
        logical.require_usable()  # again: it may have been shut down since
        memory = ImageMemory(logical, support, shape)
    begin(queue, logical, memory, clears=host is None)
    if host is not None:
        channels = () if image_format.channels == 1 else (image_format.channels,)
        upload_image(queue, logical, memory, host.reshape((*shape, *channels)))
    return memory
