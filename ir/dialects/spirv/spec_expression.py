"""Expressions of specialization constants at module level: what the length of an array may be.

Upstream has `spirv.SpecConstantOperation` inside of functions only, where no type can refer to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def
from xdsl.traits import SymbolOpInterface

from .base import fail
from .scalars import is_bool, is_integer

BINARY_OPCODES = frozenset(
    (
        "IAdd", "ISub", "IMul", "UDiv", "SDiv", "UMod", "SRem", "SMod",
        "ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor",
        "IEqual", "INotEqual", "SLessThan", "SLessThanEqual", "SGreaterThan", "SGreaterThanEqual",
        "ULessThan", "ULessThanEqual", "UGreaterThan", "UGreaterThanEqual",
        "LogicalAnd", "LogicalOr", "LogicalEqual", "LogicalNotEqual",
    )
)  # fmt: skip
"""Two-operand instructions of integers and bools that OpSpecConstantOp may wrap (SPIR-V 1.6 §3.52.7)."""
UNARY_OPCODES = frozenset(("SNegate", "Not", "LogicalNot", "SConvert"))
"""One-operand instructions that it may wrap; UConvert only since SPIR-V 1.4."""
OPERAND_COUNTS = {**dict.fromkeys(BINARY_OPCODES, 2), **dict.fromkeys(UNARY_OPCODES, 1), "Select": 3}
"""How many operands each instruction takes."""


@irdl_op_definition
class SpecConstantExpressionOp(IRDLOperation):
    """A named OpSpecConstantOp; operands are symbols of specialization constants, or literals.

    "spirv.SpecConstantExpression"() {sym_name = "n", opcode = "IMul", operands_ = [@TILE, 2 : i32], type = i32}
    """

    name = "spirv.SpecConstantExpression"

    sym_name = prop_def(StringAttr)
    opcode = prop_def(StringAttr)
    operands_ = prop_def(ArrayAttr[Attribute])
    type = prop_def(Attribute)

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, opcode: str, operands: Sequence[Attribute], type_: Attribute):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "opcode": StringAttr(opcode),
                "operands_": ArrayAttr(operands),
                "type": type_,
            }
        )

    def verify_(self) -> None:
        count = OPERAND_COUNTS.get(self.opcode.data)
        if count is None:
            fail(self, f"cannot wrap {self.opcode.data}; expected an integer or bool instruction")
        if len(self.operands_) != count:
            fail(self, f"{self.opcode.data} takes {count} operands, found {len(self.operands_)}")
        if not (is_integer(self.type) or is_bool(self.type)):
            fail(self, f"is an integer or i1, found {self.type}")
        for part in self.operands_:
            if not isinstance(part, SymbolRefAttr | IntegerAttr):
                fail(self, f"operands are symbols or integers, found {part}")


OPS: list[type[Operation]] = [SpecConstantExpressionOp]
