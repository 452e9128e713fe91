"""The images and samplers of a foreign entry point, as parameters.  Standard library only."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.errors import FeatureNotSupportedError
from ..ir.image_formats import format_with_spirv_name
from ..ir.kernel_info import ImageParameter
from .binary import Instruction
from .errors import SpirvError
from .foreign_types import ForeignTypes
from .reflection import DescriptorBinding
from .tables import Op, enumerant_name

_DIMENSIONS = {0: 1, 1: 2, 2: 3}
"""Number of dimensions by Dim (SPIR-V 1.6 §3.8)."""
_STORAGE = 2
"""OpTypeImage's Sampled, of images that are used without a sampler."""
_UNKNOWN_FORMAT = 0
PIXEL_DIMENSIONS = 2
"""Dimensions up to which Vulkan's samplers take coordinates in pixels."""


def is_image(found: DescriptorBinding, types: ForeignTypes) -> bool:
    """Whether a variable is an image or a sampler, or an array of them."""
    return _element(found, types).opcode in (Op.TypeImage, Op.TypeSampledImage, Op.TypeSampler)


def image_parameter(same: Sequence[DescriptorBinding], binding: int, types: ForeignTypes) -> ImageParameter:
    """Returns the parameter of the image or sampler at one set and binding.

    Args:
        same: the variables there.
        binding: what it is in the kernel's image.
        types: of the module.

    Raises:
        FeatureNotSupportedError: arrays, cubes, depth comparisons, multisampling, formats that images here do not have,
            or several variables at one binding.
        SpirvError: a type that cannot be.
    """
    found = same[0]
    where = f"{found.name or 'a variable'!r} (set {found.descriptor_set}, binding {found.binding})"
    if len(same) > 1:
        raise FeatureNotSupportedError(
            f"{where} shares its binding with others; expected one image at each binding"
        )
    if found.count != 1 or _pointee(found, types).opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        raise FeatureNotSupportedError(
            f"{where} is an array of descriptors; expected one image at each binding"
        )
    item = _element(found, types)
    if item.opcode == Op.TypeSampler:
        return ImageParameter(
            name=found.name,
            dtype="f32",
            ndim=0,
            descriptor="sampler",
            binding=binding,
            needs_normalized=_samples_volumes(found.variable_id, types),
        )
    is_combined = item.opcode == Op.TypeSampledImage
    image = types.definition(item.operands[0]) if is_combined else item
    return _of_image(found, image, binding, where, types, is_combined=is_combined)


def _samples_volumes(sampler: int, types: ForeignTypes) -> bool:
    """Whether a sampler variable is put together with an image of more dimensions than samplers count pixels in."""
    for function in types.view.functions:
        for item in function.instructions():
            if item.opcode != Op.SampledImage or len(item.operands) < 2:
                continue
            loaded = types.view.definitions.get(item.operands[1])
            if loaded is None or loaded.opcode != Op.Load or loaded.operands[0] != sampler:
                continue
            image = types.definition(types.definition(item.result_type or 0).operands[0])
            if _DIMENSIONS.get(image.operands[1], 0) > PIXEL_DIMENSIONS:
                return True
    return False


def _of_image(
    found: DescriptorBinding,
    image: Instruction,
    binding: int,
    where: str,
    types: ForeignTypes,
    *,
    is_combined: bool,
) -> ImageParameter:
    if image.opcode != Op.TypeImage or len(image.operands) < 7:
        raise SpirvError(f"{where} is no image")
    element, dim, depth, arrayed, sampling, use, spirv_format = image.operands[:7]
    ndim = _DIMENSIONS.get(dim)
    if ndim is None or depth == 1 or arrayed or sampling:
        kind = "with depth comparison" if depth == 1 else f"of dimensionality {enumerant_name('Dim', dim)}"
        kind = "array" if arrayed else "with several samples" if sampling else kind
        raise FeatureNotSupportedError(
            f"{where} is an image {kind}; images are plain ones of 1 to 3 dimensions"
        )
    scalar = types.spelling(element)
    if scalar not in ("f32", "i32", "u32"):
        raise FeatureNotSupportedError(f"{where} is an image of {scalar}; expected f32, i32 or u32")
    is_storage = use == _STORAGE
    return ImageParameter(
        name=found.name,
        dtype=f"Vec[{scalar}, 4]",
        ndim=ndim,
        descriptor="sampled" if is_combined else "storage" if is_storage else "fetched",
        access=_access(found) if is_storage else "read",
        format=_format_name(spirv_format, where) if is_storage else "",
        binding=binding,
        needs_normalized=is_combined and ndim > PIXEL_DIMENSIONS,
    )


def _access(found: DescriptorBinding) -> str:
    if found.non_writable:
        return "read"
    return "write" if found.non_readable else "read_write"


def _format_name(number: int, where: str) -> str:
    """Returns the format that the code names, which images must have; empty where it names none."""
    if number == _UNKNOWN_FORMAT:
        return ""
    name = enumerant_name("ImageFormat", number)
    known = format_with_spirv_name(name)
    if known is None:
        raise FeatureNotSupportedError(f"{where} is an image of format {name}, which lp.ImageFormat has not")
    return known.name


def _pointee(found: DescriptorBinding, types: ForeignTypes) -> Instruction:
    pointer = types.definition(types.definition(found.variable_id).result_type or 0)
    if pointer.opcode != Op.TypePointer:
        raise SpirvError(f"variable {found.variable_id} has no pointer type")
    return types.definition(pointer.operands[1])


def _element(found: DescriptorBinding, types: ForeignTypes) -> Instruction:
    item = _pointee(found, types)
    if item.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        item = types.definition(item.operands[0])
    return item
