"""Keeps orders of 64-bit integers from drivers that fold them wrongly: `orders_hidden`.

    %b = OpSLessThan %bool %x %y           →       %z = OpIAdd %long %y %zero
                                                   %b = OpSLessThan %bool %x %z

Such a driver (`vk_runtime.quirks`, wide-orders) takes the order of a widened 32-bit integer and a constant for false.
The 0 is computed (`opaque_memory`), as both may reach the comparison through variables.  Kernels in Python compare 32
bits there: `passes.convert_to_spirv.compare_handlers`.  Standard library only.
"""

from __future__ import annotations

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
        _hide(editor, code, memory, function)
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _hide(editor: ModuleEditor, code: CodeChanges, memory: OpaqueMemory, function: FunctionView) -> None:
    found = [item for item in function.instructions() if item.opcode in _ORDERS and _components(editor, item)]
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


def _components(editor: ModuleEditor, order: Instruction) -> int:
    """Returns how many 64-bit integers an order compares: 0 of others."""
    type_ = editor.view.type_of(order.operands[1])
    assert type_ is not None, "the module is valid"
    count = 1
    if type_.opcode == Op.TypeVector:
        count, type_ = type_.operands[1], editor.view.definitions[type_.operands[0]]
    return count if type_.opcode == Op.TypeInt and type_.operands[0] == 64 else 0
