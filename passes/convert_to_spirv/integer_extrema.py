"""Minima and maxima of integers, by comparison where a driver might fold those of GLSL.std.450.

spirv-opt, which SwiftShader contains, folds SMin and SMax of constants by the sign of their type.  Ours have none, so
it takes -1 for more than 0.  SwiftShader was also seen to take 2**32 - 3 for less than 5, in loops and behind branches.
Constants are also what it finds out itself: arguments of functions that it inlines, specialization constants, variables
of loops, elements of private arrays.  What is read from other memory is none, nor is what differs by work-item.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, func, memref
from xdsl.ir import Block, SSAValue

from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.kernel_fields import LoadFieldOp
from ..optimise.effects import array_of

_READS = (memref.LoadOp, LoadFieldOp)
_IDS = ("gpu.global_id", "gpu.thread_id", "gpu.block_id")
_KEEPS = (arith.AddiOp, arith.MinSIOp, arith.MaxSIOp, arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp)
"""What gives no constant where one of the operands is none."""
_DEPTH = 6


def may_be_folded(operands: Iterable[SSAValue]) -> bool:
    """Whether all of some values may be constants where the driver folds."""
    return not any(_is_read(value, _DEPTH) for value in operands)


def _is_read(value: SSAValue, depth: int) -> bool:
    """Whether a value certainly comes from memory, an argument of the kernel or the place of a work-item."""
    owner = value.owner
    if isinstance(owner, Block):
        function = owner.parent_op()
        return isinstance(function, func.FuncOp) and is_kernel(function)
    if isinstance(owner, _READS):
        return not isinstance(array_of(owner.operands[0]).owner, memref.AllocaOp)
    if owner.name in _IDS:
        return True
    return depth > 0 and isinstance(owner, _KEEPS) and any(_is_read(v, depth - 1) for v in owner.operands)
