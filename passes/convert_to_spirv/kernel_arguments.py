"""The parameters of a kernel that is being lowered and the arrays that it makes: what its values refer to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import Float16Type, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.kernel import LANES, KernelParameter
from ...ir.dialects.kernel_image import ImageType
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.kernel_info import (
    STREAM_DTYPE,
    BufferParameter,
    LocalArrayInfo,
    LocalParameter,
    Parameter,
    ScalarParameter,
    StreamParameter,
)
from ...ir.narrowing import is_integer_type, is_memref_type
from ..errors import PassError, operation_location
from .argument_block import ArgumentBlock, FieldKey, FieldKind
from .array_parameter import ArrayParameter
from .function_arrays import FunctionArrays
from .function_lowering import FunctionLowering
from .launch_place import component
from .module_lowering import only_block
from .size_expressions import SizeExpressions
from .types import is_scalar, unknown_array

if TYPE_CHECKING:
    from .image_argument import ImageArgument
    from .local_array import LocalArray


class KernelArguments(FunctionArrays):
    """What the values of one kernel refer to.

    Args:
        fn: the kernel's function.
        block: gets a field for each scalar and extent that the kernel uses.
        sizes: of the kernel, computes the lengths of the arrays that it makes.
        kernel: as kernel-level IR.
        parameters: of the kernel, in the order of its signature.
        index_type: of extents and positions.

    Raises:
        PassError: the device has no such parameter.
    """

    def __init__(
        self,
        fn: FunctionLowering,
        block: ArgumentBlock,
        sizes: SizeExpressions,
        kernel: Function,
        parameters: Sequence[KernelParameter],
        index_type: Attribute,
    ) -> None:
        super().__init__(sizes)
        self._fn = fn
        self._block = block
        self._kernel = kernel
        self._parameters = parameters
        self._index_type = index_type
        self._images: dict[SSAValue, ImageArgument] = {}
        self._image_numbers: dict[int, ImageArgument] = {}
        """Images by their number in the signature."""
        self._scalars: dict[SSAValue, int] = {}
        self._shared: dict[SSAValue, int] = {}
        """Arrays in the memory of a work-group that the launch gives, by their number in the signature."""
        self._length_symbols: dict[int, tuple[str, ...]] = {}
        """The constants of their extents, for those that are used."""
        self.binding_count = 0
        """Bindings of buffers and images."""
        self._declare()

    def _declare(self) -> None:
        arguments = only_block(self._kernel).args
        ordered = self._ordered()
        for number, (argument, parameter) in enumerate(zip(arguments, self._parameters, strict=True)):
            try:
                self._declare_one(number, argument, parameter, is_ordered=argument in ordered)
            except TypeError as error:
                raise PassError(
                    f"parameter '{parameter.name}' of kernel '{self._fn.name}': {error}",
                    self._kernel,
                    function=self._fn.name,
                ) from error

    def _ordered(self) -> Collection[SSAValue]:
        """Returns the arrays through which work-items may tell each other something: in a kernel that orders memory,
        those that it reads and writes, and those that lie on both sides of a barrier.

        Where what is ordered is not known, any array may be one that is written or may be the same as such a one.
        """
        if not self._fn.module.orders_memory:
            return ()
        pairs = zip(only_block(self._kernel).args, self._parameters, strict=True)
        arrays = {a: p for a, p in pairs if is_memref_type(a.type) and not p.is_shared}
        own = {a for a, p in arrays.items() if p.access == "read_write"}
        others = {a for a, p in arrays.items() if p.may_alias or p.access == "write"} - own
        if others:
            from ..optimise.exchanges import Exchanges, UnknownExchangeError  # seldom needed

            with suppress(UnknownExchangeError):
                told = Exchanges(self._kernel).told()
                others = others if told is None else others & told
        return own | others

    def _declare_one(
        self, number: int, argument: SSAValue, parameter: KernelParameter, *, is_ordered: bool
    ) -> None:
        if parameter.is_shared:
            self._shared[argument] = number
        elif is_memref_type(argument.type):
            self._arrays[argument] = ArrayParameter(
                self._fn,
                self._block,
                parameter,
                argument.type,
                number,
                self.binding_count,
                index_type=self._index_type,
                is_ordered=is_ordered,
                may_be_uniform=LANES not in self._kernel.attributes,  # which moves several elements at once
            )
            self.binding_count += 1
        elif isinstance(argument.type, ImageType):
            from .image_argument import ImageArgument

            image = ImageArgument(self._fn, self._block, parameter, argument.type, number, self.binding_count)
            self._images[argument] = self._image_numbers[number] = image
            self.binding_count += 1
        elif is_scalar(argument.type):
            self._scalars[argument] = number
        else:
            raise TypeError(
                f"expected an array or a scalar, found {argument.type}; give the components of a vector as scalars"
            )

    # What handlers ask for

    def array(self, value: SSAValue) -> ArrayParameter | LocalArray:
        """As of `FunctionArrays`; makes an array whose extents the launch gives at its first use."""
        if value in self._shared and value not in self._arrays:
            self.add_local_array(value, self._given_array(value, self._shared[value]))
        return super().array(value)

    def _given_array(self, value: SSAValue, number: int) -> LocalArray:
        """Makes the array of a parameter whose extents each launch gives."""
        from .local_array import LocalArray

        fn, module, name = self._fn, self._fn.module, self._parameters[number].name
        assert is_memref_type(value.type)
        rank = value.type.get_num_dims()
        symbols = tuple(module.length_symbol(f"{fn.name}.{name}.length{d}") for d in range(rank))
        self._length_symbols[number] = symbols
        extents = [spec_constant_of(fn, symbol) for symbol in symbols]
        spelled = tuple(f"{name}.shape[{d}]" for d in range(rank))
        location = operation_location(self._kernel, fn.name)
        return LocalArray(fn, self.sizes, value.type, StorageClass.Workgroup, extents, spelled, location)

    def image(self, value: SSAValue) -> ImageArgument:
        """Returns the image that `value` refers to; TypeError where there is none."""
        known = self._images.get(value)
        if known is None:
            raise TypeError("images are parameters of the kernel")
        return known

    def bind_image(self, parameter: SSAValue, argument: SSAValue) -> None:
        """Makes an inlined helper's parameter refer to the image that it is called with."""
        self._images[parameter] = self.image(argument)

    def scalar(self, value: SSAValue) -> SSAValue:
        """Returns a scalar argument, loaded at the kernel's start and narrowed to its type."""
        number = self._scalars.get(value)
        if number is None and is_memref_type(value.type):
            raise unknown_array(value.type)
        if number is None:
            raise PassError(f"a value of type {value.type} is used that nothing has lowered", self._kernel)
        key = FieldKey(number, FieldKind.SCALAR)
        return narrowed_field(self._fn, self._block, key, self._fn.type(value.type))

    # What is known after lowering

    @property
    def global_symbols(self) -> list[str]:
        """The global variables of its arrays and images."""
        every = [*self._arrays.values(), *self._local_arrays, *self._image_numbers.values()]
        return [symbol for one in every for symbol in one.global_symbols]

    def local_arrays(self) -> tuple[LocalArrayInfo, ...]:
        """Returns what the runtime checks of the arrays that the kernel makes."""
        return tuple(array.info() for array in self._local_arrays)

    def infos(self) -> tuple[Parameter, ...]:
        """Returns what a launch must know of the parameters; after the module's SpecIds are given out."""
        infos: list[Parameter] = []
        binding = 0
        for number, parameter in enumerate(self._parameters):
            if parameter.dtype == STREAM_DTYPE:
                infos.append(StreamParameter(name=parameter.name))
            elif parameter.ndim is None:
                offset = self._block.offset_bytes(FieldKey(number, FieldKind.SCALAR))
                infos.append(ScalarParameter(name=parameter.name, dtype=parameter.dtype, offset_bytes=offset))
            elif parameter.is_shared:
                infos.append(self._local_info(number, parameter))
            elif parameter.is_image:
                infos.append(self._image_numbers[number].info())
                binding += 1
            else:
                infos.append(self._buffer_info(number, binding, parameter, parameter.ndim))
                binding += 1
        return tuple(infos)

    def _local_info(self, number: int, parameter: KernelParameter) -> LocalParameter:
        rank = parameter.ndim or 1
        spec_ids = self._fn.module.spec_constants.spec_ids
        ids = tuple(spec_ids[symbol] for symbol in self._length_symbols.get(number, ()))
        return LocalParameter(
            name=parameter.name, dtype=parameter.dtype, ndim=rank, spec_ids=ids or (None,) * rank
        )

    def _buffer_info(
        self, number: int, binding: int, parameter: KernelParameter, ndim: int
    ) -> BufferParameter:
        block, access = self._block, parameter.access
        arrays = (array for array in self._arrays.values() if isinstance(array, ArrayParameter))
        uniform = {array.number for array in arrays if array.is_uniform}
        return BufferParameter(
            name=parameter.name,
            dtype=parameter.dtype,
            ndim=ndim,
            access="read" if access == "constant" else access,
            is_uniform=number in uniform,
            may_alias=parameter.may_alias,
            binding=binding,
            address_offset_bytes=block.offset_bytes(FieldKey(number, FieldKind.ADDRESS)),
            extent_offsets_bytes=tuple(
                block.offset_bytes(FieldKey(number, FieldKind.EXTENT, d)) for d in range(ndim)
            ),
        )


