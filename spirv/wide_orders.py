"""Keeps orders of 64-bit integers from drivers that fold them wrongly: `orders_hidden`.

    %b = OpSLessThan %bool %x %y           →       %z = OpIAdd %long %y %zero
                                                   %b = OpSLessThan %bool %x %z

Such a driver (`vk_runtime.quirks`, wide-orders) takes the order of a widened 32-bit integer and a constant for false.
The 0 is computed (`opaque_memory`), as both may reach the comparison through variables.  Kernels in Python compare 32
bits there: `passes.convert_to_spirv.compare_handlers`.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable

from .binary import Instruction, Module
from .module_editor import ModuleEditor
from .module_view import FunctionView
from .narrow_integers import zeros
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import Op

_ORDERS = (Op.SLessThan, Op.SLessThanEqual, Op.SGreaterThan, Op.SGreaterThanEqual)


def orders_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such orders."""
    editor, code = ModuleEditor(module), CodeChanges()
    memory = OpaqueMemory(editor)
    for function in editor.view.functions:
        hide_orders(editor, code, memory, function, lambda item: _is_of_64_bits(editor, item))
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def hide_orders(
    editor: ModuleEditor,
    code: CodeChanges,
    memory: OpaqueMemory,
    function: FunctionView,
    is_meant: Callable[[Instruction], bool],
) -> None:
    """Adds a zero to the second operand of the signed orders that are meant."""
    found = [item for item in function.instructions() if item.opcode in _ORDERS and is_meant(item)]
    if not found:
        return
    word = memory.index(code.at_begin(function.blocks[0]))
    for item in found:
        left, right = item.operands
        body = code.before(item)
        type_ = editor.view.type_of(right)
        assert type_ is not None and type_.result_id is not None, "the module is valid"
        zero = zeros(editor, body, word, type_.result_id)
        hidden = editor.emit(body, Op.IAdd, right, zero, type_=type_.result_id)
        code.put(item, item._replace(operands=(left, hidden)))


def _is_of_64_bits(editor: ModuleEditor, order: Instruction) -> bool:
    """Whether an order is one of integers of 64 bits, or vectors of them."""
    type_ = editor.view.type_of(order.operands[1])
    assert type_ is not None, "the module is valid"
    if type_.opcode == Op.TypeVector:
        type_ = editor.view.definitions[type_.operands[0]]
    return type_.opcode == Op.TypeInt and type_.operands[0] == 64
