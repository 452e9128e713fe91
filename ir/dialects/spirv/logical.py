"""Comparison, logic and selection (SPIR-V 1.6 §3.52.15)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from ...narrowing import is_vector_type
from .base import (
    BinaryOp,
    ComparisonOp,
    SpirvOp,
    UnaryOp,
    bool_like,
    check_kind,
    check_same,
    check_same_count,
    fail,
)


@irdl_op_definition
class IEqualOp(ComparisonOp):
    """Equality of integers."""

    name = "spirv.IEqual"
    KIND: ClassVar[str] = "integer"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class INotEqualOp(ComparisonOp):
    """Inequality of integers."""

    name = "spirv.INotEqual"
    KIND: ClassVar[str] = "integer"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SLessThanOp(ComparisonOp):
    """Signed less than."""

    name = "spirv.SLessThan"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class SLessThanEqualOp(ComparisonOp):
    """Signed less than or equal."""

    name = "spirv.SLessThanEqual"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class SGreaterThanOp(ComparisonOp):
    """Signed greater than."""

    name = "spirv.SGreaterThan"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class SGreaterThanEqualOp(ComparisonOp):
    """Signed greater than or equal."""

    name = "spirv.SGreaterThanEqual"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class ULessThanOp(ComparisonOp):
    """Unsigned less than."""

    name = "spirv.ULessThan"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class ULessThanEqualOp(ComparisonOp):
    """Unsigned less than or equal."""

    name = "spirv.ULessThanEqual"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class UGreaterThanOp(ComparisonOp):
    """Unsigned greater than."""

    name = "spirv.UGreaterThan"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class UGreaterThanEqualOp(ComparisonOp):
    """Unsigned greater than or equal."""

    name = "spirv.UGreaterThanEqual"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class FOrdEqualOp(ComparisonOp):
    """Equal, ordered: false if either operand is NaN."""

    name = "spirv.FOrdEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FOrdNotEqualOp(ComparisonOp):
    """Not equal, ordered: false if either operand is NaN."""

    name = "spirv.FOrdNotEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FOrdLessThanOp(ComparisonOp):
    """Less than, ordered: false if either operand is NaN."""

    name = "spirv.FOrdLessThan"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FOrdLessThanEqualOp(ComparisonOp):
    """Less than or equal, ordered: false if either operand is NaN."""

    name = "spirv.FOrdLessThanEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FOrdGreaterThanOp(ComparisonOp):
    """Greater than, ordered: false if either operand is NaN."""

    name = "spirv.FOrdGreaterThan"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FOrdGreaterThanEqualOp(ComparisonOp):
    """Greater than or equal, ordered: false if either operand is NaN."""

    name = "spirv.FOrdGreaterThanEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordEqualOp(ComparisonOp):
    """Equal, unordered: true if either operand is NaN."""

    name = "spirv.FUnordEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordNotEqualOp(ComparisonOp):
    """Not equal, unordered: true if either operand is NaN."""

    name = "spirv.FUnordNotEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordLessThanOp(ComparisonOp):
    """Less than, unordered: true if either operand is NaN."""

    name = "spirv.FUnordLessThan"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordLessThanEqualOp(ComparisonOp):
    """Less than or equal, unordered: true if either operand is NaN."""

    name = "spirv.FUnordLessThanEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordGreaterThanOp(ComparisonOp):
    """Greater than, unordered: true if either operand is NaN."""

    name = "spirv.FUnordGreaterThan"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FUnordGreaterThanEqualOp(ComparisonOp):
    """Greater than or equal, unordered: true if either operand is NaN."""

    name = "spirv.FUnordGreaterThanEqual"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """Both are true."""

    name = "spirv.LogicalAnd"
    KIND: ClassVar[str] = "bool"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class LogicalOrOp(BinaryOp):
    """Either is true."""

    name = "spirv.LogicalOr"
    KIND: ClassVar[str] = "bool"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class LogicalEqualOp(BinaryOp):
    """Both are the same."""

    name = "spirv.LogicalEqual"
    KIND: ClassVar[str] = "bool"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class LogicalNotEqualOp(BinaryOp):
    """Exactly one is true."""

    name = "spirv.LogicalNotEqual"
    KIND: ClassVar[str] = "bool"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """The other truth value."""

    name = "spirv.LogicalNot"
    KIND: ClassVar[str] = "bool"


class FloatTestOp(SpirvOp):
    """A test of a float or of each component of a vector of floats."""

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation):
        value = SSAValue.get(operand)
        super().__init__(operands=[value], result_types=[bool_like(value.type)])

    def verify_(self) -> None:
        check_kind(self, "its operand", self.operand.type, "float")
        check_same(self, "its result", self.result.type, bool_like(self.operand.type))


@irdl_op_definition
class IsNanOp(FloatTestOp):
    """Whether the operand is NaN."""

    name = "spirv.IsNan"


@irdl_op_definition
class IsInfOp(FloatTestOp):
    """Whether the operand is an infinity."""

    name = "spirv.IsInf"


@irdl_op_definition
class SelectOp(SpirvOp):
    """`condition ? true_value : false_value`; a vector condition selects component by component."""

    name = "spirv.Select"

    condition = operand_def()
    true_value = operand_def()
    false_value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_value: SSAValue | Operation,
        false_value: SSAValue | Operation,
    ):
        first = SSAValue.get(true_value)
        super().__init__(operands=[condition, first, false_value], result_types=[first.type])

    def verify_(self) -> None:
        condition, value = self.condition.type, self.true_value.type
        check_kind(self, "its condition", condition, "bool")
        check_same(self, "the third operand", self.false_value.type, value)
        check_same(self, "its result", self.result.type, value)
        if is_vector_type(condition):
            check_same_count(self, "its condition", condition, value)


class BoolReductionOp(SpirvOp):
    """One bool of a vector of bools."""

    vector = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        vector = self.vector.type
        if not is_vector_type(vector):
            fail(self, f"expects a vector of i1, found {vector}")
        check_kind(self, "its operand", vector, "bool")
        check_same(self, "its result", self.result.type, i1)


@irdl_op_definition
class AnyOp(BoolReductionOp):
    """Whether any component holds; not in upstream MLIR."""

    name = "spirv.Any"


@irdl_op_definition
class AllOp(BoolReductionOp):
    """Whether all components hold; not in upstream MLIR."""

    name = "spirv.All"


OPS: list[type[Operation]] = [
    AnyOp,
    AllOp,
    IEqualOp,
    INotEqualOp,
    SLessThanOp,
    SLessThanEqualOp,
    SGreaterThanOp,
    SGreaterThanEqualOp,
    ULessThanOp,
    ULessThanEqualOp,
    UGreaterThanOp,
    UGreaterThanEqualOp,
    FOrdEqualOp,
    FOrdNotEqualOp,
    FOrdLessThanOp,
    FOrdLessThanEqualOp,
    FOrdGreaterThanOp,
    FOrdGreaterThanEqualOp,
    FUnordEqualOp,
    FUnordNotEqualOp,
    FUnordLessThanOp,
    FUnordLessThanEqualOp,
    FUnordGreaterThanOp,
    FUnordGreaterThanEqualOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalEqualOp,
    LogicalNotEqualOp,
    LogicalNotOp,
    IsNanOp,
    IsInfOp,
    SelectOp,
]
