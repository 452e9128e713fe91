"""Images: `kernel.image_read image_write image_sample image_size`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..attribute_values import integer
from ..errors import InvalidError
from . import access
from .dispatch import handles
from .frame import Frame
from .races import Access
from .sampling import Sampling, places, sample
from .scalars import Lanes
from .texels import CHANNELS, Texels
from .traps import OUT_OF_RANGE


@dataclass(frozen=True, slots=True, eq=False)
class ImageRef:
    """An image parameter: the same image for all work-items."""

    name: str
    texels: Texels
    sampling: Sampling | None


@handles("kernel.image_size")
def size(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns an extent of an image."""
    image: ImageRef = operands[0]
    dimension = integer(op.properties["dimension"])
    assert dimension is not None
    return (frame.full(np.int64(image.texels.shape[dimension])),)


@handles("kernel.image_read")
def read(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads whole pixels; outside of the image there is nothing but zeros."""
    image: ImageRef = operands[0]
    indices = operands[1:]
    found = image.texels.whole(image.texels.channels(np.zeros(0, np.int64)))
    pixels = np.zeros((frame.batch.size, CHANNELS), found.dtype)
    inside = _inside(frame, image, indices)
    if inside.any():
        with frame.masked(inside):
            positions = image.texels.position([index[frame.lanes] for index in indices])
            access.note(frame, op, Access.READ, image.texels, positions)
            pixels[frame.lanes] = image.texels.whole(image.texels.channels(positions))
    return tuple(pixels.T.copy())


@handles("kernel.image_write")
def write(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Stores whole pixels; outside of the image nothing happens."""
    image: ImageRef = operands[0]
    indices, pixel = operands[1:-CHANNELS], operands[-CHANNELS:]
    inside = _inside(frame, image, indices)
    if inside.any():
        with frame.masked(inside):
            positions = image.texels.position([index[frame.lanes] for index in indices])
            access.note(frame, op, Access.WRITE, image.texels, positions)
            image.texels.store(positions, np.stack([channel[frame.lanes] for channel in pixel], axis=1))
    return ()


def _inside(frame: Frame, image: ImageRef, indices: Sequence[Lanes]) -> Lanes:
    """Returns which active work-items have coordinates of a pixel."""
    inside = frame.mask.copy()
    for index, extent in zip(indices, image.texels.shape, strict=True):
        inside &= (index >= 0) & (index < extent)
    return inside


@handles("kernel.image_sample")
def sample_image(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reads pixels through the sampler.

    Raises:
        KernelTrap: addressing mode ``none``, and a coordinate outside of the image.
    """
    image: ImageRef = operands[0]
    if image.sampling is None:
        raise InvalidError(f"image '{image.name}' has no sampler")
    coordinates = [coordinate[frame.lanes] for coordinate in operands[1:]]
    if image.sampling.addressing == "none":
        _require_inside(frame, op, image, image.sampling, coordinates)
    found = sample(image.texels, image.sampling, coordinates)
    pixels = np.zeros((frame.batch.size, CHANNELS), found.dtype)
    pixels[frame.lanes] = found
    return tuple(pixels.T.copy())


def _require_inside(
    frame: Frame, op: Operation, image: ImageRef, sampling: Sampling, coordinates: Sequence[Lanes]
) -> None:
    for dimension, (coordinate, extent) in enumerate(zip(coordinates, image.texels.shape, strict=True)):
        place = places(coordinate, extent, sampling)
        bad = np.flatnonzero((place < 0) | (place > extent))
        if len(bad):
            frame.trap(
                op,
                OUT_OF_RANGE,
                int(frame.lanes[bad[0]]),
                f"coordinate {float(coordinate[bad[0]])} is outside of dimension {dimension} of image "
                f"'{image.name}', of extent {extent}, and its sampler's addressing is 'none'",
            )
