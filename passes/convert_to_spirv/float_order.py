"""Which sums, products and quotients of floats have NoContraction: all that a driver would not gain by fusing.

Vulkan lets drivers regroup what has none, and NVIDIA's does: (x * 1e30) * 1e-30 becomes x, (x + y) - y too, and
x / (y / z) x / y * z, which may be 0 or infinite where the quotient is neither.  So quotients have it, and sums that
take no product, which could become one operation with it.  Of products that only products and quotients take, those
have it that a driver gains by regrouping: with a constant, with a quotient, or divided.  With it on other chains an
n-body on an NVIDIA H200, which has d**-3, takes a tenth longer, and none was seen to be regrouped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith, func
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.dialects.kernel import GPU_KERNEL
from .function_lowering import NO_CONTRACTION_ATTRIBUTES, FunctionLowering

_FACTORS = (arith.MulfOp, arith.DivfOp)
_REGROUPED = (arith.ConstantOp, arith.DivfOp)
_DEPTH = 6
"""How many operations are followed to find out where a value comes from."""


def attributes_of_product(fn: FunctionLowering, product: SSAValue) -> Mapping[str, Attribute]:
    """Returns the attributes of a product, fixed where a driver gains by regrouping it and cannot fuse it."""
    users = [use.operation for use in product.uses]
    if not users or not all(type(user) in _FACTORS for user in users):
        return fn.float_attributes
    owner = product.owner
    assert isinstance(owner, arith.MulfOp)
    is_regrouped = any(isinstance(operand.owner, _REGROUPED) for operand in owner.operands)
    is_divided = any(isinstance(user, arith.DivfOp) for user in users)
    return NO_CONTRACTION_ATTRIBUTES if is_regrouped or is_divided else fn.float_attributes


def attributes_of_sum(fn: FunctionLowering, lhs: SSAValue, rhs: SSAValue) -> Mapping[str, Attribute]:
    """Returns the attributes of a sum or difference, which is fixed where neither operand may be a product."""
    may_fuse = _may_be_product(lhs, _DEPTH) or _may_be_product(rhs, _DEPTH)
    return fn.float_attributes if may_fuse else NO_CONTRACTION_ATTRIBUTES


def _may_be_product(value: SSAValue, depth: int) -> bool:
    owner = value.owner
    kind = type(owner)  # isinstance() of an operation's class is a call in Python
    if kind is Block:  # values that loops carry are no products; arguments of helpers may be
        parent = owner.parent_op()
        return isinstance(parent, func.FuncOp) and GPU_KERNEL not in parent.attributes
    owner = cast("Operation", owner)
    if kind is arith.MulfOp or kind is func.CallOp:
        return True
    if kind is arith.NegfOp or owner.name.startswith("vector."):
        return depth == 0 or any(_may_be_product(operand, depth - 1) for operand in owner.operands)
    return False
