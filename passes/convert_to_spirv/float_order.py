"""Which sums, products and quotients of floats have NoContraction: all that a driver would not gain by fusing.

Vulkan lets drivers regroup what has none, and NVIDIA's does: (x * 1e30) * 1e-30 becomes x, (x + y) - y too, and
x / (y / z) x / y * z, which may be 0 or infinite where the quotient is neither.  So all have it but sums that take a
product, which become one operation with it, and these products.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, func
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...ir.dialects.kernel import GPU_KERNEL
from .function_lowering import NO_CONTRACTION_ATTRIBUTES, FunctionLowering

_DEPTH = 6
"""How many operations are followed to find out where a value comes from."""


def attributes_of_product(fn: FunctionLowering, product: SSAValue) -> Mapping[str, Attribute]:
    """Returns the attributes of a product, which is fixed where only products and quotients take it."""
    users = [use.operation for use in product.uses]
    is_factor = bool(users) and all(isinstance(user, arith.MulfOp | arith.DivfOp) for user in users)
    return NO_CONTRACTION_ATTRIBUTES if is_factor else fn.float_attributes


def attributes_of_sum(fn: FunctionLowering, lhs: SSAValue, rhs: SSAValue) -> Mapping[str, Attribute]:
    """Returns the attributes of a sum or difference, which is fixed where neither operand may be a product."""
    may_fuse = _may_be_product(lhs, _DEPTH) or _may_be_product(rhs, _DEPTH)
    return fn.float_attributes if may_fuse else NO_CONTRACTION_ATTRIBUTES


def _may_be_product(value: SSAValue, depth: int) -> bool:
    if isinstance(value, BlockArgument):  # what loops carry is none, but what helpers are given may be
        parent = value.owner.parent_op()
        return isinstance(parent, func.FuncOp) and GPU_KERNEL not in parent.attributes
    owner = value.owner
    assert isinstance(owner, Operation)
    if isinstance(owner, arith.MulfOp | func.CallOp):
        return True
    if isinstance(owner, arith.NegfOp) or owner.name.startswith("vector."):
        return depth == 0 or any(_may_be_product(operand, depth - 1) for operand in owner.operands)
    return False
