"""Atomic operations of the `kernel` dialect: on elements of arrays, with SYCL's memory orders and scopes.

Upstream's `memref.atomic_rmw` has neither order nor scope, no exclusive or, and no compare-exchange.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import integers, memref_element_type, memref_rank
from .kernel_fields import RUN_TIME_STEP, field_type
from .spirv.types import ArrayType, StructType

NATIVE = "native"
"""Unit attribute: the device has an instruction for it; without it floats go through compare-exchange."""
ORDERS = ("relaxed", "acquire", "release", "acq_rel")
"""Memory orders."""
SCOPES = ("work_item", "sub_group", "work_group", "device")
"""Memory scopes."""
BITWISE_KINDS = ("and", "or", "xor")
"""What changes bits one by one, so that a word's instruction serves a part of it."""
INTEGER_KINDS = ("add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "exchange")
"""What `kernel.atomic_rmw` does to integers."""
FLOAT_KINDS = ("add", "sub", "min", "max", "exchange")
"""What it does to floats."""


class AtomicOp(IRDLOperation):
    """Base of the atomic operations.

    The last operands are the array, one index a dimension, and the steps of the path that are known at run time only.
    """

    order = prop_def(StringAttr)
    scope = prop_def(StringAttr)
    path = opt_prop_def(DenseArrayBase)
    """To a scalar inside of the element, as of `kernel.load_field`; absent: the element itself."""

    @property
    def array(self) -> SSAValue:
        """The array."""
        return next(value for value in self.operands if isinstance(value.type, MemRefType))

    @property
    def element_type(self) -> Attribute:
        """The type of what is changed: an element of the array, or the scalar that the path leads to."""
        path = self.properties.get("path")
        if path is None:
            element = memref_element_type(self.array.type)
        else:
            element = field_type(self.array.type, integers(path) or ())
        assert element is not None
        return element

    @property
    def first_index(self) -> int:
        """Where the indices begin among the operands."""
        return list(self.operands).index(self.array) + 1

    @property
    def is_float(self) -> bool:
        """Whether a float is changed."""
        return isinstance(self.element_type, Float16Type | BFloat16Type | Float32Type | Float64Type)

    @property
    def is_narrow(self) -> bool:
        """Whether less than 32 bits are changed: devices do that in the 32-bit word around them."""
        width = getattr(self.element_type, "bitwidth", 32)
        return isinstance(width, int) and width < 32

    @property
    def keeps_bits(self) -> bool:
        """Whether the operation needs arrays of its floats to be kept as integers."""
        return self.is_float and not self.is_narrow and NATIVE not in self.attributes

    @property
    def is_loop(self) -> bool:
        """Whether devices do it by compare-exchange until that succeeds."""
        if self.is_narrow:
            kind = self.kind.data if isinstance(self, AtomicRMWOp) else ""
            return not isinstance(self, AtomicLoadOp) and kind not in BITWISE_KINDS
        return isinstance(self, AtomicRMWOp) and self.keeps_bits and self.kind.data != "exchange"

    def verify_(self) -> None:
        if self.order.data not in ORDERS or self.scope.data not in SCOPES:
            raise VerifyException(
                f"'{self.name}' has order {self.order} and scope {self.scope}, expected one of {ORDERS} and "
                f"one of {SCOPES}"
            )
        operands = list(self.operands)
        arrays = [i for i, value in enumerate(operands) if isinstance(value.type, MemRefType)]
        if len(arrays) != 1:
            raise VerifyException(f"'{self.name}' expects one array, found {len(arrays)}")
        values, indices = operands[: arrays[0]], operands[arrays[0] + 1 :]
        rank, path = memref_rank(self.array.type) or 0, () if self.path is None else integers(self.path, i32)
        if path is None or len(indices) != rank + path.count(RUN_TIME_STEP):
            raise VerifyException(
                f"'{self.name}' expects one index for each dimension of {self.array.type}, then the steps of its path"
            )
        if not all(isinstance(index.type, IndexType) for index in indices[:rank]):
            raise VerifyException(f"'{self.name}' expects indices of type index")
        reached = field_type(self.array.type, path)
        if reached is None or isinstance(reached, StructType | ArrayType):
            raise VerifyException(
                f"'{self.name}': path {list(path)} of {self.array.type} leads to {reached}; expected a scalar"
            )
        for value in (*values, *self.results):
            if value.type != self.element_type:
                raise VerifyException(
                    f"'{self.name}' expects values of type {self.element_type}, found {value.type}"
                )


@irdl_op_definition
class AtomicRMWOp(AtomicOp):
    """Replaces an element by `element <kind> value`; the result is the old element.

    %old = "kernel.atomic_rmw"(%v, %a, %i) {kind = "add", order = "relaxed", scope = "device"}
    """

    name = "kernel.atomic_rmw"

    kind = prop_def(StringAttr)
    value = operand_def()
    memref = operand_def()
    indices = var_operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        kinds = FLOAT_KINDS if self.is_float else INTEGER_KINDS
        if self.kind.data not in kinds:
            raise VerifyException(f"'{self.name}' kind is one of {', '.join(kinds)}, found {self.kind}")


@irdl_op_definition
class AtomicCompareExchangeOp(AtomicOp):
    """Stores `desired` where the element's bits equal `expected`; the result is the old element."""

    name = "kernel.atomic_compare_exchange"

    expected = operand_def()
    desired = operand_def()
    memref = operand_def()
    indices = var_operand_def()
    result = result_def()


@irdl_op_definition
class AtomicLoadOp(AtomicOp):
    """Reads an element."""

    name = "kernel.atomic_load"

    memref = operand_def()
    indices = var_operand_def()
    result = result_def()


@irdl_op_definition
class AtomicStoreOp(AtomicOp):
    """Writes an element."""

    name = "kernel.atomic_store"

    value = operand_def()
    memref = operand_def()
    indices = var_operand_def()


OPS: list[type[Operation]] = [AtomicRMWOp, AtomicCompareExchangeOp, AtomicLoadOp, AtomicStoreOp]

ATOMIC_NAMES = frozenset(op.name for op in OPS)
"""Their names."""
