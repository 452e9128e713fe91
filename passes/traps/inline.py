"""Inlines helpers with barriers, or with arrays of a work-group or work-item, into a kernel.

Lowering inlines them anyway, since SPIR-V has no such functions; what `traps` adds needs the kernel as one piece.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ...ir.call_graph import Function, SymbolTables, has_body
from ...ir.dialects import aspect
from ...ir.walk import operations
from ..inline_call import inline_call

_NEEDS_GROUP = frozenset(("gpu.barrier", "spirv.ControlBarrier", "memref.alloc", "memref.alloca"))


def inline_cooperative(kernel: Function) -> None:
    """Replaces the kernel's calls of such helpers by their bodies, in place."""
    needs = Callees()
    pending = operations(kernel.body)
    while pending:
        op = pending.pop()
        callee = needs.callee(op)
        if callee is None or not needs.group(callee):
            continue
        pending += inline_call(op, callee)


class Callees:
    """Which functions calls run, and which of them need the kernel's work-group."""

    def __init__(self) -> None:
        self._symbols = SymbolTables()
        self._known: dict[Function, bool] = {}

    def callee(self, op: Operation) -> Function | None:
        """Returns the function that a call runs, None for other operations and for what is not inlined."""
        if not isinstance(op, func.CallOp):
            return None
        found = self._symbols.resolve(op, op.callee)
        if not isinstance(found, Function) or not has_body(found) or aspect.is_external(found):
            return None
        return found if len(found.body.blocks) == 1 else None

    def group(self, function: Function) -> bool:
        """Whether a function has barriers or arrays, by itself or in what it calls."""
        if function not in self._known:
            self._known[function] = False  # a function that calls itself: an error of the lowering
            arrays = (isinstance(argument.type, MemRefType) for argument in function.body.blocks[0].args)
            self._known[function] = any(arrays) or any(
                op.name in _NEEDS_GROUP or ((callee := self.callee(op)) is not None and self.group(callee))
                for op in operations(function.body)
            )
        return self._known[function]
