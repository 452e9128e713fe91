"""Where the rounds of loops are counted: in which kernels of a module, and whether in both arms of a branch."""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Operation, Region

from ...ir.call_graph import CallGraph, Function, SymbolTables, function_name
from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.walk import operations
from ..loop_bounds import callee_of, has_loop_inside


class CountedRounds:
    """What counts rounds in a module that `limit_loops` has changed.

    Args:
        kernel_ir: the module.
        symbols: of `kernel_ir`.
    """

    def __init__(self, kernel_ir: Operation, symbols: SymbolTables) -> None:
        self._symbols = symbols
        self._functions: dict[Function, bool] = {}
        external = CallGraph.of(kernel_ir).reaching_external()
        self._linked = {function_name(f) for f in external if is_kernel(f)}

    def are_of(self, kernel: str) -> bool:
        """Whether the rounds of a kernel's loops are counted here, and not in what it is linked to."""
        return kernel not in self._linked

    def are_in_both_arms(self, op: scf.IfOp) -> bool:
        """Whether both arms of a branch have loops, or call functions that do, whose rounds are counted."""
        return all(map(self._are_in, op.regions))

    def _are_in(self, region: Region) -> bool:
        return any(map(self._counts, operations(region)))

    def _counts(self, op: Operation) -> bool:
        if type(op) is func.CallOp:
            callee = callee_of(op, self._symbols)
            return callee is not None and self._of_function(callee)
        return isinstance(op, ROUND_OPS) or has_loop_inside(op)

    def _of_function(self, function: Function) -> bool:
        if function not in self._functions:
            self._functions[function] = False  # where it calls itself
            self._functions[function] = self._are_in(function.body)
        return self._functions[function]
