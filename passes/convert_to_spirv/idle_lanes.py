"""Runs a kernel on lanes that have a work-item alone, for drivers that end loops: `guarded`.

    entry point:   if size % lanes == 0 or (lane < size and local id < size):   along x
                       kernel.body()

Such a driver (`vk_runtime.quirks`, idle-lanes) runs loops for all lanes of a sub-group, also where a row of a
work-group does not fill it.  Nothing that lanes without a work-item store counts, so that they may never leave a loop
that work-items leave by what they have stored; their rounds use up the driver's cap, and nothing in the kernel can
count them.  Where rows fill sub-groups, the driver knows so when it makes the pipeline.

The twin for modules of other compilers is in `spirv.count_epilogue`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, i1, i32
from xdsl.ir import Region, SSAValue

from ...ir.call_graph import Function
from ...ir.create import create
from ...ir.dialects import spirv
from .function_lowering import FunctionLowering
from .launch_place import LaunchPlace
from .module_lowering import ModuleLowering
from .report_buffer import add_selection

_TYPE = FunctionType.from_lists((), ())


def guarded(
    module: ModuleLowering,
    kernel: Function,
    name: str,
    body: Region,
    fn: FunctionLowering,
    place: LaunchPlace,
) -> Region:
    """Returns the entry point's body that calls the kernel's.

    Args:
        module: gets the function with the kernel's body.
        kernel: is lowered.
        name: of the entry point.
        body: the kernel's.
        fn: a new function, the entry point.
        place: of work-items in that function.
    """
    symbol = module.reserve(f"{name}.body")
    module.add_function(spirv.FuncOp(symbol, _TYPE, body), kernel)
    call = create(spirv.FunctionCallOp, (), (), {"callee": module.symbol(symbol)})
    add_selection(fn, _has_work_item(fn, place), lambda: fn.add(call))
    fn.add(create(spirv.ReturnOp))
    return Region(fn.finish())


def _has_work_item(fn: FunctionLowering, place: LaunchPlace) -> SSAValue:
    """Returns whether a lane has one; the local id alone is 0 to the driver where a row has one work-item."""
    size = place.launch_value("block_dim", 0)
    lane = place.sub_group_value("SubgroupLocalInvocationId")
    rest = fn.emit(spirv.UModOp, (size, place.sub_group_value("SubgroupSize")), i32)
    is_full = fn.emit(spirv.IEqualOp, (rest, fn.index(0)), i1)
    below = [
        fn.emit(spirv.ULessThanOp, (number, size), i1)
        for number in (lane, place.launch_value("thread_id", 0))
    ]
    return fn.emit(spirv.LogicalOrOp, (is_full, fn.emit(spirv.LogicalAndOp, below, i1)), i1)
