"""Lowers a kernel to an entry point: its arguments, and the metadata that a launch needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_values import integers
from ...ir.call_graph import Function, function_name
from ...ir.create import create
from ...ir.dialects import aspect, spirv
from ...ir.dialects.kernel import (
    ALIGNED_ROWS,
    ANY_RANK,
    LANES,
    MASKED,
    WIDE,
    KernelParameter,
    kernel_local_size,
    kernel_parameters,
    launch_rank,
)
from ...ir.dialects.kernel_image import ImageType
from ...ir.dialects.spirv.enums import ExecutionMode, StorageClass
from ...ir.kernel_info import (
    STREAM_DTYPE,
    AspectUse,
    BufferParameter,
    KernelInfo,
    LaunchAbi,
    LocalParameter,
    Parameter,
    ScalarParameter,
    SpecField,
    StreamParameter,
)
from ...ir.target_env import BindingModel
from ...ir.walk import has_any
from ..errors import PassError, operation_location
from ..narrowing import is_integer_type, is_memref_type
from .argument_block import HIDDEN, ArgumentBlock, FieldKey, FieldKind
from .array_parameter import ArrayParameter
from .function_lowering import FunctionLowering
from .launch_place import LaunchPlace, component, vulkan_order
from .module_lowering import ModuleLowering, only_block
from .report_buffer import ReportBuffer
from .size_expressions import SizeExpressions
from .types import is_scalar

if TYPE_CHECKING:
    from .image_argument import ImageArgument
    from .local_array import LocalArray

DEFAULT_LOCAL_SIZE = (64, 1, 1)
"""(x, y, z) of a pipeline that sets none; every device has room for 64 invocations."""
_KERNEL_TYPE = FunctionType.from_lists((), ())


class KernelEntry:
    """One kernel."""

    def __init__(self, module: ModuleLowering, kernel: Function) -> None:
        self._module = module
        self._kernel = kernel
        self.name = function_name(kernel)
        self._fn = FunctionLowering(
            module, self.name, kernel.location, no_contraction="kernel.no_contraction" in kernel.attributes
        )
        self._fn.entry = self
        self._block = ArgumentBlock(self._fn)
        self._arrays: dict[SSAValue, ArrayParameter | LocalArray] = {}
        self._images: dict[SSAValue, ImageArgument] = {}
        self._image_numbers: dict[int, ImageArgument] = {}
        """Images by their number in the signature."""
        self._local_arrays: list[LocalArray] = []
        self.sizes = SizeExpressions(module)
        """Lengths of the arrays that it makes."""
        self.report = ReportBuffer(self._fn, self._global_ids)
        """Its checks and prints."""
        self._round_count: SSAValue | None = None
        self._report_binding: int | None = None
        self._scalars: dict[SSAValue, int] = {}
        self._shared: dict[SSAValue, int] = {}
        """Arrays in the memory of a work-group that the launch gives, by their number in the signature."""
        self._length_symbols: dict[int, tuple[str, ...]] = {}
        """The constants of their extents, for those that are used."""
        self._switch_symbol: str | None = None
        """That of `without_notes`, where it is used."""
        self._argument_symbol: str | None = None
        self._block_binding: int | None = None
        self._rank = launch_rank(kernel)
        self._local_size = local_size(kernel)
        self.index_type = i64 if WIDE in kernel.attributes else i32
        """Of the launch range, of extents, and of what is counted in them."""
        self.place = LaunchPlace(module, self._fn, self._block, self._rank, self._local_size, self.index_type)
        """Where in the launch a work-item is."""
        try:
            self._parameters = kernel_parameters(kernel)
        except VerifyException as error:
            raise PassError(f"kernel '{self.name}': {error}", kernel, function=self.name) from error
        self._declare_parameters()

    def _declare_parameters(self) -> None:
        kernel, body = self._kernel, only_block(self._kernel)
        if len(kernel.function_type.outputs):
            raise PassError(
                f"kernel '{self.name}' returns a value; kernels write to arrays instead",
                kernel,
                function=self.name,
            )
        binding = 0
        for number, (argument, parameter) in enumerate(zip(body.args, self._parameters, strict=True)):
            try:
                if parameter.is_shared:
                    self._shared[argument] = number
                elif is_memref_type(argument.type):
                    self._arrays[argument] = ArrayParameter(
                        self._fn,
                        self._block,
                        parameter,
                        argument.type,
                        number,
                        binding,
                        index_type=self.index_type,
                        may_be_uniform=LANES not in kernel.attributes,  # which moves several elements at once
                    )
                    binding += 1
                elif isinstance(argument.type, ImageType):
                    from .image_argument import ImageArgument

                    image = ImageArgument(self._fn, self._block, parameter, argument.type, number, binding)
                    self._images[argument] = self._image_numbers[number] = image
                    binding += 1
                elif is_scalar(argument.type):
                    self._scalars[argument] = number
                else:
                    raise TypeError(f"expected an array or a scalar, found {argument.type}")
            except TypeError as error:
                raise PassError(
                    f"parameter '{parameter.name}' of kernel '{self.name}': {error}",
                    kernel,
                    function=self.name,
                ) from error
        self._buffer_count = binding

    # What handlers ask for

    def array(self, value: SSAValue) -> ArrayParameter | LocalArray:
        """Returns the array that `value` refers to; TypeError where there is none."""
        known = self._arrays.get(value)
        if known is None and value in self._shared:
            known = self._given_array(value, self._shared[value])
            self.add_local_array(value, known)
        if known is None:
            raise TypeError("arrays are parameters of the kernel or made by memref.alloc and memref.alloca")
        return known

    def without_notes(self) -> SSAValue:
        """Returns whether the launch has no room for the bits of debug mode, as 0 or 1."""
        symbol = self._module.without_notes_symbol()
        self._switch_symbol = symbol
        return self._fn.add_constant(
            create(
                spirv.ReferenceOfOp,
                properties={"spec_const": self._module.symbol(symbol)},
                result_types=(i32,),
            )
        )

    def _given_array(self, value: SSAValue, number: int) -> LocalArray:
        """Makes the array of a parameter whose extents each launch gives."""
        from .local_array import LocalArray

        fn, module, name = self._fn, self._module, self._parameters[number].name
        assert is_memref_type(value.type)
        rank = value.type.get_num_dims()
        symbols = tuple(module.length_symbol(f"{self.name}.{name}.length{d}") for d in range(rank))
        self._length_symbols[number] = symbols
        extents = [
            fn.add_constant(
                create(
                    spirv.ReferenceOfOp, properties={"spec_const": module.symbol(symbol)}, result_types=(i32,)
                )
            )
            for symbol in symbols
        ]
        spelled = tuple(f"{name}.shape[{d}]" for d in range(rank))
        location = operation_location(self._kernel, self.name)
        return LocalArray(fn, self, value.type, StorageClass.Workgroup, extents, spelled, location)

    def add_local_array(self, value: SSAValue, array: LocalArray) -> None:
        """Makes `value` refer to an array that the kernel makes."""
        self._arrays[value] = array
        self._local_arrays.append(array)

    def image(self, value: SSAValue) -> ImageArgument:
        """Returns the image that `value` refers to; TypeError where there is none."""
        known = self._images.get(value)
        if known is None:
            raise TypeError("images are parameters of the kernel")
        return known

    def bind_image(self, parameter: SSAValue, argument: SSAValue) -> None:
        """Makes an inlined helper's parameter refer to the image that it is called with."""
        self._images[parameter] = self.image(argument)

    def bind_array(self, parameter: SSAValue, argument: SSAValue) -> None:
        """Makes an inlined helper's parameter refer to the array that it is called with."""
        self._arrays[parameter] = self.array(argument)

    def scalar(self, value: SSAValue) -> SSAValue:
        """Returns a scalar argument, loaded at the kernel's start and narrowed to its type."""
        number = self._scalars.get(value)
        if number is None:
            raise PassError(f"a value of type {value.type} is used that nothing has lowered", self._kernel)
        return self._narrowed(FieldKey(number, FieldKind.SCALAR), self._fn.type(value.type))

    def table(self, words: Sequence[int]) -> SSAValue:
        """Returns a pointer to constant words in the argument block, see `ArgumentBlock.table`."""
        return self._block.table(words)

    def spec_constant(self, spec_id: int, type_: Attribute) -> SSAValue:
        """Returns a scalar of an emulated specialization constant, in its type on the device."""
        return self._narrowed(FieldKey(HIDDEN, FieldKind.SPEC_CONSTANT, spec_id), type_)

    def _narrowed(self, key: FieldKey, type_: Attribute) -> SSAValue:
        """Returns a field that holds a scalar of `type_`, narrow ones in 32 bits."""
        fn = self._fn
        if is_integer_type(type_) and type_.width.data < 32:
            wide = self._block.field(key, i32)
            if type_.width.data == 1:
                return self._first(spirv.INotEqualOp, (wide, fn.index(0)), type_)
            return self._first(spirv.UConvertOp, (wide,), type_)
        if isinstance(type_, Float16Type):
            # Through a vector: an i16 would need Int16, which a device may lack that has Float16.
            pair = self._first(
                spirv.BitcastOp, (self._block.field(key, i32),), fn.type(VectorType(type_, [2]))
            )
            return fn.first(
                create(
                    spirv.CompositeExtractOp,
                    operands=(pair,),
                    result_types=(type_,),
                    properties={"indices": component(0)},
                )
            )
        return self._block.field(key, type_)

    def _global_ids(self) -> list[SSAValue]:
        """Returns the work-item's id, slowest dimension first."""
        return [self.place.launch_value("global_id", d) for d in reversed(range(self._rank))]

    def round_count(self) -> SSAValue:
        """Returns the variable with the rounds that the loops of this work-item's sub-group have run."""
        if self._round_count is None:
            self._round_count = self._fn.variable(i32, self._fn.index(0))
        return self._round_count

    def _first(self, kind: type[Operation], operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self._fn.first(create(kind, operands=operands, result_types=(type_,)))

    # Lowering and its result

    def lower(self) -> None:
        """Lowers the body and adds the function to the module."""
        fn = self._fn
        terminator = fn.lower_block(only_block(self._kernel))
        assert terminator is not None
        fn.location = terminator.location
        self.report.finish()
        fn.add(create(spirv.ReturnOp))
        fn.location = self._kernel.location
        env = self._module.env
        spill_binding = self._buffer_count if env.binding_model is BindingModel.DESCRIPTOR else 0
        arguments = self._module.reserve(f"{self.name}.arguments")
        self._block_binding = self._block.finish(env.max_push_constant_bytes, spill_binding, arguments)
        self._report_binding = self.report.bind(spill_binding + 1)
        self._module.add_function(spirv.FuncOp(self.name, _KERNEL_TYPE, Region(fn.finish())), self._kernel)
        if self._block.size_bytes:
            self._argument_symbol = arguments

    def entry_point(self) -> tuple[spirv.EntryPointOp, spirv.ExecutionModeOp]:
        """Returns the entry point and its execution mode; after `lower`."""
        symbols = list(self.place.symbols)
        # Since SPIR-V 1.4 the interface lists every global that the entry point uses (SPIR-V 1.6 §3.52.6).
        if self._module.env.spirv_version >= (1, 4):
            arrays = [*self._arrays.values(), *self._local_arrays, *self._image_numbers.values()]
            symbols += [symbol for array in arrays for symbol in array.global_symbols]
            symbols += [self._argument_symbol] if self._argument_symbol is not None else []
            symbols += [self.report.symbol] if self.report.symbol is not None else []
            symbols += self.report.trap_symbols
        entry = spirv.EntryPointOp(self.name, list(dict.fromkeys(symbols)))
        ids = self._module.local_size_spec_ids
        if ids is not None or self._local_size is None:
            mode = spirv.ExecutionModeOp(self.name, ExecutionMode.LocalSize, DEFAULT_LOCAL_SIZE)
            mode.attributes["spec_constant.local_size_ids"] = DenseArrayBase.from_list(i32, ids or ())
        else:
            mode = spirv.ExecutionModeOp(self.name, ExecutionMode.LocalSize, vulkan_order(self._local_size))
        for op in (entry, mode):
            op.location = self._kernel.location
        return entry, mode

    def float_modes(self) -> list[spirv.ExecutionModeOp]:
        """Returns the modes that keep NaN, infinities and -0.0, which the language promises; after `lower`.

        Without them Vulkan lets a driver take x * 0 for 0 and x + 0.0 for x (SPIR-V 1.6 §3.6), and Mesa does.
        """
        used = {
            type_.bitwidth
            for type_ in self._module.types.converted()
            if isinstance(type_, Float16Type | Float32Type | Float64Type)
        }
        modes = [
            spirv.ExecutionModeOp(self.name, ExecutionMode.SignedZeroInfNanPreserve, (bits,))
            for bits in self._module.env.signed_zero_inf_nan_preserve_bits
            # What the imported functions compute with is not known here.
            if bits in used or self._module.has_imports
        ]
        for mode in modes:
            mode.location = self._kernel.location
        return modes

    def info(self) -> KernelInfo:
        """Returns what a launch must know; after `lower`, and after the module's SpecIds are given out."""
        kernel, block, rank = self._kernel, self._block, self._rank
        used = aspect.used(kernel) | (aspect.declared(kernel) or frozenset())
        abi = LaunchAbi(
            rank=rank,
            range_offsets_bytes=tuple(
                block.offset_bytes(FieldKey(HIDDEN, FieldKind.RANGE, d)) for d in range(rank)
            ),
            base_offsets_bytes=tuple(
                block.offset_bytes(FieldKey(HIDDEN, FieldKind.BASE, d)) for d in range(rank)
            ),
            local_size_spec_ids=self._module.local_size_spec_ids,
            index_bits=64 if WIDE in kernel.attributes else 32,
            is_masked=MASKED in kernel.attributes,
            spec_fields=self._spec_fields(),
            tables=block.tables,
            argument_block_bytes=block.size_bytes,
            argument_block_binding=self._block_binding,
            report_binding=self._report_binding,
            without_notes_spec_id=(
                None
                if self._switch_symbol is None
                else self._module.spec_constants.spec_ids[self._switch_symbol]
            ),
        )
        return KernelInfo(
            name=self.name,
            entry_point=self.name,
            parameters=tuple(self._parameter_infos()),
            abi=abi,
            required_work_group_size=aspect.reqd_work_group_size(kernel) or self._local_size,
            required_sub_group_size=aspect.reqd_sub_group_size(kernel),
            has_primary_sub_group_size=aspect.has_primary_sub_group_size(kernel),
            aspects=tuple(sorted(number for number in used if number >= 0)),
            aspect_uses=self._aspect_uses(used),
            location=operation_location(kernel, self.name),
            size_nodes=self.sizes.nodes(),
            local_arrays=tuple(array.info() for array in self._local_arrays),
            sites=self.report.sites,
            lanes=integers(kernel.attributes.get(LANES)) or (),
            aligned_rows=integers(kernel.attributes.get(ALIGNED_ROWS)) or (),
            has_loops=has_any(kernel, scf.ForOp, scf.WhileOp),
            has_any_rank=ANY_RANK in kernel.attributes,
        )

    def _spec_fields(self) -> tuple[SpecField, ...]:
        fields: list[SpecField] = []
        for leaf in self._module.spec_constants.emulated_leaves():
            offset = self._block.offset_bytes(FieldKey(HIDDEN, FieldKind.SPEC_CONSTANT, leaf.spec_id))
            if offset is not None:
                fields.append(SpecField(spec_id=leaf.spec_id, dtype=leaf.dtype, offset_bytes=offset))
        return tuple(fields)

    def _aspect_uses(self, used: frozenset[int]) -> tuple[AspectUse, ...]:
        location = operation_location(self._kernel, self.name)
        return tuple(AspectUse(aspect=number, location=location) for number in sorted(used) if number >= 0)

    def _parameter_infos(self) -> list[Parameter]:
        infos: list[Parameter] = []
        binding = 0
        for number, parameter in enumerate(self._parameters):
            if parameter.dtype == STREAM_DTYPE:
                infos.append(StreamParameter(name=parameter.name))
                continue
            if parameter.ndim is None:
                offset = self._block.offset_bytes(FieldKey(number, FieldKind.SCALAR))
                infos.append(ScalarParameter(name=parameter.name, dtype=parameter.dtype, offset_bytes=offset))
                continue
            if parameter.is_shared:
                infos.append(self._local_info(number, parameter))
                continue
            if parameter.is_image:
                infos.append(self._image_numbers[number].info())
                binding += 1
                continue
            infos.append(self._buffer_info(number, binding, parameter.name, parameter.dtype, parameter.ndim))
            binding += 1
        return infos

    def _local_info(self, number: int, parameter: KernelParameter) -> LocalParameter:
        rank = parameter.ndim or 1
        symbols = self._length_symbols.get(number, ())
        ids = tuple(self._module.spec_constants.spec_ids[symbol] for symbol in symbols)
        return LocalParameter(
            name=parameter.name, dtype=parameter.dtype, ndim=rank, spec_ids=ids or (None,) * rank
        )

    def _buffer_info(self, number: int, binding: int, name: str, dtype: str, ndim: int) -> BufferParameter:
        block, access = self._block, self._parameters[number].access
        arrays = (array for array in self._arrays.values() if isinstance(array, ArrayParameter))
        uniform = {array.number for array in arrays if array.is_uniform}
        return BufferParameter(
            name=name,
            dtype=dtype,
            ndim=ndim,
            access="read" if access == "constant" else access,
            is_uniform=number in uniform,
            may_alias=self._parameters[number].may_alias,
            binding=binding,
            address_offset_bytes=block.offset_bytes(FieldKey(number, FieldKind.ADDRESS)),
            extent_offsets_bytes=tuple(
                block.offset_bytes(FieldKey(number, FieldKind.EXTENT, d)) for d in range(ndim)
            ),
        )


def local_size(kernel: Function) -> tuple[int, ...] | None:
    """Returns the local size that a kernel fixes, slowest dimension first, or None."""
    return kernel_local_size(kernel) or aspect.reqd_work_group_size(kernel)
