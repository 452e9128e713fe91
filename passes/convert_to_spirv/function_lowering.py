"""Lowers one function: the table of handlers, the map of values, and the instructions made so far.

A `spirv.func` begins with what every block may use: constants, `spirv.Variable`s (SPIR-V wants them first)
and loads of arguments and built-ins.  They are made on demand, kept apart, and put in front at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    LocationAttr,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.create import append, create, empty_block, prepend_all
from ...ir.dialects import spirv
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.narrowing import is_float_attribute, is_integer_attribute, is_integer_type, is_vector_type
from ...ir.walk import block_operations
from ..errors import PassError
from .types import integer_attribute, is_float, scalar_of

if TYPE_CHECKING:
    from .function_arrays import FunctionArrays
    from .joined_fields import Window
    from .kernel_entry import KernelEntry
    from .module_lowering import ModuleLowering
    from .packed_tables import PackedTable
    from .taken_for_numbers import Claims

Handler = Callable[["FunctionLowering", Operation], None]
"""Lowers one operation."""

_FUNCTION = StorageClassAttr(StorageClass.Function)
NO_CONTRACTION_ATTRIBUTES: Mapping[str, Attribute] = {"no_contraction": UnitAttr()}
"""Of what may neither be fused with another operation nor be regrouped."""
NO_ATTRIBUTES: Mapping[str, Attribute] = {}
"""No attributes or properties."""


def float_attributes(no_contraction: bool) -> Mapping[str, Attribute]:
    """Returns what FAdd, FSub and FMul carry in a function whose products and sums must not be fused, or may be."""
    return NO_CONTRACTION_ATTRIBUTES if no_contraction else NO_ATTRIBUTES


class FunctionLowering:
    """State of the lowering of one function."""

    def __init__(
        self, module: ModuleLowering, name: str, location: LocationAttr, *, no_contraction: bool = False
    ) -> None:
        self.module = module
        self.name = name
        self.entry: KernelEntry | None = None
        """The kernel that is lowered, inlined helpers included; None in a function of its own."""
        self.arrays: FunctionArrays | None = None
        """The arrays that its values refer to; None in a function that can have none."""
        self.location: LocationAttr = location
        """Of the operation being lowered; new instructions get it."""
        self.body = empty_block()
        """First block of the function."""
        self.block = self.body
        """Where instructions are added."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.calls = 0
        """Calls of functions of their own so far, with those that these come to."""
        self.inlined_calls = 0
        """Calls that became the body of their function, so far."""
        self.loop_depth = 0
        """How many loops are around the current operation."""
        self.float_attributes = float_attributes(no_contraction)
        """What FAdd, FSub and FMul carry: NoContraction keeps a driver from fusing them."""
        self.windows: dict[Block, dict[Operation, Window]] = {}
        """Where vectors are loaded for fields of array elements, see `joined_fields`."""
        self.claims: dict[SSAValue, Claims] = {}
        """What a driver may take floats for, by value, see `taken_for_numbers`."""
        self.spec_constants: dict[str, SSAValue] = {}
        """Values of specialization constants read so far, by symbol."""
        self.tables: dict[SSAValue, PackedTable] = {}
        """What variables have become that are tables of several numbers in a word."""
        self.result_variables: dict[SSAValue, SSAValue] = {}
        """By which variables the arrays that branches and loops give leave them (`result_variables`)."""
        self.has_inputs = True
        """Whether it may read built-in inputs: the kernels of other modules do not know of them."""
        self.unknown_zero: SSAValue | None = None
        """See `launch_place.unknown_zero`."""
        self._constants: dict[tuple[int, str], SSAValue] = {}
        self._constant_ops: list[Operation] = []
        self._variables: list[Operation] = []
        self._first_ops: list[Operation] = []

    # Values

    def array_indices(self, indices: Sequence[SSAValue], type_: Attribute = i32) -> list[SSAValue]:
        """Returns lowered indices of an array in the type that its positions have."""
        return [self.resized(self.value(index), type_) for index in indices]

    def resized(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns an integer in another integer type, extended with its sign or narrowed."""
        if value.type is type_:
            return value
        number = self.constant_number(value)
        if number is None:
            return self.emit(spirv.SConvertOp, (value,), type_)
        return self.constant(type_, _wrapped(int(number), type_))

    def value(self, value: SSAValue) -> SSAValue:
        """Returns what `value` has become; a kernel's scalar argument is loaded at its first use."""
        known = self.values.get(value)
        return self._argument(value) if known is None else known

    def _argument(self, value: SSAValue) -> SSAValue:
        if self.entry is None:
            raise PassError(f"value of type {value.type} is used before it is lowered")
        lowered = self.values[value] = self.entry.arguments.scalar(value)
        return lowered

    def type(self, type_: Attribute) -> Attribute:
        """Returns the device's type for `type_`."""
        return self.module.types(type_)

    # Instructions

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Mapping[str, Attribute] = NO_ATTRIBUTES,
        attributes: Mapping[str, Attribute] = NO_ATTRIBUTES,
    ) -> SSAValue:
        """Adds an instruction with one result and returns it."""
        op = create(kind, operands, (type_,), properties, attributes, self.location)
        append(self.block, op)
        (result,) = op.results
        return result

    def add(self, op: Operation) -> None:
        """Adds an instruction made by the caller."""
        op.location = self.location
        append(self.block, op)

    def linear(self, indices: Sequence[SSAValue], extents: Callable[[int], SSAValue]) -> SSAValue:
        """Returns the position in C order, the last index is the fastest, of an element of an array.

        Args:
            indices: one a dimension, or one for all: a position that is known already.
            extents: gives the extent along a dimension.
        """
        position = indices[0]
        for dimension, index in enumerate(indices[1:], start=1):
            row = self.emit(spirv.IMulOp, (position, extents(dimension)), position.type)
            position = self.emit(spirv.IAddOp, (row, index), position.type)
        return position

    def constant(self, type_: Attribute, number: float, attribute: Attribute | None = None) -> SSAValue:
        """Returns a constant of a device type; of a vector, with every component the same.

        Args:
            type_: what `TypeConverter` gives.
            number: its value.
            attribute: of that type and value, where there is one already.
        """
        if is_float(scalar_of(type_)):
            number = float(number)
        # By spelling: 0.0 equals -0.0 and NaN equals nothing.  By identity: converted types are unique.
        key = (id(type_), repr(number))
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self.constant_of(attribute or _attribute(type_, number), type_)
        return known

    def constant_of(self, attribute: Attribute, type_: Attribute) -> SSAValue:
        """Returns a new constant with the value that an attribute of its type states."""
        return self.add_constant(
            create(spirv.ConstantOp, result_types=(type_,), properties={"value": attribute})
        )

    def add_constant(self, op: Operation) -> SSAValue:
        """Puts a constant in front of everything in the function and returns it."""
        op.location = self.location
        self._constant_ops.append(op)
        return op.results[0]

    def index(self, number: int) -> SSAValue:
        """Returns an i32 constant."""
        return self.constant(i32, number)

    def variable(self, type_: Attribute, initializer: SSAValue | None = None) -> SSAValue:
        """Returns a pointer to a new variable of the function, whose initializer must be a constant."""
        op = create(
            spirv.VariableOp,
            () if initializer is None else (initializer,),
            (self.module.types.pointer(type_, StorageClass.Function),),
            {"storage_class": _FUNCTION},
            location=self.location,
        )
        self._variables.append(op)
        return op.results[0]

    def first(self, op: Operation) -> SSAValue:
        """Puts an instruction among those at the function's start and returns its result."""
        op.location = self.location
        self._first_ops.append(op)
        return op.results[0]

    def prepend(self, ops: Sequence[Operation]) -> None:
        """Puts instructions before all others at the function's start, constants and variables aside."""
        self._first_ops[:0] = ops

    def is_constant(self, value: SSAValue) -> bool:
        """Whether `value` may initialise a variable: a constant or a specialization constant."""
        return isinstance(value.owner, spirv.ConstantOp | spirv.ReferenceOfOp)

    def constant_number(self, value: SSAValue) -> float | None:
        """Returns the number that a lowered scalar is known to be, or None."""
        owner = value.owner
        attribute = owner.properties["value"] if type(owner) is spirv.ConstantOp else None
        if is_integer_attribute(attribute) or is_float_attribute(attribute):
            return attribute.value.data
        return None

    def load(self, pointer: SSAValue, type_: Attribute) -> SSAValue:
        """Adds a load."""
        return self.emit(spirv.LoadOp, (pointer,), type_)

    def store(self, pointer: SSAValue, value: SSAValue) -> None:
        """Adds a store."""
        self.add(create(spirv.StoreOp, (pointer, value)))

    def lower_block(self, block: Block) -> Operation | None:
        """Lowers all operations of `block` up to its terminator, which it returns."""
        handlers = self.module.handlers
        ops = block_operations(block)
        last = ops.pop() if ops else None
        for op in ops:
            handler = handlers[type(op)]
            if handler is None:
                raise self.unsupported(op)
            self.location = op.location
            try:
                handler(self, op)
            except TypeError as error:
                raise PassError(
                    f"'{op.name}' cannot be lowered to SPIR-V: {error}", op, function=self.name
                ) from error
        return last

    def unsupported(self, op: Operation) -> PassError:
        """Returns the error for an operation without a handler."""
        return PassError(
            f"'{op.name}' cannot be lowered to SPIR-V; expected an operation of arith, math, scf, memref, "
            "func, gpu, kernel, spec_constant or spirv that has a counterpart there",
            op,
            function=self.name,
        )

    def finish(self) -> Block:
        """Puts what was kept apart in front of the body and returns it."""
        prepend_all(self.body, [*self._constant_ops, *self._variables, *self._first_ops])
        return self.body


def arrays_of(fn: FunctionLowering, op: Operation) -> FunctionArrays:
    """Returns the arrays of the function around `op`; PassError where it can have none."""
    if fn.arrays is None:
        raise PassError(f"'{op.name}' belongs into a kernel, found it in function @{fn.name}", op)
    return fn.arrays


def _wrapped(number: int, type_: Attribute) -> int:
    """Returns a number as a signed integer of a type has it."""
    assert is_integer_type(type_)
    half = 1 << (type_.width.data - 1)
    return (number + half) % (2 * half) - half


def _attribute(type_: Attribute, number: float) -> Attribute:
    if is_vector_type(type_):
        (count,) = type_.get_shape()
        element = type_.element_type
        if is_integer_type(element):
            vector = cast("VectorType[IntegerType]", type_)
            return DenseIntOrFPElementsAttr.from_list(vector, [int(number)] * count)
        floats = cast("VectorType[AnyFloat]", type_)
        return DenseIntOrFPElementsAttr.from_list(floats, [float(number)] * count)
    if is_float(type_):
        return FloatAttr(float(number), cast("AnyFloat", type_))
    assert is_integer_type(type_)
    return integer_attribute(int(number), type_.width.data)
