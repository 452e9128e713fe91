"""Barriers (SPIR-V 1.6 §3.52.20)."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, prop_def

from .attributes import MemorySemanticsAttr, ScopeAttr
from .base import SpirvOp, check_semantics
from .enums import MemorySemantics, Scope


@irdl_op_definition
class ControlBarrierOp(SpirvOp):
    """All invocations of `execution_scope` wait for each other, and memory is ordered."""

    name = "spirv.ControlBarrier"

    execution_scope = prop_def(ScopeAttr)
    memory_scope = prop_def(ScopeAttr)
    memory_semantics = prop_def(MemorySemanticsAttr)

    def __init__(self, execution_scope: Scope, memory_scope: Scope, memory_semantics: MemorySemantics):
        super().__init__(
            properties={
                "execution_scope": ScopeAttr(execution_scope),
                "memory_scope": ScopeAttr(memory_scope),
                "memory_semantics": MemorySemanticsAttr(memory_semantics),
            }
        )

    def verify_(self) -> None:
        check_semantics(self, "memory_semantics", self.memory_semantics)


@irdl_op_definition
class MemoryBarrierOp(SpirvOp):
    """Orders the memory accesses of this invocation as others of `memory_scope` see them."""

    name = "spirv.MemoryBarrier"

    memory_scope = prop_def(ScopeAttr)
    memory_semantics = prop_def(MemorySemanticsAttr)

    def __init__(self, memory_scope: Scope, memory_semantics: MemorySemantics):
        super().__init__(
            properties={
                "memory_scope": ScopeAttr(memory_scope),
                "memory_semantics": MemorySemanticsAttr(memory_semantics),
            }
        )

    def verify_(self) -> None:
        check_semantics(self, "memory_semantics", self.memory_semantics)


OPS: list[type[Operation]] = [ControlBarrierOp, MemoryBarrierOp]
