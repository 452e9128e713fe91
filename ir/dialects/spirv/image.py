"""Images by coordinates of pixels, their parts and sizes (SPIR-V 1.6 §3.52.10), as compute shaders of Vulkan have them.

`spirv.Image` and `spirv.ImageQuerySize` are MLIR 19's, the others are spelt as in MLIR 21 or like the instruction.
Sampling is in `image_sampling`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from ...narrowing import is_integer_type
from .attributes import ImageOperandsAttr
from .base import SpirvOp, check_kind, check_same, fail
from .enums import Dim, ImageOperands, StorageClass
from .image_access import (
    ACCESS,
    EXTEND,
    ImageAccessOp,
    check_coordinate,
    check_texel,
    check_written,
    image_of,
    sampled_image_of,
)
from .image_types import ImageType, SampledImageType, SamplerType
from .scalars import component_count
from .types import PointerType


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
        check_same(self, "its result", self.result.type, SampledImageType(image_of(self, self.image)))


@irdl_op_definition
class ImageOp(SpirvOp):
    """The image of a sampled image, without the sampler."""

    name = "spirv.Image"

    sampled_image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same(self, "its result", self.result.type, sampled_image_of(self, self.sampled_image))


class FetchOp(ImageAccessOp):
    """Reads one pixel of an image with NeedSampler, by integer coordinates and without the sampler."""

    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Lod
        | ImageOperands.ConstOffset
        | ImageOperands.Offset
        | ImageOperands.Sample
        | ACCESS
        | EXTEND
    )

    image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if image.is_storage or image.data.dim is Dim.Cube:
            fail(self, f"reads an image with NeedSampler that is no cube, found {image}")
        check_coordinate(self, image, self.coordinate.type, "integer")
        check_texel(self, "its result", image, self.texel_type(self.result.type))
        self.check_operands(self.image_operands, self.operand_arguments)


@irdl_op_definition
class ImageFetchOp(FetchOp):
    """One pixel of an image with NeedSampler."""

    name = "spirv.ImageFetch"


@irdl_op_definition
class ImageSparseFetchOp(FetchOp):
    """The same, and whether its memory is there."""

    name = "spirv.ImageSparseFetch"
    IS_SPARSE: ClassVar[bool] = True


class ReadOp(ImageAccessOp):
    """Reads one pixel of a storage image."""

    ALLOWED: ClassVar[ImageOperands] = ImageOperands.Sample | ImageOperands.MakeTexelVisible | ACCESS | EXTEND

    image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if not image.is_storage:
            fail(self, f"reads an image with NoSampler, found {image}")
        check_coordinate(self, image, self.coordinate.type, "integer")
        check_texel(self, "its result", image, self.texel_type(self.result.type))
        self.check_operands(self.image_operands, self.operand_arguments)


@irdl_op_definition
class ImageReadOp(ReadOp):
    """One pixel of a storage image."""

    name = "spirv.ImageRead"


@irdl_op_definition
class ImageSparseReadOp(ReadOp):
    """The same, and whether its memory is there."""

    name = "spirv.ImageSparseRead"
    IS_SPARSE: ClassVar[bool] = True


@irdl_op_definition
class ImageWriteOp(ImageAccessOp):
    """Stores one pixel of a storage image."""

    name = "spirv.ImageWrite"
    FIXED: ClassVar[int] = 3
    ALLOWED: ClassVar[ImageOperands] = (
        ImageOperands.Sample | ImageOperands.MakeTexelAvailable | ACCESS | EXTEND
    )

    image = operand_def()
    coordinate = operand_def()
    texel = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if not image.is_storage:
            fail(self, f"writes an image with NoSampler, found {image}")
        check_coordinate(self, image, self.coordinate.type, "integer")
        check_written(self, image, self.texel.type)
        self.check_operands(self.image_operands, self.operand_arguments)


def _has_levels(image: ImageType) -> bool:
    return not image.is_storage and not image.data.sampling and image.data.dim not in (Dim.Buffer, Dim.Rect)


def _check_size(op: Operation, image: ImageType, result: Attribute) -> None:
    check_kind(op, "its result", result, "integer")
    if component_count(result) != image.size_count:
        fail(op, f"expects its result to have {image.size_count} components for {image}, found {result}")


def _check_count(op: Operation, result: Attribute) -> None:
    check_kind(op, "its result", result, "integer")
    if component_count(result) != 1:
        fail(op, f"expects its result to be one integer, found {result}")


@irdl_op_definition
class ImageQuerySizeOp(SpirvOp):
    """The extents of an image without levels of detail: width, height, depth, layers."""

    name = "spirv.ImageQuerySize"

    image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if _has_levels(image):
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
        image = image_of(self, self.image)
        if not _has_levels(image):
            fail(self, f"asks an image that has levels of detail, found {image}; use ImageQuerySize")
        check_kind(self, "its level", self.lod.type, "integer")
        _check_size(self, image, self.result.type)


@irdl_op_definition
class ImageQueryLevelsOp(SpirvOp):
    """How many levels of detail an image has; not in MLIR 19."""

    name = "spirv.ImageQueryLevels"

    image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if not _has_levels(image):
            fail(self, f"asks an image that has levels of detail, found {image}")
        _check_count(self, self.result.type)


@irdl_op_definition
class ImageQuerySamplesOp(SpirvOp):
    """How many samples a pixel of an image has; not in MLIR 19."""

    name = "spirv.ImageQuerySamples"

    image = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image = image_of(self, self.image)
        if not image.data.sampling or image.data.dim is not Dim.Dim2D:
            fail(self, f"asks a multisampled image of two dimensions, found {image}")
        _check_count(self, self.result.type)


@irdl_op_definition
class ImageTexelPointerOp(SpirvOp):
    """A pointer to one pixel of a storage image, for atomics; not in MLIR 19.

    %p = "spirv.ImageTexelPointer"(%image, %xy, %sample)
        : (!spirv.ptr<!spirv.image<…>, UniformConstant>, vector<2xi32>, i32) -> !spirv.ptr<i32, Image>
    """

    name = "spirv.ImageTexelPointer"

    image = operand_def()
    coordinate = operand_def()
    sample = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        type_ = self.image.type
        image = type_.pointee if isinstance(type_, PointerType) else type_
        if not isinstance(image, ImageType) or image is type_ or not image.is_storage:
            fail(self, f"expects a pointer to an image with NoSampler, found {type_}")
        check_coordinate(self, image, self.coordinate.type, "integer")
        check_kind(self, "its sample", self.sample.type, "integer")
        check_same(
            self,
            "its result",
            self.result.type,
            PointerType.get(image.element_type, StorageClass.Image),
        )


@irdl_op_definition
class ImageSparseTexelsResidentOp(SpirvOp):
    """Whether the memory of what a sparse operation has read is there, by its residency code."""

    name = "spirv.ImageSparseTexelsResident"

    residency_code = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        if not is_integer_type(self.residency_code.type):
            fail(self, f"expects a residency code, an integer, found {self.residency_code.type}")
        check_same(self, "its result", self.result.type, i1)


OPS: list[type[Operation]] = [
    SampledImageOp,
    ImageOp,
    ImageFetchOp,
    ImageSparseFetchOp,
    ImageReadOp,
    ImageSparseReadOp,
    ImageWriteOp,
    ImageQuerySizeOp,
    ImageQuerySizeLodOp,
    ImageQueryLevelsOp,
    ImageQuerySamplesOp,
    ImageTexelPointerOp,
    ImageSparseTexelsResidentOp,
]
