"""Sub-group operations (SPIR-V 1.6 §3.52.24), upstream's names.

Upstream 19 has the arithmetic ones, Elect, Ballot, Broadcast and the shuffles; the others
are ours.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, i1, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ...narrowing import is_vector_type
from .attributes import GroupOperationAttr, ScopeAttr
from .base import SpirvOp, check_alike, check_kind, check_length, check_same, check_scalar, fail
from .enums import GroupOperation, Scope
from .scalars import is_scalar, scalar_of


class GroupOp(SpirvOp):
    """Base: the work-items of `execution_scope` that are active work together."""

    CAPABILITY: ClassVar[str] = "GroupNonUniform"
    """The capability that it needs."""

    execution_scope = prop_def(ScopeAttr)

    def verify_(self) -> None:
        if self.execution_scope.data not in (Scope.Workgroup, Scope.Subgroup):
            fail(self, f"has the scope of a group, found {self.execution_scope.data.name}")


def _check_value(op: Operation, type_: Attribute) -> None:
    if not is_scalar(scalar_of(type_)):
        fail(op, f"expects a number, i1 or a vector of these, found {type_}")
    if is_vector_type(type_):
        check_length(op, "its value", type_)


class GroupVoteOp(GroupOp):
    """A question to all work-items about a bool; the result is the same for all."""

    CAPABILITY: ClassVar[str] = "GroupNonUniformVote"

    predicate = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_same(self, "its predicate", self.predicate.type, i1)
        check_same(self, "its result", self.result.type, i1)


class GroupShuffleOp(GroupOp):
    """The value of another work-item, which `id` chooses."""

    value = operand_def()
    id = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_same(self, "its result", self.result.type, self.value.type)
        check_scalar(self, "its id", self.id.type, "int32")
        _check_value(self, self.value.type)


class GroupArithmeticOp(GroupOp):
    """Combines the values of all work-items: `group_operation` is Reduce, InclusiveScan, ExclusiveScan or
    ClusteredReduce.
    """

    CAPABILITY: ClassVar[str] = "GroupNonUniformArithmetic"
    KIND: ClassVar[str] = "integer"

    group_operation = prop_def(GroupOperationAttr)
    value = operand_def()
    cluster_size = opt_operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_kind(self, "its value", self.value.type, self.KIND)
        if (self.cluster_size is not None) != (self.group_operation.data is GroupOperation.ClusteredReduce):
            fail(self, "has a cluster_size if and only if its group operation is ClusteredReduce")
        check_same(self, "its result", self.result.type, self.value.type)


@irdl_op_definition
class GroupNonUniformAllOp(GroupVoteOp):
    """Whether the predicate holds for all."""

    name = "spirv.GroupNonUniformAll"


@irdl_op_definition
class GroupNonUniformAnyOp(GroupVoteOp):
    """Whether the predicate holds for any."""

    name = "spirv.GroupNonUniformAny"


@irdl_op_definition
class GroupNonUniformBallotOp(GroupOp):
    """A bit of each work-item's predicate, in four words."""

    name = "spirv.GroupNonUniformBallot"
    CAPABILITY: ClassVar[str] = "GroupNonUniformBallot"

    predicate = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_same(self, "its predicate", self.predicate.type, i1)
        check_alike(self, "its result", self.result.type, VectorType(i32, [4]))


@irdl_op_definition
class GroupNonUniformBroadcastOp(GroupShuffleOp):
    """The value of one work-item, whose id is a constant."""

    name = "spirv.GroupNonUniformBroadcast"
    CAPABILITY: ClassVar[str] = "GroupNonUniformBallot"


@irdl_op_definition
class GroupNonUniformShuffleOp(GroupShuffleOp):
    """The value of work-item `id`."""

    name = "spirv.GroupNonUniformShuffle"
    CAPABILITY: ClassVar[str] = "GroupNonUniformShuffle"


@irdl_op_definition
class GroupNonUniformShuffleXorOp(GroupShuffleOp):
    """The value of the work-item whose number is this one's exclusive-or `id`."""

    name = "spirv.GroupNonUniformShuffleXor"
    CAPABILITY: ClassVar[str] = "GroupNonUniformShuffle"


@irdl_op_definition
class GroupNonUniformShuffleUpOp(GroupShuffleOp):
    """The value of the work-item `id` before this one."""

    name = "spirv.GroupNonUniformShuffleUp"
    CAPABILITY: ClassVar[str] = "GroupNonUniformShuffleRelative"


@irdl_op_definition
class GroupNonUniformShuffleDownOp(GroupShuffleOp):
    """The value of the work-item `id` after this one."""

    name = "spirv.GroupNonUniformShuffleDown"
    CAPABILITY: ClassVar[str] = "GroupNonUniformShuffleRelative"


@irdl_op_definition
class GroupNonUniformIAddOp(GroupArithmeticOp):
    """Sum."""

    name = "spirv.GroupNonUniformIAdd"


@irdl_op_definition
class GroupNonUniformFAddOp(GroupArithmeticOp):
    """Sum of floats."""

    name = "spirv.GroupNonUniformFAdd"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GroupNonUniformIMulOp(GroupArithmeticOp):
    """Product."""

    name = "spirv.GroupNonUniformIMul"


@irdl_op_definition
class GroupNonUniformFMulOp(GroupArithmeticOp):
    """Product of floats."""

    name = "spirv.GroupNonUniformFMul"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GroupNonUniformSMinOp(GroupArithmeticOp):
    """Signed minimum."""

    name = "spirv.GroupNonUniformSMin"


