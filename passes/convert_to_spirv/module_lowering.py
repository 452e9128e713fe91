"""State of the lowering of one module: its globals, functions and specialization constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, get_args

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    MemRefType,
    SymbolRefAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.attribute_values import integer
from ...ir.attributes import function_type, symbol_reference
from ...ir.call_graph import Function, SymbolTables, function_name, has_body
from ...ir.create import create
from ...ir.dialects import aspect, spirv
from ...ir.dialects.kernel import INLINED_CALLS, is_kernel, kernel_parameters
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_image import IMAGE_NAMES, ImageType
from ...ir.dialects.kernel_reports import REPORT_NAMES, ROUND_OPS
from ...ir.dialects.spec_constant import GetOp
from ...ir.dialects.spirv.attributes import MemorySemanticsAttr, StorageClassAttr
from ...ir.dialects.spirv.enums import MemorySemantics, StorageClass
from ...ir.dialects.spirv.types import ArrayType, PointerType, StructMember, StructType
from ...ir.narrowing import is_memref_type
from ...ir.target_env import TargetEnv
from ...ir.walk import operations
from ..errors import PassError
from ..optimise.effects import NEEDS_KERNEL
from .external_functions import check_external, linkage_of
from .function_arrays import FunctionArrays
from .function_lowering import FunctionLowering, Handler
from .known_numbers import KnownNumbers
from .packed_tables import needs_block
from .size_expressions import SizeExpressions
from .spec_constant_table import SpecConstantTable
from .trap_state import TrapState
from .types import TypeConverter, integer_attribute, scalar_of, with_scalar

if TYPE_CHECKING:
    from .counted_rounds import CountedRounds

_BARRIERS = frozenset(("gpu.barrier", "spirv.ControlBarrier", "spirv.MemoryBarrier"))
_THREE_NUMBERS = VectorType(i32, [3])
_DECISIVE = (*get_args(Function), AtomicOp)
"""The classes of operations that decide something for all of a module."""
NEEDS_KERNEL_NAMES = (
    REPORT_NAMES
    | IMAGE_NAMES
    | frozenset(
        (
            "memref.alloc",
            "memref.alloca",
            "gpu.lane_id",
            "gpu.subgroup_id",
            "gpu.num_subgroups",
            "gpu.subgroup_size",
        )
    )
)
"""As `NEEDS_KERNEL`, by name: arrays belong to the kernel, whose `KernelInfo` tells the runtime of them."""


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """A helper that became a function of its own."""

    symbol: SymbolRefAttr
    results: tuple[Attribute, ...]
    """Several come as members of one struct: SPIR-V functions return one value."""
    linkage: spirv.LinkageAttributesAttr | None = None
    """How other modules know it."""

    @property
    def outputs(self) -> tuple[Attribute, ...]:
        """What the SPIR-V function returns: nothing, or one type."""
        if len(self.results) <= 1:
            return self.results
        return (spirv.StructType.get([spirv.StructMember(type_) for type_ in self.results]),)


class ModuleLowering:
    """What the functions of a module share."""

    def __init__(self, env: TargetEnv, handlers: Mapping[type[Operation], Handler | None]) -> None:
        self.env = env
        self.handlers = handlers
        self.types = TypeConverter()
        self.spec_constants = SpecConstantTable(self)
        self.trap_state = TrapState(self)
        self.globals: dict[str, spirv.GlobalVariableOp] = {}
        self.inputs: dict[str, None] = {}
        """Built-in inputs that functions of their own may read, in order."""
        self.functions: list[spirv.FuncOp] = []
        self.keeps_float_bits = False
        """Whether arrays of floats that atomics may reach are kept as integers; see `storage_type`."""
        self.word_elements: set[Attribute] = set()
        """Types of less than 32 bits whose shared arrays have a word for each element: atomics reach them."""
        self.orders_memory = False
        """Whether work-items tell each other of what they stored: barriers, fences, ordered atomics."""
        self.orders_images = False
        """Whether they may do so through an image: a kernel both reads and writes one."""
        self.counted_rounds: CountedRounds | None = None
        """Where the rounds of loops are counted, see `limit_loops`; None: nowhere."""
        self.has_local_size_constants = False
        """Whether the local size is given at launch.  One kernel of the module without a fixed size is enough:
        the object with BuiltIn WorkgroupSize holds for every entry point (Vulkan 1.3, WorkgroupSize)."""
        self.local_size_spec_ids: tuple[int, int, int] | None = None
        """SpecIds of the local size as (x, y, z), after `finish_spec_constants`."""
        self.has_imports = False
        """Whether functions of other modules are called."""
        self._local_size_symbols: dict[int, str] = {}
        self.kernel_symbols = SymbolTables()
        """What symbols of the kernel-level IR name."""
        self.known_numbers = KnownNumbers()
        self.known_zeros: dict[SSAValue, bool] = {}
        """Whether the driver may find out that a float is a zero, see `known_zeros`."""
        self.unknown_zeros: set[SSAValue] = set()
        """What `launch_place.unknown_zero` gave."""
        self._length_symbols: list[str] = []
        self._without_notes_symbol: str | None = None
        self._symbols: dict[str, SymbolRefAttr] = {}
        self._helpers: dict[Operation, LoweredFunction] = {}
        self._calls: dict[Function, int] = {}
        self._inlined: dict[Operation, bool | None] = {}

    def survey(self, kernel_ir: Operation) -> None:
        """Finds out what all of a module decides: `keeps_float_bits`, `orders_memory`, `orders_images`,
        `counted_rounds`, and what stays native of emulated constants."""
        if self.env.emulates_spec_constants:
            self.spec_constants.survey(kernel_ir)
        ops = operations(kernel_ir)
        kinds = {type(op) for op in ops}
        if not kinds.isdisjoint(ROUND_OPS):
            from .counted_rounds import CountedRounds  # seldom needed

            self.counted_rounds = CountedRounds(kernel_ir, self.kernel_symbols)
        decisive = {kind for kind in kinds if _is_decisive(kind)}
        for op in (op for op in ops if type(op) in decisive):
            if op.name in _BARRIERS:
                orders = op.properties.get("memory_semantics")
                is_local = isinstance(orders, MemorySemanticsAttr) and not (
                    orders.data & MemorySemantics.UniformMemory
                )
                self.orders_memory |= not is_local
            elif isinstance(op, Function) and is_kernel(op) and _has_images(op):
                self.orders_images |= any(
                    p.is_image and p.access == "read_write" for p in kernel_parameters(op)
                )
            elif isinstance(op, AtomicOp):
                self.orders_memory |= op.order.data != "relaxed"
                self.keeps_float_bits |= op.keeps_bits
                if op.is_narrow and _is_shared(op.array.type):
                    self.word_elements.add(self.types(op.element_type))

    def storage_type(self, element: Attribute, *, is_atomic: bool) -> Attribute:
        """Returns what memory that atomics may reach holds for elements of a type.

        Compare-exchange takes integers only, and a pointer has one type: where a module compares and exchanges
        floats, all such memory holds their bits.
        """
        if is_atomic and self.keeps_float_bits and isinstance(element, Float32Type | Float64Type):
            return self.types.bits_like(element)
        return element

    def shared_type(self, type_: Attribute) -> Attribute:
        """Returns what memory of a work-group holds for a value, see `storage_type` and `word_elements`."""
        if isinstance(type_, StructType):
            return StructType.get([StructMember(self.shared_type(member.type)) for member in type_.members])
        if isinstance(type_, ArrayType):
            return ArrayType.get(self.shared_type(type_.element_type), type_.count.data)
        scalar = scalar_of(type_)
        stored = i32 if scalar in self.word_elements else self.storage_type(scalar, is_atomic=True)
        return type_ if stored is scalar else self.types(with_scalar(type_, stored))

    # Symbols and globals

    def reserve(self, name: str) -> str:
        """Returns a symbol that no other operation of the module has: `name`, or `name_1` and so on."""
        free, number = name, 0
        while free in self._symbols:
            number += 1
            free = f"{name}_{number}"
        self._symbols[free] = symbol_reference(free)
        return free

    def symbol(self, name: str) -> SymbolRefAttr:
        """Returns the reference to a reserved symbol."""
        return self._symbols[name]

    def add_global(self, variable: spirv.GlobalVariableOp) -> None:
        """Adds a global variable whose symbol is reserved."""
        self.globals[variable.sym_name.data] = variable

    def built_in_type(self, name: str) -> Attribute:
        """Returns the type of a built-in input: a number for sub-groups, else three of them."""
        return self.types(i32 if "ubgroup" in name else _THREE_NUMBERS)

    def built_in(self, name: str) -> str:
        """Returns the symbol of a built-in input such as GlobalInvocationId."""
        symbol = f"__builtin__{name}__"
        if symbol not in self.globals:
            self.reserve(symbol)
            type_ = self.types.pointer(self.built_in_type(name), StorageClass.Input)
            self.add_global(spirv.GlobalVariableOp(symbol, type_, built_in=name))
        return symbol

    # Local size

    def local_size_symbol(self, dimension: int) -> str:
        """Returns the symbol of the constant that holds the local size along Vulkan's `dimension`."""
        known = self._local_size_symbols.get(dimension)
        if known is None:
            known = self._local_size_symbols[dimension] = self.reserve(f"__local_size_{'xyz'[dimension]}")
        return known

    def length_symbol(self, name: str) -> str:
        """Returns the symbol of a new constant for a length that each launch gives."""
        symbol = self.reserve(name)
        self._length_symbols.append(symbol)
        return symbol

    def without_notes_symbol(self) -> str:
        """Returns the symbol of the constant that is `LaunchAbi.without_notes_spec_id`."""
        if self._without_notes_symbol is None:
            self._without_notes_symbol = self.reserve("__without_notes")
        return self._without_notes_symbol

    def finish_spec_constants(self, default_local_size: tuple[int, int, int]) -> None:
        """Gives what the runtime sets its SpecIds, behind the user's: local size, lengths, the switch of debug mode."""
        first = self.spec_constants.next_spec_id
        if self.has_local_size_constants:
            self.local_size_spec_ids = (first, first + 1, first + 2)
            for dimension, symbol in sorted(self._local_size_symbols.items()):
                default = integer_attribute(default_local_size[dimension], 32)
                self.spec_constants.add_scalar(symbol, default, first + dimension)
            first += 3
        for number, symbol in enumerate(self._length_symbols, start=first):
            self.spec_constants.add_scalar(symbol, integer_attribute(1, 32), number)
        if self._without_notes_symbol is not None:
            number = first + len(self._length_symbols)
            self.spec_constants.add_scalar(self._without_notes_symbol, integer_attribute(0, 32), number)

    # Helpers

    def callee(self, op: Operation, reference: SymbolRefAttr, caller: str) -> Function:
        """Returns the function that a call names; PassError where there is none with a body."""
        found = self.kernel_symbols.resolve(op, reference)
        name = reference.root_reference.data
        if not isinstance(found, Function):
            raise PassError(f"call of @{name}, which the module does not define", op, function=caller)
        if not has_body(found) and not aspect.is_external(found):
            raise PassError(
                f"call of @{name}, which is declared but not defined here; link its definition first, or "
                "declare it aspect.external to import it",
                op,
                function=caller,
            )
        return found

    def is_inlined(self, function: Function, caller: str) -> bool:
        """Whether calls of `function` are replaced by its body.

        They are where SPIR-V has no such function: pointers to buffers cannot be passed freely, one result is
        the limit, and work-item ids and barriers belong to an entry point.  Exported and imported functions
        never are: they are what other modules know.
        """
        if function in self._inlined:
            known = self._inlined[function]
            if known is None:
                raise PassError(
                    f"@{function_name(function)} calls itself; kernels have no recursion, use a loop",
                    function,
                    function=caller,
                )
            return known
        self._inlined[function] = None
        answer = self._must_inline(function)
        self._inlined[function] = answer
        return answer

    def _must_inline(self, function: Function) -> bool:
        signature = function.function_type
        answer = len(signature.outputs) > 1 or any(
            isinstance(type_, MemRefType | PointerType | ImageType) for type_ in signature.inputs
        )
        # No early exit: every callee is visited, so that recursion is found wherever it is.
        for op in operations(function.body):
            if type(op) in NEEDS_KERNEL or op.name in NEEDS_KERNEL_NAMES:
                answer = True
            elif needs_block(self.env, op):
                answer = True  # a table among the kernel's arguments
            elif type(op) is GetOp and self.spec_constants.is_emulated(op):
                answer = True  # its value is among the kernel's arguments
            reference = op.properties.get("callee") if op.name == "func.call" else None
            if isinstance(reference, SymbolRefAttr):
                name = function_name(function)
                answer |= self.is_inlined(self.callee(op, reference, name), name)
        return answer and not aspect.is_external(function)

    def function(self, function: Function) -> LoweredFunction:
        """Returns the function of its own that a helper has become, lowering it at the first call."""
        known = self._helpers.get(function)
        if known is None:
            name = function_name(function)
            symbol = self.symbol(self.reserve(name))
            linkage = linkage_of(function)
            if linkage is not None:
                check_external(function)
                self.has_imports |= not has_body(function)
            try:
                inputs = [self.types(type_) for type_ in function.function_type.inputs]
                outputs = tuple(self.types(type_) for type_ in function.function_type.outputs)
            except TypeError as error:
                raise PassError(f"signature of @{name}: {error}", function, function=name) from error
            known = self._helpers[function] = LoweredFunction(symbol, outputs, linkage)
            if has_body(function):
                self._lower_helper(function, known, inputs)
            else:
                self._add_helper(function, known, inputs, Region())
        return known

    def calls_within(self, function: Function) -> int:
        """Returns how many calls a helper comes to that has become a function of its own, inlined ones counted."""
        return self._calls.get(function, 0)

    def _lower_helper(
        self, function: Function, lowered: LoweredFunction, inputs: Sequence[Attribute]
    ) -> None:
        name = function_name(function)
        fn = FunctionLowering(
            self, name, function.location, no_contraction="kernel.no_contraction" in function.attributes
        )
        fn.has_inputs = lowered.linkage is None
        if lowered.linkage is not None:  # what else makes arrays is inlined
            fn.arrays = FunctionArrays(SizeExpressions(self))
        block = only_block(function)
        for argument, type_ in zip(block.args, inputs, strict=True):
            fn.values[argument] = fn.body.insert_arg(type_, len(fn.body.args))
        terminator = fn.lower_block(block)
        assert terminator is not None
        fn.location = terminator.location
        self._calls[function] = fn.calls + inlined_before(function)
        results = [fn.value(value) for value in terminator.operands]
        if len(results) > 1:
            results = [fn.emit(spirv.CompositeConstructOp, results, lowered.outputs[0])]
        if results:
            fn.add(create(spirv.ReturnValueOp, operands=results))
        else:
            fn.add(create(spirv.ReturnOp))
        self._add_helper(function, lowered, inputs, Region(fn.finish()))

    def _add_helper(
        self, function: Function, lowered: LoweredFunction, inputs: Sequence[Attribute], body: Region
    ) -> None:
        type_ = function_type(inputs, lowered.outputs)
        name = lowered.symbol.root_reference.data
        self.add_function(spirv.FuncOp(name, type_, body, linkage_attributes=lowered.linkage), function)

    def add_function(self, lowered: spirv.FuncOp, origin: Operation) -> None:
        """Adds a function to the module."""
        lowered.location = origin.location
        self.functions.append(lowered)


@cache
def _is_decisive(kind: type[Operation]) -> bool:
    return kind.name in _BARRIERS or issubclass(kind, _DECISIVE)


def _has_images(kernel: Function) -> bool:
    return any(isinstance(type_, ImageType) for type_ in kernel.function_type.inputs)


def _is_shared(array: Attribute) -> bool:
    space = array.memory_space if is_memref_type(array) else None
    return isinstance(space, StorageClassAttr) and space.data is StorageClass.Workgroup


def inlined_before(function: Function) -> int:
    """Returns how many calls became bodies in a function before it is lowered."""
    return integer(function.attributes.get(INLINED_CALLS)) or 0


def only_block(function: Function) -> Block:
    """Returns the block of a function with structured control flow; PassError where it has several."""
    blocks = list(function.body.blocks)
    if len(blocks) != 1:
        raise PassError(
            f"@{function_name(function)} has {len(blocks)} blocks; expected one, with structured "
            "control flow (scf), as the pass lift-cf-to-scf makes it",
            function,
            function=function_name(function),
        )
    return blocks[0]
