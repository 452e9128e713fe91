"""Makes truth values that loops carry words, for drivers that fail on others: `truths_as_words`.

    %b = OpPhi %bool %first %before %next %body        →       %w = OpPhi %uint %v %before %x %body
                                                               %b = OpINotEqual %bool %w %zero

%v and %x select 1 or 0 at the ends of the blocks they come from.  Such a driver (`vk_runtime.quirks`, equal-truths)
ends the process where it finds both values to be one.  What `passes.convert_to_spirv.carried_truths` does for kernels
in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import ModuleEditor
from .module_view import BlockView
from .opaque_memory import CodeChanges
from .tables import Op


def truths_as_words(module: Module) -> Module:
    """Returns a valid module so changed; itself where its loops carry none."""
    editor, code = ModuleEditor(module), CodeChanges()
    is_changed = False
    for function in editor.view.functions:
        blocks = {block.label: block for block in function.blocks}
        for block in function.blocks:
            if block.merge is not None and block.merge.opcode == Op.LoopMerge:
                is_changed |= _header(editor, code, block, blocks)
    return editor.finished(code.around) if is_changed else module


def _header(editor: ModuleEditor, code: CodeChanges, header: BlockView, blocks: dict[int, BlockView]) -> bool:
    """Changes what a loop carries; returns whether there is any."""
    phis = [item for item in header.body if item.opcode == Op.Phi and _components(editor, item) > 0]
    words: list[tuple[Instruction, int, int, int]] = []
    for phi in phis:
        type_, one, zero = _word(editor, _components(editor, phi))
        word = editor.new_id()
        words.append((phi._replace(result_type=type_, result_id=word), type_, one, zero))
        code.at_begin(header).append(Instruction(Op.INotEqual, phi.result_type, phi.result_id, (word, zero)))
    # Behind all of these: a loop of one block comes from its own end, and may carry what they give.
    for phi, (now, type_, one, zero) in zip(phis, words, strict=True):
        operands = list(phi.operands)
        for place in range(0, len(operands), 2):
            body = code.at_end(blocks[operands[place + 1]])
            operands[place] = editor.emit(body, Op.Select, operands[place], one, zero, type_=type_)
        code.put(phi, now._replace(operands=tuple(operands)))
    return bool(phis)


def _components(editor: ModuleEditor, phi: Instruction) -> int:
    """Returns how many truth values a phi chooses: 0 of other types."""
    type_ = editor.view.definitions[phi.result_type or 0]
    count = 1
    if type_.opcode == Op.TypeVector:
        count, type_ = type_.operands[1], editor.view.definitions[type_.operands[0]]
    return count if type_.opcode == Op.TypeBool else 0


def _word(editor: ModuleEditor, components: int) -> tuple[int, int, int]:
    """Returns the type of so many words, and its constants of 1 and of 0."""
    one, zero = editor.number(1), editor.number(0)
    if components == 1:
        return editor.u32, one, zero
    type_ = editor.declared(Op.TypeVector, editor.u32, components)
    one, zero = (
        editor.declared(Op.ConstantComposite, *(number,) * components, type_=type_) for number in (one, zero)
    )
    return type_, one, zero
