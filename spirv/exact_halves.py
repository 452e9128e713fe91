"""Makes f16 of large integers infinite, for drivers that forget the range of f16: `integers_kept`.

    %h = OpConvertUToF %half %x            →       %y = OpBitwiseOr %uint %x %zero
                                                   %h = OpConvertUToF %half %y

Drivers that are made with LLVM (`vk_runtime.quirks`, exact-halves) know how many bits of %x may be set.  Where these
fit into an f16, f32(f16(x)) is f32(x) for them, also beyond 65504.  They do not know %zero, which is computed.  What
`passes.convert_to_spirv.exact_conversions` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Module
from .component_types import component_type, zeros
from .module_editor import ModuleEditor
from .rewrite import Rewrite
from .tables import Op

_CONVERSIONS = (Op.ConvertSToF, Op.ConvertUToF)


def integers_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it makes no f16 of integers of more than 16 bits."""
    rewrite = Rewrite(module)
    editor = rewrite.editor
    for function, item in rewrite.instructions(*_CONVERSIONS):
        type_ = editor.type_of(item.operands[0])
        if not _is_beyond_half(editor, item.result_type or 0, type_):
            continue
        zero, body = rewrite.unknown_zero(function), rewrite.before(item)
        whole = editor.emit(
            body, Op.BitwiseOr, item.operands[0], zeros(editor, body, zero, type_), type_=type_
        )
        rewrite.put(item, item._replace(operands=(whole,)))
    return rewrite.finished()


def _is_beyond_half(editor: ModuleEditor, result_type: int, type_: int) -> bool:
    half, _ = component_type(editor, result_type)
    integer, _ = component_type(editor, type_)
    return half.operands == (16,) and integer.operands[0] > 16
