"""Arrays that a kernel or an exported function makes: `memref.alloc` for a work-group, `memref.alloca` for a work-item.

The memory space says which, as upstream has it after `map-memref-storage-class`:
`#spirv.storage_class<Workgroup>` becomes a variable of the module, `<Function>` one of the function.  All
dimensions are laid into one array; dimensions of unknown extent are expressions of specialization constants.
A helper that is inlined twice has two arrays: what the first call's work-items still read stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, MemRefType, StringAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.types import ArrayType, StructType
from ...ir.errors import Location
from ...ir.kernel_info import LocalArrayInfo
from ...ir.location import location_of
from ...ir.narrowing import is_array_attribute, is_integer_type, is_memref_type, is_vector_type
from ..errors import PassError
from .function_lowering import NO_ATTRIBUTES, FunctionLowering, Handler, arrays_of
from .size_expressions import Size, SizeExpressions
from .types import scalar_bytes

if TYPE_CHECKING:
    from .size_expressions import SizeExpressions

LENGTHS = "lengths"
"""Attribute of an allocation: its lengths as the source spells them, for messages."""
_STORAGE_CLASSES = {"memref.alloc": StorageClass.Workgroup, "memref.alloca": StorageClass.Function}


class LocalArray:
    """One array of the kernel that is being lowered."""

    index_type: Attribute = i32
    """Of positions: the memory is small."""

    def __init__(
        self,
        fn: FunctionLowering,
        sizes: SizeExpressions,
        type_: MemRefType[Attribute],
        storage_class: StorageClass,
        extents: Sequence[SSAValue],
        spelled: tuple[str, ...],
        location: Location | None,
    ) -> None:
        """Makes the array.

        Args:
            fn: the function that is being lowered.
            sizes: computes the lengths of the kernel's arrays.
            type_: of the array; gives the elements.
            storage_class: Workgroup or Function.
            extents: one value a dimension, computed from constants.
            spelled: the extents as messages name them.
            location: of the source line that makes it.
        """
        if not extents:
            raise TypeError(f"an array has at least one dimension, found {type_}")
        known = [extent for extent in type_.get_shape() if extent != DYNAMIC_INDEX]
        if prod(known) >= 1 << 31:
            raise TypeError(f"memory of the device has no room for {type_}")
        self._fn = fn
        self._storage_class = storage_class
        self.element_type = fn.type(type_.element_type)
        self.storage_type = self.stored(self.element_type)
        """What the memory holds; integers where floats are kept as their bits, or narrow numbers in words."""
        self.access: Mapping[str, Attribute] = NO_ATTRIBUTES
        self._extents = list(extents)
        self._lengths = [sizes.of(extent) for extent in self._extents]
        self.global_symbols: tuple[str, ...] = ()
        self._base = self._variable(sizes.product(self._lengths), sizes)
        self._spelled = spelled
        self._location = location

    @property
    def is_shared(self) -> bool:
        """Whether a work-group shares it."""
        return self._storage_class is StorageClass.Workgroup

    def info(self) -> LocalArrayInfo:
        """Returns what the runtime checks."""
        return LocalArrayInfo(
            is_shared=self.is_shared,
            element_bytes=_element_bytes(self.storage_type),
            lengths=tuple(length.node for length in self._lengths),
            spelled=self._spelled,
            location=self._location,
        )

    def extent(self, dimension: int) -> SSAValue:
        """Returns the extent along a dimension, slowest first."""
        if not 0 <= dimension < len(self._extents):
            raise TypeError(f"the array has {len(self._extents)} dimensions, none is number {dimension}")
        return self._extents[dimension]

    def stored(self, type_: Attribute) -> Attribute:
        """Returns what the memory holds for a value of a type of the device."""
        return self._fn.module.shared_type(type_) if self.is_shared else type_

    def field_access(self, type_: Attribute) -> Mapping[str, Attribute]:
        """Returns the properties of loads and stores of a scalar inside of an element."""
        return NO_ATTRIBUTES

    def element_pointer(
        self,
        indices: Sequence[SSAValue],
        path: Sequence[SSAValue] = (),
        type_: Attribute | None = None,
        *,
        is_atomic: bool = False,
    ) -> SSAValue:
        """Returns a pointer to one element, or to its part of type `type_` at `path`; the indices are in range."""
        fn = self._fn
        if is_atomic and not self.is_shared:
            raise TypeError(
                "atomic operations are for memory that work-items share; load and store the element of an array of "
                "one work-item's own"
            )
        linear = fn.linear(indices, self.extent)
        if not self.is_shared and isinstance(linear.owner, Block):
            linear = self._of_its_own(linear)
        pointer = fn.module.types.pointer(type_ or self.storage_type, self._storage_class)
        return fn.emit(spirv.AccessChainOp, (self._base, linear, *path), pointer)

    def _of_its_own(self, position: SSAValue) -> SSAValue:
        """Returns what a loop carries as another value: the quirk `carried-positions`."""
        fn = self._fn
        length = self.extent(0)
        for extent in self._extents[1:]:
            length = fn.emit(spirv.IMulOp, (length, extent), i32)
        last = fn.emit(spirv.ISubOp, (length, fn.index(1)), i32)
        return fn.emit(spirv.GLUMinOp, (position, last), i32)

    def _variable(self, total: Size, sizes: SizeExpressions) -> SSAValue:
        fn, module = self._fn, self._fn.module
        length = total.literal
        if length is None:
            positive = sizes.at_least_one(total)
            assert isinstance(positive.attribute, SymbolRefAttr)
            array = module.types.array(self.storage_type, positive.attribute.root_reference.data)
        else:
            if length < 1:
                raise TypeError(f"an array has at least one element, found {length}")
            array = module.types.array(self.storage_type, length)
        if not self.is_shared:
            return fn.variable(array)
        symbol = module.reserve(f"{fn.name}.shared")
        self.global_symbols = (symbol,)
        pointer = module.types.pointer(array, StorageClass.Workgroup)
        variable = spirv.GlobalVariableOp(symbol, pointer)
        variable.location = fn.location
        module.add_global(variable)
        return fn.first(
            create(spirv.AddressOfOp, properties={"variable": module.symbol(symbol)}, result_types=(pointer,))
        )


def _element_bytes(type_: Attribute) -> int:
    """Returns the bytes that an element takes at most; a device may align three like four."""
    if isinstance(type_, StructType):
        end = 0
        for member in type_.members:
            end = _rounded_up(end, _alignment(member.type)) + _element_bytes(member.type)
        return _rounded_up(end, _alignment(type_))
    if isinstance(type_, ArrayType):
        return type_.count.data * _element_bytes(type_.element_type)
    if is_vector_type(type_):
        count = type_.get_shape()[0]
        return _element_bytes(type_.element_type) * (4 if count == 3 else count)
    if is_integer_type(type_) and type_.width.data == 1:
        return 4
    return scalar_bytes(type_)


def _alignment(type_: Attribute) -> int:
    if isinstance(type_, StructType):
        return max(_alignment(member.type) for member in type_.members)
    return _alignment(type_.element_type) if isinstance(type_, ArrayType) else _element_bytes(type_)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _spelled(op: Operation) -> tuple[str, ...]:
    lengths = op.attributes.get(LENGTHS)
    if not is_array_attribute(lengths):
        return ()
    attribute: ArrayAttr[Attribute] = lengths
    return tuple(part.data for part in attribute.data if isinstance(part, StringAttr))


def _allocate(fn: FunctionLowering, op: Operation) -> None:
    type_ = op.results[0].type
    assert is_memref_type(type_)
    expected = _STORAGE_CLASSES[op.name]
    if fn.entry is None and expected is StorageClass.Workgroup:
        raise PassError(
            f"function @{fn.name} is called by other modules and makes a shared array, which only a launched kernel "
            "has; pass the values as arguments, or make it a plain function, which is compiled with its caller",
            op,
            code="LP2082",
        )
    arrays = arrays_of(fn, op)
    space = type_.memory_space
    if not isinstance(space, StorageClassAttr) or space.data is not expected:
        raise TypeError(f"expected memory space #spirv.storage_class<{expected.name}>, found {type_}")
    sizes = iter([fn.value(value) for value in op.operands])
    extents = [next(sizes) if length == DYNAMIC_INDEX else fn.index(length) for length in type_.get_shape()]
    array = LocalArray(fn, arrays.sizes, type_, expected, extents, _spelled(op), location_of(op.location))
    arrays.add_local_array(op.results[0], array)


HANDLERS: dict[type[Operation], Handler] = {
    memref.AllocOp: _allocate,
    memref.AllocaOp: _allocate,
}
"""Handlers of allocations."""
