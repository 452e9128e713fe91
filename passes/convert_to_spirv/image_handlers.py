"""Handlers of `kernel.image_read`, `image_write`, `image_sample` and `image_size`."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.dialects.kernel_image import ImageReadOp, ImageSampleOp, ImageSizeOp, ImageWriteOp
from .function_lowering import FunctionLowering, Handler
from .work_item_handlers import entry_of


def _read(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageReadOp)
    image = entry_of(fn, op).image(op.image)
    channels = image.read(fn.array_indices(op.coordinates))
    fn.values.update(zip(op.results, channels, strict=True))


def _write(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageWriteOp)
    image = entry_of(fn, op).image(op.image)
    image.write(fn.array_indices(op.coordinates), [fn.value(value) for value in op.pixel])


def _sample(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageSampleOp)
    image = entry_of(fn, op).image(op.image)
    channels = image.sample([fn.value(value) for value in op.coordinates])
    fn.values.update(zip(op.results, channels, strict=True))


def _size(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageSizeOp)
    fn.values[op.result] = entry_of(fn, op).image(op.image).size(op.dimension.value.data)


IMAGE_HANDLERS: dict[type[Operation], Handler] = {
    ImageReadOp: _read,
    ImageWriteOp: _write,
    ImageSampleOp: _sample,
    ImageSizeOp: _size,
}
"""Handlers of images."""
