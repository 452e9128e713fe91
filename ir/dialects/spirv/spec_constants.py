"""Specialization constants, and operations on them (SPIR-V 1.6 §2.9)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    IsTerminator,
    Pure,
    SymbolOpInterface,
)

from ...narrowing import is_scalar_attribute
from .base import check_in_module, check_same, fail, inside_spirv_module, lookup_symbol
from .constants import ConstantOp, is_constant_for
from .scalars import is_scalar
from .spec_expression import SpecConstantExpressionOp
from .types import element_count, element_type_at


@irdl_op_definition
class SpecConstantOp(IRDLOperation):
    """A scalar specialization constant; `spec_id` is the number by which pipelines set it."""

    name = "spirv.SpecConstant"

    sym_name = prop_def(StringAttr)
    default_value = prop_def(Attribute)
    spec_id = opt_attr_def(IntegerAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, default_value: IntegerAttr | FloatAttr, spec_id: int | None = None):
        super().__init__(
            properties={"sym_name": StringAttr(name), "default_value": default_value},
            attributes={"spec_id": None if spec_id is None else IntegerAttr(spec_id, i32)},
        )

    @property
    def type(self) -> Attribute:
        """The constant's type."""
        value = self.default_value
        assert is_scalar_attribute(value)
        return value.get_type()

    def verify_(self) -> None:
        check_in_module(self)
        value = self.default_value
        if not is_scalar_attribute(value) or not is_scalar(value.get_type()):
            fail(self, f"@{self.sym_name.data} is a bool, integer or float, found {value}")
        if self.spec_id is not None and not 0 <= self.spec_id.value.data < 2**32:
            fail(
                self,
                f"@{self.sym_name.data} has a SpecId from 0 to 2**32 - 1, found {self.spec_id.value.data}",
            )


@irdl_op_definition
class SpecConstantCompositeOp(IRDLOperation):
    """A composite of specialization constants, in order.

    Beyond MLIR 19, a constituent may itself be a SpecConstantComposite (`FixedArray[f32, 3, 3]`), an expression
    or a plain constant, and `built_in = "WorkgroupSize"` makes it the local size.
    """

    name = "spirv.SpecConstantComposite"

    type = prop_def(Attribute)
    sym_name = prop_def(StringAttr)
    constituents = prop_def(ArrayAttr[Attribute])
    built_in = opt_attr_def(StringAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        name: str,
        type_: Attribute,
        constituents: Sequence[str | Attribute],
        built_in: str | None = None,
    ):
        super().__init__(
            attributes={"built_in": None if built_in is None else StringAttr(built_in)},
            properties={
                "type": type_,
                "sym_name": StringAttr(name),
                "constituents": ArrayAttr(
                    [SymbolRefAttr(c) if isinstance(c, str) else c for c in constituents]
                ),
            },
        )

    def verify_(self) -> None:
        check_in_module(self)
        count = element_count(self.type)
        if count is None:
            fail(self, f"@{self.sym_name.data} is an array, vector or struct, found {self.type}")
        if count != len(self.constituents):
            found = len(self.constituents)
            fail(self, f"@{self.sym_name.data} of {self.type} has {count} constituents, found {found}")
        for index, reference in enumerate(self.constituents):
            expected = element_type_at(self.type, index)
            assert expected is not None
            if not isinstance(reference, SymbolRefAttr):
                if not is_constant_for(reference, expected):
                    fail(self, f"constituent {index} is of type {expected}, found {reference}")
                continue
            constituent = lookup_symbol(self, reference)
            if not isinstance(constituent, _SPEC_CONSTANTS):
                fail(self, f"constituent @{reference.root_reference.data} is no specialization constant")
            check_same(self, f"constituent @{reference.root_reference.data}", constituent.type, expected)


_SPEC_CONSTANTS = (SpecConstantOp, SpecConstantCompositeOp, SpecConstantExpressionOp)