@irdl_op_definition
class GroupNonUniformUMinOp(GroupArithmeticOp):
    """Unsigned minimum."""

    name = "spirv.GroupNonUniformUMin"


@irdl_op_definition
class GroupNonUniformFMinOp(GroupArithmeticOp):
    """Minimum of floats."""

    name = "spirv.GroupNonUniformFMin"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GroupNonUniformSMaxOp(GroupArithmeticOp):
    """Signed maximum."""

    name = "spirv.GroupNonUniformSMax"


@irdl_op_definition
class GroupNonUniformUMaxOp(GroupArithmeticOp):
    """Unsigned maximum."""

    name = "spirv.GroupNonUniformUMax"


@irdl_op_definition
class GroupNonUniformFMaxOp(GroupArithmeticOp):
    """Maximum of floats."""

    name = "spirv.GroupNonUniformFMax"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GroupNonUniformBitwiseAndOp(GroupArithmeticOp):
    """Bitwise and."""

    name = "spirv.GroupNonUniformBitwiseAnd"


@irdl_op_definition
class GroupNonUniformBitwiseOrOp(GroupArithmeticOp):
    """Bitwise or."""

    name = "spirv.GroupNonUniformBitwiseOr"


@irdl_op_definition
class GroupNonUniformBitwiseXorOp(GroupArithmeticOp):
    """Bitwise exclusive or."""

    name = "spirv.GroupNonUniformBitwiseXor"


@irdl_op_definition
class GroupNonUniformLogicalAndOp(GroupArithmeticOp):
    """And of bools."""

    name = "spirv.GroupNonUniformLogicalAnd"
    KIND: ClassVar[str] = "bool"


@irdl_op_definition
class GroupNonUniformLogicalOrOp(GroupArithmeticOp):
    """Or of bools."""

    name = "spirv.GroupNonUniformLogicalOr"
    KIND: ClassVar[str] = "bool"


@irdl_op_definition
class GroupNonUniformLogicalXorOp(GroupArithmeticOp):
    """Exclusive or of bools."""

    name = "spirv.GroupNonUniformLogicalXor"
    KIND: ClassVar[str] = "bool"


@irdl_op_definition
class GroupNonUniformElectOp(GroupOp):
    """Whether this work-item is the first of those that are active."""

    name = "spirv.GroupNonUniformElect"

    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_same(self, "its result", self.result.type, i1)


@irdl_op_definition
class GroupNonUniformAllEqualOp(GroupOp):
    """Whether the value is the same for all."""

    name = "spirv.GroupNonUniformAllEqual"
    CAPABILITY: ClassVar[str] = "GroupNonUniformVote"

    value = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        _check_value(self, self.value.type)
        check_same(self, "its result", self.result.type, i1)


@irdl_op_definition
class GroupNonUniformBroadcastFirstOp(GroupOp):
    """The value of the first active work-item."""

    name = "spirv.GroupNonUniformBroadcastFirst"
    CAPABILITY: ClassVar[str] = "GroupNonUniformBallot"

    value = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        _check_value(self, self.value.type)
        check_same(self, "its result", self.result.type, self.value.type)


@irdl_op_definition
class GroupNonUniformQuadBroadcastOp(GroupShuffleOp):
    """The value of one of the four work-items of a quad."""

    name = "spirv.GroupNonUniformQuadBroadcast"
    CAPABILITY: ClassVar[str] = "GroupNonUniformQuad"


@irdl_op_definition
class GroupNonUniformQuadSwapOp(GroupShuffleOp):
    """The value of the neighbour in a quad: 0 horizontally, 1 vertically, 2 diagonally."""

    name = "spirv.GroupNonUniformQuadSwap"
    CAPABILITY: ClassVar[str] = "GroupNonUniformQuad"


@irdl_op_definition
class GroupNonUniformRotateKHROp(GroupOp):
    """The value of the work-item `delta` further on, round the group or round a cluster."""

    name = "spirv.GroupNonUniformRotateKHR"
    CAPABILITY: ClassVar[str] = "GroupNonUniformRotateKHR"

    value = operand_def()
    delta = operand_def()
    cluster_size = opt_operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        _check_value(self, self.value.type)
        check_kind(self, "its delta", self.delta.type, "int32")
        check_same(self, "its result", self.result.type, self.value.type)


OPS: list[type[Operation]] = [
    GroupNonUniformElectOp,
    GroupNonUniformAllEqualOp,
    GroupNonUniformBroadcastFirstOp,
    GroupNonUniformQuadBroadcastOp,
    GroupNonUniformQuadSwapOp,
    GroupNonUniformRotateKHROp,
    GroupNonUniformAllOp,
    GroupNonUniformAnyOp,
    GroupNonUniformBallotOp,
    GroupNonUniformBroadcastOp,
    GroupNonUniformShuffleOp,
    GroupNonUniformShuffleXorOp,
    GroupNonUniformShuffleUpOp,
    GroupNonUniformShuffleDownOp,
    GroupNonUniformIAddOp,
    GroupNonUniformFAddOp,
    GroupNonUniformIMulOp,
    GroupNonUniformFMulOp,
    GroupNonUniformSMinOp,
    GroupNonUniformUMinOp,
    GroupNonUniformFMinOp,
    GroupNonUniformSMaxOp,
    GroupNonUniformUMaxOp,
    GroupNonUniformFMaxOp,
    GroupNonUniformBitwiseAndOp,
    GroupNonUniformBitwiseOrOp,
    GroupNonUniformBitwiseXorOp,
    GroupNonUniformLogicalAndOp,
    GroupNonUniformLogicalOrOp,
    GroupNonUniformLogicalXorOp,
]
