"""Lowers a kernel to an entry point, and collects the metadata that a launch needs; arguments: `kernel_arguments`."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_values import integers
from ...ir.call_graph import Function, function_name
from ...ir.create import create
from ...ir.dialects import aspect, spirv
from ...ir.dialects.kernel import (
    ALIGNED_ROWS,
    ANY_LOCAL_SIZE,
    ANY_RANK,
    LANES,
    MASKED,
    SETTLES,
    WIDE,
    kernel_local_size,
    kernel_parameters,
    launch_rank,
)
from ...ir.dialects.spirv.enums import ExecutionMode, StorageClass
from ...ir.kernel_info import AspectUse, KernelInfo, LaunchAbi, SpecField
from ...ir.target_env import MOST_COUNTED_LANES
from ...ir.walk import instances
from ..errors import PassError, operation_location
from .argument_block import HIDDEN, ArgumentBlock, FieldKey, FieldKind
from .function_lowering import FunctionLowering
from .idle_lanes import guarded
from .kernel_arguments import KernelArguments, narrowed_field, spec_constant_of
from .launch_place import LaunchPlace, vulkan_order
from .module_lowering import ModuleLowering, only_block
from .report_buffer import ReportBuffer
from .size_expressions import SizeExpressions

DEFAULT_LOCAL_SIZE = (64, 1, 1)
"""(x, y, z) of a pipeline that sets none; every device has room for 64 invocations."""
_FLOAT_BITS: dict[type[Attribute], int] = {Float16Type: 16, Float32Type: 32, Float64Type: 64}
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
        self.report = ReportBuffer(self._fn, self._global_ids)
        """Its checks and prints."""
        self._round_count: SSAValue | None = None
        self.unknown_number: SSAValue | None = None
        """What `unknown_ends` compares."""
        self.unknown_ends = 0
        """With how many numbers it has been compared."""
        self._report_binding: int | None = None
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
            parameters = kernel_parameters(kernel)
        except VerifyException as error:
            raise PassError(f"kernel '{self.name}': {error}", kernel, function=self.name) from error
        if len(kernel.function_type.outputs):
            raise PassError(
                f"kernel '{self.name}' returns a value; kernels write to arrays instead",
                kernel,
                function=self.name,
            )
        self.arguments = KernelArguments(
            self._fn, self._block, SizeExpressions(module), kernel, parameters, self.index_type
        )
        """What its values refer to."""
        self._fn.arrays = self.arguments

    # What handlers ask for

    def without_notes(self) -> SSAValue:
        """Returns whether the launch has no room for the bits of debug mode, as 0 or 1."""
        symbol = self._module.without_notes_symbol()
        self._switch_symbol = symbol
        return spec_constant_of(self._fn, symbol)

    def table_word(self, words: tuple[int, ...], number: SSAValue) -> SSAValue:
        """Returns one of constant words in the argument block, see `ArgumentBlock.table_word`."""
        return self._block.table_word(words, number)

    def spec_constant(self, spec_id: int, type_: Attribute) -> SSAValue:
        """Returns a scalar of an emulated specialization constant, in its type on the device."""
        key = FieldKey(HIDDEN, FieldKind.SPEC_CONSTANT, spec_id)
        return narrowed_field(self._fn, self._block, key, type_)

    def _global_ids(self) -> list[SSAValue]:
        """Returns the work-item's id, slowest dimension first."""
        return [self.place.launch_value("global_id", d) for d in reversed(range(self._rank))]

    def round_count(self) -> SSAValue:
        """Returns the variable with the rounds that the loops of this work-item's sub-group have run."""
        if self._round_count is None:
            self._round_count = self._fn.variable(i32, self._fn.index(0))
        return self._round_count

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
        # A kernel that uses none of its arrays has no addresses either, and they count as bound.
        spill_binding = 0 if self._block.has_addresses else self.arguments.binding_count
        arguments = self._module.reserve(f"{self.name}.arguments")
        self._block_binding = self._block.finish(env, spill_binding, arguments)
        self._report_binding = self.report.bind(spill_binding + 1)
        body = Region(fn.finish())
        if self._may_have_idle_lanes():
            body = self._guarded(body)
        self._module.add_function(spirv.FuncOp(self.name, _KERNEL_TYPE, body), self._kernel)
        if self._block.size_bytes:
            self._argument_symbol = arguments

    def _may_have_idle_lanes(self) -> bool:
        """Whether lanes without a work-item may use up the rounds that the driver runs; after the body is lowered."""
        size = self._local_size
        if size is not None and vulkan_order(size)[0] % MOST_COUNTED_LANES == 0:
            return False
        return any(site.kind == "loop" for site in self.report.sites)

    def _guarded(self, body: Region) -> Region:
        module = self._module
        fn = FunctionLowering(module, self.name, self._kernel.location)
        place = LaunchPlace(module, fn, self._block, self._rank, self._local_size, i32)
        region = guarded(module, self._kernel, self.name, body, fn, place)
        self.place.symbols += place.symbols
        return region

    def entry_point(self) -> tuple[spirv.EntryPointOp, spirv.ExecutionModeOp]:
        """Returns the entry point and its execution mode; after `lower`."""
        symbols = [*self.place.symbols, *self._module.inputs]
        # Since SPIR-V 1.4 the interface lists every global that the entry point uses (SPIR-V 1.6 §3.52.6).
        if self._module.env.spirv_version >= (1, 4):
            symbols += self.arguments.global_symbols
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
            _FLOAT_BITS[type(type_)] for type_ in self._module.types.converted() if type(type_) in _FLOAT_BITS
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
            is_argument_block_uniform=self._block.storage_class is StorageClass.Uniform,
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
            parameters=self.arguments.infos(),
            abi=abi,
            required_work_group_size=aspect.reqd_work_group_size(kernel) or self._local_size,
            required_sub_group_size=aspect.reqd_sub_group_size(kernel),
            has_primary_sub_group_size=aspect.has_primary_sub_group_size(kernel),
            aspects=tuple(sorted(number for number in used if number >= 0)),
            aspect_uses=self._aspect_uses(used),
            location=operation_location(kernel, self.name),
            size_nodes=self.arguments.sizes.nodes(),
            local_arrays=self.arguments.local_arrays(),
            sites=self.report.sites,
            lanes=integers(kernel.attributes.get(LANES)) or (),
            aligned_rows=integers(kernel.attributes.get(ALIGNED_ROWS)) or (),
            has_loops=_has_loops(kernel),
            has_any_rank=ANY_RANK in kernel.attributes,
            has_any_local_size=ANY_LOCAL_SIZE in kernel.attributes,
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


def _has_loops(kernel: Function) -> bool:
    """Whether there are loops but those that nearly always run one round."""
    return any(SETTLES not in loop.attributes for loop in instances(kernel, scf.ForOp, scf.WhileOp))


def local_size(kernel: Function) -> tuple[int, ...] | None:
    """Returns the local size that a kernel fixes, slowest dimension first, or None."""
    return kernel_local_size(kernel) or aspect.reqd_work_group_size(kernel)