@irdl_op_definition
class ReferenceOfOp(IRDLOperation):
    """The value of specialization constant `spec_const`."""

    name = "spirv.mlir.referenceof"

    spec_const = prop_def(FlatSymbolRefAttr)
    reference = result_def()

    traits = traits_def(Pure())

    def __init__(self, spec_const: str, type_: Attribute):
        super().__init__(properties={"spec_const": SymbolRefAttr(spec_const)}, result_types=[type_])

    def verify_(self) -> None:
        if not inside_spirv_module(self):
            return
        constant = lookup_symbol(self, self.spec_const)
        if not isinstance(constant, _SPEC_CONSTANTS):
            fail(
                self,
                f"@{self.spec_const.root_reference.data} is no specialization constant but {constant.name}",
            )
        check_same(self, "its result", self.reference.type, constant.type)


SPEC_OPERATIONS = frozenset(
    "spirv." + name
    for name in [
        "SConvert",
        "UConvert",
        "FConvert",
        "QuantizeToF16",
        "SNegate",
        "Not",
        "IAdd",
        "ISub",
        "IMul",
        "UDiv",
        "SDiv",
        "UMod",
        "SRem",
        "SMod",
        "ShiftRightLogical",
        "ShiftRightArithmetic",
        "ShiftLeftLogical",
        "BitwiseOr",
        "BitwiseXor",
        "BitwiseAnd",
        "VectorShuffle",
        "CompositeExtract",
        "CompositeInsert",
        "LogicalOr",
        "LogicalAnd",
        "LogicalNot",
        "LogicalEqual",
        "LogicalNotEqual",
        "Select",
        "IEqual",
        "INotEqual",
        "ULessThan",
        "SLessThan",
        "UGreaterThan",
        "SGreaterThan",
        "ULessThanEqual",
        "SLessThanEqual",
        "UGreaterThanEqual",
        "SGreaterThanEqual",
    ]
)
"""What OpSpecConstantOp may wrap in a shader (SPIR-V 1.6 §3.52.7): no float arithmetic."""


@irdl_op_definition
class SpecConstantOperationOp(IRDLOperation):
    """One integer or boolean operation on specialization constants, evaluated at specialisation.

    Example::

        %n = "spirv.SpecConstantOperation"() ({
          %0 = "spirv.IMul"(%a, %b) : (i32, i32) -> i32
          "spirv.mlir.yield"(%0) : (i32) -> ()
        }) : () -> i32
    """

    name = "spirv.SpecConstantOperation"

    result = result_def()
    body = region_def("single_block")

    traits = traits_def(Pure())

    def __init__(self, operation: Operation):
        value = operation.results[0]
        super().__init__(result_types=[value.type], regions=[Region(Block([operation, YieldOp(value)]))])

    @property
    def operation(self) -> Operation:
        """The operation that it wraps."""
        operation = self.body.block.first_op
        assert operation is not None
        return operation

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        if len(ops) != 2 or not isinstance(ops[1], YieldOp):
            fail(self, "wraps one operation and spirv.mlir.yield")
        if ops[0].name not in SPEC_OPERATIONS:
            fail(self, f"cannot wrap {ops[0].name}: shaders allow integer, boolean and composite operations")
        if list(ops[1].operands) != list(ops[0].results):
            fail(self, f"yields something else than the result of its {ops[0].name}")
        check_same(self, "its result", self.result.type, ops[0].results[0].type)
        for operand in ops[0].operands:
            if not isinstance(operand.owner, ConstantOp | ReferenceOfOp | SpecConstantOperationOp):
                fail(self, "takes constants and specialization constants only")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of `spirv.SpecConstantOperation`."""

    name = "spirv.mlir.yield"

    operand = operand_def()

    traits = traits_def(IsTerminator())

    def __init__(self, operand: SSAValue | Operation):
        super().__init__(operands=[operand])


OPS: list[type[Operation]] = [
    SpecConstantOp,
    SpecConstantCompositeOp,
    ReferenceOfOp,
    SpecConstantOperationOp,
    YieldOp,
]
