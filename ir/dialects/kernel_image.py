"""Images in kernels: `!kernel.image`, `kernel.image_read image_write image_sample image_size`.

A pixel is four scalars, whatever the format: channels that it lacks read as 0, and alpha as 1.  Coordinates are
lapilli's: dimension 0, the slowest, comes first.  What the image becomes on a device depends on what a kernel does
with it (see `passes/convert_to_spirv/image_parameter`), so its type does not say.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

CHANNELS = 4
"""Scalars of a pixel."""
_SIGNED = IntegerType(32, Signedness.SIGNED)
_UNSIGNED = IntegerType(32, Signedness.UNSIGNED)
KINDS: dict[str, Attribute] = {"float": f32, "int": _SIGNED, "uint": _UNSIGNED}
"""What `ImageType.element` is, by kind of format."""


@irdl_attr_definition
class ImageType(ParametrizedAttribute, TypeAttribute):
    """An image parameter: `!kernel.image<2 x f32>`, with a sampler `!kernel.image<2 x f32, sampled>`.

    The element is f32, si32 or ui32; pixels are values of f32 or i32.
    """

    name = "kernel.image"

    ndim: IntAttr
    element: Attribute
    sampled: IntAttr
    """1 with a sampler, else 0."""

    @classmethod
    def get(cls, ndim: int, element: Attribute, *, sampled: bool = False) -> ImageType:
        """Returns the type of images of `ndim` dimensions."""
        return cls(IntAttr(ndim), element, IntAttr(int(sampled)))

    @property
    def is_sampled(self) -> bool:
        """Whether it comes with a sampler."""
        return bool(self.sampled.data)

    @property
    def value_type(self) -> Attribute:
        """The type of one channel as a value: f32 or i32."""
        return f32 if isinstance(self.element, Float32Type) else i32

    def verify(self) -> None:
        if not 1 <= self.ndim.data <= 3:
            raise VerifyException(f"an image has 1 to 3 dimensions, found {self.ndim.data}")
        if self.element not in KINDS.values():
            raise VerifyException(f"an image's element is f32, si32 or ui32, found {self.element}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            ndim = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_characters("x")
            element = parser.parse_type()
            is_sampled = parser.parse_optional_punctuation(",") is not None
            if is_sampled:
                parser.parse_characters("sampled")
            return IntAttr(ndim), element, IntAttr(int(is_sampled))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.ndim.data} x ")
            printer.print_attribute(self.element)
            printer.print_string(", sampled" if self.is_sampled else "")


def _image(op: Operation, value: SSAValue) -> ImageType:
    if not isinstance(value.type, ImageType):
        raise VerifyException(f"'{op.name}' takes a !kernel.image, found {value.type}")
    return value.type


def _check_coordinates(
    op: Operation, image: ImageType, coordinates: Sequence[SSAValue], wanted: type[Attribute]
) -> None:
    if len(coordinates) != image.ndim.data:
        raise VerifyException(
            f"'{op.name}' takes {image.ndim.data} coordinates of {image}, found {len(coordinates)}"
        )
    for value in coordinates:
        if not isinstance(value.type, wanted):
            raise VerifyException(f"'{op.name}' takes coordinates of {wanted.name}, found {value.type}")


def _check_pixel(op: Operation, image: ImageType, values: Sequence[SSAValue]) -> None:
    if [value.type for value in values] != [image.value_type] * CHANNELS:
        found = ", ".join(str(value.type) for value in values)
        raise VerifyException(
            f"'{op.name}': a pixel of {image} is {CHANNELS} of {image.value_type}, found ({found})"
        )


@irdl_op_definition
class ImageReadOp(IRDLOperation):
    """The pixel at integer coordinates, without a sampler; outside of the image zeros.

    %p:4 = "kernel.image_read"(%image, %row, %column)
        : (!kernel.image<2 x f32>, index, index) -> (f32, f32, f32, f32)
    """

    name = "kernel.image_read"

    image = operand_def(ImageType)
    coordinates = var_operand_def()
    pixel = var_result_def()

    def verify_(self) -> None:
        image = _image(self, self.image)
        _check_coordinates(self, image, self.coordinates, IndexType)
        _check_pixel(self, image, self.pixel)


@irdl_op_definition
class ImageWriteOp(IRDLOperation):
    """Stores a pixel at integer coordinates; outside of the image nothing happens.

    "kernel.image_write"(%image, %row, %column, %r, %g, %b, %a) : (!kernel.image<2 x f32>, index, …) -> ()
    """

    name = "kernel.image_write"

    image = operand_def(ImageType)
    arguments = var_operand_def()
    """The coordinates, then the pixel."""

    @property
    def coordinates(self) -> Sequence[SSAValue]:
        """The coordinates among the operands."""
        return tuple(self.arguments)[:-CHANNELS]

    @property
    def pixel(self) -> Sequence[SSAValue]:
        """The channels among the operands."""
        return tuple(self.arguments)[-CHANNELS:]

    def verify_(self) -> None:
        image = _image(self, self.image)
        if image.is_sampled:
            raise VerifyException(f"'{self.name}' takes an image without a sampler, found {image}")
        _check_coordinates(self, image, self.coordinates, IndexType)
        _check_pixel(self, image, self.pixel)


@irdl_op_definition
class ImageSampleOp(IRDLOperation):
    """The pixel at float coordinates as the image's sampler has it: filtered, and beyond the edges as it says.

    %p:4 = "kernel.image_sample"(%image, %y, %x)
        : (!kernel.image<2 x f32, sampled>, f32, f32) -> (f32, f32, f32, f32)
    """

    name = "kernel.image_sample"

    image = operand_def(ImageType)
    coordinates = var_operand_def()
    pixel = var_result_def()

    def verify_(self) -> None:
        image = _image(self, self.image)
        if not image.is_sampled:
            raise VerifyException(f"'{self.name}' takes an image with a sampler, found {image}")
        _check_coordinates(self, image, self.coordinates, Float32Type)
        _check_pixel(self, image, self.pixel)


@irdl_op_definition
class ImageSizeOp(IRDLOperation):
    """The extent of an image along a dimension, 0 the slowest.

    %rows = "kernel.image_size"(%image) <{dimension = 0 : i32}> : (!kernel.image<2 x f32>) -> index
    """

    name = "kernel.image_size"

    image = operand_def(ImageType)
    dimension = prop_def(IntegerAttr)
    result = result_def(IndexType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        image, found = _image(self, self.image), self.dimension.value.data
        if self.dimension.type != i32 or not 0 <= found < image.ndim.data:
            raise VerifyException(
                f"'{self.name}' dimension must be an i32 of 0 to {image.ndim.data - 1}, found {self.dimension}"
            )


OPS: list[type[Operation]] = [ImageReadOp, ImageWriteOp, ImageSampleOp, ImageSizeOp]
IMAGE_NAMES = frozenset(op.name for op in OPS)
"""What belongs to an entry point, whose descriptors images are."""