def spec_constant_of(fn: FunctionLowering, symbol: str) -> SSAValue:
    """Returns the value of a specialization constant of the module, an i32."""
    properties = {"spec_const": fn.module.symbol(symbol)}
    return fn.add_constant(create(spirv.ReferenceOfOp, properties=properties, result_types=(i32,)))


def narrowed_field(fn: FunctionLowering, block: ArgumentBlock, key: FieldKey, type_: Attribute) -> SSAValue:
    """Returns a field of the argument block that holds a scalar of `type_`, narrow ones in 32 bits."""

    def first(kind: type[Operation], operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return fn.first(create(kind, operands=operands, result_types=(type_,)))

    if is_integer_type(type_) and type_.width.data < 32:
        wide = block.field(key, i32)
        if type_.width.data == 1:
            return first(spirv.INotEqualOp, (wide, fn.index(0)), type_)
        return first(spirv.UConvertOp, (wide,), type_)
    if isinstance(type_, Float16Type):
        # Through a vector: an i16 would need Int16, which a device may lack that has Float16.
        pair = first(spirv.BitcastOp, (block.field(key, i32),), fn.type(VectorType(type_, [2])))
        return fn.first(
            create(
                spirv.CompositeExtractOp,
                operands=(pair,),
                result_types=(type_,),
                properties={"indices": component(0)},
            )
        )
    return block.field(key, type_)
