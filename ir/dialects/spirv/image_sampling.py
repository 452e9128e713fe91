"""Sampling images at real coordinates, and gathering pixels around them (SPIR-V 1.6 §3.52.10).

Levels of detail are always explicit: implicit ones need derivatives, which compute shaders of Vulkan 1.3 lack.
`spirv.ImageDrefGather` is MLIR 19's, the others are spelt as in MLIR 21 or like the instruction.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, var_operand_def

from .attributes import ImageOperandsAttr
from .base import check_kind, check_same, fail
from .enums import Dim, ImageOperands
from .image_access import ACCESS, EXTEND, ImageAccessOp, check_coordinate, check_texel, sampled_image_of
from .image_types import ImageType

_EXPLICIT = ImageOperands.Lod | ImageOperands.Grad
_SAMPLE = (
    _EXPLICIT | ImageOperands.ConstOffset | ImageOperands.Offset | ImageOperands.MinLod | ACCESS | EXTEND
)
_GATHER = ImageOperands.ConstOffset | ImageOperands.Offset | ImageOperands.ConstOffsets | ACCESS | EXTEND


class SampleOp(ImageAccessOp):
    """A filtered pixel of a given level of detail.

    %p = "spirv.ImageSampleExplicitLod"(%image, %xy, %lod) <{image_operands = #spirv.image_operands<Lod>}>
        : (!spirv.sampled_image<…>, vector<2xf32>, f32) -> vector<4xf32>
    """

    ALLOWED: ClassVar[ImageOperands] = _SAMPLE
    IS_PROJECTED: ClassVar[bool] = False
    """Whether the coordinate has one component more, which the others are divided by."""

    sampled_image = operand_def()
    coordinate = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = _sampled_from(self)
        check_texel(self, "its result", image, self.texel_type(self.result.type))
        self.check_operands(self.image_operands, self.operand_arguments)


class DepthOp(ImageAccessOp):
    """A filtered comparison of depths with `dref`, of a given level of detail: one number from 0 to 1."""

    ALLOWED: ClassVar[ImageOperands] = _SAMPLE
    FIXED: ClassVar[int] = 3
    IS_PROJECTED: ClassVar[bool] = False
    """Whether coordinate and `dref` are divided by a further component."""

    sampled_image = operand_def()
    coordinate = operand_def()
    dref = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = _sampled_from(self)
        check_kind(self, "its depth", self.dref.type, "float")
        check_same(self, "its result", self.texel_type(self.result.type), image.element_type)
        self.check_operands(self.image_operands, self.operand_arguments)


class GatherOp(ImageAccessOp):
    """Four neighbouring pixels: one channel of each, or each compared with a depth."""

    ALLOWED: ClassVar[ImageOperands] = _GATHER
    FIXED: ClassVar[int] = 3
    CHOOSES: ClassVar[str] = "integer"
    """Kind of its third operand: an integer chooses the channel, a float is the depth."""

    sampled_image = operand_def()
    coordinate = operand_def()
    chosen = operand_def()
    operand_arguments = var_operand_def()
    image_operands = opt_prop_def(ImageOperandsAttr)
    result = result_def()

    def verify_(self) -> None:
        image = sampled_image_of(self, self.sampled_image)
        if image.data.dim not in (Dim.Dim2D, Dim.Cube, Dim.Rect) or image.data.sampling:
            fail(self, f"gathers from a plane or a cube that is not multisampled, found {image}")
        check_coordinate(self, image, self.coordinate.type, "float")
        check_kind(self, "its third operand", self.chosen.type, self.CHOOSES)
        check_texel(self, "its result", image, self.texel_type(self.result.type))
        self.check_operands(self.image_operands, self.operand_arguments)


def _sampled_from(op: SampleOp | DepthOp) -> ImageType:
    """Returns the image that is sampled; VerifyException where it, the coordinate or the level does not suit."""
    image, operands = sampled_image_of(op, op.sampled_image), op.image_operands
    if operands is None or not operands.data & _EXPLICIT:
        fail(op, "needs the image operand Lod or Grad")
    if op.IS_PROJECTED and (image.data.arrayed or image.data.dim is Dim.Cube or image.data.sampling):
        fail(op, f"divides coordinates of an image that is no array, cube or multisampled, found {image}")
    check_coordinate(op, image, op.coordinate.type, "float", int(op.IS_PROJECTED))
    return image


@irdl_op_definition
class ImageSampleExplicitLodOp(SampleOp):
    """A filtered pixel."""

    name = "spirv.ImageSampleExplicitLod"


@irdl_op_definition
class ImageSampleProjExplicitLodOp(SampleOp):
    """A filtered pixel at a coordinate that is divided by its last component."""

    name = "spirv.ImageSampleProjExplicitLod"
    IS_PROJECTED: ClassVar[bool] = True


@irdl_op_definition
class ImageSampleDrefExplicitLodOp(DepthOp):
    """A filtered comparison of depths."""

    name = "spirv.ImageSampleDrefExplicitLod"


@irdl_op_definition
class ImageSampleProjDrefExplicitLodOp(DepthOp):
    """A filtered comparison of depths, both coordinate and depth divided."""

    name = "spirv.ImageSampleProjDrefExplicitLod"
    IS_PROJECTED: ClassVar[bool] = True


@irdl_op_definition
class ImageGatherOp(GatherOp):
    """One channel of four pixels."""

    name = "spirv.ImageGather"


@irdl_op_definition
class ImageDrefGatherOp(GatherOp):
    """Comparisons of four depths."""

    name = "spirv.ImageDrefGather"
    CHOOSES: ClassVar[str] = "float"


@irdl_op_definition
class ImageSparseSampleExplicitLodOp(SampleOp):
    """A filtered pixel, and whether its memory is there."""

    name = "spirv.ImageSparseSampleExplicitLod"
    IS_SPARSE: ClassVar[bool] = True


@irdl_op_definition
class ImageSparseSampleDrefExplicitLodOp(DepthOp):
    """A filtered comparison of depths, and whether their memory is there."""

    name = "spirv.ImageSparseSampleDrefExplicitLod"
    IS_SPARSE: ClassVar[bool] = True


@irdl_op_definition
class ImageSparseGatherOp(GatherOp):
    """One channel of four pixels, and whether their memory is there."""

    name = "spirv.ImageSparseGather"
    IS_SPARSE: ClassVar[bool] = True


@irdl_op_definition
class ImageSparseDrefGatherOp(GatherOp):
    """Comparisons of four depths, and whether their memory is there."""

    name = "spirv.ImageSparseDrefGather"
    CHOOSES: ClassVar[str] = "float"
    IS_SPARSE: ClassVar[bool] = True


OPS: list[type[Operation]] = [
    ImageSampleExplicitLodOp,
    ImageSampleProjExplicitLodOp,
    ImageSampleDrefExplicitLodOp,
    ImageSampleProjDrefExplicitLodOp,
    ImageGatherOp,
    ImageDrefGatherOp,
    ImageSparseSampleExplicitLodOp,
    ImageSparseSampleDrefExplicitLodOp,
    ImageSparseGatherOp,
    ImageSparseDrefGatherOp,
]
