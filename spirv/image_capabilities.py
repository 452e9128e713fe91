"""The capabilities that images ask for: by their type, and by how they are read and written (SPIR-V 1.6 §3.31)."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.dialects import spirv
from ..ir.dialects.spirv.enums import Dim, ImageFormat, ImageOperands
from ..ir.dialects.spirv.image_types import ImageType, SampledImageType
from ..ir.dialects.spirv.scalars import bit_width
from .tables import Capability

_PLAIN_FORMATS = frozenset(
    (
        ImageFormat.Unknown,
        ImageFormat.Rgba32f,
        ImageFormat.Rgba16f,
        ImageFormat.R32f,
        ImageFormat.Rgba8,
        ImageFormat.Rgba8Snorm,
        ImageFormat.Rgba32i,
        ImageFormat.Rgba16i,
        ImageFormat.Rgba8i,
        ImageFormat.R32i,
        ImageFormat.Rgba32ui,
        ImageFormat.Rgba16ui,
        ImageFormat.Rgba8ui,
        ImageFormat.R32ui,
    )
)
"""Formats of storage images that every device with images has."""
_BY_DIM: dict[Dim, tuple[int, int]] = {
    Dim.Dim1D: (Capability.Sampled1D, Capability.Image1D),
    Dim.Buffer: (Capability.SampledBuffer, Capability.ImageBuffer),
    Dim.Rect: (Capability.SampledRect, Capability.ImageRect),
}
"""Capability of images that are sampled, and of storage images."""


def image_capabilities(image: ImageType) -> Iterator[int]:
    """Yields what an image type asks for."""
    shape = image.data
    if shape.dim in _BY_DIM:
        yield _BY_DIM[shape.dim][int(image.is_storage)]
    if bit_width(shape.element) == 64:
        yield Capability.Int64ImageEXT
    elif shape.format not in _PLAIN_FORMATS:
        yield Capability.StorageImageExtendedFormats
    if shape.dim is Dim.Cube and shape.arrayed:
        yield Capability.ImageCubeArray if image.is_storage else Capability.SampledCubeArray
    if shape.sampling and image.is_storage:
        yield Capability.StorageImageMultisample
        if shape.arrayed:
            yield Capability.ImageMSArray
    if shape.dim is Dim.SubpassData:
        yield Capability.InputAttachment


def access_capabilities(op: spirv.ImageAccessOp) -> Iterator[int]:
    """Yields what an operation asks for beyond the type of its image."""
    type_ = op.operands[0].type
    image = type_.image_type if isinstance(type_, SampledImageType) else type_
    if isinstance(image, ImageType) and image.data.format is ImageFormat.Unknown:
        if isinstance(op, spirv.ImageReadOp | spirv.ImageSparseReadOp):
            yield Capability.StorageImageReadWithoutFormat
        elif isinstance(op, spirv.ImageWriteOp):
            yield Capability.StorageImageWriteWithoutFormat
    if op.IS_SPARSE:
        yield Capability.SparseResidency
    flags = op.image_operands
    if flags is not None and flags.data & ImageOperands.MinLod:
        yield Capability.MinLod
    if flags is not None and flags.data & (ImageOperands.Offset | ImageOperands.ConstOffsets):
        yield Capability.ImageGatherExtended
