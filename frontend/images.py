"""Images in kernels: ``img[y, x]``, ``img[y, x] = pixel``, ``img.read``, ``img.write``, ``img.sample``.

Coordinates go like the indices of an array: dimension 0, the slowest, comes first.  A pixel of fewer channels than the
format is refused at the launch; one of four takes any format, with 0 for the channels that are not there and 1 for
alpha.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from ..ir.dialects.kernel_image import CHANNELS, KINDS, ImageReadOp, ImageSampleOp, ImageSizeOp, ImageWriteOp
from ..ir.dialects.kernel_image import ImageType as IrImageType
from .array_elements import require_readable, require_writable
from .checks import check_index, is_debug
from .composites import convert_composite, typed_value_of
from .conversions import as_index, convert, index_constant
from .function_builder import FunctionBuilder
from .image_types import ImageType
from .ir_types import F32, IR_INDEX, ir_type
from .local_arrays import LARGEST_EXTENT
from .types import ScalarType
from .values import Composite, Image, Scalar, Static, Tuple, Value, describe
from .vector_types import VecType
from .work_item_values import IdType, Member

MEMBERS: Final = {False: ("read", "write"), True: ("read", "sample")}
"""Member functions of images without a sampler, and with one."""


def ir_image_type(kind: ImageType) -> IrImageType:
    """Returns the IR type of an image parameter."""
    return IrImageType.get(kind.ndim, KINDS[kind.kind], sampled=kind.is_sampled)


# Extents and attributes


def image_extent(fb: FunctionBuilder, image: Image, dimension: int) -> Scalar:
    """Returns ``img.shape[dimension]``."""
    bounds, kind = (0, LARGEST_EXTENT), fb.module.index_type
    if fb.is_dry:
        return Scalar(kind, bounds=bounds)
    ssa = fb.cast_from_index(_extent_index(fb, image, dimension), ("image size", image.parameter, dimension))
    return Scalar(kind, ssa, bounds=bounds)


def _extent_index(fb: FunctionBuilder, image: Image, dimension: int) -> SSAValue:
    assert image.ssa is not None
    properties: dict[str, Attribute] = {"dimension": IntegerAttr(dimension, i32)}
    key = ("image size index", image.parameter, dimension)
    return fb.prologue_value(key, ImageSizeOp, IR_INDEX, operands=(image.ssa,), properties=properties)


def image_member(fb: FunctionBuilder, image: Image, node: ast.Attribute) -> Value:
    """Compiles the member functions of images, which are called next.

    Raises:
        CompileError: there is no such member.
    """
    if node.attr in MEMBERS[image.type.is_sampled]:
        return Static(Member(image, node.attr), f"{image.name}.{node.attr}")
    if node.attr == "sample":
        raise fb.error(
            node,
            f"'{image.name}' is {image.type!r}, which has no sampler",
            "LP2046",
            hint=f"read a pixel with {image.name}[{_indices(image)}], or declare it lp.SampledImage[…]",
        )
    members = ", ".join(MEMBERS[image.type.is_sampled])
    raise fb.error(
        node,
        f"images have no attribute '{node.attr}' in kernels",
        "LP2046",
        hint=f"there are shape, size, ndim and dtype, and {members}",
    )


def _indices(image: Image) -> str:
    return ", ".join("ijk"[: image.type.ndim])


# Coordinates


@dataclass(slots=True, eq=False)
class Pixel:
    """A place in an image, its coordinates evaluated."""

    image: Image
    coordinates: list[SSAValue]


def pixel_at(fb: FunctionBuilder, image: Image, values: Sequence[Value], node: ast.AST) -> Pixel:
    """Returns the pixel at integer coordinates.

    Raises:
        CompileError: another number of coordinates than the image has dimensions, or something else than integers.
    """
    items = _coordinates(fb, image, values, node)
    found: list[SSAValue] = []
    for dimension, item in enumerate(items):
        if not isinstance(item, Scalar) or not item.type.is_integer:
            raise fb.error(
                node,
                f"a coordinate of '{image.name}' must be an integer, found {describe(item)}",
                "LP2041",
                hint="convert it: int(…)" + (", or use .sample(…)" if image.type.is_sampled else ""),
            )
        if is_debug(fb):
            check_index(fb, image, dimension, item, image_extent(fb, image, dimension), node)
        index = _index(fb, image, dimension, item, node)
        if index is not None:
            found.append(index)
    return Pixel(image, found)


def _coordinates(
    fb: FunctionBuilder, image: Image, values: Sequence[Value], node: ast.AST
) -> tuple[Value, ...]:
    """Takes one tuple, vector or id apart, and checks the number."""
    from .work_item_members import as_index_value

    items = tuple(values)
    if len(items) == 1:
        only = items[0]
        only = as_index_value(fb, only) if isinstance(getattr(only, "type", None), IdType) else only
        items = only.items if isinstance(only, Tuple) else (only,)
    ndim = image.type.ndim
    if len(items) != ndim:
        raise fb.error(
            node,
            f"'{image.name}' is {image.type!r} and takes {ndim} coordinate{'s' * (ndim != 1)}, found {len(items)}",
            "LP2041",
            hint=f"write {image.name}[{_indices(image)}]",
        )
    return items


def _index(
    fb: FunctionBuilder, image: Image, dimension: int, index: Scalar, node: ast.AST
) -> SSAValue | None:
    """Returns a coordinate as IR wants it; a negative one that is known now counts from the end."""
    if fb.is_dry:
        return None
    if index.const is not None and int(index.const) < 0:
        end = _extent_index(fb, image, dimension)
        offset = index_constant(fb, max(int(index.const), -LARGEST_EXTENT))
        return fb.emit(arith.AddiOp, [end, offset], IR_INDEX)
    if index.const is not None:
        return index_constant(fb, min(int(index.const), LARGEST_EXTENT))
    wide = fb.ssa(as_index(fb, index, node, "a coordinate"))
    assert wide is not None
    return fb.cast_to_index(wide)


# Reading, writing, sampling


def load_pixel(fb: FunctionBuilder, pixel: Pixel, node: ast.AST) -> Value:
    """Emits the read of a pixel.

    Raises:
        CompileError: the image is write-only.
    """
    image = pixel.image
    require_readable(fb, image, node)
    fb.accesses[image.parameter].reads = True
    return _read(fb, image, ImageReadOp, pixel.coordinates)


def _read(
    fb: FunctionBuilder,
    image: Image,
    kind: type[ImageReadOp | ImageSampleOp],
    coordinates: Sequence[SSAValue | None],
) -> Value:
    if fb.is_dry:
        return typed_value_of(image.type.element)
    assert image.ssa is not None
    channel = _channel_type(image)
    op = kind.create(
        operands=[image.ssa, *(c for c in coordinates if c is not None)],
        result_types=[ir_type(channel)] * CHANNELS,
    )
    fb.append(op)
    element = image.type.element
    count = element.size if isinstance(element, VecType) else 1
    items = [convert(fb, Scalar(channel, ssa), image.type.scalar) for ssa in op.results[:count]]
    return Composite(tuple(items), element) if isinstance(element, VecType) else items[0]


def _channel_type(image: Image) -> ScalarType:
    """Returns what a channel is before it becomes what the kernel asked for: images give no f16."""
    return F32 if image.type.scalar.is_float else image.type.scalar


def store_pixel(fb: FunctionBuilder, pixel: Pixel, value: Value, node: ast.AST, value_node: ast.AST) -> None:
    """Emits the write of a pixel.

    Args:
        node: the target, blamed where the image cannot be written.
        value_node: the value, blamed where it does not convert.

    Raises:
        CompileError: the image is read-only, or the value does not convert to its pixels.
    """
    image = pixel.image
    if image.type.is_sampled:
        raise fb.error(
            node,
            f"'{image.name}' is {image.type!r}; an image with a sampler is only read",
            "LP2039",
            hint="declare it lp.UnsampledImage[…]",
        )
    require_writable(fb, image, node)
    fb.accesses[image.parameter].writes = True
    stored = convert_composite(fb, value, image.type.element, value_node, f"'{image.name}'")
    if fb.is_dry:
        return
    channel = _channel_type(image)
    items = stored.items if isinstance(stored, Composite) else (stored,)
    channels = [fb.ssa(convert(fb, item, channel)) for item in items if isinstance(item, Scalar)]
    for position in range(len(channels), CHANNELS):
        channels.append(fb.constant(1 if position == CHANNELS - 1 else 0, channel))
    assert image.ssa is not None
    operands = [image.ssa, *pixel.coordinates, *(ssa for ssa in channels if ssa is not None)]
    fb.append(ImageWriteOp.create(operands=operands))


def call_image_member(fb: FunctionBuilder, called: Member, node: ast.Call) -> Value:
    """Compiles ``img.read((i, j))``, ``img.write((i, j), pixel)`` and ``img.sample((y, x))``.

    Raises:
        CompileError: arguments that the member does not take.
    """
    from .calls import positional

    image = called.owner
    assert isinstance(image, Image)
    arguments = positional(fb, node)
    if called.name == "write":
        if len(arguments) != 2:
            raise fb.error(
                node,
                f"{image.name}.write takes coordinates and a pixel, found {len(arguments)} arguments",
                "LP2045",
                hint=f"write {image.name}.write(({_indices(image)}), pixel)",
            )
        pixel = pixel_at(fb, image, arguments[:1], node.args[0])
        store_pixel(fb, pixel, arguments[1], node, node.args[1])
        return Static(None, "None")
    if called.name == "read":
        return load_pixel(fb, pixel_at(fb, image, arguments, node), node)
    return _sample(fb, image, arguments, node)


def _sample(fb: FunctionBuilder, image: Image, arguments: Sequence[Value], node: ast.AST) -> Value:
    coordinates: list[SSAValue | None] = []
    for item in _coordinates(fb, image, arguments, node):
        if not isinstance(item, Scalar) or item.type.kind == "bool":
            raise fb.error(
                node, f"a coordinate of '{image.name}' must be a number, found {describe(item)}", "LP2041"
            )
        coordinates.append(fb.ssa(convert(fb, item, F32)))
    fb.accesses[image.parameter].reads = True
    return _read(fb, image, ImageSampleOp, coordinates)


__all__ = [
    "Pixel",
    "call_image_member",
    "image_extent",
    "image_member",
    "ir_image_type",
    "load_pixel",
    "pixel_at",
    "store_pixel",
]
