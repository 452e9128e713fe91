"""Types of images and samplers, in upstream MLIR's syntax (SPIR-V 1.6 §3.52.6)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeVar

from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import parse_enumerant
from .enums import (
    Dim,
    ImageArrayedInfo,
    ImageDepthInfo,
    ImageFormat,
    ImageSamplerUseInfo,
    ImageSamplingInfo,
)
from .scalars import bit_width, is_float, is_integer

_EnumT = TypeVar("_EnumT", bound=enum.IntEnum)

COORDINATES = {Dim.Dim1D: 1, Dim.Dim2D: 2, Dim.Dim3D: 3, Dim.Cube: 3, Dim.Rect: 2, Dim.Buffer: 1}
"""Components of a coordinate, without that of an array of images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShape:
    """What OpTypeImage says."""

    element: Attribute
    """Type of a channel as instructions read and write it."""
    dim: Dim
    depth: ImageDepthInfo = ImageDepthInfo.NoDepth
    arrayed: ImageArrayedInfo = ImageArrayedInfo.NonArrayed
    sampling: ImageSamplingInfo = ImageSamplingInfo.SingleSampled
    sampler_use: ImageSamplerUseInfo = ImageSamplerUseInfo.NeedSampler
    format: ImageFormat = ImageFormat.Unknown


@irdl_attr_definition
class ImageType(Data[ImageShape], TypeAttribute):
    """An image: `!spirv.image<f32, Dim2D, NoDepth, NonArrayed, SingleSampled, NeedSampler, Unknown>`."""

    name = "spirv.image"

    @property
    def element_type(self) -> Attribute:
        """Type of a channel as instructions read and write it."""
        return self.data.element

    @property
    def is_storage(self) -> bool:
        """Whether it is read and written without a sampler."""
        return self.data.sampler_use is ImageSamplerUseInfo.NoSampler

    @property
    def coordinate_count(self) -> int:
        """Components of a coordinate."""
        return COORDINATES.get(self.data.dim, 2) + int(self.data.arrayed)

    @property
    def pixel_coordinate_count(self) -> int:
        """Components of a coordinate in pixels: those of a cube count faces, also of all layers, third."""
        return 3 if self.data.dim is Dim.Cube else self.coordinate_count

    @property
    def size_count(self) -> int:
        """Components of its size: of a cube those of a face."""
        flat = 2 if self.data.dim is Dim.Cube else COORDINATES.get(self.data.dim, 2)
        return flat + int(self.data.arrayed)

    def verify(self) -> None:
        if not (is_float(self.element_type) or is_integer(self.element_type)):
            raise VerifyException(f"an image holds integers or floats, found {self.element_type}")
        is_wide = self.data.format in (ImageFormat.R64ui, ImageFormat.R64i)
        if is_wide and not (is_integer(self.element_type) and bit_width(self.element_type) == 64):
            raise VerifyException(f"an image of {self.data.format.name} holds i64, found {self.element_type}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ImageShape:
        def next_of(enumeration: type[_EnumT]) -> _EnumT:
            parser.parse_punctuation(",")
            return parse_enumerant(parser, enumeration)

        with parser.in_angle_brackets():
            return ImageShape(
                element=parser.parse_type(),
                dim=next_of(Dim),
                depth=next_of(ImageDepthInfo),
                arrayed=next_of(ImageArrayedInfo),
                sampling=next_of(ImageSamplingInfo),
                sampler_use=next_of(ImageSamplerUseInfo),
                format=next_of(ImageFormat),
            )

    def print_parameter(self, printer: Printer) -> None:
        shape = self.data
        with printer.in_angle_brackets():
            printer.print_attribute(shape.element)
            rest = (shape.dim, shape.depth, shape.arrayed, shape.sampling, shape.sampler_use, shape.format)
            printer.print_string("".join(f", {member.name}" for member in rest))


@irdl_attr_definition
class SampledImageType(ParametrizedAttribute, TypeAttribute):
    """An image with a sampler: `!spirv.sampled_image<!spirv.image<…>>`."""

    name = "spirv.sampled_image"

    image: Attribute

    @property
    def image_type(self) -> ImageType:
        """The image without its sampler."""
        assert isinstance(self.image, ImageType)
        return self.image

    def verify(self) -> None:
        if not isinstance(self.image, ImageType) or self.image.is_storage:
            raise VerifyException(f"a sampled image is made of an image with NeedSampler, found {self.image}")


@irdl_attr_definition
class SamplerType(ParametrizedAttribute, TypeAttribute):
    """How an image is read: `!spirv.sampler`, as in MLIR 21."""

    name = "spirv.sampler"


TYPES: list[type[Attribute]] = [ImageType, SampledImageType, SamplerType]
