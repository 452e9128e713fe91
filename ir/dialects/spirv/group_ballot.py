"""Questions about the four words of a ballot (SPIR-V 1.6 §3.52.24); all are ours, upstream 19 has none."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, i1, i32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from .attributes import GroupOperationAttr
from .base import check_alike, check_kind, fail
from .enums import GroupOperation
from .group import GroupOp


class GroupBallotOp(GroupOp):
    """A question about the four words of a ballot."""

    CAPABILITY: ClassVar[str] = "GroupNonUniformBallot"
    GIVES_BOOL: ClassVar[bool] = False

    value = operand_def()
    result = result_def()

    def verify_(self) -> None:
        super().verify_()
        check_alike(self, "its value", self.value.type, VectorType(i32, [4]))
        check_alike(self, "its result", self.result.type, i1 if self.GIVES_BOOL else i32)


@irdl_op_definition
class GroupNonUniformInverseBallotOp(GroupBallotOp):
    """This work-item's bit."""

    name = "spirv.GroupNonUniformInverseBallot"
    GIVES_BOOL: ClassVar[bool] = True


@irdl_op_definition
class GroupNonUniformBallotBitExtractOp(GroupBallotOp):
    """The bit of work-item `index`."""

    name = "spirv.GroupNonUniformBallotBitExtract"
    GIVES_BOOL: ClassVar[bool] = True

    value = operand_def()  # said again: operands of a base class come last
    index = operand_def()

    def verify_(self) -> None:
        super().verify_()
        check_kind(self, "its index", self.index.type, "int32")


@irdl_op_definition
class GroupNonUniformBallotBitCountOp(GroupBallotOp):
    """How many bits are set: all, or those up to this work-item's."""

    name = "spirv.GroupNonUniformBallotBitCount"

    group_operation = prop_def(GroupOperationAttr)

    def verify_(self) -> None:
        super().verify_()
        if self.group_operation.data is GroupOperation.ClusteredReduce:
            fail(self, "counts in the whole group, not in clusters")


@irdl_op_definition
class GroupNonUniformBallotFindLSBOp(GroupBallotOp):
    """The lowest set bit."""

    name = "spirv.GroupNonUniformBallotFindLSB"


@irdl_op_definition
class GroupNonUniformBallotFindMSBOp(GroupBallotOp):
    """The highest set bit."""

    name = "spirv.GroupNonUniformBallotFindMSB"


OPS: list[type[Operation]] = [
    GroupNonUniformInverseBallotOp,
    GroupNonUniformBallotBitExtractOp,
    GroupNonUniformBallotBitCountOp,
    GroupNonUniformBallotFindLSBOp,
    GroupNonUniformBallotFindMSBOp,
]
