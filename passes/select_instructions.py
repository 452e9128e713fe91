"""Marks atomics of floats for which the device has instructions (`native`); part of `analyse`.

input:    "kernel.atomic_rmw"(%v, %a, %i) {kind = "add", …} : f32     (the device has vk_float_atomic_add)
output:   "kernel.atomic_rmw"(%v, %a, %i) {kind = "add", native, …} : f32

Invariant: either all atomics of floats in a module are native or none is, and none where all only exchange.  The
others work on the floats' bits, and memory that both would reach has one type only.  Those of 16 bits go another way.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, UnitAttr
from xdsl.ir import Operation

from ..ir.aspects import Aspect
from ..ir.dialects.kernel_atomic import NATIVE, AtomicCompareExchangeOp, AtomicOp, AtomicRMWOp
from ..ir.target_env import TargetEnv
from ..ir.walk import instances


def select_instructions(module: Operation, env: TargetEnv) -> None:
    """Chooses instructions for the device, in place."""
    atomics = instances(module, AtomicOp)
    floats = [op for op in atomics if isinstance(op, AtomicOp) and op.is_float and not op.is_narrow]
    # Exchanging bits is as good as exchanging floats, and needs nothing of the device.
    gains = any(isinstance(op, AtomicRMWOp) and op.kind.data != "exchange" for op in floats)
    if gains and all(native_aspect(op) in env.optional_aspects for op in floats):
        for op in floats:
            op.attributes[NATIVE] = UnitAttr()


def native_aspect(op: AtomicOp) -> int:
    """Returns the aspect of a device that has an instruction for `op`; 0 where there is none."""
    if isinstance(op, AtomicCompareExchangeOp) or not isinstance(op.element_type, Float32Type):
        return 0
    if isinstance(op, AtomicRMWOp) and op.kind.data in ("min", "max"):
        return int(Aspect.VK_FLOAT_ATOMIC_MIN_MAX)
    return int(Aspect.VK_FLOAT_ATOMIC_ADD)
