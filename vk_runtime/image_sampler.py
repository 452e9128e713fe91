"""How images are sampled: SYCL 2020's `image_sampler` and its three modes (section 4.7.8), and VkSampler behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..ir.errors import InvalidError, MembersByName
from .constants import (
    VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK,
    VK_BORDER_COLOR_INT_TRANSPARENT_BLACK,
    VK_FILTER_LINEAR,
    VK_FILTER_NEAREST,
    VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
    VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
    VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
    VK_SAMPLER_ADDRESS_MODE_REPEAT,
    VK_SAMPLER_MIPMAP_MODE_NEAREST,
)
from .headers import make
from .tracked import Tracked

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

NATIVE_PIXEL_DIMENSIONS = 2
"""Dimensions up to which Vulkan has samplers for coordinates in pixels (VUID-vkCmdDispatch-None-08609)."""


class AddressingMode(Enum, metaclass=MembersByName):
    """What a sampler gives beyond the edges of an image (SYCL's ``addressing_mode``)."""

    mirrored_repeat = "mirrored_repeat"
    """The image again and again, every other time mirrored; normalised coordinates only."""
    repeat = "repeat"
    """The image again and again; normalised coordinates only."""
    clamp_to_edge = "clamp_to_edge"
    """The nearest pixel of the edge."""
    clamp = "clamp"
    """The border colour: zeros; alpha is 1 where the format has none."""
    none = "none"
    """Anything: the kernel promises not to sample there."""


class FilteringMode(Enum, metaclass=MembersByName):
    """Which pixels a sampler takes together (SYCL's ``filtering_mode``)."""

    nearest = "nearest"
    linear = "linear"
    """The weighted mean of the two, four or eight pixels around; of formats that kernels see as floats."""


class CoordinateNormalizationMode(Enum, metaclass=MembersByName):
    """What the coordinates of a sampler count (SYCL's ``coordinate_normalization_mode``)."""

    normalized = "normalized"
    """0 to 1 from one edge to the other."""
    unnormalized = "unnormalized"
    """Pixels: the middle of the first is 0.5."""


_ADDRESSING = {
    AddressingMode.mirrored_repeat: VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
    AddressingMode.repeat: VK_SAMPLER_ADDRESS_MODE_REPEAT,
    AddressingMode.clamp_to_edge: VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
    AddressingMode.clamp: VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
    AddressingMode.none: VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
}
_REPEATING = (AddressingMode.mirrored_repeat, AddressingMode.repeat)
_FILTERS = {FilteringMode.nearest: VK_FILTER_NEAREST, FilteringMode.linear: VK_FILTER_LINEAR}


@dataclass(frozen=True, slots=True, init=False)
class ImageSampler:
    """How an `lp.SampledImage` is sampled (SYCL's ``image_sampler``).

    Args:
        addressing: an `lp.AddressingMode`, or its name.
        coordinate: an `lp.CoordinateNormalizationMode`, or its name.
        filtering: an `lp.FilteringMode`, or its name.

    Raises:
        InvalidError: no such mode, or a repeating one with coordinates in pixels.
    """

    addressing: AddressingMode
    coordinate: CoordinateNormalizationMode
    filtering: FilteringMode

    def __init__(
        self,
        addressing: AddressingMode | str = AddressingMode.clamp_to_edge,
        coordinate: CoordinateNormalizationMode | str = CoordinateNormalizationMode.unnormalized,
        filtering: FilteringMode | str = FilteringMode.nearest,
    ) -> None:
        for name, kind, value in (
            ("addressing", AddressingMode, addressing),
            ("coordinate", CoordinateNormalizationMode, coordinate),
            ("filtering", FilteringMode, filtering),
        ):
            object.__setattr__(self, name, _member(kind, name, value))
        if self.addressing in _REPEATING and not self.is_normalized:
            raise InvalidError(
                f"lp.ImageSampler: addressing {self.addressing.name} needs normalised coordinates; give "
                "coordinate='normalized', or addressing='clamp_to_edge'"
            )

    @property
    def is_normalized(self) -> bool:
        """Whether its coordinates go from 0 to 1."""
        return self.coordinate is CoordinateNormalizationMode.normalized

    @property
    def is_linear(self) -> bool:
        """Whether it takes means of pixels."""
        return self.filtering is FilteringMode.linear

    def __repr__(self) -> str:
        modes = (self.addressing, self.coordinate, self.filtering)
        return f"lp.ImageSampler({', '.join(repr(mode.name) for mode in modes)})"


def _member(kind: type[Enum], name: str, value: object) -> Enum:
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in kind.__members__:
        return kind[value]
    raise InvalidError(
        f"lp.ImageSampler({name}=…) takes an lp.{kind.__name__} or one of {', '.join(kind.__members__)}; "
        f"found {value!r}"
    )


class Sampler(Tracked):
    """A VkSampler.  Made by `ImageStore.sampler`.

    Args:
        device: borrowed.
        sampler: what it does.
        is_integer: whether it samples formats that kernels see as integers.
        is_native: whether the driver takes coordinates in pixels where `sampler` says so; else the kernel makes them
            normalised.
    """

    def __init__(
        self, device: LogicalDevice, sampler: ImageSampler, *, is_integer: bool, is_native: bool
    ) -> None:
        super().__init__(device.memory.next_serial(), 0)
        mode, filtering = _ADDRESSING[sampler.addressing], _FILTERS[sampler.filtering]
        info = make(
            "VkSamplerCreateInfo",
            magFilter=filtering,
            minFilter=filtering,
            mipmapMode=VK_SAMPLER_MIPMAP_MODE_NEAREST,
            addressModeU=mode,
            addressModeV=mode,
            addressModeW=mode,
            borderColor=VK_BORDER_COLOR_INT_TRANSPARENT_BLACK
            if is_integer
            else VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK,
            unnormalizedCoordinates=int(is_native and not sampler.is_normalized),
        )
        self.raw: Any = self._make(device, "Sampler", info, "one sampler more")
