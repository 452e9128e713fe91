"""Arguments of interpreted launches: the memory of devices, or NumPy arrays, as the interpreter takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.image_formats import PIXEL_KINDS, pixel_parts
from ..ir.interpret.arguments import Argument, HostArray, ImageArgument, SharedArray, host_of
from ..ir.interpret.sampling import Sampling
from ..ir.interpret.texels import HostImage
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    LocalParameter,
    Parameter,
    ScalarParameter,
    StreamParameter,
)
from ..ir.local_memory import LocalMemory
from ..ir.stream import Stream
from ..vk_runtime.array import Array
from ..vk_runtime.dtypes import numpy_dtype
from ..vk_runtime.image_arguments import spelt
from ..vk_runtime.image_data import host_image, image_shape
from ..vk_runtime.image_sampler import ImageSampler
from ..vk_runtime.images import Image, SampledImage
from ..vk_runtime.scalars import Scalar, scalar_value
from ..vk_runtime.tracked import Tracked
from ..vk_runtime.transfer import wait_for_uses

_Host = TypeVar("_Host", HostArray, HostImage)


class DeviceArguments:
    """The arguments of a launch that was checked: arrays and images are read from their device.

    Args:
        scalars: the numbers among them, in order.
    """

    def __init__(self, scalars: Iterator[Scalar]) -> None:
        self._scalars = scalars
        self._found: dict[int, tuple[Array | Image, npt.NDArray[Any], HostArray | HostImage]] = {}

    def argument(self, parameter: Parameter, value: object) -> Argument:
        """Returns what the interpreter takes for an argument; one memory given twice is one."""
        if isinstance(value, LocalMemory):
            return SharedArray(value.shape)
        if isinstance(value, Stream):
            return 0
        if isinstance(value, Array | Image):
            host = self._host(value)
            if isinstance(host, HostArray):
                return host
            return ImageArgument(host, _sampling(value.sampler) if isinstance(value, SampledImage) else None)
        scalar = next(self._scalars)
        assert not isinstance(scalar, bytes), "Python kernels take no values of foreign layouts"
        return _number(scalar, parameter.dtype)

    def _host(self, value: Array | Image) -> HostArray | HostImage:
        found = self._found.get(id(value.buffer))
        if found is None:
            data = value.numpy()
            host = (
                HostImage(data.reshape(*value.shape, value.channels), value.format)
                if isinstance(value, Image)
                else HostArray(_bytes_of(data), value.shape)
            )
            found = self._found[id(value.buffer)] = value, data, host
        host = found[2]
        if isinstance(host, HostArray) and host.shape != value.shape:
            return replace(host, shape=value.shape)  # two views of one memory
        return host

    def write_back(self, written: Iterable[Argument]) -> tuple[tuple[Tracked, bool], ...]:
        """Copies what was stored to back to the device; returns all memory, and whether it was stored to.

        It is there on return, for those too who know the memory as something else (`vulkan.make_buffer`).
        """
        changed = {id(host_of(argument)) for argument in written}
        for value, data, host in self._found.values():
            if id(host) in changed:
                value.copy_from(data)
                wait_for_uses(value.device.logical, value.buffer, writes_only=True)
        return tuple((value.buffer, id(host) in changed) for value, _, host in self._found.values())


class NumPyArguments:
    """The arguments of `interpret`: NumPy arrays, whatever their strides.

    Args:
        kernel: its name, for messages.
    """

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._arrays: dict[int, _Copied[HostArray]] = {}
        self._images: dict[tuple[int, int], _Copied[HostImage]] = {}

    def argument(self, parameter: Parameter, value: object) -> Argument:
        """Returns what the interpreter takes for an argument.

        Raises:
            KernelArgumentError: it does not suit the parameter.
        """
        what, dtype = f"kernel '{self._kernel}', argument '{parameter.name}'", parameter.dtype
        if isinstance(parameter, LocalParameter):
            if not isinstance(value, LocalMemory) or len(value.shape) != parameter.ndim:
                raise KernelArgumentError(
                    f"{what}: expected lp.local(shape) of {parameter.ndim} dimensions, found {value!r}"
                )
            return SharedArray(value.shape)
        if isinstance(parameter, StreamParameter):
            if not isinstance(value, Stream):
                raise KernelArgumentError(f"{what}: expected an lp.Stream, found {type(value).__name__}")
            return 0
        if isinstance(parameter, ScalarParameter):
            try:
                return _number(scalar_value(value, dtype), dtype)
            except ValueError as error:
                raise KernelArgumentError(f"{what}: expected lp.{dtype}, found {error}") from None
        if isinstance(parameter, ImageParameter):
            return self._image(what, parameter, value)
        assert isinstance(parameter, BufferParameter), "Python kernels take no values of foreign layouts"
        return self._array(what, parameter, value)

    def _array(self, what: str, parameter: BufferParameter, value: object) -> HostArray:
        ndim, wanted = parameter.ndim, numpy_dtype(parameter.dtype)
        if not isinstance(value, np.ndarray):
            raise KernelArgumentError(
                f"{what}: expected a NumPy array of {wanted}, found {type(value).__name__}"
            )
        array = cast("npt.NDArray[Any]", value)
        inner = wanted.shape
        if array.dtype != wanted.base or array.ndim != ndim + len(inner) or array.shape[ndim:] != inner:
            raise KernelArgumentError(
                f"{what}: expected dtype {wanted.base} and {ndim} dimensions{f' and {inner}' * bool(inner)}, found "
                f"{array.dtype} of shape {array.shape}"
            )
        found = self._arrays.get(id(array))
        if found is None:
            data = _in_order(array)
            host = HostArray(_bytes_of(data), array.shape[:ndim])
            found = self._arrays[id(array)] = _Copied(array, data, data.tobytes(), host)
        return found.host

    def _image(self, what: str, parameter: ImageParameter, value: object) -> ImageArgument:
        pixels, sampler = value, None
        expected = f"{what}: expected the pixels of an {spelt(parameter)} as a NumPy array"
        if parameter.is_sampled:
            if not (isinstance(value, tuple) and len(cast("tuple[object, ...]", value)) == 2):
                raise KernelArgumentError(f"{expected} with its lp.ImageSampler, found {value!r:.80}")
            pixels, sampler = cast("tuple[object, object]", value)
        if not isinstance(pixels, np.ndarray) or isinstance(sampler, ImageSampler) != parameter.is_sampled:
            raise KernelArgumentError(f"{expected}, found {value!r:.80}")
        array = cast("npt.NDArray[Any]", pixels)
        try:
            image_format, shape = image_shape(what, host_image(what, array), None, parameter.ndim)
        except InvalidError as error:
            raise KernelArgumentError(str(error)) from None
        scalar, count = pixel_parts(parameter.dtype)
        if image_format.kind != PIXEL_KINDS[scalar] or count not in (4, image_format.channels):
            raise KernelArgumentError(f"{expected}, found {array.dtype} of shape {array.shape}")
        key = id(array), len(shape)  # the last axis may be channels or an extent
        found = self._images.get(key)
        if found is None:
            data = _in_order(array)
            host = HostImage(data.reshape(*shape, image_format.channels), image_format)
            found = self._images[key] = _Copied(array, data, data.tobytes(), host)
        return ImageArgument(found.host, _sampling(sampler) if isinstance(sampler, ImageSampler) else None)

    def write_back(self) -> None:
        """Copies the elements of each array back, where any changed."""
        for copied in (*self._arrays.values(), *self._images.values()):
            if copied.data.tobytes() != copied.before:
                copied.array[...] = copied.data


@dataclass(frozen=True, slots=True, eq=False)
class _Copied(Generic[_Host]):
    """A NumPy array, and what the interpreter has of it."""

    array: npt.NDArray[Any]
    data: npt.NDArray[Any]
    """Its elements in C order."""
    before: bytes
    """What they were."""
    host: _Host
    """Shares their memory."""


def _in_order(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns a copy in C order and in the machine's byte order."""
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def _sampling(sampler: ImageSampler) -> Sampling:
    return Sampling(sampler.addressing.name, sampler.is_normalized, sampler.is_linear)


def _bytes_of(data: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a C-ordered array, shared with it."""
    return data.reshape(-1).view(np.uint8)


def _number(value: int | float, dtype: str) -> int | float:
    """Returns a checked scalar as a number: bf16 comes as its bits."""
    if dtype != "bf16":
        return value
    return float(np.array([int(value) << 16], np.uint32).view(np.float32)[0])
