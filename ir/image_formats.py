"""Image formats: what Vulkan, SPIR-V, NumPy and kernels each call them.  Standard library only.

The names are those of SYCL 2020's `image_format` (section 4.7.3), which has formats of four channels only; those of
one and two channels are spelt alike.  Channels lie in memory in the order of the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from .errors import MembersByName

CHANNELS: Final = (1, 2, 4)
"""How many channels a format may have."""


@dataclass(frozen=True, slots=True)
class FormatRow:
    """What is known of one format."""

    vk_format: int
    """VkFormat."""
    dtype: str
    """NumPy's name of one channel in memory."""
    channels: int
    kind: str
    """``float`` (what kernels read and write of unorm, snorm and sfloat), ``int`` or ``uint``."""
    spirv: str | None
    """SPIR-V's Image Format; None where it has none."""


class ImageFormat(Enum, metaclass=MembersByName):
    """How the pixels of an image lie in memory (SYCL's ``image_format``).

    ``unorm`` are integers that kernels see as 0 to 1, ``snorm`` as -1 to 1; ``sint`` and ``uint`` stay integers and
    ``sfloat`` are floats.
    """

    r8_unorm = FormatRow(9, "uint8", 1, "float", "R8")
    r8g8_unorm = FormatRow(16, "uint8", 2, "float", "Rg8")
    r8g8b8a8_unorm = FormatRow(37, "uint8", 4, "float", "Rgba8")
    b8g8r8a8_unorm = FormatRow(44, "uint8", 4, "float", None)
    r16_unorm = FormatRow(70, "uint16", 1, "float", "R16")
    r16g16_unorm = FormatRow(77, "uint16", 2, "float", "Rg16")
    r16g16b16a16_unorm = FormatRow(91, "uint16", 4, "float", "Rgba16")
    r8_snorm = FormatRow(10, "int8", 1, "float", "R8Snorm")
    r8g8_snorm = FormatRow(17, "int8", 2, "float", "Rg8Snorm")
    r8g8b8a8_snorm = FormatRow(38, "int8", 4, "float", "Rgba8Snorm")
    r16_snorm = FormatRow(71, "int16", 1, "float", "R16Snorm")
    r16g16_snorm = FormatRow(78, "int16", 2, "float", "Rg16Snorm")
    r16g16b16a16_snorm = FormatRow(92, "int16", 4, "float", "Rgba16Snorm")
    r8_uint = FormatRow(13, "uint8", 1, "uint", "R8ui")
    r8g8_uint = FormatRow(20, "uint8", 2, "uint", "Rg8ui")
    r8g8b8a8_uint = FormatRow(41, "uint8", 4, "uint", "Rgba8ui")
    r16_uint = FormatRow(74, "uint16", 1, "uint", "R16ui")
    r16g16_uint = FormatRow(81, "uint16", 2, "uint", "Rg16ui")
    r16g16b16a16_uint = FormatRow(95, "uint16", 4, "uint", "Rgba16ui")
    r32_uint = FormatRow(98, "uint32", 1, "uint", "R32ui")
    r32g32_uint = FormatRow(101, "uint32", 2, "uint", "Rg32ui")
    r32g32b32a32_uint = FormatRow(107, "uint32", 4, "uint", "Rgba32ui")
    r8_sint = FormatRow(14, "int8", 1, "int", "R8i")
    r8g8_sint = FormatRow(21, "int8", 2, "int", "Rg8i")
    r8g8b8a8_sint = FormatRow(42, "int8", 4, "int", "Rgba8i")
    r16_sint = FormatRow(75, "int16", 1, "int", "R16i")
    r16g16_sint = FormatRow(82, "int16", 2, "int", "Rg16i")
    r16g16b16a16_sint = FormatRow(96, "int16", 4, "int", "Rgba16i")
    r32_sint = FormatRow(99, "int32", 1, "int", "R32i")
    r32g32_sint = FormatRow(102, "int32", 2, "int", "Rg32i")
    r32g32b32a32_sint = FormatRow(108, "int32", 4, "int", "Rgba32i")
    r16_sfloat = FormatRow(76, "float16", 1, "float", "R16f")
    r16g16_sfloat = FormatRow(83, "float16", 2, "float", "Rg16f")
    r16g16b16a16_sfloat = FormatRow(97, "float16", 4, "float", "Rgba16f")
    r32_sfloat = FormatRow(100, "float32", 1, "float", "R32f")
    r32g32_sfloat = FormatRow(103, "float32", 2, "float", "Rg32f")
    r32g32b32a32_sfloat = FormatRow(109, "float32", 4, "float", "Rgba32f")

    @property
    def vk_format(self) -> int:
        """The VkFormat."""
        return self.value.vk_format

    @property
    def dtype(self) -> str:
        """NumPy's name of one channel in memory: ``uint8``."""
        return self.value.dtype

    @property
    def channels(self) -> int:
        """Channels of a pixel: 1, 2 or 4."""
        return self.value.channels

    @property
    def kind(self) -> str:
        """What kernels read and write: ``float``, ``int`` or ``uint``."""
        return self.value.kind

    @property
    def spirv_name(self) -> str | None:
        """SPIR-V's Image Format, None where it has none."""
        return self.value.spirv

    @property
    def pixel_bytes(self) -> int:
        """Bytes of one pixel."""
        digits = "".join(c for c in self.dtype if c.isdecimal())
        return int(digits) // 8 * self.channels

    def __repr__(self) -> str:
        return f"lp.ImageFormat.{self.name}"


PIXEL_KINDS: Final = {"f32": "float", "f16": "float", "i32": "int", "u32": "uint"}
"""Scalar types that a kernel may have pixels of, and the kind of format that goes with them."""


def pixel_parts(dtype: str) -> tuple[str, int]:
    """Returns scalar type and number of components of a pixel type as lapilli spells it: ``Vec[f32, 4]``, ``f32``."""
    if dtype.startswith("Vec[") and dtype.endswith("]"):
        scalar, _, count = dtype[4:-1].partition(", ")
        return scalar, int(count) if count.isdecimal() else 0
    return dtype, 1


def natural_format(dtype: str) -> ImageFormat:
    """Returns the format that holds pixels of a type as they are: of ``Vec[f32, 4]``, r32g32b32a32_sfloat.

    Raises:
        KeyError: there is none.
    """
    scalar, count = pixel_parts(dtype)
    suffix = {"f": "sfloat", "i": "sint", "u": "uint"}[scalar[:1]]
    return ImageFormat["".join(f"{channel}{scalar[1:]}" for channel in "rgba"[:count]) + f"_{suffix}"]


def format_with_spirv_name(name: str) -> ImageFormat | None:
    """Returns the format that SPIR-V calls `name`, None for Unknown and those that are not here."""
    return next((found for found in ImageFormat if found.spirv_name == name), None)
