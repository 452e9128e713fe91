"""What a launch passes to the interpreter, and the memory that it makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ..attribute_values import memref_element_type
from ..call_graph import Function
from ..dialects.kernel import KernelParameter, kernel_parameters
from ..dialects.kernel_image import KINDS, ImageType
from ..errors import InvalidError
from .frame import Batch
from .image_ops import ImageRef
from .layout import size_bytes
from .memory import ArrayName, Memory
from .sampling import Sampling
from .scalars import number
from .texels import HostImage, Texels
from .values import ArrayRef


@dataclass(frozen=True, slots=True, eq=False)
class HostArray:
    """An array argument: its bytes and its shape.  The same `data` given twice is the same memory."""

    data: np.ndarray[Any, np.dtype[np.uint8]]
    """All elements, C order; changed in place."""
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An argument that is memory of each work-group: its shape is all that a launch gives."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ImageArgument:
    """An argument that is an image."""

    image: HostImage
    sampling: Sampling | None = None
    """What its sampler does; None where it has none."""


Argument = HostArray | SharedArray | ImageArgument | int | float | bool
"""What a launch passes for one argument of the kernel's function."""
Bound = Callable[[Batch], Any]
"""An argument: its value in a batch."""


def host_of(argument: Argument) -> object:
    """Returns the memory of the host that an argument is or shows."""
    return argument.image if isinstance(argument, ImageArgument) else argument


class LaunchMemories:
    """The memory of each array and image of the host that a launch has."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[HostArray, Memory]] = {}
        """By the ``id`` of the bytes, which arrays of two shapes may share."""
        self._images: dict[HostImage, Texels] = {}

    def array(self, name: str, element: Attribute, array: HostArray) -> Memory:
        """Returns the memory of an array.

        Raises:
            InvalidError: the bytes are not those of the shape.
        """
        found = self._arrays.get(id(array.data))
        if found is not None:
            return found[1]
        size = math.prod(array.shape) * size_bytes(element)
        if len(array.data) != size:
            raise InvalidError(f"parameter '{name}': expected {size} bytes, found {len(array.data)}")
        memory = Memory(ArrayName(name), element, array.shape, is_defined=True)
        self._arrays[id(array.data)] = array, memory
        memory.bytes[:size] = array.data
        return memory

    def image(self, name: str, image: HostImage) -> Texels:
        """Returns the memory of an image."""
        found = self._images.get(image)
        if found is None:
            found = self._images[image] = Texels(name, image)
        return found

    def write_back(self) -> frozenset[object]:
        """Copies what was stored to back to the host; returns whose memory it is."""
        arrays = {host: memory for host, memory in self._arrays.values() if memory.is_changed}
        images = {host: texels for host, texels in self._images.items() if texels.is_changed}
        for host, memory in arrays.items():
            host.data[:] = memory.bytes[: len(host.data)]
        for host, texels in images.items():
            texels.write_back(host)
        return frozenset([*arrays, *images])


def bind(kernel: Function, arguments: Sequence[Argument]) -> tuple[list[Bound], LaunchMemories]:
    """Returns the arguments as the interpreter has them, and their memory.

    Raises:
        InvalidError: they are not what the kernel's function takes.
    """
    parameters, types = kernel_parameters(kernel), kernel.function_type.inputs.data
    if len(arguments) != len(types):
        raise InvalidError(f"expected {len(types)} arguments, found {len(arguments)}")
    memories = LaunchMemories()
    bound: list[Bound] = []
    for parameter, type_, argument in zip(parameters, types, arguments, strict=True):
        if isinstance(argument, int | float):
            bound.append(partial(_scalar, number(argument, type_)))
        elif isinstance(argument, ImageArgument):
            bound.append(partial(_same, _image(parameter, type_, argument, memories)))
        else:
            bound.append(_array(parameter, type_, argument, memories))
    return bound, memories


def _array(
    parameter: KernelParameter, type_: Attribute, argument: HostArray | SharedArray, memories: LaunchMemories
) -> Bound:
    element = memref_element_type(type_)
    if element is None or len(argument.shape) != parameter.ndim:
        raise InvalidError(f"parameter '{parameter.name}' is a {type_}; found an array of {argument.shape}")
    if isinstance(argument, SharedArray):
        return partial(_shared, ArrayName(parameter.name, "shared array"), element, argument.shape)
    memory = memories.array(parameter.name, element, argument)
    return partial(_same, ArrayRef(memory, None, argument.shape, element))


def _image(
    parameter: KernelParameter, type_: Attribute, argument: ImageArgument, memories: LaunchMemories
) -> ImageRef:
    image = argument.image
    fits = (
        isinstance(type_, ImageType)
        and type_.ndim.data == len(image.shape)
        and type_.element == KINDS[image.format.kind]
        and (argument.sampling is not None or not type_.is_sampled)
    )
    if not fits:
        raise InvalidError(
            f"parameter '{parameter.name}' is a {type_}; found an image of {image.format.name} and {image.shape}"
        )
    return ImageRef(parameter.name, memories.image(parameter.name, image), argument.sampling)


def _same(value: Any, batch: Batch) -> Any:
    return value


def _scalar(value: Any, batch: Batch) -> Any:
    return np.full(batch.size, value)


def _shared(name: ArrayName, element: Attribute, shape: tuple[int, ...], batch: Batch) -> ArrayRef:
    memory = Memory(name, element, shape, copies=batch.group_count)
    return ArrayRef(memory, batch.group_of_lane * memory.copy_bytes, shape, element)
