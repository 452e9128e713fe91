"""Handler of calls: a real call where SPIR-V has one, else the callee's body."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.dialects import spirv
from ..narrowing import is_memref_type
from .function_lowering import FunctionLowering, Handler
from .module_lowering import only_block
from .work_item_handlers import entry_of


def _call(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    callee = fn.module.callee(op, op.callee, fn.name)
    if fn.module.is_inlined(callee, fn.name):
        _inline(fn, op, callee)
        return
    function = fn.module.function(callee)
    call = spirv.FunctionCallOp.create(
        operands=tuple(fn.value(value) for value in op.operands),
        result_types=[fn.type(result.type) for result in op.results],
        properties={"callee": function.symbol},
    )
    fn.add(call)
    fn.values.update(zip(op.results, call.results, strict=True))


def _inline(fn: FunctionLowering, op: Operation, callee: Function) -> None:
    block = only_block(callee)
    values: dict[SSAValue, SSAValue] = {}
    for parameter, argument in zip(block.args, op.operands, strict=True):
        if is_memref_type(parameter.type):
            entry_of(fn, op).bind_array(parameter, argument)
        else:
            values[parameter] = fn.value(argument)
    # A body may be inlined several times: its values are known by other names each time.
    outer, fn.values = fn.values, values
    terminator = fn.lower_block(block)
    assert terminator is not None
    results = [fn.value(value) for value in terminator.operands]
    fn.values = outer
    fn.values.update(zip(op.results, results, strict=True))


CALL_HANDLERS: dict[type[Operation], Handler] = {func.CallOp: _call}
"""Handlers of the func dialect."""
