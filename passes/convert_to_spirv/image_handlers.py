"""Handlers of `kernel.image_read`, `image_write`, `image_sample`, `image_size`, and of barriers, which order images."""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.ir import Operation

from ...ir.dialects import spirv
from ...ir.dialects.kernel_image import ImageReadOp, ImageSampleOp, ImageSizeOp, ImageWriteOp
from ...ir.dialects.spirv.attributes import MemorySemanticsAttr
from ...ir.dialects.spirv.enums import MemorySemantics, Scope
from .function_lowering import FunctionLowering, Handler
from .work_item_handlers import BARRIER_ORDERS, entry_of


def _read(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageReadOp)
    image = entry_of(fn, op).arguments.image(op.image)
    channels = image.read(fn.array_indices(op.coordinates))
    fn.values.update(zip(op.results, channels, strict=True))


def _write(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageWriteOp)
    image = entry_of(fn, op).arguments.image(op.image)
    image.write(fn.array_indices(op.coordinates), [fn.value(value) for value in op.pixel])


def _sample(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageSampleOp)
    image = entry_of(fn, op).arguments.image(op.image)
    channels = image.sample([fn.value(value) for value in op.coordinates])
    fn.values.update(zip(op.results, channels, strict=True))


def _size(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, ImageSizeOp)
    fn.values[op.result] = entry_of(fn, op).arguments.image(op.image).size(op.dimension.value.data)


def _ordered(fn: FunctionLowering, op: Operation) -> None:
    """Lowers a barrier or fence, which orders images too where it orders the memory of arrays."""
    properties = dict(op.properties)
    orders = properties.get("memory_semantics")
    is_ordering = isinstance(orders, MemorySemanticsAttr) and orders.data & MemorySemantics.UniformMemory
    if fn.module.orders_images and is_ordering:
        assert isinstance(orders, MemorySemanticsAttr)
        properties["memory_semantics"] = MemorySemanticsAttr(orders.data | MemorySemantics.ImageMemory)
    fn.add(type(op).create(properties=properties, attributes=op.attributes))


def _group_barrier(fn: FunctionLowering, op: Operation) -> None:
    """Orders work-group memory, storage buffers and images: what `gpu.barrier` promises."""
    del op
    orders = BARRIER_ORDERS | (
        MemorySemantics.ImageMemory if fn.module.orders_images else MemorySemantics.None_
    )
    fn.add(spirv.ControlBarrierOp(Scope.Workgroup, Scope.Workgroup, orders))


HANDLERS: dict[type[Operation], Handler] = {
    ImageReadOp: _read,
    ImageWriteOp: _write,
    ImageSampleOp: _sample,
    ImageSizeOp: _size,
    gpu.BarrierOp: _group_barrier,
    spirv.ControlBarrierOp: _ordered,
    spirv.MemoryBarrierOp: _ordered,
}
"""Handlers of images, and of what orders them."""
