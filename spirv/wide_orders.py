"""Keeps orders of 64-bit integers from drivers that fold them wrongly: `orders_hidden`.

    %b = OpSLessThan %bool %x %y           →       %z = OpIAdd %long %y %zero
                                                   %b = OpSLessThan %bool %x %z

Such a driver (`vk_runtime.quirks`, wide-orders) takes the order of a widened 32-bit integer and a constant for false.
The 0 is computed (`opaque_memory`), as both may reach the comparison through variables.  Kernels in Python compare 32
bits there: `passes.convert_to_spirv.compare_handlers`.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, zeros
from .module_editor import ModuleEditor
from .module_view import FunctionView
from .rewrite import Rewrite
from .tables import Op

SIGNED_ORDERS = (Op.SLessThan, Op.SLessThanEqual, Op.SGreaterThan, Op.SGreaterThanEqual)


def orders_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such orders."""
    rewrite = Rewrite(module)
    for function, item in rewrite.instructions(*SIGNED_ORDERS):
        if _is_of_64_bits(rewrite.editor, item):
            hide_order(rewrite, function, item)
    return rewrite.finished()


def hide_order(rewrite: Rewrite, function: FunctionView, order: Instruction) -> None:
    """Adds a zero to the second operand of a signed order."""
    editor, (left, right) = rewrite.editor, order.operands
    zero, body, type_ = rewrite.index(function), rewrite.before(order), editor.type_of(right)
    hidden = editor.emit(body, Op.IAdd, right, zeros(editor, body, zero, type_), type_=type_)
    rewrite.put(order, order._replace(operands=(left, hidden)))


def _is_of_64_bits(editor: ModuleEditor, order: Instruction) -> bool:
    """Whether an order is one of integers of 64 bits, or vectors of them."""
    scalar, _ = component_type(editor, editor.type_of(order.operands[1]))
    return scalar.operands[0] == 64
