"""Constants and undefined values (SPIR-V 1.6 §3.52.9)."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    ConstantLike,
    Pure,
)

from .attributes import (
    NullAttr,
)
from .base import fail
from .types import (
    ArrayType,
    CooperativeMatrixType,
    MatrixType,
    StructType,
    element_count,
    element_type_at,
    is_array_attribute,
    is_scalar,
    is_scalar_attribute,
    is_vector,
)


def is_constant_for(value: Attribute, type_: Attribute) -> bool:
    """Whether attribute `value` can be a constant of `type_`."""
    if is_scalar_attribute(value):
        return value.type == type_ and is_scalar(type_)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return is_vector(type_) and value.get_type() == type_
    if isinstance(value, NullAttr):
        return element_count(type_) is not None
    if is_array_attribute(value) and isinstance(
        type_, ArrayType | StructType | MatrixType | CooperativeMatrixType
    ):
        elements = value.data
        return len(elements) == element_count(type_) and all(
            is_constant_for(e, element_type_at(type_, index) or type_) for index, e in enumerate(elements)
        )
    return False


def _type_of(value: Attribute) -> Attribute:
    if is_scalar_attribute(value):
        return value.type
    assert isinstance(value, DenseIntOrFPElementsAttr), "the type of an array constant has to be given"
    return value.get_type()


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant: integer, float, bool, `dense<…>` for vectors, `[…]` for `!spirv.array`.

    Beyond MLIR 19, `[…]` also for structs, matrices (columns) and cooperative matrices (the one value of all
    elements), and `#spirv.null` for any composite.
    """

    name = "spirv.Constant"

    value = prop_def(Attribute)
    result = result_def()

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: Attribute, result_type: Attribute | None = None):
        if result_type is None:
            result_type = _type_of(value)
        super().__init__(properties={"value": value}, result_types=[result_type])

    def verify_(self) -> None:
        if not is_constant_for(self.value, self.result.type):
            fail(self, f"value {self.value} is no constant of type {self.result.type}")


@irdl_op_definition
class UndefOp(IRDLOperation):
    """A value of any bits."""

    name = "spirv.Undef"

    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, result_type: Attribute):
        super().__init__(result_types=[result_type])


OPS: list[type[Operation]] = [ConstantOp, UndefOp]
