"""How a kernel reaches an array parameter: storage buffer or address, extents, element pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel import KernelParameter
from ...ir.dialects.spirv.attributes import MemoryAccessAttr
from ...ir.dialects.spirv.enums import MemoryAccess, StorageClass
from ...ir.target_env import BindingModel
from .argument_block import ArgumentBlock, FieldKey, FieldKind
from .function_lowering import FunctionLowering
from .types import scalar_bytes, storage_alignment

_DECORATIONS: dict[str, Mapping[str, UnitAttr]] = {
    "read": {"non_writable": UnitAttr()},
    "write": {"non_readable": UnitAttr()},
}
"""Of arrays that overlap with nothing that is written."""
_ALIASED: Mapping[str, UnitAttr] = {"aliased": UnitAttr()}
"""Without it a driver may take for granted that no other buffer is the same memory (SPIR-V 1.6, 2.18.2).  It
stands alone: spirv-opt, and with it SwiftShader, merges loads of a NonWritable variable whether aliased or not."""
_PLAIN: Mapping[str, Attribute] = {}


def _aligned(size_bytes: int) -> Mapping[str, Attribute]:
    """Returns what an access through an address says of its alignment."""
    return {
        "memory_access": MemoryAccessAttr(MemoryAccess.Aligned),
        "alignment": IntegerAttr(size_bytes, i32),
    }


class ArrayParameter:
    """One array parameter of the kernel that is being lowered."""

    def __init__(
        self,
        fn: FunctionLowering,
        block: ArgumentBlock,
        parameter: KernelParameter,
        type_: MemRefType[Attribute],
        number: int,
        binding: int,
    ) -> None:
        """Describes parameter `number` of the signature, buffer number `binding`; makes nothing yet."""
        self.element_type = fn.module.types.element_of(type_)
        self.storage_type = fn.module.storage_type(
            self.element_type, is_atomic=parameter.access == "read_write"
        )
        """What the buffer holds: an integer type where floats are kept as their bits."""
        self.access: Mapping[str, Attribute] = _PLAIN
        """Properties of loads and stores of its elements."""
        self._fn = fn
        self._block = block
        self._parameter = parameter
        self._shape = type_.get_shape()
        self._number = number
        self._binding = binding
        self._base: SSAValue | None = None
        self._is_address = fn.module.env.binding_model is BindingModel.ADDRESS
        self._storage_class = (
            StorageClass.PhysicalStorageBuffer if self._is_address else StorageClass.StorageBuffer
        )
        self.global_symbol: str | None = None
        """Its variable; None where the kernel does not touch its elements, and for addresses."""
        if self._is_address:
            self.access = _aligned(storage_alignment(self.element_type))

    def extent(self, dimension: int) -> SSAValue:
        """Returns the extent along a dimension, slowest first."""
        if not 0 <= dimension < len(self._shape):
            raise TypeError(
                f"'{self._parameter.name}' has {len(self._shape)} dimensions, none is number {dimension}"
            )
        known = self._shape[dimension]
        if known != DYNAMIC_INDEX:
            return self._fn.index(known)
        return self._block.field(FieldKey(self._number, FieldKind.EXTENT, dimension), i32)

    def field_access(self, type_: Attribute) -> Mapping[str, Attribute]:
        """Returns the properties of loads and stores of a scalar inside of an element."""
        return _aligned(scalar_bytes(type_)) if self._is_address else _PLAIN

    def element_pointer(
        self, indices: Sequence[SSAValue], path: Sequence[SSAValue] = (), type_: Attribute | None = None
    ) -> SSAValue:
        """Returns a pointer to one element, or to its part of type `type_` at `path`.

        C order: the last index is the fastest.
        """
        fn = self._fn
        linear = indices[0]
        for dimension, index in enumerate(indices[1:], start=1):
            row = fn.emit(spirv.IMulOp, (linear, self.extent(dimension)), i32)
            linear = fn.emit(spirv.IAddOp, (row, index), i32)
        pointer = fn.module.types.pointer(type_ or self.storage_type, self._storage_class)
        return fn.emit(spirv.AccessChainOp, (self._base_pointer(), fn.index(0), linear, *path), pointer)

    def _base_pointer(self) -> SSAValue:
        if self._base is None:
            module = self._fn.module
            struct = module.types.buffer_block(self.storage_type)
            pointer = module.types.pointer(struct, self._storage_class)
            if self._is_address:
                self._base = self._block.field(FieldKey(self._number, FieldKind.ADDRESS), pointer)
            else:
                self._base = self._buffer(pointer)
        return self._base

    def _buffer(self, pointer: spirv.PointerType) -> SSAValue:
        fn = self._fn
        symbol = fn.module.reserve(f"{fn.name}.{self._parameter.name}")
        variable = spirv.GlobalVariableOp(symbol, pointer, binding=self._binding, descriptor_set=0)
        may_alias = self._parameter.may_alias or self._parameter.access == "read_write"
        variable.attributes.update(_ALIASED if may_alias else _DECORATIONS[self._parameter.access])
        if fn.module.orders_memory and self._parameter.access == "read_write":
            # In the GLSL450 model barriers and fences order what others see of coherent memory only.
            variable.attributes["coherent"] = UnitAttr()
        variable.location = fn.location
        fn.module.add_global(variable)
        self.global_symbol = symbol
        return fn.first(
            spirv.AddressOfOp.create(
                properties={"variable": fn.module.symbol(symbol)}, result_types=(pointer,)
            )
        )
