"""Reading, writing and sampling images (SPIR-V 1.6 §3.52.10), as compute shaders of Vulkan have them.

`spirv.Image` and `spirv.ImageQuerySize` are MLIR 19's, the others are spelt as in MLIR 21.  Left out: depth comparison,
gathers, projections, sparse residency, and what needs derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from .attributes import ImageOperandsAttr
from .base import SpirvOp, check_kind, check_same, fail
from .enums import Dim, ImageOperands
from .image_types import ImageType, SampledImageType, SamplerType
from .types import component_count, scalar_of

_ARGUMENTS = {
    ImageOperands.Bias: 1,
    ImageOperands.Lod: 1,
    ImageOperands.Grad: 2,
    ImageOperands.ConstOffset: 1,
    ImageOperands.Offset: 1,
    ImageOperands.ConstOffsets: 1,
    ImageOperands.Sample: 1,
    ImageOperands.MinLod: 1,
    ImageOperands.MakeTexelAvailable: 1,
    ImageOperands.MakeTexelVisible: 1,
}
"""Values that each image operand takes; the others take none."""


def _image(op: Operation, value: SSAValue) -> ImageType:
    if not isinstance(value.type, ImageType):
        fail(op, f"expects an image, found {value.type}")
    return value.type


def _sampled(op: Operation, value: SSAValue) -> ImageType:
    if not isinstance(value.type, SampledImageType):
        fail(op, f"expects a sampled image, found {value.type}")
    return value.type.image_type


def _check_coordinate(op: Operation, image: ImageType, coordinate: Attribute, kind: str) -> None:
    check_kind(op, "its coordinate", coordinate, kind)
    if component_count(coordinate) < image.coordinate_count:
        fail(
            op,
            f"expects a coordinate of {image.coordinate_count} components for {image}, found {coordinate}",
        )


def _check_texel(op: Operation, what: str, image: ImageType, texel: Attribute) -> None:
    if component_count(texel) != 4 or scalar_of(texel) != image.element_type:
        fail(op, f"expects {what} to be a vector of 4 of {image.element_type}, found {texel}")


class ImageAccessOp(SpirvOp):
    """Base of the operations that take image operands: flags, and the values that these ask for."""

    ALLOWED: ClassVar[ImageOperands] = ImageOperands.None_
    """Image operands that it may have."""

    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)

    def check_operands(self, operands: ImageOperandsAttr | None, arguments: Sequence[SSAValue]) -> None:
        """Checks that the flags may stand here and have as many values as they ask for."""
        flags = ImageOperands.None_ if operands is None else operands.data
        if flags & ~self.ALLOWED:
            fail(self, f"has image operands {flags!r}, of which it may have {self.ALLOWED!r} only")
        expected = sum(count for flag, count in _ARGUMENTS.items() if flag in flags)
        if len(arguments) != expected:
            fail(self, f"has {len(arguments)} values for image operands that take {expected}")


_ACCESS = ImageOperands.NonPrivateTexel | ImageOperands.VolatileTexel
_EXTEND = ImageOperands.SignExtend | ImageOperands.ZeroExtend


@irdl_op_definition
class SampledImageOp(SpirvOp):
    """An image together with a sampler; not in MLIR 19."""

    name = "spirv.SampledImage"

    image = operand_def()
    sampler = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        if not isinstance(self.sampler.type, SamplerType):
            fail(self, f"expects a sampler, found {self.sampler.type}")
        check_same(self, "its result", self.result.type, SampledImageType(_image(self, self.image)))


@irdl_op_definition
class ImageOp(SpirvOp):
    """The image of a sampled image, without the sampler."""

    name = "spirv.Image"

    sampled_image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same(self, "its result", self.result.type, _sampled(self, self.sampled_image))


@irdl_op_definition
class ImageSampleExplicitLodOp(ImageAccessOp):
    """A filtered pixel of a given level of detail.

    %p = "spirv.ImageSampleExplicitLod"(%image, %xy, %lod) <{image_operands = #spirv.image_operands<Lod>}>
        : (!spirv.sampled_image<…>, vector<2xf32>, f32) -> vector<4xf32>
    """

    name = "spirv.ImageSampleExplicitLod"
    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Lod
        | ImageOperands.Grad
        | ImageOperands.ConstOffset
        | ImageOperands.Offset
        | ImageOperands.MinLod
        | _ACCESS
        | _EXTEND
    )

    sampled_image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = _sampled(self, self.sampled_image)
        _check_coordinate(self, image, self.coordinate.type, "float")
        _check_texel(self, "its result", image, self.result.type)
        self.check_operands(self.image_operands, self.operand_arguments)
        explicit = ImageOperands.Lod | ImageOperands.Grad
        if self.image_operands is None or not self.image_operands.data & explicit:
            fail(self, "needs the image operand Lod or Grad")


@irdl_op_definition
class ImageFetchOp(ImageAccessOp):
    """One pixel of an image with NeedSampler, by integer coordinates and without the sampler."""

    name = "spirv.ImageFetch"
    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Lod
        | ImageOperands.ConstOffset
        | ImageOperands.Offset
        | ImageOperands.Sample
        | _ACCESS
        | _EXTEND
    )

    image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = _image(self, self.image)
        if image.is_storage or image.data.dim is Dim.Cube:
            fail(self, f"reads an image with NeedSampler that is no cube, found {image}")
        _check_coordinate(self, image, self.coordinate.type, "integer")
        _check_texel(self, "its result", image, self.result.type)
        self.check_operands(self.image_operands, self.operand_arguments)


@irdl_op_definition
class ImageReadOp(ImageAccessOp):
    """One pixel of a storage image."""

    name = "spirv.ImageRead"
    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Sample | ImageOperands.MakeTexelVisible | _ACCESS | _EXTEND
    )

    image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = _image(self, self.image)
        if not image.is_storage:
            fail(self, f"reads an image with NoSampler, found {image}")
        _check_coordinate(self, image, self.coordinate.type, "integer")
        _check_texel(self, "its result", image, self.result.type)
        self.check_operands(self.image_operands, self.operand_arguments)


@irdl_op_definition
class ImageWriteOp(ImageAccessOp):
    """Stores one pixel of a storage image."""

    name = "spirv.ImageWrite"
    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Sample | ImageOperands.MakeTexelAvailable | _ACCESS | _EXTEND
    )

    image = operand_def()
    coordinate = operand_def()
    texel = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)

    def verify_(self) -> None:
        image = _image(self, self.image)
        if not image.is_storage:
            fail(self, f"writes an image with NoSampler, found {image}")
        _check_coordinate(self, image, self.coordinate.type, "integer")
        _check_texel(self, "its texel", image, self.texel.type)
        self.check_operands(self.image_operands, self.operand_arguments)


def _check_size(op: Operation, image: ImageType, result: Attribute) -> None:
    check_kind(op, "its result", result, "integer")
    if component_count(result) != image.size_count:
        fail(op, f"expects its result to have {image.size_count} components for {image}, found {result}")


@irdl_op_definition
class ImageQuerySizeOp(SpirvOp):
    """The extents of an image without levels of detail: width, height, depth, layers."""

    name = "spirv.ImageQuerySize"

    image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image = _image(self, self.image)
        if not image.is_storage and not image.data.sampling and image.data.dim not in (Dim.Buffer, Dim.Rect):
            fail(self, f"asks an image that has no levels of detail, found {image}; use ImageQuerySizeLod")
        _check_size(self, image, self.result.type)


@irdl_op_definition
class ImageQuerySizeLodOp(SpirvOp):
    """The extents of one level of detail of an image; not in MLIR 19."""

    name = "spirv.ImageQuerySizeLod"

    image = operand_def()
    lod = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image = _image(self, self.image)
        if image.is_storage or image.data.sampling or image.data.dim in (Dim.Buffer, Dim.Rect):
            fail(self, f"asks an image that has levels of detail, found {image}; use ImageQuerySize")
        check_kind(self, "its level", self.lod.type, "integer")
        _check_size(self, image, self.result.type)


OPS: list[type[Operation]] = [
    SampledImageOp,
    ImageOp,
    ImageSampleExplicitLodOp,
    ImageFetchOp,
    ImageReadOp,
    ImageWriteOp,
    ImageQuerySizeOp,
    ImageQuerySizeLodOp,
]
