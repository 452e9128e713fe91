"""Keeps the ends of loops from drivers that leave out the last round of `while k < 1`: `ends_hidden`.

    %b = OpSLessThan %bool %k %one         →       %z = OpIAdd %int %one %zero
                                                   %b = OpSLessThan %bool %k %z

Such a driver (`vk_runtime.quirks`, last-rounds) knows the 1, and that %k begins below zero; the 0 is computed
(`opaque_memory`).  What `passes.convert_to_spirv.loop_ends` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, is_constant
from .module_editor import ModuleEditor
from .module_view import FunctionView
from .origins import SPEC_CONSTANTS, Origins
from .rewrite import Rewrite
from .tables import Op
from .wide_orders import SIGNED_ORDERS, hide_order


def ends_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where no order looks like the end of such a loop."""
    rewrite = Rewrite(module)
    ends = _Ends(rewrite.editor)
    looping = {function.result_id for function in rewrite.view.functions if _has_loops(function)}
    for function, item in rewrite.instructions(*SIGNED_ORDERS):
        if function.result_id in looping and ends.is_one(item):
            hide_order(rewrite, function, item)
    return rewrite.finished()


def _has_loops(function: FunctionView) -> bool:
    return any(block.merge is not None and block.merge.opcode == Op.LoopMerge for block in function.blocks)


class _Ends:
    def __init__(self, editor: ModuleEditor) -> None:
        self._editor = editor
        self._origins = Origins(editor.view, (Op.UConvert, Op.SConvert))

    def is_one(self, order: Instruction) -> bool:
        """Whether a signed order may be one of a counter that begins below zero and of 0 or 1."""
        lhs, rhs = (self._origins.of((operand,)) for operand in order.operands)
        return any(
            any(map(self._may_be_end, ends)) and any(map(self._may_be_negative, starts))
            for starts, ends in ((lhs, rhs), (rhs, lhs))
        )

    def _may_be_end(self, value: int) -> bool:
        editor = self._editor
        return self._is_spec(value) or is_constant(editor, value, 0) or is_constant(editor, value, 1)

    def _may_be_negative(self, value: int) -> bool:
        made = self._editor.view.definitions[value]
        if made.opcode == Op.ConstantComposite:
            return any(map(self._may_be_negative, made.operands))
        if made.opcode != Op.Constant:
            return self._is_spec(value)
        scalar, _ = component_type(self._editor, made.result_type or 0)
        return scalar.opcode == Op.TypeInt and made.operands[-1] >> 31 == 1

    def _is_spec(self, value: int) -> bool:
        return self._editor.view.definitions[value].opcode in SPEC_CONSTANTS
