"""What operations with images share: their operands, flags and checks (SPIR-V 1.6 §3.14, §3.52.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import opt_prop_def, var_operand_def

from ...narrowing import is_integer_type
from .attributes import ImageOperandsAttr
from .base import SpirvOp, check_kind, fail
from .enums import ImageOperands
from .image_types import ImageType, SampledImageType
from .scalars import component_count, scalar_of
from .types import StructType

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


def image_of(op: Operation, value: SSAValue) -> ImageType:
    """Returns the type of an image; VerifyException for anything else."""
    if not isinstance(value.type, ImageType):
        fail(op, f"expects an image, found {value.type}")
    return value.type


def sampled_image_of(op: Operation, value: SSAValue) -> ImageType:
    """Returns the type of the image of a sampled image; VerifyException for anything else."""
    if not isinstance(value.type, SampledImageType):
        fail(op, f"expects a sampled image, found {value.type}")
    return value.type.image_type


def check_coordinate(
    op: Operation, image: ImageType, coordinate: Attribute, kind: str, more: int = 0
) -> None:
    """Checks that there are components of `kind` for an image, and `more` for a divisor."""
    check_kind(op, "its coordinate", coordinate, kind)
    count = image.pixel_coordinate_count if kind == "integer" else image.coordinate_count + more
    if component_count(coordinate) < count:
        fail(op, f"expects a coordinate of {count} components for {image}, found {coordinate}")


def check_texel(op: Operation, what: str, image: ImageType, texel: Attribute) -> None:
    """Checks that a value is a pixel of an image: four channels, whatever the image holds."""
    if component_count(texel) != 4 or scalar_of(texel) != image.element_type:
        fail(op, f"expects {what} to be a vector of 4 of {image.element_type}, found {texel}")


def check_written(op: Operation, image: ImageType, texel: Attribute) -> None:
    """Checks that a value can be written to an image: as many channels as its format has, or more."""
    if component_count(texel) > 4 or scalar_of(texel) != image.element_type:
        fail(op, f"expects its texel to be up to 4 of {image.element_type}, found {texel}")


class ImageAccessOp(SpirvOp):
    """Base of the operations that take image operands: flags, and the values that these ask for."""

    ALLOWED: ClassVar[ImageOperands] = ImageOperands.None_
    """Image operands that it may have."""
    FIXED: ClassVar[int] = 2
    """Operands before the flags."""
    IS_SPARSE: ClassVar[bool] = False
    """Whether its result is a struct of a residency code and the pixel."""

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

    def texel_type(self, result: Attribute) -> Attribute:
        """Returns the type of the pixel in a result; VerifyException where a residency code lacks."""
        if not self.IS_SPARSE:
            return result
        members = result.members if isinstance(result, StructType) else ()
        if len(members) != 2 or not is_integer_type(members[0].type):
            fail(self, f"expects its result to be a struct of an integer and a pixel, found {result}")
        return members[1].type


ACCESS = ImageOperands.NonPrivateTexel | ImageOperands.VolatileTexel | ImageOperands.Nontemporal
EXTEND = ImageOperands.SignExtend | ImageOperands.ZeroExtend
