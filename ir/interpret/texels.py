"""The pixels of an image as the interpreter has them: as they lie in memory, and as kernels see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..image_formats import ImageFormat
from .races import AccessLog
from .scalars import Lanes

CHANNELS = 4
"""Scalars of a pixel as kernels see it, whatever the format."""
_VALUES = {"float": np.dtype(np.float32), "int": np.dtype(np.int32), "uint": np.dtype(np.int32)}
"""What channels are in a kernel, by kind of format; unsigned integers are signless bits, as everywhere here."""


@dataclass(frozen=True, slots=True, eq=False)
class HostImage:
    """An image of the host.  The same object given twice is the same memory."""

    pixels: np.ndarray[Any, Any]
    """C order, extents slowest first and then the channels; changed in place."""
    format: ImageFormat

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, slowest first."""
        return self.pixels.shape[:-1]


class Texels:
    """Memory of an image in a launch.

    Args:
        name: of the parameter, for messages.
        image: what it begins as.
    """

    granule = 1
    """Positions of `log` are pixels."""

    def __init__(self, name: str, image: HostImage) -> None:
        self.shape = image.shape
        self.format = image.format
        self._name = name
        self._rows = image.pixels.reshape(-1, image.format.channels).copy()
        self.is_changed = False
        """Whether anything was stored."""
        self.log = AccessLog(prod(self.shape))
        blue_first = image.format.name.startswith("b8g8r8")
        self._order = [2, 1, 0, 3] if blue_first else list(range(image.format.channels))
        """Where red, green, blue and alpha lie in memory."""

    def position(self, indices: Sequence[Lanes]) -> Lanes:
        """Returns the numbers of pixels, in C order."""
        found = np.zeros(len(indices[0]), np.int64)
        for index, extent in zip(indices, self.shape, strict=True):
            found = found * extent + index
        return found

    def channels(self, positions: Lanes) -> Lanes:
        """Returns the channels that the format has, red first, one row for each pixel (Vulkan 1.3, 3.10)."""
        raw = self._rows[positions][:, self._order]
        encoding = _encoding(self.format)
        if encoding == "uint":
            return raw.astype(np.uint32).view(np.int32)
        values = raw.astype(_VALUES[self.format.kind])
        if encoding == "unorm":
            return values / np.float32(np.iinfo(raw.dtype).max)
        if encoding == "snorm":
            return np.maximum(values / np.float32(np.iinfo(raw.dtype).max), np.float32(-1))
        return values

    def whole(self, channels: Lanes) -> Lanes:
        """Returns pixels of four: channels that the format lacks are 0, and alpha is 1."""
        found = np.zeros((len(channels), CHANNELS), _VALUES[self.format.kind])
        found[:, CHANNELS - 1] = 1
        found[:, : channels.shape[1]] = channels
        return found

    def store(self, positions: Lanes, pixels: Lanes) -> None:
        """Stores pixels of four; what the format has no channel for is dropped."""
        dtype, encoding = self._rows.dtype, _encoding(self.format)
        values = pixels[:, : len(self._order)]
        if encoding in ("unorm", "snorm"):
            least = 0 if encoding == "unorm" else -1
            clamped = np.clip(np.nan_to_num(values), np.float32(least), np.float32(1))
            values = np.rint(clamped * np.float32(np.iinfo(dtype).max))
        self._rows[positions[:, None], self._order] = values.astype(dtype)
        self.is_changed = True

    def write_back(self, image: HostImage) -> None:
        """Makes an image of the host what this has become."""
        image.pixels[...] = self._rows.reshape(image.pixels.shape)

    def spell(self, offset: int) -> str:
        """Returns what messages call a pixel."""
        indices = ", ".join(str(int(i)) for i in np.unravel_index(offset, self.shape))
        return f"pixel [{indices}] of image '{self._name}'"


def _encoding(image_format: ImageFormat) -> str:
    """Returns ``unorm``, ``snorm``, ``uint``, ``sint`` or ``sfloat``."""
    return image_format.name.rpartition("_")[2]
