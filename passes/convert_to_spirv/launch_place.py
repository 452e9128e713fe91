"""The place of a work-item in its launch: indices and sizes, from Vulkan's built-ins and the argument block.

Kernel-level `x` is Vulkan's x, the fastest dimension: lapilli's last.  This file is where the order is reversed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from .argument_block import HIDDEN, ArgumentBlock, FieldKey, FieldKind
from .function_lowering import FunctionLowering
from .module_lowering import ModuleLowering
from .types import integer_attribute

DIMENSIONS = {gpu.DimensionEnum.X: 0, gpu.DimensionEnum.Y: 1, gpu.DimensionEnum.Z: 2}
"""Vulkan's number of each dimension."""


@cache
def component(number: int) -> ArrayAttr[IntegerAttr]:
    """Returns the `indices` of a CompositeExtract of one component."""
    return ArrayAttr([integer_attribute(number, 32)])


class LaunchPlace:
    """What one kernel knows of its launch; each value is made once, at the beginning of the kernel.

    Args:
        module: is lowered.
        fn: the kernel's function.
        block: its argument block, which has range and base.
        rank: dimensions of the range.
        local_size: that the kernel fixes, slowest dimension first.
        index_type: of indices and sizes.
    """

    def __init__(
        self,
        module: ModuleLowering,
        fn: FunctionLowering,
        block: ArgumentBlock,
        rank: int,
        local_size: tuple[int, ...] | None,
        index_type: Attribute,
    ) -> None:
        self._module = module
        self._fn = fn
        self._block = block
        self._rank = rank
        self._local_size = local_size
        self.index_type = index_type
        self._values: dict[tuple[str, int], SSAValue] = {}
        self._built_ins: dict[str, SSAValue] = {}
        self.symbols: list[str] = []
        """The variables of the built-ins that are used."""

    def global_range(self, dimension: int) -> SSAValue:
        """Returns n of ``k[n]`` along lapilli's `dimension`."""
        return self._block.field(FieldKey(HIDDEN, FieldKind.RANGE, dimension), self.index_type)

    def launch_value(self, kind: str, dimension: int) -> SSAValue:
        """Returns a work-item's or work-group's index or size along a dimension, made once per kernel.

        Args:
            kind: `global_id`, `thread_id`, `block_id`, `block_dim` or `grid_dim`.
            dimension: Vulkan's, 0 is x.
        """
        known = self._values.get((kind, dimension))
        if known is None:
            make = getattr(self, f"_{kind}")
            known = self._values[kind, dimension] = make(dimension)
        return known

    def _thread_id(self, dimension: int) -> SSAValue:
        return self._built_in("LocalInvocationId", dimension)

    def _block_id(self, dimension: int) -> SSAValue:
        group = self._indexed(self._built_in("WorkgroupId", dimension))
        base = self._base(dimension)
        return group if base is None else self._first(spirv.IAddOp, (group, base), self.index_type)

    def _indexed(self, value: SSAValue) -> SSAValue:
        """Returns an unsigned number of 32 bits in the type of indices."""
        return value if self.index_type is i32 else self._first(spirv.UConvertOp, (value,), i64)

    def _global_id(self, dimension: int) -> SSAValue:
        if self.index_type is not i32:
            # GlobalInvocationId has 32 bits, one dispatch may have more work-items.
            size = self._indexed(self.launch_value("block_dim", dimension))
            first = self._first(spirv.IMulOp, (self.launch_value("block_id", dimension), size), i64)
            lane = self._indexed(self.launch_value("thread_id", dimension))
            return self._first(spirv.IAddOp, (first, lane), i64)
        index = self._built_in("GlobalInvocationId", dimension)
        base = self._base(dimension)
        if base is None:
            return index
        skipped = self._first(spirv.IMulOp, (base, self.launch_value("block_dim", dimension)), i32)
        return self._first(spirv.IAddOp, (index, skipped), i32)

    def _block_dim(self, dimension: int) -> SSAValue:
        if self._local_size is not None and not self._module.has_local_size_constants:
            return self._fn.index(vulkan_order(self._local_size)[dimension])
        symbol = self._module.local_size_symbol(dimension)
        return self._fn.add_constant(
            create(
                spirv.ReferenceOfOp,
                properties={"spec_const": self._module.symbol(symbol)},
                result_types=(i32,),
            )
        )

    def _grid_dim(self, dimension: int) -> SSAValue:
        # NumWorkgroups counts the groups of one dispatch; a large range takes several.
        if dimension >= self._rank:
            return self._fn.index(1)
        size = self.launch_value("block_dim", dimension)
        total = self.global_range(self._rank - 1 - dimension)
        last = self._first(spirv.ISubOp, (size, self._fn.index(1)), i32)
        padded = self._first(spirv.IAddOp, (total, last), i32)
        return self._first(spirv.UDivOp, (padded, size), i32)

    def _base(self, dimension: int) -> SSAValue | None:
        if dimension >= self._rank:
            return None
        return self._block.field(
            FieldKey(HIDDEN, FieldKind.BASE, self._rank - 1 - dimension), self.index_type
        )

    def _built_in(self, name: str, dimension: int) -> SSAValue:
        vector = self._built_ins.get(name)
        if vector is None:
            vector = self._built_ins[name] = self._load_built_in(name)
        return _extracted(self._fn, vector, dimension)

    def sub_group_value(self, name: str) -> SSAValue:
        """Returns a built-in number of sub-groups, such as SubgroupSize."""
        known = self._built_ins.get(name)
        if known is None:
            known = self._built_ins[name] = self._load_built_in(name)
        return known

    def _load_built_in(self, name: str) -> SSAValue:
        self.symbols.append(self._module.built_in(name))
        return _loaded(self._fn, name)

    def _first(self, kind: type[Operation], operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self._fn.first(create(kind, operands=operands, result_types=(type_,)))


def _loaded(fn: FunctionLowering, name: str) -> SSAValue:
    """Returns a built-in input, loaded at a function's start."""
    module = fn.module
    type_ = module.built_in_type(name)
    base = create(
        spirv.AddressOfOp,
        properties={"variable": module.symbol(module.built_in(name))},
        result_types=(module.types.pointer(type_, StorageClass.Input),),
    )
    return fn.first(create(spirv.LoadOp, (fn.first(base),), (type_,)))


def _extracted(fn: FunctionLowering, vector: SSAValue, number: int) -> SSAValue:
    return fn.first(create(spirv.CompositeExtractOp, (vector,), (i32,), {"indices": component(number)}))


def unknown_zero(fn: FunctionLowering) -> SSAValue:
    """Returns an i32 of 0 that the driver does not know, made once in a function: indices have 31 bits."""
    if fn.unknown_zero is None:
        name = "GlobalInvocationId"
        index = _extracted(fn, _loaded(fn, name), 0)
        fn.module.inputs[fn.module.built_in(name)] = None
        fn.unknown_zero = fn.first(create(spirv.ShiftRightLogicalOp, (index, fn.index(31)), (i32,)))
        fn.module.unknown_zeros.add(fn.unknown_zero)
    return fn.unknown_zero


def unknown_number(fn: FunctionLowering) -> SSAValue:
    """Returns an i32 of 31 bits of which the driver knows no more, also where the kernel branches for its own index."""
    name = "GlobalInvocationId"
    index = _loaded(fn, name)
    fn.module.inputs[fn.module.built_in(name)] = None
    return fn.first(create(spirv.BitwiseOrOp, (_extracted(fn, index, 0), _extracted(fn, index, 1)), (i32,)))


def vulkan_order(size: Sequence[int]) -> tuple[int, int, int]:
    """Returns (x, y, z) of a size given slowest dimension first; missing dimensions are 1."""
    # No device has more: an image with such a size is refused before its code is read.
    x, y, z = (*(min(extent, 2**31 - 1) for extent in reversed(size)), 1, 1)[:3]
    if x * y * z % 2**32 == 0:  # SPIRV-Tools takes it for a size of 0; a product of odd numbers never is
        x, y, z = x - 1 | 1, y - 1 | 1, z - 1 | 1
    return x, y, z
