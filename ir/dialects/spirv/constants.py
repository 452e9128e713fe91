"""Constants and undefined values (SPIR-V 1.6 §3.52.9)."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
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

from ...narrowing import is_array_attribute, is_dense, is_scalar_attribute, is_vector_type
from .attributes import (
    NullAttr,
)
from .base import fail
from .matrix_types import CooperativeMatrixType, MatrixType
from .scalars import is_scalar, is_spirv_type
from .types import ArrayType, StructType, element_count, element_type_at


def array_shape(type_: Attribute) -> tuple[int, ...]:
    """Returns the lengths of an array of arrays, the outermost first."""
    return (type_.count.data, *array_shape(type_.element_type)) if isinstance(type_, ArrayType) else ()


def nested_array(value: DenseIntOrFPElementsAttr[Any]) -> ArrayAttr[Attribute]:
    """Returns ``dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>`` as ``[[1 : i32, 2 : i32], [3 : i32, 4 : i32]]``."""
    *outer, innermost = value.get_shape()
    if value.is_splat():
        part: Attribute = next(iter(value.iter_attrs()))
        for length in (innermost, *reversed(outer)):  # shared, because a text may ask for any number
            part = ArrayAttr([part] * length)
        return cast("ArrayAttr[Attribute]", part)
    parts: list[Attribute] = list(value.iter_attrs())
    for length in (innermost, *reversed(outer)):
        parts = [ArrayAttr(parts[start : start + length]) for start in range(0, len(parts), length)]
    return cast("ArrayAttr[Attribute]", parts[0])


def is_constant_for(value: Attribute, type_: Attribute) -> bool:
    """Whether attribute `value` can be a constant of `type_`."""
    if is_scalar_attribute(value):
        return value.type == type_ and is_scalar(type_)
    if is_dense(value):
        if isinstance(type_, ArrayType):
            return array_shape(type_) == value.get_shape() and is_constant_for(nested_array(value), type_)
        return is_vector_type(type_) and is_spirv_type(type_) and value.get_type() == type_
    if isinstance(value, NullAttr):
        return is_scalar(type_) or element_count(type_) is not None
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
    """A constant: integer, float, bool, `dense<…>` for vectors and arrays of arrays, `[…]` for `!spirv.array`.

    Beyond MLIR 19, `[…]` also for structs, matrices (columns) and cooperative matrices (the one value of all
    elements), and `#spirv.null` for any type that has a null.
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

    def verify_(self) -> None:
        if not is_spirv_type(self.result.type):
            fail(self, f"is of a type that SPIR-V has, found {self.result.type}")


OPS: list[type[Operation]] = [ConstantOp, UndefOp]
