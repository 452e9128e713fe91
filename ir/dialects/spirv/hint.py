"""Hints to a driver's compiler, and its clock (SPV_KHR_expect_assume, SPV_KHR_shader_clock)."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType, i1, i32, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from .attributes import ScopeAttr
from .base import SpirvOp, check_alike, check_same, fail
from .scalars import is_bool, is_integer, scalar_of
from .types import without_sign


@irdl_op_definition
class KHRAssumeTrueOp(SpirvOp):
    """The condition holds."""

    name = "spirv.KHR.AssumeTrue"

    condition = operand_def()

    def verify_(self) -> None:
        check_same(self, "its condition", self.condition.type, i1)


@irdl_op_definition
class KHRExpectOp(SpirvOp):
    """`value`, which most often equals `expected_value`; not in upstream MLIR."""

    name = "spirv.KHR.Expect"

    value = operand_def()
    expected_value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        scalar = scalar_of(self.value.type)
        if not (is_integer(scalar) or is_bool(scalar)):
            fail(self, f"expects an integer, i1 or a vector of these, found {self.value.type}")
        check_alike(self, "the expected value", self.expected_value.type, self.value.type)
        check_alike(self, "its result", self.result.type, self.value.type)


@irdl_op_definition
class KHRReadClockOp(SpirvOp):
    """A counter that never goes back, as i64 or two i32; not in upstream MLIR."""

    name = "spirv.KHR.ReadClock"

    scope = prop_def(ScopeAttr)
    result = result_def()

    def verify_(self) -> None:
        if without_sign(self.result.type) not in (i64, VectorType(i32, [2])):
            fail(self, f"gives i64 or vector<2xi32>, found {self.result.type}")


OPS: list[type[Operation]] = [KHRAssumeTrueOp, KHRExpectOp, KHRReadClockOp]
