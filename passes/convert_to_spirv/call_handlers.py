"""Handler of calls: a real call where SPIR-V has one, else the callee's body."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.kernel import NO_CONTRACTION
from ...ir.dialects.kernel_image import ImageType
from ...ir.narrowing import is_memref_type
from ..errors import PassError
from .function_lowering import FunctionLowering, Handler, arrays_of, float_attributes
from .module_lowering import LoweredFunction, inlined_before, only_block
from .signed_zeros import hidden_argument
from .types import integer_attribute, is_float, scalar_of
from .work_item_handlers import entry_of

_MOST_BODIES = 10_000
"""Calls that become the bodies of functions in one function: a chain of functions that call the next one twice would
never end."""
_MOST_CALLS = 1 << 16
"""Calls of a function, those within the functions that it calls counted at each call: drivers inline them all.  With
four times as many, lavapipe compiles for longer than a minute."""


def _call(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    callee = fn.module.callee(op, op.callee, fn.name)
    if fn.module.is_inlined(callee, fn.name):
        _inline(fn, op, callee)
        return
    function = fn.module.function(callee)
    fn.calls += 1 + fn.module.calls_within(callee)
    if fn.calls > _MOST_CALLS:
        raise PassError(
            f"{fn.name!r} comes to {fn.calls:,} calls, those of the functions that it calls counted at each call, and "
            f"drivers inline them all: expected at most {_MOST_CALLS:,}; call in a loop, or keep what a call gives",
            op,
            function=fn.name,
            code="LP2111",
        )
    call = create(
        spirv.FunctionCallOp,
        [
            hidden_argument(fn, value) if is_float(scalar_of(value.type)) else fn.value(value)
            for value in op.operands
        ],
        function.outputs,
        {"callee": function.symbol},
    )
    fn.add(call)
    fn.values.update(zip(op.results, _results(fn, function, call), strict=True))


def _results(fn: FunctionLowering, function: LoweredFunction, call: Operation) -> Sequence[SSAValue]:
    if len(function.results) <= 1:
        return call.results
    return [
        fn.emit(
            spirv.CompositeExtractOp,
            call.results,
            type_,
            {"indices": ArrayAttr([integer_attribute(number, 32)])},
        )
        for number, type_ in enumerate(function.results)
    ]


def _inline(fn: FunctionLowering, op: Operation, callee: Function) -> None:
    block = only_block(callee)
    fn.inlined_calls += 1 + inlined_before(callee)
    if fn.inlined_calls > _MOST_BODIES:
        raise PassError(
            f"calls of functions that take arrays, use ids or barriers, or have several results become the bodies of "
            f"these functions, and there are more than {_MOST_BODIES:,} of them; call fewer, or in a loop",
            op,
            function=fn.name,
            code="LP2111",
        )
    values: dict[SSAValue, SSAValue] = {}
    for parameter, argument in zip(block.args, op.operands, strict=True):
        if is_memref_type(parameter.type):
            arrays_of(fn, op).bind_array(parameter, argument)
        elif isinstance(parameter.type, ImageType):
            entry_of(fn, op).arguments.bind_image(parameter, argument)
        else:
            values[parameter] = fn.value(argument)
    # A body may be inlined several times: its values are known by other names each time.
    outer, fn.values = fn.values, values
    outer_attributes = fn.float_attributes
    fn.float_attributes = float_attributes(NO_CONTRACTION in callee.attributes)
    terminator = fn.lower_block(block)
    assert terminator is not None
    results = [fn.value(value) for value in terminator.operands]
    fn.values, fn.float_attributes = outer, outer_attributes
    fn.values.update(zip(op.results, results, strict=True))


HANDLERS: dict[type[Operation], Handler] = {func.CallOp: _call}
"""Handlers of the func dialect."""
